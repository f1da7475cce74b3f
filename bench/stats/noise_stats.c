// SPDX-License-Identifier: BSD-2-Clause
/* Sigma, correlation and drift of an A/A series, and what they allow. */
#include "stats/noise_stats.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "stats/verdict.h"

#define CLIP 4
#define GROUPS 10
#define MIN_QUADS 20

double noise_autocorrelation(const double *x, size_t n, size_t lag)
{
	double median, sigma, num = 0, den = 0;

	if (n < lag + 2)
		return NAN;
	median = stats_median(x, n);
	sigma = stats_mad_sigma(x, n);
	for (size_t i = 0; i < n; i++) {
		double here = fmax(-CLIP * sigma, fmin(CLIP * sigma, x[i] - median));

		den += here * here;
		if (i + lag < n)
			num += here * fmax(-CLIP * sigma, fmin(CLIP * sigma, x[i + lag] - median));
	}
	return den > 0 ? num / den : 0;
}

static double find_drift(const double *times, size_t n)
{
	double all = stats_median(times, n), most = 0;

	for (size_t g = 0; g < GROUPS; g++) {
		size_t from = g * n / GROUPS, to = (g + 1) * n / GROUPS;

		most = fmax(most, fabs(stats_median(times + from, to - from) / all - 1));
	}
	return most;
}

int noise_stats_compute(const struct quad *quads, size_t n, double seconds, struct noise_stats *st)
{
	struct compare_rule rule;
	struct compare_stats figures;
	double *d, *times;
	int err;

	if (n < MIN_QUADS)
		return -ENODATA;
	d = malloc(2 * n * sizeof(*d));
	if (!d)
		return -ENOMEM;
	times = d + n;
	compare_rule_init(&rule, (uint32_t)n, 1, COMPARE_MARGIN);
	err = compare_stats_compute(quads, n, &rule, false, &figures);
	for (size_t i = 0; i < n; i++) {
		d[i] = figures.basis == BASIS_NET ? quad_net(&quads[i], QUAD_B) :
						    quad_gross(&quads[i], QUAD_B);
		times[i] = quad_time(&quads[i], QUAD_A, false);
	}
	*st = (struct noise_stats){
		.sigma = figures.effect.sigma,
		.sigma_gross = figures.gross.sigma,
		.acf_quads = noise_autocorrelation(d, n, 1),
		.acf_times = noise_autocorrelation(times, n, 1),
		.drift = find_drift(times, n),
		.quads_per_second = seconds > 0 ? (double)n / seconds : 0,
		.quads = n,
		.effect = figures.effect,
	};
	free(d);
	return err;
}

double noise_smallest_difference(const struct noise_stats *st, double seconds)
{
	return verdict_smallest_difference(st->sigma, fmax(1, st->quads_per_second * seconds));
}
