// SPDX-License-Identifier: BSD-2-Clause
/* Adjusted p-values against worked examples. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "stats/holm.h"
#include "stats/rng.h"

#define assert_near(a, b) assert_true(fabs((a) - (b)) <= 1e-12)

static void holm_by_hand(void **state)
{
	/* sorted .005 .01 .03 .04: times 4 3 2 1 is .02 .03 .06 .04, and never less than before */
	static const double p[] = { 0.01, 0.04, 0.03, 0.005 }, want[] = { 0.03, 0.06, 0.06, 0.02 };
	double adjusted[4];

	assert_int_equal(holm_adjust(p, 4, adjusted), 0);
	for (int i = 0; i < 4; i++)
		assert_near(adjusted[i], want[i]);
}

/* The fifteen p-values of Benjamini and Hochberg's 1995 paper: four are found at 5 %, three by Holm. */
static void fdr_paper(void **state)
{
	static const double p[] = { 0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344,
				    0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000 };
	double fdr[15], holm[15];
	int found = 0, family = 0;

	assert_int_equal(holm_fdr_adjust(p, 15, fdr), 0);
	assert_int_equal(holm_adjust(p, 15, holm), 0);
	for (int i = 0; i < 15; i++) {
		found += fdr[i] <= 0.05;
		family += holm[i] <= 0.05;
	}
	assert_int_equal(found, 4);
	assert_int_equal(family, 3);
	assert_near(fdr[3], 0.0095 * 15 / 4);
}

static void edges(void **state)
{
	double one = 0.03, big[] = { 0.9, 0.8, 1 };

	assert_int_equal(holm_adjust(&one, 1, &one), 0);
	assert_near(one, 0.03);
	assert_int_equal(holm_adjust(NULL, 0, NULL), 0);
	assert_int_equal(holm_fdr_adjust(NULL, 0, NULL), 0);
	assert_int_equal(holm_adjust(big, 3, big), 0);
	for (int i = 0; i < 3; i++)
		assert_true(big[i] == 1);
}

/* In place or not, in any order; never below the p-value, never above Bonferroni's. */
static void properties(void **state)
{
	struct rng rng = { 7 };

	for (int round = 0; round < 200; round++) {
		double p[30], holm[30], fdr[30];
		size_t n = 1 + rng_below(&rng, 30);

		for (size_t i = 0; i < n; i++)
			p[i] = pow(rng_unit(&rng), 4);
		assert_int_equal(holm_adjust(p, n, holm), 0);
		assert_int_equal(holm_fdr_adjust(p, n, fdr), 0);
		for (size_t i = 0; i < n; i++) {
			assert_true(holm[i] >= p[i] && holm[i] <= fmin(1, p[i] * (double)n) + 1e-15);
			assert_true(fdr[i] >= p[i] - 1e-15 && fdr[i] <= holm[i] + 1e-15);
			for (size_t j = 0; j < n; j++)
				assert_true(p[i] > p[j] || (holm[i] <= holm[j] && fdr[i] <= fdr[j]));
		}
		assert_int_equal(holm_adjust(p, n, p), 0);
		assert_memory_equal(p, holm, n * sizeof(*p));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(holm_by_hand),
		cmocka_unit_test(fdr_paper),
		cmocka_unit_test(edges),
		cmocka_unit_test(properties),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
