// SPDX-License-Identifier: BSD-2-Clause
/* Circular binary segmentation (Olshen et al. 2004) on ranks, with a permutation test. */
#include "stats/steps.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "stats/rng.h"
#include "stats/stats.h"

#define ORDERS 999
#define SEED 0x5eed /* the same series has the same steps */

struct search {
	const double *x;
	struct step *steps;
	size_t nr, max;
	double *ranks, *sorted;
};

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Ranks of x[from..to), ties get their mean rank; centred on 0. */
static void rank(struct search *s, size_t from, size_t to)
{
	size_t n = to - from;

	memcpy(s->sorted, s->x + from, n * sizeof(*s->sorted));
	qsort(s->sorted, n, sizeof(*s->sorted), compare_doubles);
	for (size_t i = 0; i < n; i++) {
		size_t below = 0, equal = 0, lo = 0, hi = n;

		while (lo < hi) {
			size_t mid = (lo + hi) / 2;

			if (s->sorted[mid] < s->x[from + i])
				lo = mid + 1;
			else
				hi = mid;
		}
		below = lo;
		while (below + equal < n && s->sorted[below + equal] == s->x[from + i])
			equal++;
		s->ranks[i] = (double)below + ((double)equal - 1) / 2 - ((double)n - 1) / 2;
	}
}

/* A stretch of a series that lies apart from the rest of it. */
struct stretch {
	size_t from, to;
	double value; /* standardised difference of the ranks */
};

/* 0, or enough to tell a level from. */
static bool is_long_enough(size_t n)
{
	return !n || n >= STEPS_LEAST;
}

/* The one that differs most; at its ends there is nothing, or enough. */
static struct stretch largest(const double *r, size_t n, double *sums)
{
	struct stretch best = { .value = -1 };

	sums[0] = 0;
	for (size_t i = 0; i < n; i++)
		sums[i + 1] = sums[i] + r[i];
	for (size_t from = 0; from + STEPS_LEAST <= n; from++) {
		if (!is_long_enough(from))
			continue;
		for (size_t to = from + STEPS_LEAST; to <= n; to++) {
			size_t inside = to - from;
			double value;

			if (!is_long_enough(n - to) || inside == n)
				continue;
			value = fabs(sums[to] - sums[from]) / sqrt((double)inside * (double)(n - inside));
			if (value > best.value)
				best = (struct stretch){ from, to, value };
		}
	}
	return best;
}

static double permutation_p(struct search *s, size_t n, double found)
{
	struct rng rng = { SEED };
	size_t reached = 1;

	for (int i = 0; i < ORDERS; i++) {
		for (size_t j = n - 1; j; j--) {
			size_t k = rng_below(&rng, (uint32_t)(j + 1));
			double swap = s->ranks[j];

			s->ranks[j] = s->ranks[k];
			s->ranks[k] = swap;
		}
		reached += largest(s->ranks, n, s->sorted).value >= found - 1e-9;
	}
	return (double)reached / (ORDERS + 1);
}

static void add_step(struct search *s, size_t at, double p)
{
	if (s->nr < s->max)
		s->steps[s->nr++] = (struct step){ .at = at, .p = p };
}

static void split(struct search *s, size_t from, size_t to)
{
	size_t n = to - from;
	struct stretch found;
	double p;

	if (n < 2 * STEPS_LEAST)
		return;
	rank(s, from, to);
	found = largest(s->ranks, n, s->sorted);
	p = permutation_p(s, n, found.value);
	if (p > STEPS_ALPHA)
		return;
	if (found.from) {
		split(s, from, from + found.from);
		add_step(s, from + found.from, p);
	}
	split(s, from + found.from, from + found.to);
	if (found.to < n) {
		add_step(s, from + found.to, p);
		split(s, from + found.to, to);
	}
}

int steps_find(const double *x, size_t n, struct step *steps, size_t max)
{
	struct search s = { .x = x, .steps = steps, .max = max };

	s.ranks = calloc(2 * n + 2, sizeof(*s.ranks));
	if (!s.ranks)
		return -ENOMEM;
	s.sorted = s.ranks + n + 1;
	split(&s, n > STEPS_MOST ? n - STEPS_MOST : 0, n);
	for (size_t i = 0; i < s.nr; i++) {
		size_t from = i ? steps[i - 1].at : 0, to = i + 1 < s.nr ? steps[i + 1].at : n;

		steps[i].before = stats_median(x + from, steps[i].at - from);
		steps[i].after = stats_median(x + steps[i].at, to - steps[i].at);
	}
	free(s.ranks);
	return (int)s.nr;
}
