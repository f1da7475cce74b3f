/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How much one arm of a comparison differs from another: from a series of log-ratios, one per quad,
 * their median, its interval and the sign test. No assumption about the noise is made.
 *
 * Quads are grouped by load. If the groups may differ, a load of a program is a sample of its own (where
 * it came to lie in memory matters), and there are only as many as there were loads: then the interval is
 * Student's from the groups' medians, if that is wider, and the p-value is the larger one. "May" is meant:
 * loads count as equal only if a test at 20 % finds nothing, as it takes large differences to find any
 * among few loads, and smaller ones are enough to make the narrow interval wrong.
 */
#ifndef BPFLAB_EFFECT_H
#define BPFLAB_EFFECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stats/stats.h"

struct effect {
	double log_ratio;
	struct interval ci;   /* at level 1 - alpha, of the log-ratio */
	struct interval inner; /* at 1 - 2 alpha: two one-sided tests at alpha each */
	bool has_ci;          /* false: too few quads; the intervals are the range */
	double p;             /* two-sided */
	size_t n, plus, minus, ties;
	double sigma;         /* of the series, from its median absolute deviation */
	size_t loads;
	bool by_loads;        /* the interval is that of the loads, */
	bool loads_differ;    /* … and they certainly differ */
	double load_sigma;    /* of the loads' medians, if by_loads; else 0 */
};

/* @load: the load of each quad, in ascending order; NULL: all are of one. Returns 0 or -ENOMEM. */
int effect_compute(const double *d, const uint32_t *load, size_t n, double alpha,
		   struct effect *effect);

/* True if the interval does not hold 0. */
bool effect_excludes_zero(const struct effect *effect);

/* The two-sided sign test: @plus positive and @minus negative values. */
double effect_sign_p(size_t plus, size_t minus);

#endif
