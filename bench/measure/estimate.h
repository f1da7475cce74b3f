/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From the batches of a point to its figures. Per round j, in ns per event:
 *
 *	b_j = (T(N) - T(N/8)) / (N - N/8)      slope: what one more event costs; no trigger in it
 *	b0_j                                   the same of the null program
 *	c_j = b_j - b0_j                       net cost: what the bench claims
 *	a_j = T(N/8) - b_j N/8                 intercept: what a trigger costs, if there are no
 *	                                       batches of bare triggers that say so directly
 *
 * A round with a batch that was preempted is left out if enough others remain: that it was does not
 * depend on what the program is, and its time would not be the program's.
 *
 * The estimate is the median of c_j, its interval the wider of the sign test's and of one from the
 * medians of ten groups in time order, which knows about slow drift.
 */
#ifndef BPFLAB_ESTIMATE_H
#define BPFLAB_ESTIMATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "measure/sample.h"
#include "stats/stats.h"

#define ESTIMATE_GROUPS 10
#define ESTIMATE_MAX_WARNINGS 16

/* What a point is, as far as its figures are concerned. */
struct estimate_input {
	const struct batch *batches;
	size_t nr_batches;
	uint32_t rounds;
	uint64_t n_full, n_null;     /* operations */
	uint64_t events_per_op;      /* that the figure counts */
	uint64_t executed_per_op;    /* by the measured program; 0: the same */
	uint32_t producers;
	uint32_t trig_batch_iters;
	bool no_trigger;             /* there is none, or each event is one: nothing to report */
};

enum estimate_interval {
	INTERVAL_NONE,   /* too few rounds */
	INTERVAL_SIGN,
	INTERVAL_GROUPS, /* the machine drifted */
};

struct estimate {
	double value;           /* ns per event, never negative */
	struct interval ci;     /* 95 %, cut off at 0 */
	enum estimate_interval ci_kind;
	bool distinguishable;   /* from an empty program */
	double below;           /* if not: the cost is less than this */
	bool gross_only;        /* not linear: value is T(N)/N, with nothing subtracted */
	double gross, null, intercept, floor;
	double trigger;         /* NAN if there is none to report */
	double p50, p95, p99;   /* of T(N)/N: batch averages, not the latencies of operations */
	double linearity;       /* slope from N/8 to N/2 over that from N/2 to N; NAN: unknown */
	double rate_mean, rate_stddev; /* million events per second of all producers */
	uint32_t migrated, interrupted, batches;
	uint32_t rounds, rounds_used; /* complete ones, and those not left out */
	uint32_t steal;
	char *warnings[ESTIMATE_MAX_WARNINGS];
	size_t nr_warnings;
};

/* Returns 0, -ENOMEM, or -ENODATA without a single complete round. */
int estimate_compute(const struct estimate_input *in, struct estimate *est);
void estimate_release(struct estimate *est);
__attribute__((format(printf, 2, 3))) void estimate_warn(struct estimate *est, const char *fmt, ...);

#endif
