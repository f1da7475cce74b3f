// SPDX-License-Identifier: BSD-2-Clause
/* Bisection: the search over all rows of a length, and over fake kernels; judging; costs as text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "compare/bisect.h"

#define MAX 12

/* ---- the search ---- */

/* @bad and @skipped: a bit for each of @nr. The number of looks. */
static size_t run_search(struct bisection *b, enum bisect_state *states, size_t nr, unsigned int bad,
			 unsigned int skipped)
{
	size_t looks = 0, idx;

	bisection_init(b, states, nr);
	while ((idx = bisection_next(b)) < nr) {
		assert_true(idx > b->good && idx < b->bad);
		assert_int_equal(states[idx], BISECT_UNKNOWN);
		assert_true(bisection_left(b) > 0);
		bisection_tell(b, idx, skipped >> idx & 1 ? BISECT_SKIPPED : bad >> idx & 1 ? BISECT_BAD : BISECT_GOOD);
		assert_true(++looks <= nr);
	}
	assert_int_equal(bisection_left(b), 0);
	return looks;
}

/* Wherever the change is, it is found, in as many looks as halving takes, and as many as were promised. */
static void search_finds(void **state)
{
	enum bisect_state states[200];
	struct bisection b;

	for (size_t nr = 2; nr <= 200; nr += nr < 20 ? 1 : 17) {
		size_t most = 0;

		bisection_init(&b, states, nr);
		for (size_t steps = bisection_steps(&b); (1u << most) < nr - 1; most++)
			assert_true(most < steps);
		for (size_t change = 1; change < nr; change++) {
			size_t looks = 0, idx;

			bisection_init(&b, states, nr);
			for (; (idx = bisection_next(&b)) < nr; looks++)
				bisection_tell(&b, idx, idx >= change ? BISECT_BAD : BISECT_GOOD);
			assert_int_equal(b.bad, change);
			assert_int_equal(b.good, change - 1);
			assert_true(looks <= most);
		}
	}
}

/* All rows of up to MAX with all patterns of good, bad and skipped ones, sorted or not. */
static void search_skips(void **state)
{
	for (size_t nr = 2; nr <= MAX; nr++)
		for (unsigned int skipped = 0; skipped < 1u << nr; skipped += 2)
			for (unsigned int bad = 1u << (nr - 1); bad < 1u << nr; bad += 2) {
				enum bisect_state states[MAX];
				struct bisection b;

				if (skipped >> (nr - 1) & 1 || (nr > 8 && bad % 11))
					continue;
				run_search(&b, states, nr, bad, skipped);
				assert_false(bad >> b.good & 1);
				assert_true(bad >> b.bad & 1);
				assert_true(b.good < b.bad);
				for (size_t i = b.good + 1; i < b.bad; i++)
					assert_true(skipped >> i & 1 && states[i] == BISECT_SKIPPED);
			}
}

/* A cluster in the middle is left soon: far fewer looks than it has members. */
static void search_leaves_clusters(void **state)
{
	enum bisect_state states[400];
	size_t looks = 0, idx;
	struct bisection b;

	bisection_init(&b, states, 400);
	for (; (idx = bisection_next(&b)) < 400; looks++)
		bisection_tell(&b, idx, idx >= 150 && idx < 250 ? BISECT_SKIPPED :
			       idx >= 20 ? BISECT_BAD : BISECT_GOOD);
	assert_int_equal(b.bad, 20);
	assert_true(looks < 16);
}

/* ---- kernels ---- */

struct fake {
	const int *costs; /* < 0: does not boot; FATAL: nothing works any more */
	int scatter;
	size_t measured, told;
};

#define FATAL 100000

static int fake_measure(size_t idx, struct bisect_cost *cost, struct errline *e, void *ctx)
{
	struct fake *f = ctx;
	int value = f->costs[idx];

	f->measured++;
	if (value == FATAL)
		return errline_set(e, -ENOSPC, "the machine is on fire");
	if (value < 0)
		return errline_set(e, 1, "it does not boot");
	*cost = (struct bisect_cost){ fraction_make(value, 1), fraction_make(value, 1),
				      fraction_make(value + f->scatter, 1), 2, f->scatter ? 1 : 2 };
	return 0;
}

static void fake_told(const struct bisect *b, size_t idx, size_t left, unsigned int steps, void *ctx)
{
	struct fake *f = ctx;

	f->told++;
	assert_true(b->points[idx].state != BISECT_UNKNOWN);
	assert_true(left < b->nr && steps <= left);
}

static int search(struct bisect *b, const int *costs, size_t nr, struct bisect_rule rule, int scatter,
		  struct errline *e)
{
	static struct bisect_point points[32];
	static const char *const names[32] = { "k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7", "k8", "k9" };
	struct fake f = { .costs = costs, .scatter = scatter };
	const struct bisect_ops ops = { fake_measure, fake_told, &f };
	int err;

	memset(points, 0, sizeof(points));
	memset(b, 0, sizeof(*b));
	for (size_t i = 0; i < nr; i++)
		points[i].name = names[i];
	b->points = points;
	b->nr = nr;
	b->rule = rule;
	e->text[0] = '\0';
	err = bisect_search(b, &ops, e);
	if (!err)
		assert_int_equal(f.measured, f.told);
	return err;
}

static const struct bisect_rule dearer = { 0 }, cheaper = { .cheaper = true };

static void kernels(void **state)
{
	const int costs[] = { 339, 339, 339, 357, 357, 357, 357 };
	struct errline e;
	struct bisect b;

	assert_int_equal(search(&b, costs, 7, dearer, 0, &e), 0);
	assert_int_equal(b.outcome, BISECT_FOUND);
	assert_int_equal(b.last_good, 2);
	assert_int_equal(b.first_bad, 3);
	/* two neighbours */
	assert_int_equal(search(&b, costs + 2, 2, dearer, 0, &e), 0);
	assert_int_equal(b.outcome, BISECT_FOUND);
	assert_int_equal(b.first_bad, 1);
}

static void kernels_skipped(void **state)
{
	const int costs[] = { 10, -1, 10, -1, -1, 11, -1, 11 }, all[] = { 10, -1, -1, 12 };
	struct errline e;
	struct bisect b;

	assert_int_equal(search(&b, costs, 8, dearer, 0, &e), 0);
	assert_int_equal(b.outcome, BISECT_NARROWED);
	assert_int_equal(b.last_good, 2);
	assert_int_equal(b.first_bad, 5);
	assert_int_equal(b.points[3].state, BISECT_SKIPPED);
	assert_string_equal(b.points[3].reason.text, "it does not boot");
	assert_int_equal(b.points[1].state, BISECT_UNKNOWN);
	assert_int_equal(search(&b, all, 4, dearer, 0, &e), 0);
	assert_int_equal(b.outcome, BISECT_NARROWED);
	assert_int_equal(b.last_good, 0);
	assert_int_equal(b.first_bad, 3);
}

/* Dearer, cheaper, dearer: what is found is a place where it became dearer. */
static void kernels_back_and_forth(void **state)
{
	const int costs[] = { 5, 9, 5, 5, 9, 9, 5, 9 };
	struct errline e;
	struct bisect b;

	assert_int_equal(search(&b, costs, 8, dearer, 0, &e), 0);
	assert_int_equal(b.outcome, BISECT_FOUND);
	assert_int_equal(b.first_bad, b.last_good + 1);
	assert_int_equal(costs[b.last_good], 5);
	assert_int_equal(costs[b.first_bad], 9);
}

static void wrong_ends(void **state)
{
	const int same[] = { 7, 8, 7 }, down[] = { 9, 8, 7 }, no_good[] = { -1, 8, 9 }, no_bad[] = { 7, 8, -1 };
	const int fatal[] = { 7, FATAL, 9 };
	struct errline e;
	struct bisect b;

	assert_int_equal(search(&b, same, 3, dearer, 0, &e), 0);
	assert_int_equal(b.outcome, BISECT_SAME);
	assert_int_equal(b.points[1].state, BISECT_UNKNOWN); /* not looked at for nothing */
	assert_int_equal(search(&b, down, 3, dearer, 0, &e), 0);
	assert_int_equal(b.outcome, BISECT_OPPOSITE);
	assert_int_equal(search(&b, down, 3, cheaper, 0, &e), 0);
	assert_int_equal(b.outcome, BISECT_FOUND);
	assert_int_equal(b.first_bad, 1);
	assert_int_equal(search(&b, no_good, 3, dearer, 0, &e), -ENODATA);
	assert_string_equal(e.text, "'k0', which is said to be good, cannot be measured: it does not boot");
	assert_int_equal(search(&b, no_bad, 3, dearer, 0, &e), -ENODATA);
	assert_string_equal(e.text, "'k2', which is said to be bad, cannot be measured: it does not boot");
	assert_int_equal(search(&b, fatal, 3, dearer, 0, &e), -ENOSPC);
	assert_string_equal(e.text, "the machine is on fire");
}

static void thresholds(void **state)
{
	const int costs[] = { 1000, 1010, 1011, 1100 };
	const struct bisect_rule one = { .above = 0.01 }, much = { .above = 0.1 };
	struct errline e;
	struct bisect b;

	assert_int_equal(search(&b, costs, 4, dearer, 0, &e), 0);
	assert_int_equal(b.first_bad, 1);
	assert_int_equal(search(&b, costs, 4, one, 0, &e), 0); /* exactly 1 % is not above it */
	assert_int_equal(b.first_bad, 2);
	assert_int_equal(search(&b, costs, 4, much, 0, &e), 0);
	assert_int_equal(b.outcome, BISECT_SAME);
	/* no difference counts that is within the scatter */
	assert_int_equal(search(&b, costs, 4, dearer, 10, &e), 0);
	assert_int_equal(b.first_bad, 2);
	assert_int_equal(search(&b, costs, 4, dearer, 100, &e), 0);
	assert_int_equal(b.outcome, BISECT_SAME);
}

/* A kernel whose boots reach from good to bad is neither. */
static void unclear(void **state)
{
	const struct bisect_cost good = { .lo = { 10, 1 }, .hi = { 11, 1 } }, bad = { .lo = { 20, 1 }, .hi = { 21, 1 } };
	struct bisect_cost c = { .lo = { 11, 1 }, .hi = { 20, 1 } };

	assert_int_equal(bisect_judge_between(&dearer, &good, &bad, &c), BISECT_SKIPPED);
	c.hi = fraction_make(39, 2);
	assert_int_equal(bisect_judge_between(&dearer, &good, &bad, &c), BISECT_GOOD);
	c.lo = fraction_make(23, 2);
	assert_int_equal(bisect_judge_between(&dearer, &good, &bad, &c), BISECT_BAD);
	c = (struct bisect_cost){ .lo = { 11, 1 }, .hi = { 20, 1 } };
	assert_int_equal(bisect_judge_between(&cheaper, &bad, &good, &c), BISECT_SKIPPED);
}

/* ---- costs ---- */

static void assert_cost(const char *text, int64_t lo_num, int64_t lo_den, int64_t hi_num, int64_t hi_den)
{
	struct bisect_cost c;

	assert_int_equal(bisect_parse_cost(&c, text), 0);
	assert_true(fraction_equal(c.lo, fraction_make(lo_num, lo_den)));
	assert_true(fraction_equal(c.hi, fraction_make(hi_num, hi_den)));
}

static void costs(void **state)
{
	static const char *const wrong[] = { "", "x", "-3", "3.", ".5", "3/0", "3/", "3.5/2", "1e3", "3 ", "1/2/3",
					     "1.2345678", "1234567890123456", "~3" };
	struct bisect_cost c, exact;
	char text[64];

	assert_cost("339", 339, 1, 339, 1);
	assert_cost("321/64", 321, 64, 321, 64);
	assert_cost("5.0156", 100311, 20000, 100313, 20000);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(bisect_parse_cost(&c, wrong[i]), -EINVAL);
	/* what a table shows, rounded, is the same as what was rounded */
	for (int64_t num = 1; num < 2000; num += 7) {
		bisect_parse_cost(&c, fraction_text(fraction_make(num, 64), false, text, sizeof(text)));
		exact = (struct bisect_cost){ .lo = fraction_make(num, 64), .hi = fraction_make(num, 64) };
		assert_int_equal(bisect_judge(&dearer, &c, &exact), BISECT_GOOD);
		assert_int_equal(bisect_judge(&cheaper, &c, &exact), BISECT_GOOD);
		exact.lo = exact.hi = fraction_make(num + 1, 64);
		assert_int_equal(bisect_judge(&dearer, &c, &exact), BISECT_BAD);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(search_finds),
		cmocka_unit_test(search_skips),
		cmocka_unit_test(search_leaves_clusters),
		cmocka_unit_test(kernels),
		cmocka_unit_test(kernels_skipped),
		cmocka_unit_test(kernels_back_and_forth),
		cmocka_unit_test(wrong_ends),
		cmocka_unit_test(thresholds),
		cmocka_unit_test(unclear),
		cmocka_unit_test(costs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
