// SPDX-License-Identifier: BSD-2-Clause
/* From quads to the figures of a row: net and gross, control, costs, and what is flagged. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "stats/compare_stats.h"
#include "stats/rng.h"
#include "stats/verdict.h"

#define MAX_N 320
#define assert_near(a, b, eps) assert_true(fabs((a) - (b)) <= (eps))

static struct quad quads[MAX_N];
static struct compare_rule rule;
static struct compare_stats st;

static double noise(struct rng *rng)
{
	double sum = 0;

	for (int i = 0; i < 12; i++)
		sum += rng_unit(rng);
	return sum - 6;
}

/* What the arms cost, the null programs of A and B, and the noise of each batch. */
struct truth {
	double net_a, net_b, null_a, null_b, sigma;
};

static void make_quads(size_t n, const struct truth *t, uint64_t seed)
{
	const double net[] = { t->net_a, t->net_b, t->net_a };
	const double null[] = { t->null_a, t->null_b, t->null_a };
	struct rng rng = { seed };

	for (size_t i = 0; i < n; i++) {
		quads[i] = (struct quad){ .number = (uint32_t)i, .load = (uint32_t)(i * 5 / n) };
		for (int arm = 0; arm < QUAD_NR_ARMS; arm++)
			for (int half = 0; half < 2; half++) {
				quads[i].ns[arm][0][half] = (net[arm] + null[arm]) *
							    exp(t->sigma * noise(&rng));
				quads[i].ns[arm][1][half] = null[arm] * exp(t->sigma * noise(&rng));
			}
	}
}

static void compute(size_t n, bool control)
{
	compare_rule_init(&rule, (uint32_t)n, 1, 0.015);
	assert_int_equal(compare_stats_compute(quads, n, &rule, control, &st), 0);
}

/* The formula for equal overheads: 2.78 % gross with a share of .135 is 3.2 % net. */
static void net_formula(void **state)
{
	assert_near(compare_stats_net_ratio(1.0278, 0.135), 1.0321, 5e-5);
	assert_near(compare_stats_net_ratio(1, 0.5), 1, 0);
}

/* Without noise the truth comes out, and the formula agrees. */
static void exact(void **state)
{
	const struct truth t = { 80, 120, 20, 20, 0 };

	make_quads(40, &t, 1);
	compute(40, true);
	assert_int_equal(st.basis, BASIS_NET);
	assert_near(exp(st.effect.log_ratio), 1.5, 1e-9);
	assert_near(exp(st.net.log_ratio), 1.5, 1e-9);
	assert_near(exp(st.gross.log_ratio), 1.4, 1e-9);
	assert_near(compare_stats_net_ratio(1.4, st.null_share[0]), 1.5, 1e-9);
	assert_near(exp(st.floor.log_ratio), 1.4, 1e-9);
	assert_near(st.null_share[0], 0.2, 1e-9);
	assert_near(st.null_share[1], 20.0 / 140, 1e-9);
	assert_near(st.cost[0].ns, 80, 1e-9);
	assert_near(st.cost[1].ns, 120, 1e-9);
	assert_int_equal(st.control.n, 40);
	assert_near(st.control.log_ratio, 0, 1e-9);
	assert_true(st.effect.p < 1e-9 && !st.shape_differs && st.unsteady == 0);
}

/* Two targets start a program at different costs; that is no difference of the bench. */
static void different_nulls(void **state)
{
	const struct truth t = { 50, 50, 10, 60, 0.01 };

	make_quads(320, &t, 2);
	compute(320, false);
	assert_int_equal(st.basis, BASIS_NET);
	assert_true(st.gross.log_ratio > 0.5 && effect_excludes_zero(&st.gross));
	assert_true(fabs(st.effect.log_ratio) < 0.02);
	assert_int_equal(verdict_decide(&st.effect, log1p(0.05), true), VERDICT_SAME);
	assert_true(effect_excludes_zero(&st.null));
	assert_int_equal(st.control.n, 0);
}

/* Where the null program is all but everything, nothing is made up. */
static void unresolved(void **state)
{
	const struct truth t = { 0.5, 0.5, 100, 100, 0.05 };

	make_quads(160, &t, 3);
	compute(160, true);
	assert_int_equal(st.basis, BASIS_GROSS);
	assert_int_equal(st.net.n, 0);
	assert_true(st.effect.log_ratio == st.gross.log_ratio && fabs(st.effect.log_ratio) < 0.05);
	assert_true(st.null_share[0] > 0.95);
	assert_false(effect_excludes_zero(&st.null));
}

/* Exchanging A and B inverts the ratio and its interval exactly, whatever the basis. */
static void exchanged(void **state)
{
	for (uint64_t seed = 1; seed < 40; seed++) {
		const struct truth t = { seed % 4 ? 60 : 1, seed % 4 ? 63 : 1, 15, 25, 0.04 };
		struct compare_stats there;

		make_quads(80, &t, seed);
		compute(80, false);
		there = st;
		for (size_t i = 0; i < 80; i++) {
			double a[2][2];

			memcpy(a, quads[i].ns[QUAD_A], sizeof(a));
			memcpy(quads[i].ns[QUAD_A], quads[i].ns[QUAD_B], sizeof(a));
			memcpy(quads[i].ns[QUAD_B], a, sizeof(a));
		}
		compute(80, false);
		assert_int_equal(st.basis, there.basis);
		assert_near(st.effect.log_ratio, -there.effect.log_ratio, 1e-12);
		assert_near(st.effect.ci.lo, -there.effect.ci.hi, 1e-12);
		assert_near(st.effect.ci.hi, -there.effect.ci.lo, 1e-12);
		assert_near(st.effect.p, there.effect.p, 1e-12);
		assert_near(st.floor.log_ratio, -there.floor.log_ratio, 1e-12);
		assert_true(st.shape_differs == there.shape_differs);
	}
}

/* What a look sees is what is reported. */
static void look_is_the_same(void **state)
{
	const struct truth t = { 60, 63, 15, 15, 0.04 };
	struct compare_stats look;

	make_quads(80, &t, 5);
	compare_rule_init(&rule, 0, 7, 0.015);
	assert_int_equal(compare_stats_look(quads, 80, &rule, &look), 0);
	assert_int_equal(compare_stats_compute(quads, 80, &rule, true, &st), 0);
	assert_memory_equal(&look.effect, &st.effect, sizeof(st.effect));
	assert_memory_equal(&look.suite, &st.suite, sizeof(st.suite));
	assert_true(st.suite.ci.hi - st.suite.ci.lo > st.effect.ci.hi - st.effect.ci.lo);
	assert_int_equal(compare_stats_look(quads, 0, &rule, &look), 0);
	assert_false(look.effect.has_ci);
}

/* B has two speeds: most batches are faster than A's, the fastest are not. */
static void shape(void **state)
{
	const struct truth t = { 100, 100, 0.1, 0.1, 0.001 };
	double a[100], b[100];
	struct rng rng = { 5 };

	make_quads(80, &t, 6);
	for (size_t i = 0; i < 80; i++)
		for (int half = 0; half < 2; half++)
			quads[i].ns[QUAD_B][0][half] *= rng_below(&rng, 2) ? 1.3 : 0.9;
	compute(80, false);
	assert_true(st.shape_differs);
	for (size_t i = 0; i < 100; i++) {
		a[i] = 100 + (double)i;
		b[i] = 3 * a[i];
	}
	assert_near(compare_stats_shape_distance(a, b, 100), 0, 1e-12);
	for (size_t i = 0; i < 100; i++)
		b[i] = i < 50 ? 10 : 20;
	assert_true(compare_stats_shape_distance(a, b, 100) > 0.3);
	assert_true(isnan(compare_stats_shape_distance(a, b, 0)));
}

static void unsteady(void **state)
{
	const struct truth t = { 100, 100, 1, 1, 0.005 };

	make_quads(160, &t, 8);
	for (size_t i = 0; i < 40; i++)
		quads[i].ns[QUAD_B][0][0] *= 1.5;
	compute(160, false);
	assert_true(st.unsteady > 0.1);
	make_quads(160, &t, 8);
	compute(160, false);
	assert_true(st.unsteady == 0);
}

/* Garbage in a fifth of the quads moves the interval, but not far. */
static void outliers(void **state)
{
	const struct truth t = { 100, 110, 10, 10, 0.01 };
	struct rng rng = { 3 };

	make_quads(160, &t, 9);
	for (size_t i = 0; i < 160; i += 5)
		quads[i].ns[rng_below(&rng, 2)][rng_below(&rng, 2)][rng_below(&rng, 2)] *= 100;
	compute(160, false);
	assert_int_equal(st.basis, BASIS_NET);
	assert_near(exp(st.effect.log_ratio), 1.1, 0.01);
	assert_true(st.effect.ci.lo > log(1.08) && st.effect.ci.hi < log(1.12));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(net_formula),
		cmocka_unit_test(exact),
		cmocka_unit_test(different_nulls),
		cmocka_unit_test(unresolved),
		cmocka_unit_test(exchanged),
		cmocka_unit_test(look_is_the_same),
		cmocka_unit_test(shape),
		cmocka_unit_test(unsteady),
		cmocka_unit_test(outliers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
