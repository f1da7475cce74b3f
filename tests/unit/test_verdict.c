// SPDX-License-Identifier: BSD-2-Clause
/* Words for intervals, the quads they need, and sentences. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "compare/compare_text.h"
#include "stats/quads.h"
#include "stats/verdict.h"

#define assert_near(a, b, eps) assert_true(fabs((a) - (b)) <= (eps))

static const double margin = 0.015;

/* All in percent. */
static struct effect made(double ratio, double lo, double hi, double inner_lo, double inner_hi)
{
	return (struct effect){
		.log_ratio = log1p(ratio / 100),
		.ci = { log1p(lo / 100), log1p(hi / 100) },
		.inner = { log1p(inner_lo / 100), log1p(inner_hi / 100) },
		.has_ci = true,
		.n = 80,
		.p = 0.001,
	};
}

static void words(void **state)
{
	static const struct {
		double ratio, lo, hi, inner_lo, inner_hi;
		bool significant;
		enum verdict want;
	} rows[] = {
		{ 3, 2, 4, 2.2, 3.8, true, VERDICT_SLOWER },
		{ -3, -4, -2, -3.8, -2.2, true, VERDICT_FASTER },
		/* below the margin, but it may be above */
		{ 1, 0.2, 2, 0.3, 1.8, true, VERDICT_SLOWER },
		{ -1, -2, -0.2, -1.8, -0.3, true, VERDICT_FASTER },
		{ 0.5, 0.1, 1, 0.2, 0.9, true, VERDICT_TRIVIAL },
		{ -0.5, -1, -0.1, -0.9, -0.2, true, VERDICT_TRIVIAL },
		{ 0.1, -1, 1.2, -0.9, 1.1, true, VERDICT_SAME },
		/* the interval reaches out, the two one-sided tests do not */
		{ 0.1, -1.6, 1.7, -1.2, 1.3, true, VERDICT_SAME },
		{ 1, -1, 3, -0.8, 2.8, true, VERDICT_INCONCLUSIVE },
		{ 0, -5, 5, -4, 4, true, VERDICT_INCONCLUSIVE },
		/* it holds for the row alone, not among all */
		{ 3, 2, 4, 2.2, 3.8, false, VERDICT_INCONCLUSIVE },
		{ 0.5, 0.1, 1, 0.2, 0.9, false, VERDICT_SAME },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct effect e = made(rows[i].ratio, rows[i].lo, rows[i].hi, rows[i].inner_lo,
				       rows[i].inner_hi);

		assert_string_equal(verdict_name(verdict_decide(&e, log1p(margin), rows[i].significant)),
				    verdict_name(rows[i].want));
		e.has_ci = false;
		assert_int_equal(verdict_decide(&e, log1p(margin), rows[i].significant),
				 VERDICT_INCONCLUSIVE);
	}
}

static void planned(void **state)
{
	/* 3 % noise, 3 % difference; and there and back */
	assert_in_range((int)verdict_quads_planned(0.03, 0.03), 34, 35);
	for (double share = 0.005; share < 0.1; share *= 2) {
		double n = verdict_quads_planned(0.03, share);

		assert_true(verdict_smallest_difference(0.03, n) <= share);
		assert_true(verdict_smallest_difference(0.03, n - 1) >= share);
	}
	assert_near(verdict_smallest_difference(0.03, 80), 1.2533 * 0.03 * 3.24 * sqrt(2.0 / 80), 3e-4);
}

static void needed(void **state)
{
	struct effect e = made(1, -1, 3, -0.8, 2.8);

	/* 1 % off with an interval of 2 % either way: four times as many */
	assert_in_range(verdict_quads_needed(&e, log1p(margin)), 310, 330);
	e = made(0, -3, 3, -2.5, 2.5);
	assert_in_range(verdict_quads_needed(&e, log1p(margin)), 310, 340);
	/* the range of a few quads is none to reckon with */
	e.has_ci = false;
	assert_int_equal(verdict_quads_needed(&e, log1p(margin)), 0);
	e = made(0, -3, 3, -2.5, 2.5);
	assert_int_equal(verdict_quads_needed(&e, 0), 1000000000);
}

static const char *sentence(enum verdict v, struct effect e)
{
	static char buf[512];
	const struct compare_sentence s = { .bench = "bpf-loop", .verdict = v, .effect = &e,
					    .margin = log1p(margin), .unit = "quads" };

	compare_text_sentence(buf, sizeof(buf), &s);
	return buf;
}

static void sentences(void **state)
{
	assert_string_equal(sentence(VERDICT_FASTER, made(-41, -42, -40, -41.5, -40.5)),
			    "bpf-loop is 41.0 % faster on B, 95 % interval 40.0\u201342.0 %");
	assert_string_equal(sentence(VERDICT_SLOWER, made(3.42, 2.6, 4.1, 3, 4)),
			    "bpf-loop is 3.4 % slower on B, 95 % interval 2.6\u20134.1 %");
	assert_string_equal(sentence(VERDICT_SLOWER, made(1900, 1880, 1920, 1880, 1920)),
			    "bpf-loop is 20.0 times slower on B, 95 % interval 19.8\u201320.2 times");
	assert_string_equal(sentence(VERDICT_FASTER, made(-95, -96, -94, -95, -95)),
			    "bpf-loop is 20.0 times faster on B, 95 % interval 16.7\u201325.0 times");
	assert_string_equal(sentence(VERDICT_SAME, made(0.12, -0.6, 0.7, -0.5, 0.6)),
			    "bpf-loop costs the same on B, within 1.5 %: +0.12 % [-0.60, +0.70]");
	assert_non_null(strstr(sentence(VERDICT_INCONCLUSIVE, made(1, -1, 3, -1, 3)), "cannot tell"));
	assert_non_null(strstr(sentence(VERDICT_UNTRUSTED, made(1, -1, 3, -1, 3)), "no verdict"));
	assert_non_null(strstr(sentence(VERDICT_TRIVIAL, made(0.5, 0.1, 1, 0.2, 0.9)),
			       "by less than 1.5 %"));
}

static void figures(void **state)
{
	struct effect e = made(3.42, 2.6, 4.1, 3, 4);
	char buf[64];

	compare_text_effect(buf, sizeof(buf), &e);
	assert_string_equal(buf, "+3.4 % [+2.6, +4.1]");
	e.has_ci = false;
	compare_text_effect(buf, sizeof(buf), &e);
	assert_string_equal(buf, "+3.4 %");
	e = made(150, 140, 160, 140, 160);
	compare_text_effect(buf, sizeof(buf), &e);
	assert_string_equal(buf, "2.50x [2.40, 2.60]");
	/* where a quad has left nothing of A there is no ratio, and e^20 would be made up */
	e.ci.hi = QUAD_BEYOND;
	compare_text_effect(buf, sizeof(buf), &e);
	assert_string_equal(buf, "2.50x [2.40, inf]");
	assert_string_equal(sentence(VERDICT_SLOWER, e), "bpf-loop is 2.5 times slower on B, 95 % interval "
						       "2.4\u2013inf times");
	e = made(40, 10, 160, 20, 160);
	e.ci.hi = log(exp(QUAD_BEYOND) * (1 - 1e-9));
	compare_text_effect(buf, sizeof(buf), &e);
	assert_string_equal(buf, "+40.0 % [+10.0, +inf]");
	compare_text_change(buf, sizeof(buf), QUAD_BEYOND);
	assert_string_equal(buf, "infx");
	compare_text_change(buf, sizeof(buf), NAN);
	assert_string_equal(buf, "-");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words),
		cmocka_unit_test(planned),
		cmocka_unit_test(needed),
		cmocka_unit_test(sentences),
		cmocka_unit_test(figures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
