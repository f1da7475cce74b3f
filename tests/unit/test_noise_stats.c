// SPDX-License-Identifier: BSD-2-Clause
/* Sigma, correlation and drift of series that have known ones, and what they allow. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <math.h>

#include "stats/noise_stats.h"
#include "stats/rng.h"

#define N 2000
#define assert_near(a, b, eps) assert_true(fabs((a) - (b)) <= (eps))

static struct quad quads[N];

static double noise(struct rng *rng)
{
	double sum = 0;

	for (int i = 0; i < 12; i++)
		sum += rng_unit(rng);
	return sum - 6;
}

/* A machine that slows down by @drift over the run, and batches with noise of @sigma. */
static void make_quads(double sigma, double drift)
{
	struct rng rng = { 1 };

	for (size_t i = 0; i < N; i++) {
		quads[i] = (struct quad){ .number = (uint32_t)i };
		for (int arm = 0; arm < QUAD_NR_ARMS; arm++)
			for (int half = 0; half < 2; half++) {
				double speed = 1 + drift * (double)i / N;

				quads[i].ns[arm][0][half] = 1000 * speed * exp(sigma * noise(&rng));
				quads[i].ns[arm][1][half] = 1e-3;
			}
	}
}

static void quiet_machine(void **state)
{
	struct noise_stats st;

	make_quads(0.03, 0);
	assert_int_equal(noise_stats_compute(quads, N, 4, &st), 0);
	/* half of the sum of four: as large as that of one */
	assert_near(st.sigma, 0.03, 0.002);
	assert_near(st.quads_per_second, 500, 1e-9);
	assert_near(st.acf_quads, 0, 0.07);
	assert_near(st.acf_times, 0, 0.07);
	assert_true(st.drift < 0.01);
	/* 500 quads: 1.2533 x .03 x 3.24 x sqrt(2 / 500) */
	assert_near(noise_smallest_difference(&st, 1), 0.0077, 0.0007);
	assert_near(noise_smallest_difference(&st, 100), 0.00077, 0.0001);
}

/* Pairing takes the drift away. */
static void drifting_machine(void **state)
{
	struct noise_stats st;

	make_quads(0.01, 0.3);
	assert_int_equal(noise_stats_compute(quads, N, 4, &st), 0);
	assert_near(st.sigma, 0.01, 0.001);
	assert_near(st.acf_quads, 0, 0.07);
	assert_true(st.acf_times > 0.9);
	assert_near(st.drift, 0.12, 0.03);
}

static void correlation(void **state)
{
	static double x[N];
	struct rng rng = { 2 };

	for (size_t i = 0; i < N; i++)
		x[i] = i ? 0.6 * x[i - 1] + noise(&rng) : 0;
	assert_near(noise_autocorrelation(x, N, 1), 0.6, 0.05);
	assert_near(noise_autocorrelation(x, N, 2), 0.36, 0.06);
	assert_near(noise_autocorrelation(x, N, 0), 1, 1e-12);
	/* one value a thousand times as large hides nothing */
	x[N / 2] = 1e4;
	assert_near(noise_autocorrelation(x, N, 1), 0.6, 0.06);
	for (size_t i = 0; i < N; i++)
		x[i] = 5;
	assert_true(noise_autocorrelation(x, N, 1) == 0);
	assert_true(isnan(noise_autocorrelation(x, 2, 1)));
}

static void too_few(void **state)
{
	struct noise_stats st;

	make_quads(0.03, 0);
	assert_int_equal(noise_stats_compute(quads, 19, 1, &st), -ENODATA);
	assert_int_equal(noise_stats_compute(quads, 20, 1, &st), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quiet_machine),
		cmocka_unit_test(drifting_machine),
		cmocka_unit_test(correlation),
		cmocka_unit_test(too_few),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
