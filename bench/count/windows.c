// SPDX-License-Identifier: BSD-2-Clause
/*
 * A round of a point is a window of each arm and size, always in the same order. Before the first one
 * the same batches run without marks: lazy binding and first touches are over then. What is to be said
 * about windows is said after the last one: the paths that malloc() takes in a trigger depend on what
 * was allocated before.
 */
#include "count/windows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "measure/prog_info.h"
#include "util/interrupt.h"
#include "util/json_line.h"

/*
 * The smallest window is a whole number of the pieces in which drivers run their operations
 * (BENCH_CHUNK), so that the ends of loops are the same in windows of all sizes. Two operations are
 * enough where each is thousands of instructions.
 */
#define SMALLEST 64
#define SMALLEST_LONG 2
#define SMALLEST_CALLS 8
#define MAX_WINDOW_EVENTS (4u << 20)
#define MAX_KINDS 6

/* What is the same for all points. */
struct plan {
	uint32_t rounds;
	struct batch *windows; /* MAX_KINDS for each round, and as many more */
	windows_code code;
	bool keep_going;
	FILE *out;
};

uint64_t windows_ops(const struct bench_inst *inst)
{
	uint64_t unit = inst->bench->flags & BENCH_LONG_OPS ? SMALLEST_LONG : SMALLEST;
	uint64_t iters = inst->params.trig_batch_iters;
	uint64_t events = bench_executed_per_op(inst, ARM_FULL);

	/* System calls and traps, and in a guest the kernel behind them: a timer ticks in long windows. */
	if (inst->target->kind == &target_kind_host && !(inst->bench->flags & BENCH_HAS_TRIGGER) &&
	    unit > SMALLEST_CALLS)
		unit = SMALLEST_CALLS;
	if (iters)
		return 8 * iters * ((unit + iters - 1) / iters);
	while (unit > 1 && 8 * unit * events > MAX_WINDOW_EVENTS)
		unit /= 2;
	return 8 * unit;
}

/* The windows of a round. Returns how many. */
static size_t plan_round(const struct point *pt, struct batch *windows)
{
	uint64_t n = windows_ops(&pt->inst);
	const struct batch all[] = {
		{ .arm = ARM_FULL, .size = SIZE_N, .ops = n },
		{ .arm = ARM_FULL, .size = SIZE_HALF, .ops = n / 2 },
		{ .arm = ARM_FULL, .size = SIZE_EIGHTH, .ops = n / 8 },
		{ .arm = ARM_NULL, .size = SIZE_N, .ops = n },
		{ .arm = ARM_NULL, .size = SIZE_EIGHTH, .ops = n / 8 },
		{ .arm = ARM_TRIGGER, .ops = WINDOW_TRIGGERS },
	};

	memcpy(windows, all, sizeof(all));
	return pt->inst.bench->flags & BENCH_HAS_TRIGGER ? MAX_KINDS : MAX_KINDS - 1;
}

static json_t *window_json(const struct batch *b)
{
	static const char *const arms[] = { "full", "null", "trigger" };
	static const char *const sizes[] = { "N", "N/8", "N/2" };

	return json_pack("{s:i, s:s, s:s, s:I, s:I}", "round", (int)b->round, "arm", arms[b->arm],
			 "size", sizes[b->size], "ops", (json_int_t)b->ops, "events",
			 (json_int_t)b->events);
}

/* Run one round into @windows; *@nr: how many of them the plugin saw. */
static int run_round(struct suite *s, struct point *pt, bool marked, uint32_t round,
		     struct batch *windows, size_t *nr, struct errline *e)
{
	size_t planned = plan_round(pt, windows);
	int err = 0;

	*nr = 0;
	while (*nr < planned && !err) {
		windows[*nr].marked = marked;
		windows[*nr].round = round;
		/* a window that fails was seen all the same */
		err = point_batch(s, pt, &windows[(*nr)++], e);
	}
	return err;
}

/* Takes @windows of MAX_KINDS for each round. */
static int run_rounds(struct suite *s, struct point *pt, uint32_t rounds, struct batch *windows,
		      size_t *nr, struct errline *e)
{
	size_t ran;
	int err = run_round(s, pt, false, 0, windows, &ran, e);

	*nr = 0;
	for (uint32_t r = 0; r < rounds && !err; r++) {
		err = run_round(s, pt, true, r, windows + *nr, &ran, e);
		*nr += ran;
	}
	return err;
}

static json_t *windows_json(const struct batch *windows, size_t nr)
{
	json_t *list = json_array();

	for (size_t i = 0; i < nr; i++)
		json_array_append_new(list, window_json(&windows[i]));
	return list;
}

static json_t *prog_json(const struct bench_inst *inst)
{
	struct prog_info prog = { 0 };
	char tag[17];

	prog_info_read(inst, &prog);
	if (!prog.known)
		return json_null();
	for (int i = 0; i < 8; i++)
		snprintf(tag + 2 * i, 3, "%02x", prog.tag[i]);
	return json_pack("{s:s, s:i, s:i}", "tag", tag, "xlated_len", (int)prog.xlated_len,
			 "jited_len", (int)prog.jited_len);
}

static json_t *params_json(const struct bench_inst *inst)
{
	json_t *o = json_object();

	if (inst->bench->flags & BENCH_HAS_NR_LOOPS)
		json_object_set_new(o, "nr_loops", json_integer((json_int_t)inst->params.nr_loops));
	if (inst->bench->flags & BENCH_HAS_PROGRAMS)
		json_object_set_new(o, "programs", json_integer((json_int_t)inst->params.programs));
	if (inst->params.trig_batch_iters)
		json_object_set_new(o, "trig_batch_iters",
				    json_integer((json_int_t)inst->params.trig_batch_iters));
	return o;
}

/* Takes over @prog and @code. */
static json_t *point_json(const struct point *pt, const struct batch *windows, size_t nr, json_t *prog,
			  json_t *code)
{
	const struct bench_inst *inst = &pt->inst;
	struct utsname host;

	uname(&host);
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:o, s:I, s:I, s:I, s:o, s:o, s:o, s:o?, s:b}",
			 "schema",
			 SCHEMA_WINDOWS, "bench", inst->bench->name, "label", pt->label, "event",
			 inst->bench->event, "null", inst->bench->null_is, "arch", host.machine,
			 "params", params_json(inst), "events_per_op",
			 (json_int_t)bench_events_per_op(inst), "executed_per_op",
			 (json_int_t)bench_executed_per_op(inst, ARM_FULL), "ops",
			 (json_int_t)windows_ops(inst), "prog", prog, "code", code, "windows",
			 windows_json(windows, nr), "failed",
			 pt->failed ? json_string(pt->error.text) : NULL, "unavailable",
			 pt->unavailable);
}

static int run_point(struct suite *s, struct point *pt, const struct plan *plan, uint64_t *total,
		     struct errline *e)
{
	json_t *prog = json_null(), *code = NULL;
	size_t nr = 0;
	int err = point_open(pt, e);

	if (err && err != -EBADMSG && (!plan->keep_going || err == -EINTR || err == -ENOMEM))
		return err;
	pt->unavailable = err && err != -EBADMSG;
	if (!err)
		err = run_rounds(s, pt, plan->rounds, plan->windows, &nr, e);
	if (err == -EINTR || err == -ENOMEM)
		return err;
	pt->failed = err;
	pt->error = *e;
	point_verify(pt);
	if (pt->inst.priv) {
		prog = prog_json(&pt->inst);
		err = plan->code && !pt->failed ? plan->code(&pt->inst, &code, e) : 0;
		pt->inst.bench->close(&pt->inst);
		if (err)
			return err;
	}
	*total += nr;
	err = json_line_put(plan->out, point_json(pt, plan->windows, nr, prog,
						  code ? code : json_null()));
	return err ? errline_set(e, err, "cannot write about windows: %s", strerror(-err)) : 0;
}

int windows_run(struct suite *s, uint32_t rounds, bool keep_going, windows_code code, FILE *f,
		struct errline *e)
{
	const struct plan plan = {
		.rounds = rounds,
		.windows = calloc(((size_t)rounds + 1) * MAX_KINDS, sizeof(*plan.windows)),
		.code = code,
		.keep_going = keep_going,
		.out = f,
	};
	uint64_t total = 0;
	int err = 0;

	if (!plan.windows)
		return errline_set(e, -ENOMEM, "out of memory");
	for (size_t i = 0; i < s->nr_points && !err; i++)
		err = interrupt_signal() ? -EINTR :
					   run_point(s, &s->points[i], &plan, &total, e);
	free(plan.windows);
	if (err)
		return err;
	err = json_line_put(f, json_pack("{s:s, s:I}", "schema", SCHEMA_WINDOWS, "total",
					 (json_int_t)total));
	return err ? errline_set(e, err, "cannot write about windows: %s", strerror(-err)) : 0;
}
