// SPDX-License-Identifier: BSD-2-Clause
/* Steps in series whose truth is known: found where they are, and seldom where there is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "stats/rng.h"
#include "stats/steps.h"

static double normal(struct rng *r)
{
	return sqrt(-2 * log(1 - rng_unit(r))) * cos(2 * M_PI * rng_unit(r));
}

static void none_in_noise(void **state)
{
	struct rng r = { 11 };
	struct step steps[8];
	double x[40];
	int found = 0;

	for (int trial = 0; trial < 300; trial++) {
		for (int i = 0; i < 40; i++)
			x[i] = trial % 2 ? normal(&r) : exp(2 * normal(&r));
		found += steps_find(x, 40, steps, 8) > 0;
	}
	/* 3 expected at 1 %; 11 or more of Bin(300, 0.01) have a chance of 0.0003 */
	assert_true(found <= 10);
}

static void one(void **state)
{
	struct rng r = { 12 };
	struct step steps[8];
	double x[50];
	int found = 0, near = 0;

	for (int trial = 0; trial < 100; trial++) {
		for (int i = 0; i < 50; i++)
			x[i] = normal(&r) + (i < 30 ? 0 : 3);
		int nr = steps_find(x, 50, steps, 8);

		found += nr >= 1;
		for (int i = 0; i < nr; i++)
			if (steps[i].at >= 28 && steps[i].at <= 32) {
				near++;
				assert_true(steps[i].after - steps[i].before > 1.5);
				assert_true(steps[i].after - steps[i].before < 4.5);
			}
	}
	assert_true(found >= 98);
	assert_true(near >= 90);
}

static void up_and_down(void **state)
{
	struct step steps[8];
	double x[60];

	for (int i = 0; i < 60; i++)
		x[i] = (i < 20 ? 1 : i < 40 ? 2 : 1) + 0.001 * (i * 7 % 5);
	assert_int_equal(steps_find(x, 60, steps, 8), 2);
	assert_int_equal(steps[0].at, 20);
	assert_int_equal(steps[1].at, 40);
	assert_true(steps[0].before < 1.01 && steps[0].after > 1.99);
	assert_true(steps[1].before > 1.99 && steps[1].after < 1.01);
	/* no more than there is room for */
	assert_int_equal(steps_find(x, 60, steps, 1), 1);
}

static void too_few_and_constant(void **state)
{
	const double few[] = { 1, 1, 1, 2, 2, 2, 2 };
	struct step steps[8];
	double same[30];

	for (int i = 0; i < 30; i++)
		same[i] = 4;
	assert_int_equal(steps_find(few, 7, steps, 8), 0);
	assert_int_equal(steps_find(few, 0, steps, 8), 0);
	assert_int_equal(steps_find(same, 30, steps, 8), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(none_in_noise),
		cmocka_unit_test(one),
		cmocka_unit_test(up_and_down),
		cmocka_unit_test(too_few_and_constant),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
