// SPDX-License-Identifier: BSD-2-Clause
/* The sign test and its interval, and the test whether loads differ (Kruskal and Wallis's, on ranks). */
#include "stats/effect.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stats/dist.h"

#define LOADS_POOLED 0.2 /* p from which on loads are taken for equal, */
#define LOADS_DIFFER 0.01 /* … and below which they are said to differ */
#define MIN_PER_LOAD 4 /* quads, on average, for loads to be told apart */
#define MIN_LOADS 3

struct ranked {
	double x;
	size_t idx;
};

static int compare_ranked(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	return (x->x > y->x) - (x->x < y->x);
}

double effect_sign_p(size_t plus, size_t minus)
{
	size_t n = plus + minus, few = plus < minus ? plus : minus;

	return n ? fmin(1, 2 * stats_binom_half_cdf(n, few)) : 1;
}

bool effect_excludes_zero(const struct effect *effect)
{
	return effect->has_ci && (effect->ci.lo > 0 || effect->ci.hi < 0);
}

static struct interval order_interval(const struct ranked *s, size_t n, size_t k)
{
	return (struct interval){ s[k ? k - 1 : 0].x, s[k ? n - k : n - 1].x };
}

static double sorted_median(const struct ranked *s, size_t n)
{
	return (s[(n - 1) / 2].x + s[n / 2].x) / 2;
}

/* The median absolute deviation of sorted values: two runs that grow away from the median are merged. */
static double sorted_mad(const struct ranked *s, size_t n, double median)
{
	size_t hi = 0, lo, taken = 0;
	double last = 0, previous = 0;

	while (hi < n && s[hi].x < median)
		hi++;
	lo = hi;
	while (taken <= n / 2) {
		double below = lo > 0 ? median - s[lo - 1].x : INFINITY;
		double above = hi < n ? s[hi].x - median : INFINITY;

		previous = last;
		last = below < above ? below : above;
		if (below < above)
			lo--;
		else
			hi++;
		taken++;
	}
	return n % 2 ? last : (previous + last) / 2;
}

/* Where the group of each load begins; @starts has room for n + 1. Returns how many there are. */
static size_t find_groups(const uint32_t *load, size_t n, size_t *starts)
{
	size_t groups = 0;

	for (size_t i = 0; i < n; i++)
		if (!i || load[i] != load[i - 1])
			starts[groups++] = i;
	starts[groups] = n;
	return groups;
}

/* Kruskal and Wallis's H of the groups, corrected for ties. */
static double rank_heterogeneity(const struct ranked *s, size_t n, const size_t *starts, size_t groups,
				 double *rank)
{
	double ties = 0, h = 0, total = (double)n;

	for (size_t i = 0; i < n;) {
		size_t j = i;

		while (j < n && s[j].x == s[i].x)
			j++;
		for (size_t k = i; k < j; k++)
			rank[s[k].idx] = (double)(i + j + 1) / 2;
		ties += pow((double)(j - i), 3) - (double)(j - i);
		i = j;
	}
	for (size_t g = 0; g < groups; g++) {
		size_t size = starts[g + 1] - starts[g];
		double off = stats_mean(rank + starts[g], size) - (total + 1) / 2;

		h += (double)size * off * off;
	}
	if (ties >= total * total * total - total)
		return 0;
	return h * 12 / (total * (total + 1)) / (1 - ties / (total * total * total - total));
}

static void widen(struct interval *ci, double middle, double half)
{
	ci->lo = fmin(ci->lo, middle - half);
	ci->hi = fmax(ci->hi, middle + half);
}

/* The intervals and the p-value that loads support, where these are wider. */
static void use_loads(const double *d, const size_t *starts, size_t groups, double alpha,
		      double *medians, struct effect *effect)
{
	double mean, sd, se, df = (double)groups - 1;

	for (size_t g = 0; g < groups; g++)
		medians[g] = stats_median(d + starts[g], starts[g + 1] - starts[g]);
	mean = stats_mean(medians, groups);
	sd = stats_stddev(medians, groups);
	se = sd / sqrt((double)groups);
	effect->by_loads = true;
	effect->load_sigma = sd;
	widen(&effect->ci, mean, dist_t_quantile(1 - alpha / 2, df) * se);
	widen(&effect->inner, mean, dist_t_quantile(1 - alpha, df) * se);
	effect->p = fmax(effect->p, 2 * dist_t_cdf(-fabs(mean) / se, df));
}

static int look_at_loads(const double *d, const uint32_t *load, const struct ranked *s, size_t n,
			 double alpha, struct effect *effect)
{
	size_t *starts = malloc((n + 1) * sizeof(*starts)), groups;
	double *scratch = malloc(n * sizeof(*scratch));

	if (!starts || !scratch) {
		free(starts);
		free(scratch);
		return -ENOMEM;
	}
	groups = find_groups(load, n, starts);
	effect->loads = groups;
	if (groups >= MIN_LOADS && n >= MIN_PER_LOAD * groups) {
		double h = rank_heterogeneity(s, n, starts, groups, scratch);
		double p = dist_chi2_tail(h, (double)groups - 1);

		effect->loads_differ = p < LOADS_DIFFER;
		if (p < LOADS_POOLED)
			use_loads(d, starts, groups, alpha, scratch, effect);
	}
	free(starts);
	free(scratch);
	return 0;
}

int effect_compute(const double *d, const uint32_t *load, size_t n, double alpha,
		   struct effect *effect)
{
	struct ranked *s;
	size_t k;
	int err = 0;

	*effect = (struct effect){ .log_ratio = NAN, .ci = { NAN, NAN }, .inner = { NAN, NAN },
				   .p = 1, .n = n, .sigma = NAN, .loads = n > 0 };
	if (!n)
		return 0;
	s = malloc(n * sizeof(*s));
	if (!s)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		s[i] = (struct ranked){ d[i], i };
		effect->plus += d[i] > 0;
		effect->minus += d[i] < 0;
	}
	effect->ties = n - effect->plus - effect->minus;
	qsort(s, n, sizeof(*s), compare_ranked);
	effect->log_ratio = sorted_median(s, n);
	effect->sigma = 1.4826 * sorted_mad(s, n, effect->log_ratio);
	k = stats_sign_k(n, alpha);
	effect->has_ci = k > 0;
	effect->ci = order_interval(s, n, k);
	effect->inner = order_interval(s, n, stats_sign_k(n, 2 * alpha));
	effect->p = effect_sign_p(effect->plus, effect->minus);
	if (load)
		err = look_at_loads(d, load, s, n, alpha, effect);
	free(s);
	return err;
}
