// SPDX-License-Identifier: BSD-2-Clause
/* The estimate of one bench, its interval, and the checks that say when not to believe it. */
#include "measure/estimate.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ALPHA 0.05
#define ALPHA_CHECK 0.001   /* of checks: a run has many rows, and a false alarm costs the figure */
#define LINEAR_MARGIN 0.03  /* of the ratio of slopes */
#define USABLE_SHARE 0.9    /* of its rounds */
#define STEADY_MARGIN 0.02  /* of the first quarter against the rest */
#define TRIGGER_SHARE 0.01  /* of a batch */
#define NULL_SHARE 0.25     /* of the null slope that the net cost should reach */
#define DRIFT_FACTOR 4      /* variance between groups over that expected from within them */
#define LONG_BATCH_NS 5e6
#define DISTURBED_SHARE 0.1 /* of batches */
#define MIN_CLEAN 20        /* rounds, */
#define CLEAN_SHARE 0.25    /* … and of all, for the others to be left out */

/* The batches of one round; NAN where there was none. */
struct round_times {
	double full[3], null[3], trigger; /* [enum batch_size], ns */
	double wall; /* of the full batch of size N, all producers together */
	bool preempted;
};

/*
 * Series over the rounds in use, ns per event; linearity is of every 4th. all_whole is of all
 * complete rounds: throughput (of all_wall) and batch averages are what they were, preempted or not.
 */
struct series {
	double *c, *b, *b0, *a, *whole, *linearity, *trigger, *all_whole, *all_wall;
	size_t nr, nr_linearity, nr_trigger, nr_all;
	size_t nr_halves; /* rounds with a batch of N/2 */
	double *memory;
};

void estimate_warn(struct estimate *est, const char *fmt, ...)
{
	va_list ap;

	if (est->nr_warnings == ESTIMATE_MAX_WARNINGS)
		return;
	va_start(ap, fmt);
	if (vasprintf(&est->warnings[est->nr_warnings], fmt, ap) >= 0)
		est->nr_warnings++;
	va_end(ap);
}

void estimate_release(struct estimate *est)
{
	for (size_t i = 0; i < est->nr_warnings; i++)
		free(est->warnings[i]);
	est->nr_warnings = 0;
}

static void collect_rounds(const struct estimate_input *in, struct round_times *rounds)
{
	for (uint32_t r = 0; r < in->rounds; r++)
		rounds[r] = (struct round_times){ { NAN, NAN, NAN }, { NAN, NAN, NAN }, NAN, NAN, false };
	for (size_t i = 0; i < in->nr_batches; i++) {
		const struct batch *b = &in->batches[i];

		if (b->round >= in->rounds)
			continue;
		rounds[b->round].preempted |= b->nivcsw > 0;
		if (b->arm == ARM_FULL && b->size == SIZE_N)
			rounds[b->round].wall = b->wall_ns;
		if (b->arm == ARM_FULL)
			rounds[b->round].full[b->size] = b->ns;
		else if (b->arm == ARM_NULL)
			rounds[b->round].null[b->size] = b->ns;
		else
			rounds[b->round].trigger = b->ns / (double)b->ops;
	}
}

static bool alloc_series(struct series *s, uint32_t rounds)
{
	double *p = calloc((size_t)rounds * 9, sizeof(*p));

	memset(s, 0, sizeof(*s));
	s->memory = p;
	s->c = p;
	s->b = p + rounds;
	s->b0 = p + 2 * (size_t)rounds;
	s->a = p + 3 * (size_t)rounds;
	s->whole = p + 4 * (size_t)rounds;
	s->linearity = p + 5 * (size_t)rounds;
	s->trigger = p + 6 * (size_t)rounds;
	s->all_whole = p + 7 * (size_t)rounds;
	s->all_wall = p + 8 * (size_t)rounds;
	return p != NULL;
}

/* Events that an operation of the measured program runs. */
static double executed_per_op(const struct estimate_input *in)
{
	return (double)(in->executed_per_op ? in->executed_per_op : in->events_per_op);
}

static bool is_complete(const struct round_times *r)
{
	return !isnan(r->full[SIZE_N] + r->full[SIZE_EIGHTH] + r->null[SIZE_N] + r->null[SIZE_EIGHTH]);
}

/* True if enough rounds remain without those that were preempted. */
static bool can_leave_out(const struct estimate_input *in, const struct round_times *rounds)
{
	uint32_t clean = 0, complete = 0;

	for (uint32_t r = 0; r < in->rounds; r++) {
		complete += is_complete(&rounds[r]);
		clean += is_complete(&rounds[r]) && !rounds[r].preempted;
	}
	return clean >= MIN_CLEAN && clean >= CLEAN_SHARE * complete;
}

/* Events of the batches of a round. */
struct round_sizes {
	double n, eighth;   /* of the measured program, as the figure counts them */
	double n0, eighth0; /* of the null program */
	double executed;    /* of n, what the measured program really ran */
};

static void find_sizes(const struct estimate_input *in, struct round_sizes *z)
{
	double per_op = (double)in->events_per_op;

	z->n = (double)in->n_full * per_op;
	z->n0 = (double)in->n_null * per_op;
	z->eighth = (double)batch_eighth(in->n_full, in->trig_batch_iters) * per_op;
	z->eighth0 = (double)batch_eighth(in->n_null, in->trig_batch_iters) * per_op;
	z->executed = (double)in->n_full * executed_per_op(in);
}

static void add_round(struct series *s, const struct round_times *r, const struct round_sizes *z)
{
	double b = (r->full[SIZE_N] - r->full[SIZE_EIGHTH]) / (z->n - z->eighth);
	double b0 = (r->null[SIZE_N] - r->null[SIZE_EIGHTH]) / (z->n0 - z->eighth0);
	double lower = (r->full[SIZE_HALF] - r->full[SIZE_EIGHTH]) / (z->n / 2 - z->eighth);
	double upper = (r->full[SIZE_N] - r->full[SIZE_HALF]) / (z->n / 2);

	s->b[s->nr] = b;
	s->b0[s->nr] = b0;
	s->c[s->nr] = b - b0;
	s->a[s->nr] = r->full[SIZE_EIGHTH] - b * z->eighth;
	s->whole[s->nr++] = r->full[SIZE_N] / z->executed;
	s->nr_halves += !isnan(lower);
	if (lower > 0 && upper > 0)
		s->linearity[s->nr_linearity++] = log(lower / upper);
	if (!isnan(r->trigger))
		s->trigger[s->nr_trigger++] = r->trigger;
}

static void fill_series(const struct estimate_input *in, const struct round_times *rounds,
			struct series *s)
{
	bool leave_out = can_leave_out(in, rounds);
	struct round_sizes z;

	find_sizes(in, &z);
	for (uint32_t r = 0; r < in->rounds; r++) {
		if (!is_complete(&rounds[r]))
			continue;
		s->all_wall[s->nr_all] = rounds[r].wall / z.executed;
		s->all_whole[s->nr_all++] = rounds[r].full[SIZE_N] / z.executed;
		if (!leave_out || !rounds[r].preempted)
			add_round(s, &rounds[r], &z);
	}
}

static double width(const struct interval *ci)
{
	return ci->hi - ci->lo;
}

/*
 * Medians of ten groups of rounds in time order, and a t interval from them. If they differ by more
 * than the scatter within them explains, the machine's speed drifted.
 */
static bool group_interval(const double *x, size_t n, struct interval *ci, double *drift)
{
	double medians[ESTIMATE_GROUPS], within = 0, mean, sd, half;

	if (n < 2 * ESTIMATE_GROUPS)
		return false;
	for (size_t g = 0; g < ESTIMATE_GROUPS; g++) {
		size_t from = g * n / ESTIMATE_GROUPS, to = (g + 1) * n / ESTIMATE_GROUPS;
		/* standard error of a median, of normal data */
		double se = 1.2533 * stats_mad_sigma(x + from, to - from) / sqrt((double)(to - from));

		medians[g] = stats_median(x + from, to - from);
		within += se * se / ESTIMATE_GROUPS;
	}
	mean = stats_mean(medians, ESTIMATE_GROUPS);
	sd = stats_stddev(medians, ESTIMATE_GROUPS);
	half = stats_t975(ESTIMATE_GROUPS - 1) * sd / sqrt(ESTIMATE_GROUPS);
	ci->lo = mean - half;
	ci->hi = mean + half;
	*drift = sd * sd > DRIFT_FACTOR * within && mean > 0 ? sd / mean : 0;
	return true;
}

/* The interval of the median of @x: the wider of the two. */
static void choose_interval(const double *x, size_t n, double median, struct estimate *est)
{
	struct interval groups;
	double drift = 0;

	est->ci_kind = stats_median_ci(x, n, ALPHA, &est->ci) ? INTERVAL_SIGN : INTERVAL_NONE;
	if (est->ci_kind == INTERVAL_NONE)
		estimate_warn(est, "%zu rounds are too few for a 95 %% interval (6 are needed); the range "
			      "of the rounds is shown", n);
	if (!group_interval(x, n, &groups, &drift))
		return;
	if (width(&groups) > width(&est->ci)) {
		est->ci.lo = fmin(groups.lo, median);
		est->ci.hi = fmax(groups.hi, median);
		est->ci_kind = INTERVAL_GROUPS;
	}
	if (drift > 0)
		estimate_warn(est, "machine speed drifted %.1f %% during the run; absolute ns are "
			      "\u00b1%.1f %%", 100 * drift, 100 * drift);
}

/*
 * True, and a warning, if the cost per event depends on the size of the batch. Where noise turns
 * slopes negative, their ratio says nothing.
 */
static bool is_nonlinear(const struct series *s, struct estimate *est)
{
	struct interval ci;

	est->linearity = NAN;
	if (!s->nr_linearity || s->nr_linearity < s->nr_halves * USABLE_SHARE)
		return false;
	est->linearity = exp(stats_median(s->linearity, s->nr_linearity));
	if (!stats_median_ci(s->linearity, s->nr_linearity, ALPHA_CHECK, &ci))
		return false;
	if (ci.lo <= log(1 + LINEAR_MARGIN) && ci.hi >= log(1 - LINEAR_MARGIN))
		return false;
	estimate_warn(est, "not linear in N (ratio of slopes %.3f: warm-up, cache growth or throttling); "
		      "T(N)/N is reported, with nothing subtracted", est->linearity);
	return true;
}

static void check_steady(const struct series *s, struct estimate *est)
{
	size_t quarter = s->nr / 4;
	double rest = stats_median(s->c + quarter, s->nr - quarter);
	struct interval ci;

	if (!stats_median_ci(s->c, quarter, ALPHA_CHECK, &ci) || rest <= 0)
		return;
	if (ci.lo > rest * (1 + STEADY_MARGIN) || ci.hi < rest * (1 - STEADY_MARGIN))
		estimate_warn(est, "no steady state: the first quarter of the run was %+.1f %% off the "
			      "rest; a longer warm-up (-w) or run (-d) may help",
			      100 * (stats_median(s->c, quarter) / rest - 1));
}

static void check_shares(const struct estimate_input *in, struct estimate *est, double batch_ns)
{
	if (!in->trig_batch_iters && !in->no_trigger && est->trigger > TRIGGER_SHARE * batch_ns)
		estimate_warn(est, "the trigger is %.1f %% of a batch: batches are short",
			      100 * est->trigger / batch_ns);
	if (est->distinguishable && est->value < NULL_SHARE * est->null)
		estimate_warn(est, "dominated by overhead: the net cost is %.0f %% of what is subtracted "
			      "(%.3g ns)", 100 * est->value / est->null, est->null);
	if (batch_ns > LONG_BATCH_NS)
		estimate_warn(est, "the shortest batch that can be timed takes %.1f ms, long enough to be "
			      "preempted", batch_ns / 1e6);
}

static void count_disturbances(const struct estimate_input *in, struct estimate *est)
{
	uint32_t last_round = UINT32_MAX;

	for (size_t i = 0; i < in->nr_batches; i++) {
		est->migrated += in->batches[i].migrated;
		est->interrupted += in->batches[i].nivcsw > 0;
		if (in->batches[i].round != last_round)
			est->steal += in->batches[i].steal;
		last_round = in->batches[i].round;
	}
	est->batches = (uint32_t)in->nr_batches;
	if (est->migrated > DISTURBED_SHARE * est->batches)
		estimate_warn(est, "%u of %u batches were moved to another CPU; -a pins producers",
			      est->migrated, est->batches);
	if (est->rounds == est->rounds_used && est->interrupted > DISTURBED_SHARE * est->batches)
		estimate_warn(est, "%u of %u batches were preempted, too many to leave out: the machine "
			      "is too busy", est->interrupted, est->batches);
}

/*
 * Events per second of the batches of size N, in ten groups: gross, triggers included. Producers need not run at the
 * same time, if they are more than the CPUs: so it is not their own times that count.
 */
static void compute_rate(const struct estimate_input *in, const struct series *s,
			 struct estimate *est)
{
	size_t groups = s->nr_all < ESTIMATE_GROUPS ? s->nr_all : ESTIMATE_GROUPS;
	double rates[ESTIMATE_GROUPS];

	for (size_t g = 0; g < groups; g++) {
		size_t from = g * s->nr_all / groups, to = (g + 1) * s->nr_all / groups;

		rates[g] = 1e3 * in->producers / stats_mean(s->all_wall + from, to - from);
	}
	est->rate_mean = stats_mean(rates, groups);
	est->rate_stddev = stats_stddev(rates, groups);
}

/*
 * A cost whose interval reaches 0 is not told apart from that of an empty program: the upper end is
 * what can be said, and nothing below 0 is ever reported.
 */
static void finish_value(struct estimate *est, double value)
{
	est->distinguishable = est->ci.lo > 0;
	if (!est->distinguishable) {
		est->below = est->ci.hi > 0 ? est->ci.hi : width(&est->ci) / 2;
		if (est->ci.hi <= 0)
			estimate_warn(est, "the null program cost more than the program (by %.3g ns): the "
				      "two do not add up on this machine", -value);
	}
	est->value = fmax(value, 0);
	est->ci.lo = fmax(est->ci.lo, 0);
	est->ci.hi = fmax(est->ci.hi, est->distinguishable ? 0 : est->below);
}

static void compute(const struct estimate_input *in, const struct series *s, struct estimate *est)
{
	const double *x;

	est->gross = stats_median(s->b, s->nr) * (double)in->events_per_op / executed_per_op(in);
	est->null = fmax(0, stats_median(s->b0, s->nr));
	est->floor = fmax(0, stats_quantile(s->c, s->nr, 0.05));
	est->intercept = fmax(0, stats_median(s->a, s->nr));
	est->rounds = (uint32_t)s->nr_all;
	est->rounds_used = (uint32_t)s->nr;
	est->trigger = in->no_trigger ? NAN :
		       s->nr_trigger ? stats_median(s->trigger, s->nr_trigger) : est->intercept;
	est->p50 = stats_quantile(s->all_whole, s->nr_all, 0.50);
	est->p95 = stats_quantile(s->all_whole, s->nr_all, 0.95);
	est->p99 = stats_quantile(s->all_whole, s->nr_all, 0.99);
	compute_rate(in, s, est);

	est->gross_only = is_nonlinear(s, est);
	x = est->gross_only ? s->whole : s->c;
	choose_interval(x, s->nr, stats_median(x, s->nr), est);
	finish_value(est, stats_median(x, s->nr));
	if (!est->gross_only && est->distinguishable)
		check_steady(s, est);
	check_shares(in, est, est->p50 * (double)in->n_full * executed_per_op(in));
	count_disturbances(in, est);
}

int estimate_compute(const struct estimate_input *in, struct estimate *est)
{
	struct round_times *rounds = calloc(in->rounds ? in->rounds : 1, sizeof(*rounds));
	struct series series;
	int err = 0;

	memset(est, 0, sizeof(*est));
	if (!rounds)
		return -ENOMEM;
	if (!alloc_series(&series, in->rounds ? in->rounds : 1)) {
		free(rounds);
		return -ENOMEM;
	}
	collect_rounds(in, rounds);
	fill_series(in, rounds, &series);
	if (series.nr)
		compute(in, &series, est);
	else
		err = -ENODATA;
	free(series.memory);
	free(rounds);
	return err;
}
