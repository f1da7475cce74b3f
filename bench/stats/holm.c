// SPDX-License-Identifier: BSD-2-Clause
/* Holm's step-down and Benjamini and Hochberg's step-up adjustment. */
#include "stats/holm.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

struct ranked {
	double p;
	size_t idx;
};

static int compare_ranked(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->p != y->p)
		return x->p < y->p ? -1 : 1;
	return (x->idx > y->idx) - (x->idx < y->idx);
}

static struct ranked *sort_by_p(const double *p, size_t n)
{
	struct ranked *r = malloc((n ? n : 1) * sizeof(*r));

	if (!r)
		return NULL;
	for (size_t i = 0; i < n; i++)
		r[i] = (struct ranked){ p[i], i };
	qsort(r, n, sizeof(*r), compare_ranked);
	return r;
}

int holm_adjust(const double *p, size_t n, double *adjusted)
{
	struct ranked *r = sort_by_p(p, n);
	double most = 0;

	if (!r)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		most = fmax(most, r[i].p * (double)(n - i));
		adjusted[r[i].idx] = fmin(1, most);
	}
	free(r);
	return 0;
}

int holm_fdr_adjust(const double *p, size_t n, double *adjusted)
{
	struct ranked *r = sort_by_p(p, n);
	double least = 1;

	if (!r)
		return -ENOMEM;
	for (size_t i = n; i > 0; i--) {
		least = fmin(least, r[i - 1].p * (double)n / (double)i);
		adjusted[r[i - 1].idx] = least;
	}
	free(r);
	return 0;
}
