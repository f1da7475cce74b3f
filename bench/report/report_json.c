// SPDX-License-Identifier: BSD-2-Clause
/* Results as JSON lines of schema bpflab.result/1: one object a line, with every raw batch. */
#include <errno.h>
#include <stdio.h>

#include "report/report_json.h"
#include "report/report_ratio.h"
#include "util/json_line.h"

json_t *report_json_variant(const struct target *t)
{
	json_t *o = json_object();

	for (size_t i = 0; i < t->nr_variants; i++)
		json_object_set_new(o, t->variants[i].name, json_string(t->variants[i].value));
	return o;
}

json_t *report_json_params(const struct bench_inst *inst)
{
	json_t *o = json_pack("{s:i}", "producers", (int)inst->params.producers);

	if (inst->bench->flags & BENCH_HAS_NR_LOOPS)
		json_object_set_new(o, "nr_loops", json_integer((json_int_t)inst->params.nr_loops));
	if (inst->bench->flags & BENCH_HAS_PROGRAMS)
		json_object_set_new(o, "programs", json_integer((json_int_t)inst->params.programs));
	if (inst->params.trig_batch_iters)
		json_object_set_new(o, "trig_batch_iters",
				    json_integer((json_int_t)inst->params.trig_batch_iters));
	if (inst->params.stacktrace)
		json_object_set_new(o, "stacktrace", json_true());
	return o;
}

static json_t *samples_json(const struct point *pt)
{
	static const char *const arms[] = { "full", "null", "trigger" };
	static const char *const sizes[] = { "N", "N/8", "N/2" };
	json_t *list = json_array();

	for (size_t i = 0; i < pt->nr_batches; i++) {
		const struct batch *b = &pt->batches[i];

		json_array_append_new(
			list, json_pack("{s:I, s:i, s:s, s:s, s:I, s:I, s:f, s:f, s:i, s:b, s:i, s:i, s:i}",
					"t", (json_int_t)b->t_ns, "round", (int)b->round, "arm",
					arms[b->arm], "size", sizes[b->size], "ops", (json_int_t)b->ops,
					"events", (json_int_t)b->events, "ns", b->ns, "wall_ns", b->wall_ns,
					"cpu", (int)b->cpu,
					"migrated", (int)b->migrated, "nvcsw", (int)b->nvcsw, "nivcsw",
					(int)b->nivcsw, "steal", (int)b->steal));
	}
	return list;
}

static json_t *warnings_json(const struct result *res)
{
	json_t *list = json_array();

	for (size_t i = 0; i < res->est.nr_warnings; i++)
		json_array_append_new(list, json_string(res->est.warnings[i]));
	return list;
}

json_t *report_json_prog(const struct prog_info *prog)
{
	char tag[17];

	if (!prog->known)
		return json_null();
	for (int i = 0; i < 8; i++)
		snprintf(tag + 2 * i, 3, "%02x", prog->tag[i]);
	return json_pack("{s:s, s:i, s:i}", "tag", tag, "xlated_len", (int)prog->xlated_len,
			 "jited_len", (int)prog->jited_len);
}

static const char *interval_name(enum estimate_interval kind)
{
	static const char *const names[] = { "range", "sign", "groups" };

	return names[kind];
}

static void add_figures(json_t *o, const struct estimate *est)
{
	json_object_set_new(o, "unit", json_string("ns/op"));
	json_object_set_new(o, "estimate", number(est->value));
	json_object_set_new(o, "ci95", json_pack("[o,o]", number(est->ci.lo), number(est->ci.hi)));
	json_object_set_new(o, "ci_kind", json_string(interval_name(est->ci_kind)));
	json_object_set_new(o, "distinguishable", json_boolean(est->distinguishable));
	json_object_set_new(o, "below", est->distinguishable ? json_null() : number(est->below));
	json_object_set_new(o, "gross_only", json_boolean(est->gross_only));
	json_object_set_new(o, "trigger_ns", number(est->trigger));
	json_object_set_new(o, "intercept_ns", number(est->intercept));
	json_object_set_new(o, "null_ns", number(est->null));
	json_object_set_new(o, "gross_ns", number(est->gross));
	json_object_set_new(o, "floor_ns", number(est->floor));
	json_object_set_new(o, "linearity", number(est->linearity));
	json_object_set_new(o, "batch_average_ns",
			    json_pack("{s:o, s:o, s:o}", "p50", number(est->p50), "p95",
				      number(est->p95), "p99", number(est->p99)));
	json_object_set_new(o, "throughput",
			    json_pack("{s:o, s:o, s:s}", "mean", number(est->rate_mean), "stddev",
				      number(est->rate_stddev), "unit", "M/s"));
}

static void add_ratio(const struct target *base, double ratio, void *ctx)
{
	json_object_set_new(ctx, base->spec, number(ratio));
}

static json_t *ratios_json(const struct report *r, const struct result *res)
{
	json_t *o = json_object();

	report_ratios(r, res, add_ratio, o);
	return o;
}

static json_t *result_json(const struct report *r, const struct result *res)
{
	const struct point *pt = res->point;
	const struct bench_inst *inst = &pt->inst;
	json_t *o = json_pack("{s:s, s:s, s:s, s:o, s:o}", "schema", "bpflab.result/1", "bench",
			      inst->bench->name, "target", inst->target->kind->name, "variant",
			      report_json_variant(inst->target), "params", report_json_params(inst));
	char seed[32];

	if (!o)
		return NULL;
	snprintf(seed, sizeof(seed), "0x%016llx", (unsigned long long)r->suite->seed);
	add_figures(o, &res->est);
	json_object_set_new(o, "ratios", ratios_json(r, res));
	json_object_set_new(o, "events",
			    json_pack("{s:I, s:I, s:o}", "expected", (json_int_t)pt->expected,
				      "counted", (json_int_t)pt->counted, "left_behind",
				      pt->has_left_behind ? json_integer((json_int_t)pt->left_behind) :
							    json_null()));
	json_object_set_new(o, "prog", report_json_prog(&res->prog));
	json_object_set_new(o, "batch", json_pack("{s:I, s:I, s:I, s:i, s:b}", "ops",
						  (json_int_t)pt->n_full, "null_ops",
						  (json_int_t)pt->n_null, "events_per_op",
						  (json_int_t)bench_events_per_op(inst), "warmup",
						  (int)pt->warmup_batches, "settled",
						  (int)pt->warmup_settled));
	json_object_set_new(o, "pinned", json_boolean(r->suite->pinned));
	json_object_set_new(o, "rounds", json_integer((json_int_t)r->suite->rounds_done));
	json_object_set_new(o, "rounds_used", json_integer((json_int_t)res->est.rounds_used));
	json_object_set_new(o, "seconds", number(r->suite->seconds));
	json_object_set_new(o, "note", res->note[0] ? json_string(res->note) : json_null());
	json_object_set_new(o, "warnings", warnings_json(res));
	json_object_set_new(o, "seed", json_string(seed));
	json_object_set_new(o, "command", json_string(r->command ? r->command : ""));
	json_object_set_new(o, "env", env_json(r->env));
	json_object_set_new(o, "samples", samples_json(pt));
	return o;
}

int report_records(const struct report *r, struct record_list *list, struct errline *e)
{
	int err = 0;

	for (size_t i = 0; i < r->nr_results && !err; i++) {
		json_t *o = result_json(r, &r->results[i]);

		err = o ? records_add(list, o, 0, RECORD_RESULT, "the result", e) :
			  errline_set(e, -ENOMEM, "out of memory");
		json_decref(o);
	}
	return err;
}

/* A point without a result, because it could not be loaded: a line that a reader of results passes over. */
static json_t *unavailable_json(const struct point *pt)
{
	return json_pack("{s:s, s:s, s:s, s:o, s:o, s:s}", "schema", SCHEMA_UNAVAILABLE, "bench",
			 pt->inst.bench->name, "target", pt->inst.target->kind->name, "variant",
			 report_json_variant(pt->inst.target), "params", report_json_params(&pt->inst), "reason",
			 pt->error.text);
}

/* The unavailable ones from @from up to @until, or to the last. */
static int put_unavailable(FILE *f, const struct suite *s, size_t *from, const struct point *until)
{
	int err = 0;

	for (; *from < s->nr_points && &s->points[*from] != until && !err; ++*from)
		if (s->points[*from].unavailable)
			err = json_line_put(f, unavailable_json(&s->points[*from]));
	return err;
}

int report_json(FILE *f, const struct report *r)
{
	size_t next = 0;
	int err = 0;

	for (size_t i = 0; i < r->nr_results && !err; i++) {
		err = put_unavailable(f, r->suite, &next, r->results[i].point);
		if (!err)
			err = json_line_put(f, result_json(r, &r->results[i]));
	}
	return err ? err : put_unavailable(f, r->suite, &next, NULL);
}
