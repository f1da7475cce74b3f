// SPDX-License-Identifier: BSD-2-Clause
/*
 * A round of a point is a window of each arm and size, always in the same order. Before the first one
 * the same batches run without marks: lazy binding and first touches are over then. On a kernel, where
 * attaching is dear and gives a program another trampoline each time, all rounds of an arm run before those
 * of the next. What is to be said
 * about windows is said after the last one: the paths that malloc() takes in a trigger depend on what
 * was allocated before.
 */
#include "count/windows.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "count/kernel_symbols.h"
#include "measure/mark.h"
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

/* The kernel's symbols while the program of a point was attached; those of the image are told once. */
struct symbol_texts {
	bool wanted, image_told;
	struct text_buf image, made;
};

/* What is the same for all points. */
struct plan {
	uint32_t rounds;
	struct batch *windows; /* MAX_KINDS for each round, and as many more */
	windows_code code;
	bool keep_going;
	struct symbol_texts *symbols;
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

/* Run @nr windows into @windows; *@ran: how many of them the plugin saw. */
static int run_windows(struct suite *s, struct point *pt, const struct batch *plan, size_t nr, bool marked,
		       uint32_t round, struct batch *windows, size_t *ran, struct errline *e)
{
	int err = 0;

	for (size_t i = 0; i < nr && !err; i++) {
		windows[i] = plan[i];
		windows[i].marked = marked;
		windows[i].after_tick = marked && pt->inst.target->kind == &target_kind_host;
		windows[i].round = round;
		*ran += marked;
		/* a window that fails was seen all the same */
		err = point_batch(s, pt, &windows[i], e);
	}
	return err;
}

/* The windows of one arm, or of all, in each round. */
static int run_arms(struct suite *s, struct point *pt, const struct batch *plan, size_t nr, uint32_t rounds,
		    struct batch *windows, size_t *ran, struct errline *e)
{
	int err = run_windows(s, pt, plan, nr, false, 0, windows + *ran, ran, e);

	for (uint32_t r = 0; r < rounds && !err; r++)
		err = run_windows(s, pt, plan, nr, true, r, windows + *ran, ran, e);
	return err;
}

static int run_rounds(struct suite *s, struct point *pt, const struct plan *plan, size_t *ran,
		      struct errline *e)
{
	bool by_arm = pt->inst.target->kind == &target_kind_host;
	struct symbol_texts *symbols = plan->symbols;
	struct batch all[MAX_KINDS];
	size_t nr = plan_round(pt, all), end;
	int err = 0;

	*ran = 0;
	mark_ready();
	sched_yield(); /* see mark.h */
	for (size_t i = 0; i < nr && !err; i = end) {
		for (end = i + 1; end < nr && (!by_arm || all[end].arm == all[i].arm); end++)
			;
		err = run_arms(s, pt, all + i, end - i, plan->rounds, plan->windows, ran, e);
		if (!err && by_arm && symbols->wanted && all[i].arm == ARM_FULL)
			err = kernel_symbols_read(symbols->image_told ? NULL : &symbols->image,
						  &symbols->made, e);
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
	if (inst->params.stacktrace)
		json_object_set_new(o, "stacktrace", json_true());
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

/* "symbols" of @line, and with those of the first point "image_symbols". */
static void tell_symbols(json_t *line, struct symbol_texts *t)
{
	if (t->image.text)
		json_object_set_new(line, "image_symbols", json_string(t->image.text));
	if (t->made.text)
		json_object_set_new(line, "symbols", json_string(t->made.text));
	t->image_told |= t->image.text != NULL;
	free(t->image.text);
	free(t->made.text);
	t->image = t->made = (struct text_buf){ 0 };
}

static int run_point(struct suite *s, struct point *pt, const struct plan *plan, uint64_t *total,
		     struct errline *e)
{
	json_t *prog = json_null(), *code = NULL, *line;
	size_t nr = 0;
	int err = point_open(pt, e);

	if (err && err != -EBADMSG && (!plan->keep_going || err == -EINTR || err == -ENOMEM))
		return err;
	pt->unavailable = err && err != -EBADMSG;
	if (!err)
		err = run_rounds(s, pt, plan, &nr, e);
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
	line = point_json(pt, plan->windows, nr, prog, code ? code : json_null());
	tell_symbols(line, plan->symbols);
	err = json_line_put(plan->out, line);
	return err ? errline_set(e, err, "cannot write about windows: %s", strerror(-err)) : 0;
}

int windows_run(struct suite *s, const struct windows_settings *settings, FILE *f, struct errline *e)
{
	struct symbol_texts symbols = { .wanted = settings->symbols };
	const struct plan plan = {
		.rounds = settings->rounds,
		.windows = calloc(((size_t)settings->rounds + 1) * MAX_KINDS, sizeof(*plan.windows)),
		.code = settings->code,
		.keep_going = settings->keep_going,
		.symbols = &symbols,
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
	free(symbols.image.text);
	free(symbols.made.text);
	if (err)
		return err;
	err = json_line_put(f, json_pack("{s:s, s:I}", "schema", SCHEMA_WINDOWS, "total",
					 (json_int_t)total));
	return err ? errline_set(e, err, "cannot write about windows: %s", strerror(-err)) : 0;
}
