// SPDX-License-Identifier: BSD-2-Clause
/* Counted instructions: fractions, the joining of windows, what runs agree on, verdicts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare/counts_compare.h"
#include "count/counts.h"
#include "count/places.h"
#include "stats/fraction.h"

static void assert_fraction(struct fraction f, int64_t num, int64_t den)
{
	assert_int_equal(f.num, num);
	assert_int_equal(f.den, den);
}

static void fractions(void **state)
{
	struct fraction half = fraction_make(-3, -6), third = fraction_make(1, 3);
	char text[64];

	assert_fraction(half, 1, 2);
	assert_fraction(fraction_make(6, -4), -3, 2);
	assert_fraction(fraction_make(0, 17), 0, 1);
	assert_false(fraction_is_valid(fraction_make(1, 0)));
	assert_fraction(fraction_sub(half, third), 1, 6);
	assert_fraction(fraction_div(half, third), 3, 2);
	assert_false(fraction_is_valid(fraction_div(half, fraction_make(0, 1))));
	assert_false(fraction_is_valid(fraction_sub(half, fraction_make(1, 0))));
	/* what does not fit is invalid, not wrong */
	assert_false(fraction_is_valid(fraction_sub(fraction_make(1, INT64_MAX),
						    fraction_make(1, INT64_MAX - 1))));
	assert_true(fraction_cmp(third, half) < 0);
	assert_true(fraction_cmp(half, third) > 0);
	assert_int_equal(fraction_cmp(half, fraction_make(2, 4)), 0);
	assert_string_equal(fraction_text(fraction_make(22, 2), true, text, sizeof(text)), "11");
	assert_string_equal(fraction_text(fraction_make(-21, 4), true, text, sizeof(text)), "-5.25");
	assert_string_equal(fraction_text(fraction_make(321, 64), true, text, sizeof(text)),
			    "5.0156 (321/64)");
	assert_string_equal(fraction_text(fraction_make(321, 64), false, text, sizeof(text)), "5.0156");
	assert_string_equal(fraction_text(fraction_make(1, 0), true, text, sizeof(text)), "-");
}

/* ---- joining ---- */

/* A bench of 8 operations of two events: full costs 100 + 30 an operation, null 100 + 10. */
#define POINT(failed)                                                                              \
	"{\"bench\":\"b\",\"label\":\"b/x=1\",\"ops\":8,\"events_per_op\":2,\"windows\":["        \
	"{\"arm\":\"full\",\"size\":\"N\",\"ops\":8},{\"arm\":\"full\",\"size\":\"N/2\",\"ops\":4}," \
	"{\"arm\":\"full\",\"size\":\"N/8\",\"ops\":1},{\"arm\":\"null\",\"size\":\"N\",\"ops\":8}," \
	"{\"arm\":\"null\",\"size\":\"N/8\",\"ops\":1},"                                           \
	"{\"arm\":\"trigger\",\"size\":\"N\",\"ops\":8}],\"failed\":" failed "}\n"
#define END(total) "{\"schema\":\"bpflab.windows/1\",\"total\":" total "}\n"
#define WINDOWS "v 1\nw 1 340 1\nw 2 220 1\nw 3 130 1\nw 4 180 1\nw 5 110 1\nw 6 801 1\n"

static int join(const char *out, const char *counts, struct count_point **points, size_t *nr)
{
	struct errline e = { "" };
	int err = counts_join(out, counts, points, nr, &e);

	if (err)
		assert_true(e.text[0] != '\0');
	return err;
}

static void joined(void **state)
{
	struct count_point *points;
	size_t nr;

	assert_int_equal(join(POINT("null") END("6"), WINDOWS "q 6\n", &points, &nr), 0);
	assert_int_equal(nr, 1);
	assert_string_equal(points[0].label, "b/x=1");
	assert_fraction(points[0].runs[0].gross, 15, 1);
	assert_fraction(points[0].runs[0].null, 5, 1);
	assert_fraction(points[0].runs[0].net, 10, 1);
	assert_fraction(points[0].runs[0].trigger, 801, 8);
	assert_true(points[0].runs[0].linear);
	count_points_free(points, nr);
}

static void not_linear(void **state)
{
	struct count_point *points;
	size_t nr;

	assert_int_equal(join(POINT("null") END("6"),
			      "v 1\nw 1 340 1\nw 2 221 1\nw 3 130 1\nw 4 180 1\nw 5 110 1\nw 6 801 1\n"
			      "q 6\n",
			      &points, &nr),
			 0);
	assert_false(points[0].runs[0].linear);
	assert_fraction(points[0].runs[0].net, 10, 1);
	count_points_free(points, nr);
}

static void failed(void **state)
{
	struct count_point *points;
	size_t nr;

	assert_int_equal(join(POINT("\"wrong result\"") END("6"), WINDOWS "q 6\n", &points, &nr), 0);
	assert_string_equal(points[0].failed.text, "wrong result");
	assert_int_equal(points[0].nr_runs, 0);
	count_points_free(points, nr);
}

/* Every way in which the two sides can disagree is an error, not a figure. */
static void disagreeing(void **state)
{
	static const char *const pairs[][2] = {
		{ POINT("null") END("6"), WINDOWS },                  /* the guest did not exit */
		{ POINT("null") END("6"), WINDOWS "q 7\n" },
		{ POINT("null") END("5"), WINDOWS "q 6\n" },
		{ POINT("null"), WINDOWS "q 6\n" },                   /* bpflab did not end */
		{ POINT("null") END("6"), WINDOWS "w 7 1 1\nq 7\n" },
		{ POINT("null") POINT("null") END("12"), WINDOWS "q 6\n" },
		{ POINT("null") END("6"), "v 1\nw 1 340 2\n" WINDOWS "q 6\n" }, /* two threads */
		{ POINT("null") END("6"), "w 2 340 1\nq 1\n" },
		{ POINT("null") END("6"), WINDOWS "e a window begins in another\nq 6\n" },
		{ "nonsense\n" END("6"), WINDOWS "q 6\n" },
		{ "{\"bench\":\"b\"}\n" END("6"), WINDOWS "q 6\n" },
		{ "", "" },
	};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		struct count_point *points;
		size_t nr;

		assert_int_equal(join(pairs[i][0], pairs[i][1], &points, &nr), -EPROTO);
		assert_null(points);
	}
}

/* ---- over runs ---- */

static struct count_figures net(int64_t num)
{
	struct fraction f = fraction_make(num, 1);

	return (struct count_figures){ .net = f, .gross = f, .linear = true };
}

static void agreement(void **state)
{
	struct count_figures same[] = { net(5), net(5), net(5) };
	struct count_figures most[] = { net(7), net(5), net(6), net(5) };
	struct count_figures tied[] = { net(7), net(5) };
	struct count_point pt = { .runs = same, .nr_runs = 3 };

	count_point_summarise(&pt);
	assert_true(count_is_exact(&pt));
	assert_fraction(pt.value.net, 5, 1);
	pt = (struct count_point){ .runs = most, .nr_runs = 4 };
	count_point_summarise(&pt);
	assert_false(count_is_exact(&pt));
	assert_int_equal(pt.equal, 2);
	assert_fraction(pt.value.net, 5, 1);
	assert_fraction(pt.lo, 5, 1);
	assert_fraction(pt.hi, 7, 1);
	pt = (struct count_point){ .runs = tied, .nr_runs = 2 };
	count_point_summarise(&pt);
	assert_int_equal(pt.equal, 1);
	assert_fraction(pt.value.net, 5, 1);
}

/* ---- profiles ---- */

static void profiles(void **state)
{
	const char *counts = "v 1\nw 1 30 1\np 10 20\np 20 10\nw 2 1 1\np 30 1\nw 3 9 1\np 20 6\np 40 3\n"
			     "q 3\n";
	struct count_places p = { .events = 4 };
	struct errline e;
	int64_t sum;

	assert_int_equal(count_places_add(&p, counts, 1, 1, &sum, &e), 0);
	assert_int_equal(sum, 30);
	assert_int_equal(count_places_add(&p, counts, 3, -1, &sum, &e), 0);
	assert_int_equal(sum, 9);
	count_places_sort(&p);
	assert_int_equal(p.nr, 3);
	assert_fraction(count_places_at(&p, 0x10), 5, 1);
	assert_fraction(count_places_at(&p, 0x20), 1, 1);
	assert_fraction(count_places_at(&p, 0x40), -3, 4);
	assert_fraction(count_places_at(&p, 0x30), 0, 1); /* of another window */
	count_places_release(&p);
}

static struct counts_side side(int64_t value, int64_t lo, int64_t hi, size_t equal)
{
	return (struct counts_side){ .value = fraction_make(value, 1), .lo = fraction_make(lo, 1),
				     .hi = fraction_make(hi, 1), .runs = 10, .equal = equal };
}

static void verdicts(void **state)
{
	const struct {
		struct counts_side a, b;
		enum counts_verdict verdict;
		bool regression; /* of more than 10 % */
	} cases[] = {
		{ side(20, 20, 20, 10), side(20, 20, 20, 10), COUNTS_SAME, false },
		{ side(20, 20, 20, 10), side(9, 9, 9, 10), COUNTS_FEWER, false },
		{ side(20, 20, 20, 10), side(21, 21, 21, 10), COUNTS_MORE, false },
		{ side(20, 20, 20, 10), side(23, 23, 23, 10), COUNTS_MORE, true },
		{ side(20, 20, 22, 9), side(10, 10, 12, 10), COUNTS_ABOUT_FEWER, false },
		{ side(20, 20, 20, 10), side(30, 25, 31, 5), COUNTS_ABOUT_MORE, true },
		{ side(20, 19, 22, 9), side(21, 20, 30, 9), COUNTS_INEXACT, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct counts_row row = { .side = { cases[i].a, cases[i].b } };

		counts_judge(&row);
		assert_int_equal(row.verdict, cases[i].verdict);
		assert_int_equal(counts_is_regression(&row, 0.1), cases[i].regression);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fractions),   cmocka_unit_test(joined),
		cmocka_unit_test(not_linear),  cmocka_unit_test(failed),
		cmocka_unit_test(disagreeing), cmocka_unit_test(agreement),
		cmocka_unit_test(profiles),    cmocka_unit_test(verdicts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
