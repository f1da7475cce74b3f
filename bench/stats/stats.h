/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Distribution-free statistics over arrays of samples: medians, quantiles, and the sign test's order
 * statistics with exact binomial probabilities. Pure functions; what is done with the figures is in
 * estimate.c.
 */
#ifndef BPFLAB_STATS_H
#define BPFLAB_STATS_H

#include <stdbool.h>
#include <stddef.h>

struct interval {
	double lo, hi;
};

/* Quantile @q (0..1) of @x, linear between order statistics. @n must not be 0. */
double stats_quantile(const double *x, size_t n, double q);
double stats_median(const double *x, size_t n);

/* Median absolute deviation times 1.4826: an estimate of sigma that outliers do not move. */
double stats_mad_sigma(const double *x, size_t n);

double stats_mean(const double *x, size_t n);
/* Sample standard deviation (n - 1); 0 for fewer than two samples. */
double stats_stddev(const double *x, size_t n);

/* P(Bin(@n, 1/2) <= @k), summed in log space: exact to double precision for any @n. */
double stats_binom_half_cdf(size_t n, size_t k);

/*
 * The sign test's order statistic: the largest k with P(Bin(@n, 1/2) < k) <= @alpha / 2. The interval
 * [x_(k), x_(n+1-k)] then covers the median with probability >= 1 - @alpha. 0 if @n is too small.
 */
size_t stats_sign_k(size_t n, double alpha);

/* The interval above. Returns false (and the range of @x) if @n is too small for @alpha. */
bool stats_median_ci(const double *x, size_t n, double alpha, struct interval *ci);

/* The 97.5 % quantile of Student's t with @df >= 1 degrees of freedom. */
double stats_t975(size_t df);

#endif
