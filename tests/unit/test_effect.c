// SPDX-License-Identifier: BSD-2-Clause
/* The sign test and its interval, what loads do to them, and the distributions they need. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

#include "stats/dist.h"
#include "stats/effect.h"
#include "stats/rng.h"

#define MAX_N 400
#define assert_near(a, b, eps) assert_true(fabs((a) - (b)) <= (eps))

static double d[MAX_N];
static uint32_t load[MAX_N];

static double noise(struct rng *rng)
{
	double sum = 0;

	for (int i = 0; i < 12; i++)
		sum += rng_unit(rng);
	return sum - 6;
}

static void t_tables(void **state)
{
	static const struct {
		double p, df, t;
	} rows[] = {
		{ 0.975, 1, 12.7062 },	{ 0.975, 4, 2.7764 },  { 0.95, 9, 1.8331 },
		{ 0.995, 9, 3.2498 },	{ 0.975, 29, 2.0452 }, { 0.975, 1e6, 1.95997 },
		{ 0.025, 4, -2.7764 },	{ 0.5, 3, 0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_near(dist_t_quantile(rows[i].p, rows[i].df), rows[i].t, 1e-4);
		assert_near(dist_t_cdf(rows[i].t, rows[i].df), rows[i].p, 1e-5);
	}
}

static void chi2_tables(void **state)
{
	static const struct {
		double x, df, p;
	} rows[] = {
		{ 3.8415, 1, 0.05 },   { 9.4877, 4, 0.05 },  { 13.2767, 4, 0.01 },
		{ 30.1435, 19, 0.05 }, { 36.1909, 19, 0.01 }, { 0, 3, 1 },
		{ 2, 2, 0.367879 },    { 124.342, 100, 0.05 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_near(dist_chi2_tail(rows[i].x, rows[i].df), rows[i].p, 2e-5);
}

static void sign_test(void **state)
{
	assert_near(effect_sign_p(10, 0), 2 / 1024.0, 1e-12);
	assert_near(effect_sign_p(1, 9), 22 / 1024.0, 1e-12);
	assert_true(effect_sign_p(5, 5) == 1);
	assert_true(effect_sign_p(0, 0) == 1);
	assert_near(effect_sign_p(3, 17), effect_sign_p(17, 3), 0);
}

static void by_hand(void **state)
{
	/* n = 10: k = 2 at 95 %, and 90 %: P(X < 2) = .0107, P(X < 3) = .0547 */
	static const double x[] = { 5, -1, 3, 0, 7, 2, 9, 4, 6, 8 };
	struct effect e;

	assert_int_equal(effect_compute(x, NULL, 10, 0.05, &e), 0);
	assert_near(e.log_ratio, 4.5, 0);
	assert_true(e.ci.lo == 0 && e.ci.hi == 8);
	assert_true(e.inner.lo == 0 && e.inner.hi == 8);
	assert_int_equal(e.plus, 8);
	assert_int_equal(e.minus, 1);
	assert_int_equal(e.ties, 1);
	assert_near(e.p, 2 * 10 / 512.0, 1e-12);
	assert_true(e.has_ci && !effect_excludes_zero(&e));
	assert_int_equal(e.loads, 1);
	/* |x - 4.5|: .5 .5 1.5 1.5 2.5 2.5 3.5 4.5 4.5 5.5 */
	assert_near(e.sigma, 1.4826 * 2.5, 1e-12);
}

static void sigma_is_the_mad(void **state)
{
	struct rng rng = { 3 };

	for (size_t n = 1; n < 60; n++) {
		struct effect e;

		for (size_t i = 0; i < n; i++)
			d[i] = rng_below(&rng, 4) ? noise(&rng) : 1;
		assert_int_equal(effect_compute(d, NULL, n, 0.05, &e), 0);
		assert_near(e.sigma, stats_mad_sigma(d, n), 1e-12);
		assert_near(e.log_ratio, stats_median(d, n), 1e-15);
	}
}

static void too_few(void **state)
{
	struct effect e;

	assert_int_equal(effect_compute(NULL, NULL, 0, 0.05, &e), 0);
	assert_true(!e.has_ci && e.p == 1 && isnan(e.log_ratio));
	for (size_t i = 0; i < 5; i++)
		d[i] = 1 + (double)i;
	assert_int_equal(effect_compute(d, NULL, 5, 0.05, &e), 0);
	assert_true(!e.has_ci && !effect_excludes_zero(&e));
	d[5] = 6;
	assert_int_equal(effect_compute(d, NULL, 6, 0.05, &e), 0);
	assert_true(e.has_ci && effect_excludes_zero(&e));
}

/* Exchanging A and B turns every figure round, exactly. */
static void exchanged(void **state)
{
	struct rng rng = { 11 };

	for (int round = 0; round < 100; round++) {
		size_t n = 6 + rng_below(&rng, 200);
		struct effect there, back;

		for (size_t i = 0; i < n; i++) {
			d[i] = 0.3 * noise(&rng) + 0.1 * (double)(i / 20) * (round % 3);
			load[i] = (uint32_t)(i / 20);
		}
		assert_int_equal(effect_compute(d, load, n, 0.05, &there), 0);
		for (size_t i = 0; i < n; i++)
			d[i] = -d[i];
		assert_int_equal(effect_compute(d, load, n, 0.05, &back), 0);
		assert_true(there.log_ratio == -back.log_ratio);
		assert_near(there.ci.lo, -back.ci.hi, 1e-12);
		assert_near(there.ci.hi, -back.ci.lo, 1e-12);
		assert_near(there.inner.lo, -back.inner.hi, 1e-12);
		assert_near(there.p, back.p, 1e-12);
		assert_int_equal(there.plus, back.minus);
		assert_true(there.by_loads == back.by_loads && there.sigma == back.sigma);
	}
}

static void fill_loads(size_t loads, size_t each, double load_sigma, uint64_t seed)
{
	struct rng rng = { seed };

	for (size_t l = 0; l < loads; l++) {
		double off = load_sigma * noise(&rng);

		for (size_t i = 0; i < each; i++) {
			d[l * each + i] = off + 0.03 * noise(&rng);
			load[l * each + i] = (uint32_t)l + 7;
		}
	}
}

/* Where a load matters more than a quad, the interval is that of the loads. */
static void loads_matter(void **state)
{
	struct effect e, pooled;

	fill_loads(5, 16, 0.2, 1);
	assert_int_equal(effect_compute(d, load, 80, 0.05, &e), 0);
	assert_int_equal(effect_compute(d, NULL, 80, 0.05, &pooled), 0);
	assert_true(e.by_loads && e.loads_differ && !pooled.by_loads);
	assert_int_equal(e.loads, 5);
	assert_true(e.ci.hi - e.ci.lo > 2 * (pooled.ci.hi - pooled.ci.lo));
	assert_true(e.p > pooled.p);
	assert_true(e.load_sigma > 0.05 && e.load_sigma < 0.5);
}

/* Equal loads are seldom told apart: at 20 % by design, "certainly" at 1 %. */
static void loads_alike(void **state)
{
	int by_loads = 0, differ = 0;

	for (uint64_t seed = 1; seed <= 1000; seed++) {
		struct effect e;

		fill_loads(5, 8, 0, seed);
		assert_int_equal(effect_compute(d, load, 40, 0.05, &e), 0);
		by_loads += e.by_loads;
		differ += e.loads_differ;
	}
	assert_in_range(by_loads, 140, 240);
	assert_in_range(differ, 0, 25);
}

/* A single load, or a handful of quads, says nothing about loads. */
static void loads_unknown(void **state)
{
	struct effect e;

	fill_loads(2, 40, 1, 1);
	assert_int_equal(effect_compute(d, load, 80, 0.05, &e), 0);
	assert_true(!e.by_loads && e.loads == 2);
	fill_loads(10, 2, 1, 1);
	assert_int_equal(effect_compute(d, load, 20, 0.05, &e), 0);
	assert_true(!e.by_loads && e.loads == 10);
	for (size_t i = 0; i < 80; i++)
		d[i] = 0;
	assert_int_equal(effect_compute(d, load, 80, 0.05, &e), 0);
	assert_true(!e.by_loads && e.p == 1 && e.ties == 80);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(t_tables),
		cmocka_unit_test(chi2_tables),
		cmocka_unit_test(sign_test),
		cmocka_unit_test(by_hand),
		cmocka_unit_test(sigma_is_the_mad),
		cmocka_unit_test(too_few),
		cmocka_unit_test(exchanged),
		cmocka_unit_test(loads_matter),
		cmocka_unit_test(loads_alike),
		cmocka_unit_test(loads_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
