// SPDX-License-Identifier: BSD-2-Clause
/* From the command line to the list of points: targets, benches, sweeps. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "measure/object.h"
#include "measure/suite.h"
#include "registry.h"
#include "util/suggest.h"

#define MAX_BENCHES 256
#define MAX_POINTS 4096
#define MAX_SWEEP_VALUES 64
#define DEFAULT_NR_LOOPS 10
#define DEFAULT_PROGRAMS 4096

enum sweep_param {
	SWEEP_NR_LOOPS, SWEEP_PRODUCERS, SWEEP_TRIG, SWEEP_BATCH, SWEEP_PROGRAMS, NR_SWEEP_PARAMS
};

static const struct {
	const char *name, *other_name;
	unsigned int flag; /* a bench must have it */
	uint64_t min, max;
} sweep_table[NR_SWEEP_PARAMS] = {
	[SWEEP_NR_LOOPS] = { "nr_loops", "nr-loops", BENCH_HAS_NR_LOOPS, 1, 1u << 22 },
	[SWEEP_PRODUCERS] = { "p", "producers", BENCH_HAS_PRODUCERS, 1, 1024 },
	[SWEEP_TRIG] = { "trig-batch-iters", "trig_batch_iters", BENCH_HAS_TRIGGER, 1, 1000 },
	[SWEEP_BATCH] = { "nr-batch-iters", "nr_batch_iters", BENCH_HAS_BATCH_ITERS, 1, 1u << 20 },
	[SWEEP_PROGRAMS] = { "programs", "programs", BENCH_HAS_PROGRAMS, 1, 4096 },
};

struct selection {
	const struct bench *benches[MAX_BENCHES];
	size_t nr;
	struct errline *e;
	/* the values each parameter takes; none: not given */
	uint64_t values[NR_SWEEP_PARAMS][MAX_SWEEP_VALUES];
	size_t nr_values[NR_SWEEP_PARAMS];
};

static int add_target(struct suite *s, const char *spec, struct errline *e)
{
	struct target *t = &s->targets[s->nr_targets];
	int err = target_parse(t, spec, e);

	if (err)
		return err;
	for (size_t i = 0; i < s->nr_targets; i++)
		if (!strcmp(s->targets[i].spec, t->spec))
			return errline_set(e, -EINVAL, "target '%s' is given twice", t->spec);
	s->nr_targets++;
	return 0;
}

/* Targets that were asked for have to work. */
static int chosen_targets(struct suite *s, const struct opts_list *on, struct errline *e)
{
	struct errline why;
	int err;

	for (size_t i = 0; i < on->nr; i++) {
		err = add_target(s, on->items[i], e);
		if (err)
			return err;
		err = target_probe(&s->targets[s->nr_targets - 1], &why);
		if (err)
			return errline_set(e, err, "target '%s' does not work here: %s", on->items[i],
					   why.text);
	}
	return 0;
}

/* Of the default targets those that work are used. */
static int default_targets(struct suite *s, struct errline *e)
{
	static const char *const specs[] = { "user:jit=on", "user:jit=off", "host" };
	struct errline why = { "" };

	for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
		struct target *t = &s->targets[s->nr_targets];
		int err = target_parse(t, specs[i], &why);

		if (!err)
			err = target_probe(t, &why);
		if (!err)
			s->nr_targets++;
		else if (asprintf(&s->skipped[s->nr_skipped], "%s is left out: %s", specs[i],
				  why.text) >= 0)
			s->nr_skipped++;
	}
	if (s->nr_targets)
		return 0;
	return errline_set(e, -ENODEV, "no target works here (bpflab doctor says why); the last: %s",
			   why.text);
}

static int build_targets(struct suite *s, const struct opts *opts, struct errline *e)
{
	static const struct opts_list only_user = { .items = { "user" }, .nr = 1 };

	s->targets = calloc(OPTS_MAX_LIST, sizeof(*s->targets));
	if (!s->targets)
		return errline_set(e, -ENOMEM, "out of memory");
	if (opts->on.nr)
		return chosen_targets(s, &opts->on, e);
	if (opts->nr_args)
		return chosen_targets(s, &only_user, e);
	return default_targets(s, e);
}

static int select_bench(const struct bench *bench, void *ctx)
{
	struct selection *sel = ctx;

	for (size_t i = 0; i < sel->nr; i++)
		if (sel->benches[i] == bench)
			return 0;
	if (sel->nr == MAX_BENCHES)
		return errline_set(sel->e, -E2BIG, "more than %d benches in one run", MAX_BENCHES);
	sel->benches[sel->nr++] = bench;
	return 0;
}

static int select_benches(struct suite *s, struct selection *sel, const struct opts *opts,
			  struct errline *e)
{
	int err = 0;

	for (size_t i = 0; !opts->nr_args && registry_get(i); i++)
		if (registry_is_quick(i))
			select_bench(registry_get(i), sel);
	for (size_t i = 0; i < opts->nr_args && !err; i++) {
		size_t first = s->nr_objects;

		if (!object_is_path(opts->args[i])) {
			err = registry_match(opts->args[i], select_bench, sel, e);
			continue;
		}
		err = object_add(s, opts->args[i], e);
		for (size_t j = first; j < s->nr_objects && !err; j++)
			err = select_bench(s->objects[j], sel);
	}
	return err;
}

/* Both say how many operations a trigger runs; a bench has one of the names. */
static bool takes(const struct bench *bench, enum sweep_param param)
{
	if (param == SWEEP_TRIG && bench->flags & BENCH_HAS_BATCH_ITERS)
		return false;
	return bench->flags & sweep_table[param].flag;
}

static bool any_takes(const struct selection *sel, enum sweep_param param)
{
	for (size_t i = 0; i < sel->nr; i++)
		if (takes(sel->benches[i], param))
			return true;
	return false;
}

static int find_sweep_param(const char *name, const char *text, struct errline *e)
{
	char hint[96];
	struct suggest s;

	suggest_init(&s, name);
	for (int i = 0; i < NR_SWEEP_PARAMS; i++) {
		if (!strcmp(name, sweep_table[i].name) || !strcmp(name, sweep_table[i].other_name))
			return i;
		suggest_offer(&s, sweep_table[i].name);
		suggest_offer(&s, sweep_table[i].other_name);
	}
	return errline_set(e, -EINVAL, "--sweep '%s': no parameter '%s'%s (nr_loops, p, "
			   "trig-batch-iters, nr-batch-iters, programs)", text, name,
			   suggest_text(&s, hint, sizeof(hint)));
}

static int parse_sweep(struct selection *sel, const char *text, struct errline *e)
{
	const char *eq = strchr(text, '=');
	char name[32], word[32];
	int param;

	if (!eq || eq == text || !eq[1])
		return errline_set(e, -EINVAL, "--sweep '%s' is not NAME=A,B,…, as in "
				   "nr_loops=1,10,100", text);
	snprintf(name, sizeof(name), "%.*s", (int)(eq - text), text);
	param = find_sweep_param(name, text, e);
	if (param < 0)
		return param;
	if (sel->nr_values[param])
		return errline_set(e, -EINVAL, "--sweep '%s': '%s' is swept twice", text, name);
	if (!any_takes(sel, param))
		return errline_set(e, -EINVAL, "--sweep '%s': none of the benches chosen takes '%s'",
				   text, name);
	for (const char *p = eq; *p; p += 1 + strcspn(p + 1, ",")) {
		size_t len = strcspn(p + 1, ",");
		size_t nr = sel->nr_values[param];

		snprintf(word, sizeof(word), "%.*s", (int)len, p + 1);
		if (len >= sizeof(word)) /* no number of its beginning */
			memcpy(word + sizeof(word) - 4, "...", 4);
		if (nr == MAX_SWEEP_VALUES)
			return errline_set(e, -E2BIG, "--sweep '%s': more than %d values", text,
					   MAX_SWEEP_VALUES);
		if (opts_parse_u64(word, sweep_table[param].min, sweep_table[param].max,
				   &sel->values[param][nr]))
			return errline_set(e, -EINVAL, "--sweep '%s': '%s' is not a whole number from "
					   "%llu to %llu", text, word,
					   (unsigned long long)sweep_table[param].min,
					   (unsigned long long)sweep_table[param].max);
		for (size_t i = 0; i < nr; i++)
			if (sel->values[param][i] == sel->values[param][nr])
				return errline_set(e, -EINVAL, "--sweep '%s': '%s' is given twice", text, word);
		sel->nr_values[param]++;
	}
	return 0;
}

/* What is not swept has one value: the option's or the default. */
static int fill_values(struct selection *sel, const struct opts *opts, struct errline *e)
{
	const uint64_t given[NR_SWEEP_PARAMS] = {
		[SWEEP_NR_LOOPS] = opts->nr_loops,
		[SWEEP_PRODUCERS] = opts->producers,
		[SWEEP_TRIG] = opts->trig_batch_iters,
		[SWEEP_BATCH] = opts->nr_batch_iters,
		[SWEEP_PROGRAMS] = opts->programs,
	};
	const uint64_t defaults[NR_SWEEP_PARAMS] = {
		[SWEEP_NR_LOOPS] = DEFAULT_NR_LOOPS,
		[SWEEP_PRODUCERS] = 1,
		[SWEEP_PROGRAMS] = DEFAULT_PROGRAMS,
	};

	for (int i = 0; i < NR_SWEEP_PARAMS; i++) {
		if (sel->nr_values[i] && given[i])
			return errline_set(e, -EINVAL, "'%s' is both set and swept", sweep_table[i].name);
		if (given[i] && !any_takes(sel, i))
			return errline_set(e, -EINVAL, "--%s: none of the benches chosen takes it",
					   i == SWEEP_PRODUCERS ? "producers" : sweep_table[i].name);
		if (!sel->nr_values[i]) {
			sel->values[i][0] = given[i] ? given[i] : defaults[i];
			sel->nr_values[i] = 1;
		}
	}
	return 0;
}

/* A switch: what takes it has it, the other benches of the run are as they were. */
static int check_stacktrace(const struct selection *sel, const struct opts *opts, struct errline *e)
{
	for (size_t i = 0; i < sel->nr && opts->stacktrace; i++)
		if (sel->benches[i]->flags & BENCH_HAS_STACKTRACE)
			return 0;
	return opts->stacktrace ? errline_set(e, -EINVAL, "--stacktrace: none of the benches chosen takes it") :
				  0;
}

static void make_label(struct point *pt)
{
	const struct bench_inst *inst = &pt->inst;
	char *p = pt->label, *end = pt->label + sizeof(pt->label);

	p += snprintf(p, (size_t)(end - p), "%.80s", inst->bench->name);
	if (inst->bench->flags & BENCH_HAS_NR_LOOPS)
		p += snprintf(p, (size_t)(end - p), "/nr_loops=%llu",
			      (unsigned long long)inst->params.nr_loops);
	if (inst->bench->flags & BENCH_HAS_PROGRAMS)
		p += snprintf(p, (size_t)(end - p), "/programs=%u", inst->params.programs);
	if (inst->params.trig_batch_iters)
		p += snprintf(p, (size_t)(end - p), "/iters=%u", inst->params.trig_batch_iters);
	if (inst->params.producers > 1)
		p += snprintf(p, (size_t)(end - p), "/p=%u", inst->params.producers);
	if (inst->params.stacktrace)
		snprintf(p, (size_t)(end - p), "/stacktrace");
}

static int add_point(struct suite *s, const struct bench *bench, const struct target *target,
		     const struct bench_params *params, struct errline *e)
{
	struct point *pt;

	if (target_is_native(target) && !bench_is_native(bench))
		return errline_set(e, -EINVAL, "bench '%s' has no native form; on '%s' run 'jit-*' or "
				   "another that has (bpflab list --on native)", bench->name, target->spec);
	if (s->nr_points == MAX_POINTS)
		return errline_set(e, -E2BIG, "more than %d benches, targets and sweep values in one "
				   "run", MAX_POINTS);
	pt = &s->points[s->nr_points++];
	pt->inst.bench = bench;
	pt->inst.target = target;
	pt->inst.params = *params;
	make_label(pt);
	return 0;
}

/* Every combination of the values that @bench takes, on every target. */
static int add_points(struct suite *s, const struct selection *sel, const struct bench *bench,
		      bool stacktrace, struct errline *e)
{
	const enum sweep_param batch = takes(bench, SWEEP_BATCH) ? SWEEP_BATCH : SWEEP_TRIG;
	size_t nr[NR_SWEEP_PARAMS];
	int err = 0;

	for (int i = 0; i < NR_SWEEP_PARAMS; i++)
		nr[i] = takes(bench, i) ? sel->nr_values[i] : 1;
	for (size_t c = 0; c < nr[SWEEP_NR_LOOPS] * nr[SWEEP_PRODUCERS] * nr[batch] *
				       nr[SWEEP_PROGRAMS] && !err; c++) {
		const size_t lower = c / nr[SWEEP_PROGRAMS], upper = lower / nr[batch];
		const struct bench_params params = {
			.nr_loops = sel->values[SWEEP_NR_LOOPS][upper / nr[SWEEP_PRODUCERS]],
			.producers = (uint32_t)sel->values[SWEEP_PRODUCERS][upper % nr[SWEEP_PRODUCERS]],
			.trig_batch_iters =
				takes(bench, batch) ? (uint32_t)sel->values[batch][lower % nr[batch]] : 0,
			.programs = (uint32_t)sel->values[SWEEP_PROGRAMS][c % nr[SWEEP_PROGRAMS]],
			.stacktrace = stacktrace && bench->flags & BENCH_HAS_STACKTRACE,
		};

		for (size_t t = 0; t < s->nr_targets && !err; t++)
			err = add_point(s, bench, &s->targets[t], &params, e);
	}
	return err;
}

static int build_points(struct suite *s, const struct opts *opts, struct errline *e)
{
	struct selection *sel = calloc(1, sizeof(*sel));
	int err;

	s->points = calloc(MAX_POINTS, sizeof(*s->points));
	if (!sel || !s->points) {
		free(sel);
		return errline_set(e, -ENOMEM, "out of memory");
	}
	sel->e = e;
	err = select_benches(s, sel, opts, e);
	for (size_t i = 0; i < opts->sweep.nr && !err; i++)
		err = parse_sweep(sel, opts->sweep.items[i], e);
	if (!err)
		err = fill_values(sel, opts, e);
	if (!err)
		err = check_stacktrace(sel, opts, e);
	for (size_t i = 0; i < sel->nr && !err; i++)
		err = add_points(s, sel, sel->benches[i], opts->stacktrace, e);
	free(sel);
	return err;
}

int suite_build(struct suite *s, const struct opts *opts, struct errline *e)
{
	int err;

	memset(s, 0, sizeof(*s));
	if (opts->consumers)
		return errline_set(e, -EINVAL, "-c %u: these benches have no consumers; use -c 0",
				   opts->consumers);
	err = build_targets(s, opts, e);
	return err ? err : build_points(s, opts, e);
}
