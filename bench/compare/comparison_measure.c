// SPDX-License-Identifier: BSD-2-Clause
/*
 * Measuring a comparison: loads, quads and looks. Nothing here knows which arm a batch is of, but for
 * the one that has to be told apart on paper: what decides (which quad is left out, when a load ends)
 * treats all arms alike, as otherwise the sign of a quad would be no fair coin.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "compare/comparison.h"
#include "machine/procfs.h"
#include "measure/progress.h"
#include "util/interrupt.h"

#define SHORTEST_NS_SHARE 0.25 /* of a batch that was calibrated: for the faster arm, if it costs … */
#define LONGEST_SHARE 25       /* … no more than that many times the batch of the slower */
#define MAX_DUMMIES 4          /* programs between those measured */
#define MAX_DUMMY_INSNS 1024
#define LOAD_WARMUP 3          /* batches of every arm after each load but the first */
#define WARMUP_SECONDS 4.0     /* of all rows, */
#define MAX_WARMUP 1.0         /* … and of each, */
#define MIN_WARMUP 0.1         /* … and no less than that */
#define MAX_TRIES 4            /* rounds for each undisturbed quad that is wanted */
#define SHORTENED 4            /* by what batches are shortened if most quads are disturbed */
#define SHORT_SLEEP_NS 50000
#define MIN_QUADS_PER_LOAD 4

enum random_purpose { ROUND_ORDER = 1u << 31, LOAD_ORDER = 1u << 30 };

struct dummies {
	int fds[QUAD_NR_ARMS * MAX_DUMMIES];
	size_t nr;
};

static bool is_active(const struct comparison_row *row)
{
	return !row->done && !row->failed;
}

static unsigned int nr_arms(const struct comparison *c)
{
	return c->control ? QUAD_NR_ARMS : QUAD_CONTROL;
}

static size_t quads_used(const struct comparison_row *row)
{
	return row->crowded ? row->nr_quads : row->nr_clean;
}

static bool is_wanted(const struct comparison_row *row, size_t goal)
{
	return is_active(row) && quads_used(row) < goal;
}

/* A row that fails its own checks is out; anything else ends the comparison. */
static int row_failed(struct comparison_row *row, int err, const struct errline *why,
		      struct errline *e)
{
	if (err == -EINTR || err == -ENOMEM) {
		*e = *why;
		return err;
	}
	row->failed = err;
	row->error = *why;
	return 0;
}

/* -------------------------------------------------------------- loads */

/* A program of random size that is never run: what is loaded next comes to lie elsewhere. */
static void load_dummy(struct rng *rng, const struct target *target, struct dummies *dummies)
{
	struct bpf_insn insns[MAX_DUMMY_INSNS];
	uint32_t n = 2 + rng_below(rng, MAX_DUMMY_INSNS - 2);
	struct errline why;
	int fd;

	for (uint32_t i = 0; i < n - 1; i++)
		insns[i] = (struct bpf_insn){ .code = BPF_ALU64 | BPF_MOV | BPF_K, .imm = (int)i };
	insns[n - 1] = (struct bpf_insn){ .code = BPF_JMP | BPF_EXIT };
	if (target_enter(target, &why))
		return;
	fd = bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "bpflab_dummy", "GPL", insns, n, NULL);
	target_leave(target);
	if (fd >= 0)
		dummies->fds[dummies->nr++] = fd;
}

static int open_arm(struct comparison *c, struct comparison_row *row, enum quad_arm arm,
		    struct errline *e)
{
	struct comparison_arm *a = &row->arms[arm];
	int err;

	a->live = (struct point){ .inst = { .bench = a->bench, .target = a->target,
					    .params = row->params } };
	err = point_open(&a->live, e);
	if (!err && !a->prog.known)
		prog_info_read(&a->live.inst, &a->prog);
	return err;
}

/* Arms in random order, with up to four dummies before each. */
static int open_row(struct comparison *c, struct comparison_row *row, struct dummies *dummies,
		    struct errline *e)
{
	struct rng rng = quad_rng(c->seed, row->idx, LOAD_ORDER | c->epochs);
	uint32_t order[QUAD_NR_ARMS] = { QUAD_A, QUAD_B, QUAD_CONTROL };
	int err = 0;

	rng_shuffle(&rng, order, nr_arms(c));
	for (unsigned int i = 0; i < nr_arms(c) && !err; i++) {
		const struct comparison_arm *arm = &row->arms[order[i]];
		uint32_t nr = rng_below(&rng, MAX_DUMMIES + 1);

		for (uint32_t d = 0; d < nr && arm->bench->flags & BENCH_NEEDS_BPF; d++)
			load_dummy(&rng, arm->target, dummies);
		err = interrupt_signal() ? -EINTR : open_arm(c, row, order[i], e);
	}
	if (!err && c->explain && !row->why)
		c->explain(row);
	return err;
}

/* Wrong results fail the row, like wrong counts later; what does not load is an error of the run. */
static int open_or_fail_row(struct comparison *c, struct comparison_row *row,
			    struct dummies *dummies, struct errline *e)
{
	struct errline why = { "" };
	int err = open_row(c, row, dummies, &why);

	if (err == -EBADMSG)
		return row_failed(row, err, &why, e);
	if (err)
		*e = why;
	return err;
}

static void close_row(struct comparison *c, struct comparison_row *row, struct dummies *dummies)
{
	for (unsigned int i = 0; i < nr_arms(c); i++) {
		struct point *pt = &row->arms[i].live;

		if (!pt->inst.priv)
			continue;
		if (!row->failed)
			point_verify(pt);
		if (pt->failed && !row->failed) {
			row->failed = pt->failed;
			row->error = pt->error;
		}
		row->expected += pt->expected;
		row->counted += pt->counted;
		pt->inst.bench->close(&pt->inst);
	}
	for (size_t i = 0; i < dummies->nr; i++)
		close(dummies->fds[i]);
	dummies->nr = 0;
}

/* -------------------------------------------------------------- batches */

/*
 * The operations of every batch of a row: what makes a batch of the right length of the slower arm, or
 * more if the faster one's would be too short to time.
 */
static int calibrate_row(struct comparison *c, struct comparison_row *row, struct errline *e)
{
	struct point *a = &row->arms[QUAD_A].live, *b = &row->arms[QUAD_B].live;
	int err = point_calibrate(&c->suite, a, e);
	double slow, fast;

	if (!err)
		err = point_calibrate(&c->suite, b, e);
	if (err)
		return err;
	slow = fmin((double)a->n_full, (double)b->n_full);
	fast = fmax((double)a->n_full, (double)b->n_full);
	row->ops = point_round_ops(a, fmax(slow, fmin(fast * SHORTEST_NS_SHARE, slow * LONGEST_SHARE)));
	row->events_per_op = bench_events_per_op(&a->inst);
	row->executed_per_op = bench_executed_per_op(&a->inst, ARM_FULL);
	return 0;
}

static int warm_row(struct comparison *c, struct comparison_row *row, double seconds,
		    struct errline *e)
{
	int err = 0;

	for (unsigned int i = 0; i < nr_arms(c) && !err; i++) {
		struct point *pt = &row->arms[i].live;

		pt->n_full = pt->n_null = row->ops;
		if (seconds > 0 && i < QUAD_CONTROL)
			err = point_warm_up(&c->suite, pt, seconds * 1e9 / 2, e);
		row->warmup_batches += pt->warmup_batches;
		for (int j = 0; j < LOAD_WARMUP && !err; j++) {
			struct batch full = { .arm = ARM_FULL, .ops = row->ops };
			struct batch null = { .arm = ARM_NULL, .ops = row->ops };

			err = point_batch(&c->suite, pt, &full, e);
			if (!err)
				err = point_batch(&c->suite, pt, &null, e);
		}
	}
	return err;
}

static void *grow(void *items, size_t *max, size_t nr, size_t size)
{
	size_t want = *max ? 2 * *max : 64;
	void *grown;

	if (nr < *max)
		return items;
	grown = realloc(items, want * size);
	if (grown)
		*max = want;
	return grown;
}

static int make_room(struct comparison_row *row, struct errline *e)
{
	void *quads = grow(row->quads, &row->max_quads, row->nr_quads, sizeof(*row->quads)), *batches;

	if (!quads)
		return errline_set(e, -ENOMEM, "out of memory");
	row->quads = quads;
	batches = grow(row->batches, &row->max_batches, row->nr_batches + QUAD_MAX_SLOTS,
		       sizeof(*row->batches));
	if (!batches)
		return errline_set(e, -ENOMEM, "out of memory");
	row->batches = batches;
	return 0;
}

static int run_quad(struct comparison *c, struct comparison_row *row, uint32_t number,
		    struct errline *e)
{
	struct quad quad = { .number = number, .load = c->epochs };
	struct quad_slot slots[QUAD_MAX_SLOTS];
	size_t nr = quad_plan(c->seed, row->idx, number, c->control, slots);
	uint64_t steal = procfs_steal_ticks();
	int err = make_room(row, e), cpu = -1;

	/* Who has just slept is let run for a while. */
	if (row->nr_quads && row->quads[row->nr_quads - 1].disturbed)
		nanosleep(&(struct timespec){ .tv_nsec = SHORT_SLEEP_NS }, NULL);

	for (size_t i = 0; i < nr && !err; i++) {
		struct comparison_batch cb = { .slot = slots[i], .position = (uint8_t)i,
					       .load = c->epochs };
		struct batch *b = &cb.batch;

		b->arm = slots[i].null ? ARM_NULL : ARM_FULL;
		b->ops = row->ops;
		b->round = number;
		b->t_ns = sample_now_ns() - c->begin_ns;
		err = point_batch(&c->suite, &row->arms[slots[i].arm].live, b, e);
		if (err)
			return err;
		if (slots[i].arm == QUAD_CONTROL && sample_fault() == FAULT_BIAS_CONTROL)
			b->ns *= 4;
		quad.ns[slots[i].arm][slots[i].null][slots[i].half] = fmax(b->ns, 1);
		quad.disturbed |= b->nivcsw > 0 || b->migrated || (cpu >= 0 && b->cpu != cpu);
		cpu = b->cpu;
		row->batches[row->nr_batches++] = cb;
	}
	if (err)
		return err;
	steal = procfs_steal_ticks() - steal;
	for (size_t i = 0; i < nr; i++)
		row->batches[row->nr_batches - 1 - i].batch.steal = (uint32_t)steal;
	row->quads[row->nr_quads++] = quad;
	row->nr_clean += !quad.disturbed;
	return 0;
}

/* -------------------------------------------------------------- rounds */

static bool time_is_up(struct comparison *c)
{
	if (c->max_seconds > 0 && (double)(sample_now_ns() - c->begin_ns) > c->max_seconds * 1e9)
		c->out_of_time = true;
	return c->out_of_time;
}

static void show_progress(const struct comparison *c, size_t goal)
{
	size_t settled = 0, quads = 0;
	double share, most = 0;
	char text[128];

	for (size_t i = 0; i < c->nr_rows; i++) {
		settled += !is_active(&c->rows[i]);
		quads = is_active(&c->rows[i]) ? quads_used(&c->rows[i]) : quads;
		most = fmax(most, (double)quads_used(&c->rows[i]));
	}
	share = most / c->rule.looks[c->rule.nr_looks - 1];
	if (c->max_seconds > 0)
		share = fmax(share, (double)(sample_now_ns() - c->begin_ns) / 1e9 / c->max_seconds);
	snprintf(text, sizeof(text), "%zu of %zu quads, %zu of %zu rows are settled", quads, goal, settled,
		 c->nr_rows);
	progress_show(fmin(share, 1), text);
}

/* Quads of all rows that want more, until each has @goal or has tried @tries times. */
static int run_rounds(struct comparison *c, size_t goal, size_t tries, uint32_t *order,
		      struct errline *e)
{
	struct errline why = { "" };

	for (size_t t = 0; t < tries && !time_is_up(c); t++) {
		struct rng rng = quad_rng(c->seed, 0, ROUND_ORDER | c->rounds);
		bool wanted = false;

		for (size_t i = 0; i < c->nr_rows; i++)
			order[i] = (uint32_t)i;
		rng_shuffle(&rng, order, c->nr_rows);
		for (size_t i = 0; i < c->nr_rows; i++) {
			struct comparison_row *row = &c->rows[order[i]];
			int err;

			if (!is_wanted(row, goal))
				continue;
			wanted = true;
			err = run_quad(c, row, c->rounds, &why);
			if (err)
				err = row_failed(row, err, &why, e);
			if (err)
				return err;
			show_progress(c, goal);
		}
		if (!wanted)
			return 0;
		c->rounds++;
	}
	return 0;
}

static double warmup_seconds(const struct comparison *c)
{
	double share = WARMUP_SECONDS / (double)c->nr_rows;

	if (c->epochs)
		return 0;
	return c->warmup >= 0 ? c->warmup : fmax(MIN_WARMUP, fmin(MAX_WARMUP, share));
}

static int prepare_row(struct comparison *c, struct comparison_row *row, double warmup,
		       struct errline *e)
{
	struct errline why = { "" };
	int err = 0;

	if (!row->ops)
		err = calibrate_row(c, row, &why);
	if (!err)
		err = warm_row(c, row, warmup, &why);
	return err ? row_failed(row, err, &why, e) : 0;
}

/* What is dropped now may not be measured again in time. */
static bool is_late(const struct comparison *c)
{
	return c->out_of_time || (c->max_seconds > 0 &&
				  (double)(sample_now_ns() - c->begin_ns) > c->max_seconds * 1e9 / 2);
}

/*
 * If most quads of @row are disturbed, somebody else wants the CPU. Shorter batches fit between; what was
 * measured with the long ones is dropped. If that does not help, or there is no time for it, all quads are used as
 * they are.
 */
static void relieve_row(const struct comparison *c, struct comparison_row *row, size_t goal)
{
	uint64_t ops = point_round_ops(&row->arms[QUAD_A].live, (double)row->ops / SHORTENED);
	bool most = 2 * row->nr_clean < row->nr_quads;

	if (row->shortened || row->nr_looks || ops >= row->ops || !most || is_late(c)) {
		row->crowded = c->out_of_time ? most : is_wanted(row, goal);
		return;
	}
	row->shortened = true;
	row->ops = ops;
	row->nr_quads = row->nr_clean = row->nr_batches = 0;
}

/* New loads of all arms of all rows that go on, and quads with them until each row has @goal. */
static int run_epoch(struct comparison *c, size_t goal, size_t share, struct dummies *dummies,
		     uint32_t *order, struct errline *e)
{
	double warmup = warmup_seconds(c);
	int err = 0;

	for (size_t i = 0; i < c->nr_rows && !err; i++)
		if (is_wanted(&c->rows[i], goal))
			err = open_or_fail_row(c, &c->rows[i], &dummies[i], e);
	for (size_t i = 0; i < c->nr_rows && !err; i++) {
		if (!is_wanted(&c->rows[i], goal))
			continue;
		progress_show(0, "warming up");
		err = prepare_row(c, &c->rows[i], warmup, e);
	}
	if (!c->epochs)
		c->begin_ns = sample_now_ns();
	if (!err)
		err = run_rounds(c, goal, MAX_TRIES * share, order, e);
	for (size_t i = 0; i < c->nr_rows; i++) {
		struct comparison_row *row = &c->rows[i];

		close_row(c, row, &dummies[i]);
		if (!err && is_active(row) && !row->crowded)
			relieve_row(c, row, goal);
	}
	c->epochs++;
	return err;
}

static int look_at_row(struct comparison *c, struct comparison_row *row, bool last)
{
	struct compare_stats st;
	size_t n;
	struct quad *used = comparison_used_quads(row, &n);
	int err = used ? compare_stats_look(used, n, &c->rule, &st) : -ENOMEM;

	free(used);
	if (err)
		return err;
	row->looks[row->nr_looks++] = (uint32_t)n;
	row->p_least = fmin(row->p_least, st.effect.p);
	row->done = last || (!c->to_the_end && compare_rule_decided(&c->rule, &st.suite, &st.effect));
	return 0;
}

static int look(struct comparison *c, size_t number, struct errline *e)
{
	bool last = number + 1 == c->rule.nr_looks || c->out_of_time;
	int err = 0;

	for (size_t i = 0; i < c->nr_rows && !err; i++)
		if (is_active(&c->rows[i]) && (last || quads_used(&c->rows[i]) >= c->rule.looks[number]))
			err = look_at_row(c, &c->rows[i], last);
	return err ? errline_set(e, err, "out of memory") : 0;
}

static bool any_active(const struct comparison *c)
{
	for (size_t i = 0; i < c->nr_rows; i++)
		if (is_active(&c->rows[i]))
			return true;
	return false;
}

/* A row whose long batches were dropped in the last epoch before a look, or that came to too few in it. */
static bool any_wanted(const struct comparison *c, size_t goal)
{
	for (size_t i = 0; i < c->nr_rows; i++)
		if (is_wanted(&c->rows[i], goal))
			return !c->out_of_time;
	return false;
}

static int measure(struct comparison *c, struct dummies *dummies, uint32_t *order, struct errline *e)
{
	size_t previous = 0;
	int err = 0;

	for (size_t i = 0; i < c->rule.nr_looks && !err && any_active(c) && !c->out_of_time; i++) {
		size_t step = c->rule.looks[i] - previous;
		size_t loads = c->loads < step / MIN_QUADS_PER_LOAD ? c->loads :
			       step >= 2 * MIN_QUADS_PER_LOAD ? step / MIN_QUADS_PER_LOAD : 1;

		for (size_t l = 0; l < loads && !err && any_active(c) && !c->out_of_time; l++) {
			size_t from = previous + step * l / loads, to = previous + step * (l + 1) / loads;

			do
				err = run_epoch(c, to, to - from, dummies, order, e);
			while (!err && l + 1 == loads && any_wanted(c, to));
		}
		if (!err)
			err = look(c, i, e);
		previous = c->rule.looks[i];
	}
	return err;
}

int comparison_measure(struct comparison *c, struct errline *e)
{
	struct dummies *dummies = calloc(c->nr_rows, sizeof(*dummies));
	uint32_t *order = calloc(c->nr_rows, sizeof(*order));
	uint64_t steal = procfs_steal_ticks(), total = procfs_total_ticks();
	int err;

	if (dummies && order)
		err = measure(c, dummies, order, e);
	else
		err = errline_set(e, -ENOMEM, "out of memory");
	total = procfs_total_ticks() - total;
	steal = procfs_steal_ticks() - steal;
	c->steal_percent = total ? 100.0 * (double)steal / (double)total : 0;
	c->seconds = (double)(sample_now_ns() - c->begin_ns) / 1e9;
	progress_end();
	free(dummies);
	free(order);
	return err;
}
