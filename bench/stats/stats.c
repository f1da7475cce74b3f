// SPDX-License-Identifier: BSD-2-Clause
/* Medians, quantiles and the sign test; see stats.h. */
#include "stats/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* A sorted copy of @x; NULL if out of memory. */
static double *sorted_copy(const double *x, size_t n)
{
	double *s = malloc(n * sizeof(*s));

	if (!s)
		return NULL;
	memcpy(s, x, n * sizeof(*s));
	qsort(s, n, sizeof(*s), compare_doubles);
	return s;
}

double stats_quantile(const double *x, size_t n, double q)
{
	double *s = n ? sorted_copy(x, n) : NULL;
	double pos, result;
	size_t below;

	if (!s)
		return NAN;
	pos = q * (double)(n - 1);
	below = (size_t)pos;
	result = s[below];
	if (below + 1 < n)
		result += (pos - (double)below) * (s[below + 1] - s[below]);
	free(s);
	return result;
}

double stats_median(const double *x, size_t n)
{
	return stats_quantile(x, n, 0.5);
}

double stats_mad_sigma(const double *x, size_t n)
{
	double median = stats_median(x, n), result;
	double *dev = n ? malloc(n * sizeof(*dev)) : NULL;

	if (!dev)
		return NAN;
	for (size_t i = 0; i < n; i++)
		dev[i] = fabs(x[i] - median);
	result = 1.4826 * stats_median(dev, n);
	free(dev);
	return result;
}

double stats_mean(const double *x, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += x[i];
	return n ? sum / (double)n : NAN;
}

double stats_stddev(const double *x, size_t n)
{
	double mean = stats_mean(x, n), sum = 0;

	if (n < 2)
		return 0;
	for (size_t i = 0; i < n; i++)
		sum += (x[i] - mean) * (x[i] - mean);
	return sqrt(sum / (double)(n - 1));
}

/* ln P(Bin(n, 1/2) = k) */
static double log_binom_half(size_t n, size_t k)
{
	return lgamma((double)n + 1) - lgamma((double)k + 1) - lgamma((double)(n - k) + 1) -
	       (double)n * M_LN2;
}

/* ln(e^a + e^b) without overflow */
static double log_add(double a, double b)
{
	double hi = a > b ? a : b, lo = a > b ? b : a;

	return isinf(hi) ? hi : hi + log1p(exp(lo - hi));
}

double stats_binom_half_cdf(size_t n, size_t k)
{
	double log_p = -INFINITY;

	if (k >= n)
		return 1;
	for (size_t i = 0; i <= k; i++)
		log_p = log_add(log_p, log_binom_half(n, i));
	return fmin(1, exp(log_p));
}

size_t stats_sign_k(size_t n, double alpha)
{
	double log_p = -INFINITY, limit = log(alpha / 2);
	size_t k = 0;

	/* log_p is ln P(X < k + 1) in the loop. */
	while (k < n) {
		log_p = log_add(log_p, log_binom_half(n, k));
		if (log_p > limit)
			break;
		k++;
	}
	return k;
}

bool stats_median_ci(const double *x, size_t n, double alpha, struct interval *ci)
{
	size_t k = stats_sign_k(n, alpha);
	double *s = n ? sorted_copy(x, n) : NULL;

	if (!s) {
		ci->lo = ci->hi = NAN;
		return false;
	}
	ci->lo = s[k ? k - 1 : 0];
	ci->hi = s[k ? n - k : n - 1];
	free(s);
	return k > 0;
}

double stats_t975(size_t df)
{
	static const double table[] = {
		12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
		2.201,	2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
		2.080,	2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
	};
	size_t rows = sizeof(table) / sizeof(table[0]);

	if (df < 1)
		return INFINITY;
	/* Beyond the table, Cornish-Fisher's first terms are good to the third decimal. */
	if (df > rows) {
		double z = 1.959964, d = (double)df;

		return z + (z * z * z + z) / (4 * d) +
		       (5 * pow(z, 5) + 16 * pow(z, 3) + 3 * z) / (96 * d * d);
	}
	return table[df - 1];
}
