// SPDX-License-Identifier: BSD-2-Clause
/* The order of quads: balanced, fair, and a function of the seed alone; and their ratios. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "stats/quads.h"

#define assert_near(a, b, eps) assert_true(fabs((a) - (b)) <= (eps))

/* Each arm and null program twice, the second half the first backwards: a linear drift cancels. */
static void balanced(void **state)
{
	for (int control = 0; control < 2; control++)
		for (uint32_t number = 0; number < 500; number++) {
			struct quad_slot slots[QUAD_MAX_SLOTS];
			size_t nr = quad_plan(42, 3, number, control, slots);
			int seen[QUAD_NR_ARMS][2][2] = { { { 0 } } }, position[QUAD_NR_ARMS][2] = { { 0 } };

			assert_int_equal(nr, control ? 12 : 8);
			for (size_t i = 0; i < nr; i++) {
				const struct quad_slot *back = &slots[nr - 1 - i];

				assert_true(slots[i].arm == back->arm && slots[i].null == back->null);
				seen[slots[i].arm][slots[i].null][slots[i].half]++;
				position[slots[i].arm][slots[i].null] += (int)i;
			}
			for (int arm = 0; arm < (control ? 3 : 2); arm++)
				for (int null = 0; null < 2; null++) {
					assert_int_equal(seen[arm][null][0], 1);
					assert_int_equal(seen[arm][null][1], 1);
					assert_int_equal(position[arm][null], (int)nr - 1);
				}
		}
}

/* A is before B as often as after it, and A before its control; the coins are not the same one. */
static void fair(void **state)
{
	int b_first = 0, control_first = 0, alternating = 0, last = -1;
	enum { N = 20000 };

	for (uint32_t number = 0; number < N; number++) {
		struct quad_slot slots[QUAD_MAX_SLOTS];
		int first[QUAD_NR_ARMS] = { -1, -1, -1 };

		quad_plan(1, 0, number, true, slots);
		for (int i = 0; i < 6; i++)
			if (!slots[i].null)
				first[slots[i].arm] = i;
		b_first += first[QUAD_B] < first[QUAD_A];
		control_first += first[QUAD_CONTROL] < first[QUAD_A];
		alternating += last == (first[QUAD_B] < first[QUAD_A]);
		last = first[QUAD_B] < first[QUAD_A];
	}
	/* four standard deviations of a fair coin */
	assert_in_range(b_first, N / 2 - 283, N / 2 + 283);
	assert_in_range(control_first, N / 2 - 283, N / 2 + 283);
	assert_in_range(alternating, N / 2 - 283, N / 2 + 283);
}

static int count_same(const struct quad_slot *one, const struct quad_slot *two)
{
	int same = 0;

	for (int i = 0; i < 8; i++)
		same += one[i].arm == two[i].arm && one[i].null == two[i].null &&
			one[i].half == two[i].half;
	return same;
}

static void replayed(void **state)
{
	struct quad_slot one[QUAD_MAX_SLOTS], two[QUAD_MAX_SLOTS];
	int same_row = 0, same_seed = 0;

	for (uint32_t number = 0; number < 300; number++) {
		quad_plan(5, 1, number, false, one);
		quad_plan(5, 1, number, false, two);
		assert_int_equal(count_same(one, two), 8);
		quad_plan(5, 2, number, false, two);
		same_row += count_same(one, two) == 8;
		quad_plan(6, 1, number, false, two);
		same_seed += count_same(one, two) == 8;
	}
	/* one in 24 by chance */
	assert_in_range(same_row, 2, 30);
	assert_in_range(same_seed, 2, 30);
}

static struct quad drifting(double net_a, double net_b, double null, double drift)
{
	struct quad q = { 0 };
	struct quad_slot slots[QUAD_MAX_SLOTS];
	const double net[] = { net_a, net_b, net_a };
	size_t nr = quad_plan(9, 0, 0, true, slots);

	for (size_t i = 0; i < nr; i++) {
		double t = null + (slots[i].null ? 0 : net[slots[i].arm]);

		q.ns[slots[i].arm][slots[i].null][slots[i].half] = t * exp(drift * (double)i);
	}
	return q;
}

/* Exponential drift is linear in the logarithm: it cancels exactly. */
static void ratios(void **state)
{
	struct quad q = drifting(80, 120, 20, 0.01);

	assert_near(quad_gross(&q, QUAD_B), log(140.0 / 100), 1e-12);
	assert_near(quad_net(&q, QUAD_B), log(120.0 / 80), 1e-12);
	assert_near(quad_net(&q, QUAD_CONTROL), 0, 1e-12);
	assert_near(quad_net(&q, QUAD_A), 0, 0);
	assert_true(quad_floor(&q, QUAD_B) > 0.2);
	q = drifting(80, 120, 20, 0);
	assert_near(quad_floor(&q, QUAD_B), log(1.4), 1e-12);
	assert_near(quad_net_time(&q, QUAD_B), 120, 1e-9);
}

/* Nothing left of one side, or of both. */
static void nothing_left(void **state)
{
	struct quad q = drifting(10, 10, 90, 0);

	q.ns[QUAD_A][1][0] = q.ns[QUAD_A][1][1] = 150;
	assert_true(quad_net(&q, QUAD_B) == QUAD_BEYOND);
	q.ns[QUAD_B][1][0] = q.ns[QUAD_B][1][1] = 150;
	assert_true(quad_net(&q, QUAD_B) == 0);
	q.ns[QUAD_A][1][0] = q.ns[QUAD_A][1][1] = 90;
	assert_true(quad_net(&q, QUAD_B) == -QUAD_BEYOND);
	assert_true(isfinite(quad_gross(&q, QUAD_B)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(balanced),
		cmocka_unit_test(fair),
		cmocka_unit_test(replayed),
		cmocka_unit_test(ratios),
		cmocka_unit_test(nothing_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
