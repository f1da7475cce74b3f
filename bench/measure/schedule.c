// SPDX-License-Identifier: BSD-2-Clause
/*
 * Measuring the points of a suite: calibration, warm-up, and the rounds.
 *
 * Samples taken in one burst share the machine's mood of that moment, and an interval made from them
 * is too narrow, the more so the more of them there are. So the rounds of every point are spread over
 * the whole run, interleaved with those of all others in random order. A run of 10 s with 3 points:
 *
 *	|   b  c a | a    b  c |  c a  b   | …            100 rounds of 100 ms
 *
 * Each letter is a point's round of about half a millisecond: its batches in random order, after one
 * untimed batch if the processor idled before. The gaps between them are random as well.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "machine/procfs.h"
#include "measure/progress.h"
#include "measure/suite.h"
#include "stats/stats.h"
#include "util/interrupt.h"

#define BATCH_NS 200e3          /* what a batch should take, */
#define BATCH_TRIGGERS 150      /* … but not less than this many triggers would */
#define LONG_BATCH_NS 5e6       /* … if that is no longer than this; then, this many: */
#define MIN_BATCH_TRIGGERS 8
#define MAX_BATCH_NS 50e6
#define MAX_OPS (4u << 20)      /* below BPF_MAX_LOOPS, whatever an operation costs */
#define MAX_EVENTS (1ull << 31) /* what a program can return */
#define AGREE 0.2               /* two calibrations agree if they differ by less */
#define MAX_CALIBRATIONS 60
#define WARMUP_GROUP 10
#define WARMUP_MIN_NS 50e6
#define WARMUP_SETTLED 0.02
#define DEFAULT_ROUNDS 100
#define MIN_ROUNDS 8
#define TRIGGER_BATCH 32 /* triggers in a batch of ARM_TRIGGER */
#define HALF_EVERY 4      /* rounds with a batch of N/2 */
#define MAX_BATCHES_PER_ROUND 6

/* Run a batch of @pt outside the rounds. Events count towards the check at the end all the same. */
static int run_batch(struct suite *s, struct point *pt, struct batch *b, struct errline *e)
{
	int err = interrupt_signal() ? -EINTR : sample_batch(&pt->inst, s->producers, b, e);

	if (b->arm == ARM_FULL) {
		pt->expected += b->expected;
		pt->counted += b->events;
	}
	return err == -EINTR && !interrupt_signal() ? -EIO : err;
}

static uint64_t batch_unit(const struct point *pt)
{
	return 8 * (pt->inst.params.trig_batch_iters ? pt->inst.params.trig_batch_iters : 1);
}

/* @ops rounded down to what splits into eighths of whole triggers, within the limits. */
static uint64_t round_ops(const struct point *pt, double ops)
{
	uint64_t unit = batch_unit(pt);
	uint64_t max = MAX_EVENTS / bench_executed_per_op(&pt->inst, ARM_FULL);

	if (max > MAX_OPS)
		max = MAX_OPS;
	if (ops > (double)max)
		ops = (double)max;
	return ops < (double)unit ? unit : (uint64_t)ops / unit * unit;
}

/*
 * What a trigger costs, about: the least of a few. A trigger can be dear: the kernel patches its XDP
 * dispatcher in each test run of an XDP program.
 */
static int measure_trigger(struct suite *s, struct point *pt, double *ns, struct errline *e)
{
	unsigned int flags = pt->inst.bench->flags;
	struct batch bare = { .arm = ARM_TRIGGER, .ops = TRIGGER_BATCH };
	struct batch smallest = { .arm = ARM_NULL, .ops = 2 };
	struct batch *b = flags & BENCH_NO_EMPTY_TRIGGER ? &smallest : &bare;
	double least = INFINITY;

	*ns = 0;
	if (!(flags & (BENCH_HAS_TRIGGER | BENCH_NO_EMPTY_TRIGGER)))
		return 0;
	for (int i = 0; i < 3; i++) {
		int err = run_batch(s, pt, b, e);

		if (err)
			return err;
		least = fmin(least, b == &bare ? b->ns / TRIGGER_BATCH : b->ns);
	}
	*ns = pt->inst.params.trig_batch_iters ? 0 : least;
	return 0;
}

static double choose_batch_ns(double trigger_ns)
{
	double ns = fmin(LONG_BATCH_NS, BATCH_TRIGGERS * trigger_ns);

	ns = fmax(ns, MIN_BATCH_TRIGGERS * trigger_ns);
	return fmin(MAX_BATCH_NS, fmax(BATCH_NS, ns));
}

/*
 * The operations of @arm that make a batch of the right length: grown from the smallest batch, until
 * two estimates in a row agree.
 */
static int calibrate(struct suite *s, struct point *pt, enum bench_arm arm, double trigger_ns,
		     uint64_t *n, struct errline *e)
{
	double batch_ns = choose_batch_ns(trigger_ns);
	uint64_t ops = batch_unit(pt), want = ops, previous = 0;
	int err;

	for (int i = 0; i < MAX_CALIBRATIONS; i++) {
		struct batch b = { .arm = arm, .ops = ops };
		double net_ns;

		err = run_batch(s, pt, &b, e);
		if (err)
			return err;
		/* Growth by more than tenfold would trust a cold first batch too much. */
		net_ns = fmax(b.ns - trigger_ns, 1);
		want = round_ops(pt, fmin((double)ops * batch_ns / net_ns, (double)ops * 10));
		if (net_ns > batch_ns / 4 || want == ops) {
			if (fabs((double)want - (double)previous) <= AGREE * (double)want)
				break;
			previous = want;
		}
		ops = want;
	}
	*n = want;
	return 0;
}

/* Eight long operations can take milliseconds; two or four then have to do. */
static int shorten(struct suite *s, struct point *pt, enum bench_arm arm, uint64_t *n,
		   struct errline *e)
{
	double least = INFINITY;

	if (*n > batch_unit(pt))
		return 0;
	for (int i = 0; i < 2; i++) {
		struct batch b = { .arm = arm, .ops = *n };
		int err = run_batch(s, pt, &b, e);

		if (err)
			return err;
		least = fmin(least, b.ns);
	}
	if (least > 4 * BATCH_NS)
		*n /= 4;
	else if (least > 2 * BATCH_NS)
		*n /= 2;
	return 0;
}

/* Both arms in turn, or where that is dear, one after the other. */
static int warm_up_group(struct suite *s, struct point *pt, double group[WARMUP_GROUP], struct errline *e)
{
	const bool apart = pt->inst.bench->flags & BENCH_DEAR_PREPARE;
	int err = 0;

	for (int i = 0; i < 2 * WARMUP_GROUP && !err; i++) {
		const bool full = apart ? i < WARMUP_GROUP : i % 2 == 0;
		struct batch b = { .arm = full ? ARM_FULL : ARM_NULL, .ops = full ? pt->n_full : pt->n_null };

		err = run_batch(s, pt, &b, e);
		if (full)
			group[apart ? i : i / 2] = b.ns;
	}
	return err;
}

/*
 * Batches until the medians of three groups in a row agree, but for no less than WARMUP_MIN_NS and no
 * more than @max_ns.
 */
static int warm_up(struct suite *s, struct point *pt, double max_ns, struct errline *e)
{
	double medians[3] = { 0 }, group[WARMUP_GROUP];
	double begin = (double)sample_now_ns(), elapsed = 0;
	size_t groups = 0;
	int err = 0;

	while (!pt->warmup_settled && elapsed < max_ns) {
		err = warm_up_group(s, pt, group, e);
		if (err)
			return err;
		pt->warmup_batches += WARMUP_GROUP;
		medians[groups++ % 3] = stats_median(group, WARMUP_GROUP);
		elapsed = (double)sample_now_ns() - begin;
		if (groups >= 3 && elapsed >= fmin(WARMUP_MIN_NS, max_ns)) {
			double lo = fmin(medians[0], fmin(medians[1], medians[2]));
			double hi = fmax(medians[0], fmax(medians[1], medians[2]));

			pt->warmup_settled = hi <= lo * (1 + WARMUP_SETTLED);
		}
	}
	return 0;
}

static int add_batch(struct point *pt, const struct batch *b)
{
	if (pt->nr_batches == pt->max_batches) {
		size_t max = pt->max_batches ? 2 * pt->max_batches : 64;
		struct batch *grown = realloc(pt->batches, max * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		pt->batches = grown;
		pt->max_batches = max;
	}
	pt->batches[pt->nr_batches++] = *b;
	return 0;
}

/* Where changing arms is dear, those of each arm together: the measured one first, or last. */
static void group_arms(struct suite *s, uint32_t *order, const struct batch *batches, size_t nr)
{
	const bool full_first = rng_unit(&s->rng) < 0.5;
	uint32_t grouped[MAX_BATCHES_PER_ROUND];
	size_t n = 0;

	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < nr; i++)
			if ((batches[order[i]].arm == ARM_FULL) == (full_first == (pass == 0)))
				grouped[n++] = order[i];
	memcpy(order, grouped, nr * sizeof(*order));
}

/* The batches of one round of @pt, in random order. */
static size_t plan_round(struct suite *s, const struct point *pt, uint32_t round,
			 struct batch *planned)
{
	uint32_t iters = pt->inst.params.trig_batch_iters;
	struct batch batches[MAX_BATCHES_PER_ROUND] = {
		{ .arm = ARM_FULL, .size = SIZE_N, .ops = pt->n_full },
		{ .arm = ARM_FULL, .size = SIZE_EIGHTH, .ops = batch_eighth(pt->n_full, iters) },
		{ .arm = ARM_NULL, .size = SIZE_N, .ops = pt->n_null },
		{ .arm = ARM_NULL, .size = SIZE_EIGHTH, .ops = batch_eighth(pt->n_null, iters) },
	};
	uint32_t order[MAX_BATCHES_PER_ROUND] = { 0, 1, 2, 3, 4, 5 };
	size_t nr = 4;

	if (round % HALF_EVERY == 0 && pt->n_full / 2 > batch_eighth(pt->n_full, iters))
		batches[nr++] = (struct batch){ .arm = ARM_FULL, .size = SIZE_HALF,
						.ops = pt->n_full / 2 };
	if (pt->inst.bench->flags & BENCH_HAS_TRIGGER)
		batches[nr++] = (struct batch){ .arm = ARM_TRIGGER, .ops = TRIGGER_BATCH };
	rng_shuffle(&s->rng, order, nr);
	if (pt->inst.bench->flags & BENCH_DEAR_PREPARE)
		group_arms(s, order, batches, nr);
	for (size_t i = 0; i < nr; i++) {
		planned[i] = batches[order[i]];
		planned[i].round = round;
	}
	return nr;
}

static int point_round(struct suite *s, struct point *pt, uint32_t round, struct errline *e)
{
	struct batch planned[MAX_BATCHES_PER_ROUND];
	size_t nr = plan_round(s, pt, round, planned), first = pt->nr_batches;
	uint64_t begin = sample_now_ns(), steal = procfs_steal_ticks();

	for (size_t i = 0; i < nr; i++) {
		int err;

		planned[i].t_ns = sample_now_ns() - s->begin_ns;
		err = run_batch(s, pt, &planned[i], e);
		if (err)
			return err;
		if (add_batch(pt, &planned[i]))
			return errline_set(e, -ENOMEM, "out of memory");
	}
	steal = procfs_steal_ticks() - steal;
	for (size_t i = first; i < pt->nr_batches; i++)
		pt->batches[i].steal = (uint32_t)steal;
	pt->round_ns = fmax(pt->round_ns, (double)(sample_now_ns() - begin));
	return 0;
}

/* Sleep, unless it is not worth it or a signal came. True if the processor may have idled. */
static bool idle_for(double ns)
{
	struct timespec ts = { .tv_sec = (time_t)(ns / 1e9), .tv_nsec = (long)fmod(ns, 1e9) };

	if (ns < 100e3 || interrupt_signal())
		return false;
	nanosleep(&ts, NULL);
	return true;
}

/* A point that fails its own checks is out; anything else ends the run. */
static int point_failed(struct point *pt, int err, const struct errline *why, struct errline *e)
{
	if (err == -EINTR || err == -ENOMEM) {
		*e = *why;
		return err;
	}
	pt->failed = err;
	pt->error = *why;
	return 0;
}

static double work_left(const struct suite *s, const uint32_t *order, size_t from)
{
	double ns = 0;

	for (size_t i = from; i < s->nr_points; i++)
		if (!s->points[order[i]].failed)
			ns += s->points[order[i]].round_ns;
	return ns;
}

/*
 * One round of all points within the time up to @deadline_ns, as far as that suffices. What is left of
 * it in the end passes before the next round, unless this is the last.
 */
static int suite_round(struct suite *s, uint32_t *order, uint32_t round, double deadline_ns,
		       struct errline *e)
{
	struct errline why = { "" };
	int err = 0;

	rng_shuffle(&s->rng, order, s->nr_points);
	for (size_t i = 0; i < s->nr_points && !err; i++) {
		struct point *pt = &s->points[order[i]];
		double now = (double)(sample_now_ns() - s->begin_ns);
		double spare = deadline_ns - now - work_left(s, order, i);
		/* k points at random times split the spare time: the first gap of k + 1 */
		double k = (double)(s->nr_points - i);
		/* drawn in any case: what a seed replays must not depend on time */
		double gap = spare * (1 - pow(1 - rng_unit(&s->rng), 1 / k));

		if (pt->failed)
			continue;
		if (idle_for(gap)) {
			struct batch warm = { .arm = ARM_FULL, .ops = pt->n_full };

			err = run_batch(s, pt, &warm, &why);
		}
		if (!err)
			err = point_round(s, pt, round, &why);
		if (err)
			err = point_failed(pt, err, &why, e);
		progress_round(s, pt, now / 1e9);
	}
	if (!err && round + 1 < s->rounds)
		idle_for(deadline_ns - (double)(sample_now_ns() - s->begin_ns));
	return err;
}

static int prepare_point(struct suite *s, struct point *pt, double warmup_ns, struct errline *e)
{
	struct errline why = { "" };
	double trigger_ns;
	int err;

	if (pt->failed)
		return 0;
	err = measure_trigger(s, pt, &trigger_ns, &why);
	if (!err)
		err = calibrate(s, pt, ARM_FULL, trigger_ns, &pt->n_full, &why);
	if (!err)
		err = calibrate(s, pt, ARM_NULL, trigger_ns, &pt->n_null, &why);
	if (!err)
		err = shorten(s, pt, ARM_FULL, &pt->n_full, &why);
	if (!err)
		err = shorten(s, pt, ARM_NULL, &pt->n_null, &why);
	if (!err)
		err = warm_up(s, pt, warmup_ns, &why);
	/* What a round takes, from one that is thrown away. */
	if (!err)
		err = point_round(s, pt, 0, &why);
	pt->nr_batches = 0;
	return err ? point_failed(pt, err, &why, e) : 0;
}

/*
 * Warm-up may take a quarter of the run, shared by the points, and at most a second for each; a
 * point is given 50 ms in any case.
 */
static double warmup_limit(const struct suite *s, const struct opts *opts, double duration)
{
	double ns = fmin(1e9, 0.25e9 * duration / (double)s->nr_points);

	return opts->warmup >= 0 ? opts->warmup * 1e9 : fmax(ns, WARMUP_MIN_NS);
}

static void plan_rounds(struct suite *s, const struct opts *opts, const uint32_t *order,
			double duration)
{
	double per_round = work_left(s, order, 0);

	s->rounds = opts->rounds ? opts->rounds : DEFAULT_ROUNDS;
	if (!opts->rounds && per_round * s->rounds > duration * 1e9)
		s->rounds = (uint32_t)fmax(MIN_ROUNDS, duration * 1e9 / per_round);
}

static bool any_left(const struct suite *s)
{
	for (size_t i = 0; i < s->nr_points; i++)
		if (!s->points[i].failed)
			return true;
	return false;
}

static int measure(struct suite *s, const struct opts *opts, uint32_t *order, struct errline *e)
{
	double duration = opts->duration > 0 ? opts->duration : 10;
	double warmup = warmup_limit(s, opts, duration);
	int err = 0;

	for (size_t i = 0; i < s->nr_points; i++)
		order[i] = (uint32_t)i;
	for (size_t i = 0; i < s->nr_points && !err; i++) {
		progress_prepare(s, i);
		err = prepare_point(s, &s->points[i], warmup, e);
	}
	plan_rounds(s, opts, order, duration);
	s->begin_ns = sample_now_ns();
	/* points that are out need no time */
	for (uint32_t r = 0; r < s->rounds && !err && any_left(s); r++) {
		err = suite_round(s, order, r, duration * 1e9 * (r + 1) / s->rounds, e);
		s->rounds_done += !err;
	}
	s->seconds = (double)(sample_now_ns() - s->begin_ns) / 1e9;
	return err;
}

int suite_measure(struct suite *s, const struct opts *opts, struct errline *e)
{
	uint32_t *order = calloc(s->nr_points, sizeof(*order));
	int err;

	if (!order)
		return errline_set(e, -ENOMEM, "out of memory");
	progress_begin(opts);
	err = measure(s, opts, order, e);
	progress_end();
	free(order);
	return err;
}

int point_calibrate(struct suite *s, struct point *pt, struct errline *e)
{
	double trigger_ns;
	int err = measure_trigger(s, pt, &trigger_ns, e);

	return err ? err : calibrate(s, pt, ARM_FULL, trigger_ns, &pt->n_full, e);
}

int point_warm_up(struct suite *s, struct point *pt, double max_ns, struct errline *e)
{
	return warm_up(s, pt, max_ns, e);
}

uint64_t point_round_ops(const struct point *pt, double ops)
{
	return round_ops(pt, ops);
}

int point_batch(struct suite *s, struct point *pt, struct batch *b, struct errline *e)
{
	return run_batch(s, pt, b, e);
}
