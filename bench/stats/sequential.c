// SPDX-License-Identifier: BSD-2-Clause
/*
 * The exact level of a group-sequential sign test, by dynamic programming over the number of heads:
 *
 *	heads
 *	  ^        |            | x
 *	  |      x |            |        x: absorbed, "differs"
 *	  |        |      ..    |
 *	  |    ....|......      |
 *	  |....    | x          | x
 *	  +--------+------------+----> coins
 *	        look 1       look 2
 */
#include "stats/sequential.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "stats/stats.h"

/* A level that equals a probability of the table must not fall victim to the last bit of a sum. */
#define ROUNDING 1e-9

const uint32_t sequential_looks[SEQUENTIAL_NR_LOOKS] = { 40, 80, 160, 320 };

/* Toss coins from @from to @to: @p[h] is the chance of h heads and of not being absorbed. */
static void toss(double *p, uint32_t from, uint32_t to)
{
	for (uint32_t n = from; n < to; n++) {
		p[n + 1] = p[n] / 2;
		for (uint32_t h = n; h > 0; h--)
			p[h] = (p[h] + p[h - 1]) / 2;
		p[0] /= 2;
	}
}

/* Take what lies outside the interval out of the walk; returns its chance. */
static double absorb(double *p, uint32_t n, double alpha)
{
	size_t k = stats_sign_k(n, alpha * (1 + ROUNDING));
	double out = 0;

	for (size_t i = 0; i < k; i++) {
		out += p[i];
		p[i] = 0;
		if (i == n - i)
			continue;
		out += p[n - i];
		p[n - i] = 0;
	}
	return out;
}

double sequential_level(const uint32_t *looks, size_t nr_looks, double alpha)
{
	double *p = calloc((size_t)looks[nr_looks - 1] + 2, sizeof(*p)), level = 0;
	uint32_t n = 0;

	if (!p)
		return -ENOMEM;
	p[0] = 1;
	for (size_t i = 0; i < nr_looks; i++) {
		toss(p, n, looks[i]);
		n = looks[i];
		level += absorb(p, n, alpha);
	}
	free(p);
	return fmin(1, level);
}

double sequential_alpha(const uint32_t *looks, size_t nr_looks, double total)
{
	double lo = 0, hi = total;

	for (int i = 0; i < 40; i++) {
		double mid = (lo + hi) / 2;

		if (sequential_level(looks, nr_looks, mid) <= total)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}
