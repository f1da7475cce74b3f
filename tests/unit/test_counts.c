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
#include "count/kernel_symbols.h"
#include "count/places.h"
#include "report/report_counts_matrix.h"
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

/* ---- by function ---- */

#define KERNEL(addr) "ffffffff8100" addr

static void symbols(void **state)
{
	static const char image[] = KERNEL("0100") " __pad_outer\n" KERNEL("0000") " first\n"
				    KERNEL("0100") " outer.isra.0\n" KERNEL("0000") " __irqentry_text_end\n"
				    KERNEL("0000") " __a\n" KERNEL("0100") " outermost\n";
	static const char made[] = KERNEL("0180") " bpf_prog_6deef7357e7b4530_count_it\n"
				   KERNEL("0200") " bpf_trampoline_6442529811\n";
	struct kernel_symbols s;
	struct errline e = { "" };

	assert_int_equal(kernel_symbols_parse(&s, image, made, &e), 0);
	assert_null(kernel_symbols_find(&s, 0xffffffff80ffffff));
	assert_string_equal(kernel_symbols_find(&s, 0xffffffff81000000), "first");
	assert_string_equal(kernel_symbols_find(&s, 0xffffffff810000ff), "first");
	assert_string_equal(kernel_symbols_find(&s, 0xffffffff81000100), "outer");
	assert_string_equal(kernel_symbols_find(&s, 0xffffffff8100017f), "outer");
	assert_string_equal(kernel_symbols_find(&s, 0xffffffff81000180), "bpf_prog_count_it");
	assert_string_equal(kernel_symbols_find(&s, 0xffffffff81000234), "bpf_trampoline");
	/* too far behind the last to be in it */
	assert_null(kernel_symbols_find(&s, 0xffffffff82000000));
	kernel_symbols_release(&s);

	assert_int_equal(kernel_symbols_parse(&s, NULL, NULL, &e), 0);
	assert_null(kernel_symbols_find(&s, 0xffffffff81000000));
	kernel_symbols_release(&s);
	assert_int_equal(kernel_symbols_parse(&s, "nonsense\n", NULL, &e), -EPROTO);
	kernel_symbols_release(&s);
}

/*
 * Full: 30 an operation, 20 of them in f and 10 in g, once 100 in user space; null: 10, in g and h. The second
 * window of N has an interrupt in it, which must not be told.
 */
#define TWO_ROUNDS                                                                                 \
	"{\"bench\":\"b\",\"label\":\"b\",\"ops\":8,\"events_per_op\":1,\"symbols\":\"" KERNEL("0200") " g\\n"  \
	KERNEL("0300") " h\\n\",\"image_symbols\":\"" KERNEL("0100") " f\\n\",\"windows\":["               \
	"{\"arm\":\"full\",\"size\":\"N\",\"ops\":8},{\"arm\":\"full\",\"size\":\"N\",\"ops\":8},"       \
	"{\"arm\":\"full\",\"size\":\"N/8\",\"ops\":1},{\"arm\":\"null\",\"size\":\"N\",\"ops\":8},"     \
	"{\"arm\":\"null\",\"size\":\"N/8\",\"ops\":1}]}\n"
#define FULL_N "w 1 345 1\np 401000 100\np " KERNEL("0104") " 165\np " KERNEL("0208") " 80\n"
#define FULL_N_DISTURBED "w 2 945 1\np 401000 100\np " KERNEL("0104") " 765\np " KERNEL("0208") " 80\n"
#define FULL_EIGHTH "w 3 135 1\np 401000 100\np " KERNEL("0104") " 25\np " KERNEL("0208") " 10\n"
#define NULL_N "w 4 80 1\np " KERNEL("0208") " 40\np " KERNEL("0300") " 40\n"
#define NULL_EIGHTH "w 5 10 1\np " KERNEL("0208") " 5\np " KERNEL("0300") " 5\n"
#define NOTES(full_n) "v 1\n" full_n FULL_N_DISTURBED FULL_EIGHTH NULL_N NULL_EIGHTH "q 5\n"

static const struct count_function *function(const struct count_functions *f, const char *name)
{
	for (size_t i = 0; i < f->nr; i++)
		if (!strcmp(f->items[i].name, name))
			return &f->items[i];
	return NULL;
}

static void functions(void **state)
{
	struct count_function_pair *pairs;
	struct count_functions *f;
	struct count_point *points;
	struct errline e = { "" };
	size_t nr;

	assert_int_equal(join(TWO_ROUNDS END("5"), NOTES(FULL_N), &points, &nr), 0);
	assert_int_equal(count_functions_fill(points, nr, NOTES(FULL_N), &e), 0);
	f = &points[0].runs[0].functions;
	assert_fraction(points[0].runs[0].net, 20, 1);
	assert_int_equal(f->events, 7);
	/* what windows of all sizes have is no cost of an event */
	assert_null(function(f, "(user space)"));
	assert_int_equal(f->nr, 3);
	assert_string_equal(f->items[0].name, "f");
	assert_int_equal(function(f, "f")->times, 7 * 20);
	assert_int_equal(function(f, "g")->times, 7 * (10 - 5));
	assert_int_equal(function(f, "h")->times, 7 * -5);

	pairs = count_functions_pair(f, &(struct count_functions){ .items = (struct count_function[]){
					{ (char *)"g", 12 }, { (char *)"new", 2 } }, .nr = 2, .events = 2 }, &nr);
	assert_non_null(pairs);
	assert_int_equal(nr, 4);
	assert_string_equal(pairs[0].name, "f");
	assert_true(pairs[0].a == 20 && pairs[0].b == 0);
	assert_string_equal(pairs[1].name, "h");
	assert_string_equal(pairs[2].name, "g");
	assert_true(pairs[2].a == 5 && pairs[2].b == 6);
	assert_true(pairs[3].a == 0 && pairs[3].b == 1);
	free(pairs);
	count_points_free(points, 1);
}

/* Places that are not those of the windows are an error, not a figure. */
static void functions_missing(void **state)
{
	static const char lost[] = NOTES("w 1 345 1\np " KERNEL("0104") " 165\n");
	struct count_point *points;
	struct errline e = { "" };
	size_t nr;

	assert_int_equal(join(TWO_ROUNDS END("5"), lost, &points, &nr), 0);
	assert_int_equal(count_functions_fill(points, nr, lost, &e), -EPROTO);
	count_points_free(points, nr);
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

/* ---- kernels across ---- */

static struct count_point point_of(const char *label, int64_t net)
{
	struct count_point pt = { .label = label, .bench = label, .nr_runs = 1, .equal = 1 };

	pt.value.net = fraction_make(net, 1);
	if (net < 0)
		errline_set(&pt.failed, -ENOTSUP, "it has no such thing");
	return pt;
}

/* Machines have not all the same benches: a figure stands in the row of its name. */
static void matrix(void **state)
{
	struct count_point first[] = { point_of("a", 1), point_of("b", -1), point_of("d", 4) };
	struct count_point second[] = { point_of("a", 10), point_of("c", 30), point_of("d", 40) };
	struct count_target targets[] = {
		{ .spec = "vm:x", .points = first, .nr_points = 3 },
		{ .spec = "vm:y", .points = second, .nr_points = 3 },
	};
	struct count_report r = { .targets = targets, .nr_targets = 2 };
	static const char *const want[][3] = {
		{ "insns/event", "vm:x", "vm:y" }, { "a", "1", "10" }, { "b", "[1]", "-" },
		{ "d", "4", "40" },		   { "c", "-", "30" },
	};
	struct table t;

	assert_int_equal(report_counts_matrix(&r, &t), 0);
	assert_int_equal(t.nr_rows, 5);
	for (size_t i = 0; i < 5; i++)
		for (size_t k = 0; k < 3; k++)
			assert_string_equal(t.cells[i][k], want[i][k]);
	table_release(&t);
	assert_null(count_point_find(&targets[0], "c"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(matrix),
		cmocka_unit_test(fractions),   cmocka_unit_test(joined),
		cmocka_unit_test(not_linear),  cmocka_unit_test(failed),
		cmocka_unit_test(disagreeing), cmocka_unit_test(agreement),
		cmocka_unit_test(symbols),     cmocka_unit_test(functions),
		cmocka_unit_test(functions_missing),
		cmocka_unit_test(profiles),    cmocka_unit_test(verdicts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
