// SPDX-License-Identifier: BSD-2-Clause
/* Comparisons as JSON lines of schema bpflab.compare/1: one row a line, with every batch. */
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "report/report_compare.h"
#include "report/report_json.h"
#include "util/json_line.h"

/* Too few values have a range, but no interval. */
static json_t *interval_json(const struct interval *ci, const struct effect *effect)
{
	if (!effect->has_ci)
		return json_null();
	return json_pack("[o,o]", number(exp(ci->lo)), number(exp(ci->hi)));
}

static json_t *effect_json(const struct effect *effect)
{
	json_t *o;

	if (!effect->n)
		return json_null();
	o = json_pack("{s:o, s:o, s:o, s:f, s:I, s:I, s:I, s:I, s:o, s:b, s:b}", "ratio",
		      number(exp(effect->log_ratio)), "ci", interval_json(&effect->ci, effect), "tost_ci",
		      interval_json(&effect->inner, effect), "p", effect->p, "n", (json_int_t)effect->n, "slower",
		      (json_int_t)effect->plus, "faster", (json_int_t)effect->minus, "ties",
		      (json_int_t)effect->ties, "sigma", number(effect->sigma), "by_loads",
		      effect->by_loads, "loads_differ", effect->loads_differ);
	return o;
}

/* -------------------------------------------------------------- measured */

static json_t *side_json(const struct comparison *c, const struct comparison_row *row, int arm)
{
	const struct comparison_arm *a = &row->arms[arm];
	double per = comparison_row_events(row);
	const struct interval *ci = &row->stats.cost[arm].ci;

	return json_pack("{s:s, s:o, s:s, s:s, s:o, s:[o,o], s:o, s:o}", "target", a->target->kind->name,
			 "variant", report_json_variant(a->target), "name", c->names[arm], "bench",
			 a->bench->name, "ns_per_event", number(row->stats.cost[arm].ns / per), "ci95",
			 number(ci->lo / per), number(ci->hi / per), "null_share",
			 number(row->stats.null_share[arm]), "prog", report_json_prog(&a->prog));
}

static json_t *control_json(const struct comparison *c, const struct comparison_row *row)
{
	json_t *o;

	if (!c->control)
		return json_null();
	o = effect_json(&row->stats.control);
	if (json_is_object(o))
		json_object_set_new(o, "ok", json_boolean(!row->control_failed && !c->control_failed));
	return o;
}

static json_t *confirmation_json(const struct comparison_confirmation *again)
{
	json_t *o;
	char seed[32];

	if (!again->done)
		return json_null();
	snprintf(seed, sizeof(seed), "0x%016llx", (unsigned long long)again->seed);
	o = effect_json(&again->effect);
	if (json_is_object(o)) {
		json_object_set_new(o, "confirmed", json_boolean(again->confirmed));
		json_object_set_new(o, "seed", json_string(seed));
	}
	return o;
}

static json_t *samples_json(const struct comparison_row *row)
{
	static const char *const arms[] = { "A", "B", "control" };
	json_t *list = json_array();

	for (size_t i = 0; i < row->nr_batches; i++) {
		const struct comparison_batch *cb = &row->batches[i];
		const struct batch *b = &cb->batch;

		json_array_append_new(
			list, json_pack("{s:I, s:i, s:i, s:i, s:s, s:b, s:I, s:I, s:f, s:i, s:b, s:i, s:i, "
					"s:i}", "t", (json_int_t)b->t_ns, "quad", (int)b->round, "order",
					(int)cb->position, "load", (int)cb->load, "arm",
					arms[cb->slot.arm], "null", (int)cb->slot.null, "ops",
					(json_int_t)b->ops, "events", (json_int_t)b->events, "ns", b->ns,
					"cpu", (int)b->cpu, "migrated", (int)b->migrated, "nvcsw",
					(int)b->nvcsw, "nivcsw", (int)b->nivcsw, "steal",
					(int)b->steal));
	}
	return list;
}

static json_t *notes_json(const struct comparison_row *row)
{
	json_t *list = json_array();

	for (size_t i = 0; i < row->nr_notes; i++)
		json_array_append_new(list, json_string(row->notes[i]));
	return list;
}

/* Whether the numbers of quads at which it was looked were planned, and those that took place. */
static void add_plan(json_t *o, const struct comparison *c, const struct comparison_row *row)
{
	json_t *planned = json_array(), *looks = json_array();

	for (size_t i = 0; i < c->rule.nr_looks; i++)
		json_array_append_new(planned, json_integer(c->rule.looks[i]));
	for (size_t i = 0; i < row->nr_looks; i++)
		json_array_append_new(looks, json_integer(row->looks[i]));
	json_object_set_new(o, "quads", json_integer((json_int_t)row->used));
	json_object_set_new(o, "quads_measured", json_integer((json_int_t)row->nr_quads));
	json_object_set_new(o, "quads_disturbed",
			    json_integer((json_int_t)(row->nr_quads - row->nr_clean)));
	json_object_set_new(o, "planned_looks", planned);
	json_object_set_new(o, "looks", looks);
	json_object_set_new(o, "look_level", number(1 - c->rule.alpha));
	json_object_set_new(o, "needed_quads",
			    row->needed ? json_integer((json_int_t)row->needed) : json_null());
	json_object_set_new(o, "loads", json_integer((json_int_t)row->stats.effect.loads));
	json_object_set_new(o, "batch_ops", json_integer((json_int_t)row->ops));
}

static void add_figures(json_t *o, const struct comparison *c, const struct comparison_row *row)
{
	const struct compare_stats *st = &row->stats;

	json_object_set_new(o, "ratio", number(exp(st->gross.log_ratio)));
	json_object_set_new(o, "ci", interval_json(&st->gross.ci, &st->gross));
	json_object_set_new(o, "ratio_net", st->net.n ? number(exp(st->net.log_ratio)) : json_null());
	json_object_set_new(o, "ci_net", st->net.n ? interval_json(&st->net.ci, &st->net) : json_null());
	json_object_set_new(o, "basis", json_string(st->basis == BASIS_NET ? "net" : "gross"));
	json_object_set_new(o, "verdict", json_string(verdict_name(row->verdict)));
	json_object_set_new(o, "margin", number(expm1(c->rule.margin)));
	json_object_set_new(o, "p", number(row->p));
	json_object_set_new(o, "p_holm", number(row->p_holm));
	json_object_set_new(o, "fdr", number(row->fdr));
	json_object_set_new(o, "ci_suite", interval_json(&st->suite.ci, &st->suite));
	json_object_set_new(o, "effect", effect_json(&st->effect));
	json_object_set_new(o, "floor", effect_json(&st->floor));
	json_object_set_new(o, "shape_differs", json_boolean(st->shape_differs));
	json_object_set_new(o, "control", control_json(c, row));
	json_object_set_new(o, "confirmation", confirmation_json(&row->confirmation));
}

static json_t *suite_json(const struct comparison *c)
{
	return json_pack("{s:I, s:o, s:o}", "rows", (json_int_t)c->nr_rows, "geomean",
			 effect_json(&c->geomean), "control", effect_json(&c->control_mean));
}

static json_t *row_json(const struct compare_report *r, const struct comparison_row *row)
{
	const struct comparison *c = r->comparison;
	json_t *o = json_pack("{s:s, s:s, s:o, s:o, s:o}", "schema", "bpflab.compare/1", "bench",
			      row->label, "params", report_json_params(&row->arms[QUAD_A].live.inst), "a",
			      side_json(c, row, QUAD_A), "b", side_json(c, row, QUAD_B));
	char seed[32];

	if (!o)
		return NULL;
	snprintf(seed, sizeof(seed), "0x%016llx", (unsigned long long)c->seed);
	add_figures(o, c, row);
	add_plan(o, c, row);
	json_object_set_new(o, "quick", json_boolean(r->quick));
	json_object_set_new(o, "historical", json_false());
	json_object_set_new(o, "suite", suite_json(c));
	json_object_set_new(o, "events", json_pack("{s:I, s:I}", "expected", (json_int_t)row->expected,
						   "counted", (json_int_t)row->counted));
	json_object_set_new(o, "seconds", number(c->seconds));
	json_object_set_new(o, "steal_percent", number(c->steal_percent));
	json_object_set_new(o, "notes", notes_json(row));
	if (row->why)
		json_object_set_new(o, "why", json_pack("{s:s}", "Difference of the code", row->why));
	json_object_set_new(o, "seed", json_string(seed));
	json_object_set_new(o, "command", json_string(r->command ? r->command : ""));
	json_object_set_new(o, "env", env_json(r->env));
	json_object_set_new(o, "samples", samples_json(row));
	return o;
}

static int add_record(struct record_list *list, json_t *o, struct errline *e)
{
	int err = o ? records_add(list, o, 0, RECORD_COMPARE, "the comparison", e) :
		      errline_set(e, -ENOMEM, "out of memory");

	json_decref(o);
	return err;
}

int report_compare_records(const void *ctx, struct record_list *list, struct errline *e)
{
	const struct compare_report *r = ctx;
	int err = 0;

	for (size_t i = 0; i < r->comparison->nr_rows && !err; i++)
		if (!r->comparison->rows[i].failed)
			err = add_record(list, row_json(r, &r->comparison->rows[i]), e);
	return err;
}

int report_compare_json(FILE *f, const void *ctx)
{
	const struct compare_report *r = ctx;
	int err = 0;

	for (size_t i = 0; i < r->comparison->nr_rows && !err; i++)
		if (!r->comparison->rows[i].failed)
			err = json_line_put(f, row_json(r, &r->comparison->rows[i]));
	return err;
}

/* -------------------------------------------------------------- stored */

static json_t *stored_json(const struct historical *h, const struct historical_row *row, int side)
{
	const struct historical_side *s = &row->side[side];

	return json_pack("{s:s, s:s, s:I, s:o, s:o}", "file", h->paths[side], "target", s->target,
			 "runs", (json_int_t)s->runs, "ns_per_event", number(s->ns), "sigma_run",
			 number(s->sigma));
}

static json_t *historical_json(const struct historical *h, const struct historical_row *row)
{
	bool known = row->effect.has_ci;

	return json_pack("{s:s, s:s, s:b, s:o, s:o, s:o, s:o, s:o, s:s, s:o, s:o, s:o, s:o}", "schema",
			 "bpflab.compare/1", "bench", row->label, "historical", 1, "a",
			 stored_json(h, row, 0), "b", stored_json(h, row, 1), "ratio",
			 number(exp(row->effect.log_ratio)), "ci",
			 interval_json(&row->effect.ci, &row->effect), "tost_ci",
			 interval_json(&row->effect.inner, &row->effect), "verdict",
			 verdict_name(row->verdict), "p", known ? number(row->effect.p) : json_null(),
			 "p_holm", known ? number(row->p_holm) : json_null(), "margin",
			 number(expm1(h->margin)), "reason",
			 row->reason ? json_string(row->reason) : json_null());
}

int report_historical_json(FILE *f, const void *ctx)
{
	const struct historical *h = ctx;
	int err = 0;

	for (size_t i = 0; i < h->nr_rows && !err; i++)
		err = json_line_put(f, historical_json(h, &h->rows[i]));
	return err;
}

int report_historical_records(const void *ctx, struct record_list *list, struct errline *e)
{
	const struct historical *h = ctx;
	int err = 0;

	for (size_t i = 0; i < h->nr_rows && !err; i++)
		err = add_record(list, historical_json(h, &h->rows[i]), e);
	return err;
}
