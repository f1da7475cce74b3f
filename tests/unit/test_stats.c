// SPDX-License-Identifier: BSD-2-Clause
/* The order statistics against exact binomial tables, and the interval's promise on samples. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "stats/rng.h"
#include "stats/stats.h"

#define assert_near(a, b, eps) assert_true(fabs((a) - (b)) <= (eps))

static void sign_k_table(void **state)
{
	static const struct {
		size_t n;
		double alpha;
		size_t k;
	} rows[] = {
		{ 5, 0.05, 0 },	  { 6, 0.05, 1 },   { 8, 0.05, 1 },    { 9, 0.05, 2 },
		{ 10, 0.05, 2 },  { 20, 0.05, 6 },  { 50, 0.05, 18 },  { 100, 0.05, 40 },
		{ 7, 0.01, 0 },	  { 8, 0.01, 1 },   { 20, 0.01, 4 },   { 100, 0.01, 37 },
		{ 80, 0.0182, 29 }, { 1000, 0.05, 469 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(stats_sign_k(rows[i].n, rows[i].alpha), rows[i].k);
}

/* The definition itself, where the probabilities are sums of few exact terms. */
static void sign_k_is_the_largest(void **state)
{
	for (size_t n = 1; n <= 60; n++) {
		size_t k = stats_sign_k(n, 0.05);
		double below = 0, term = pow(0.5, (double)n);

		for (size_t i = 0; i < k; i++) {
			below += term;
			term = term * (double)(n - i) / (double)(i + 1);
		}
		assert_true(below <= 0.025);
		assert_true(below + term > 0.025);
	}
}

static void binomial_large_n(void **state)
{
	/* Beyond the range of plain doubles (2^-5000), and against the symmetry of the middle. */
	assert_near(stats_binom_half_cdf(5001, 2500), 0.5, 1e-9);
	assert_near(stats_binom_half_cdf(100001, 50000), 0.5, 1e-8);
	assert_near(stats_binom_half_cdf(10, 2), 56.0 / 1024, 1e-12);
	assert_true(stats_binom_half_cdf(5000, 10) >= 0);
	assert_true(stats_binom_half_cdf(7, 7) == 1);
	/* The normal approximation is good to a few units here. */
	assert_near((double)stats_sign_k(100000, 0.05), 50000 - 1.96 * sqrt(25000), 2);
}

static void quantiles(void **state)
{
	const double x[] = { 5, 1, 4, 2, 3 };
	const double even[] = { 4, 1, 3, 2 };

	assert_near(stats_median(x, 5), 3, 0);
	assert_near(stats_median(even, 4), 2.5, 1e-12);
	assert_near(stats_quantile(x, 5, 0), 1, 0);
	assert_near(stats_quantile(x, 5, 1), 5, 0);
	assert_near(stats_quantile(x, 5, 0.25), 2, 1e-12);
	assert_near(stats_quantile(x, 5, 0.95), 4.8, 1e-12);
	assert_near(stats_mean(x, 5), 3, 1e-12);
	assert_near(stats_stddev(x, 5), sqrt(2.5), 1e-12);
	assert_near(stats_mad_sigma(x, 5), 1.4826, 1e-12);
	assert_true(isnan(stats_median(x, 0)));
	assert_near(stats_stddev(x, 1), 0, 0);
}

static void outliers_move_nothing(void **state)
{
	double x[100], with[100];

	for (int i = 0; i < 100; i++)
		x[i] = with[i] = 100 + i;
	with[99] = 1e12;
	with[98] = 1e12;
	assert_near(stats_median(x, 100), stats_median(with, 100), 0);
	assert_near(stats_mad_sigma(x, 100), stats_mad_sigma(with, 100), 0);
}

static void median_interval(void **state)
{
	double x[100];
	struct interval ci;

	for (int i = 0; i < 100; i++)
		x[i] = (i * 37) % 100 + 1; /* 1..100 in some order */
	assert_true(stats_median_ci(x, 100, 0.05, &ci));
	/* x_(40) and x_(61) */
	assert_near(ci.lo, 40, 0);
	assert_near(ci.hi, 61, 0);
	assert_false(stats_median_ci(x, 5, 0.05, &ci));
	assert_near(ci.lo, 1, 0);
	assert_false(stats_median_ci(x, 0, 0.05, &ci));
	assert_true(isnan(ci.lo));
}

static void student(void **state)
{
	assert_near(stats_t975(9), 2.262, 5e-4);
	assert_near(stats_t975(1), 12.706, 5e-4);
	assert_near(stats_t975(30), 2.042, 5e-4);
	assert_near(stats_t975(40), 2.021, 1e-3);
	assert_near(stats_t975(120), 1.980, 1e-3);
	assert_true(isinf(stats_t975(0)));
}

/* The median's interval covers at its level whatever the distribution: here, very skewed. */
static void coverage(void **state)
{
	uint64_t seed = getenv("SEED") ? strtoull(getenv("SEED"), NULL, 0) : 20240607;
	struct rng rng = { .state = seed };
	const int trials = 4000;
	int covered = 0;

	print_message("seed %llu\n", (unsigned long long)seed);
	for (int t = 0; t < trials; t++) {
		double x[50];
		struct interval ci;

		for (int i = 0; i < 50; i++)
			x[i] = pow(-log(1 - rng_unit(&rng)), 3);
		assert_true(stats_median_ci(x, 50, 0.05, &ci));
		covered += ci.lo <= pow(M_LN2, 3) && pow(M_LN2, 3) <= ci.hi;
	}
	/* exactly 96.7 %: 4 standard errors below is 95.6 % */
	print_message("covered %.2f %%\n", 100.0 * covered / trials);
	assert_true(covered >= 0.955 * trials);
	assert_true(covered <= 0.98 * trials);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sign_k_table),	   cmocka_unit_test(sign_k_is_the_largest),
		cmocka_unit_test(binomial_large_n), cmocka_unit_test(quantiles),
		cmocka_unit_test(outliers_move_nothing), cmocka_unit_test(median_interval),
		cmocka_unit_test(student),	   cmocka_unit_test(coverage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
