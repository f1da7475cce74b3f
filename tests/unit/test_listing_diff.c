// SPDX-License-Identifier: BSD-2-Clause
/*
 * Differences of listings: aligned lines really say the same, no shorter difference exists (against
 * the longest common subsequence by its textbook table), branches, functions, counts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dump/listing_diff.h"

#define MAX_LINES 64

static char texts[26][2];

/* A function of one-letter instructions; "j" may get a target later. */
static void make_func(struct listing_func *f, const char *name, const char *letters)
{
	f->name = name;
	f->nr = strlen(letters);
	f->insns = calloc(f->nr + 1, sizeof(*f->insns));
	assert_non_null(f->insns);
	for (size_t i = 0; i < f->nr; i++) {
		texts[letters[i] - 'a'][0] = letters[i];
		f->insns[i] = (struct listing_insn){ .off = i, .len = 4, .target = -1,
						     .kind = letters[i] == 'c' ? LISTING_CALL :
									       LISTING_COMPUTE,
						     .text = texts[letters[i] - 'a'] };
		f->bytes += 4;
	}
}

static void free_funcs(struct listing_func *f, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		free(f[i].insns);
}

static size_t common_length(const char *a, const char *b)
{
	static size_t len[MAX_LINES + 1][MAX_LINES + 1];
	size_t na = strlen(a), nb = strlen(b);

	for (size_t i = 0; i <= na; i++)
		for (size_t k = 0; k <= nb; k++)
			len[i][k] = !i || !k ? 0 :
				    a[i - 1] == b[k - 1] ? len[i - 1][k - 1] + 1 :
				    len[i - 1][k] > len[i][k - 1] ? len[i - 1][k] :
								    len[i][k - 1];
	return len[na][nb];
}

static void check_rows(const struct diff_func *f)
{
	int32_t a = 0, b = 0;

	for (size_t i = 0; i < f->nr; i++) {
		const struct diff_row *row = &f->rows[i];

		assert_true(row->a >= 0 || row->b >= 0);
		if (row->a >= 0)
			assert_int_equal(row->a, a++);
		if (row->b >= 0)
			assert_int_equal(row->b, b++);
		if (row->a >= 0 && row->b >= 0)
			assert_string_equal(f->a->insns[row->a].text, f->b->insns[row->b].text);
	}
	assert_int_equal(a, f->a ? f->a->nr : 0);
	assert_int_equal(b, f->b ? f->b->nr : 0);
}

static void check_pair(const char *x, const char *y)
{
	struct listing_func fa = { 0 }, fb = { 0 };
	struct listing a = { &fa, 1 }, b = { &fb, 1 };
	size_t common = common_length(x, y);
	struct listing_diff d;

	make_func(&fa, "f", x);
	make_func(&fb, "f", y);
	assert_int_equal(listing_diff(&d, &a, &b), 0);
	assert_int_equal(d.nr, 1);
	assert_false(d.funcs[0].coarse);
	check_rows(&d.funcs[0]);
	if (d.counts.same != common)
		fail_msg("'%s' and '%s': %zu the same, not %zu", x, y, d.counts.same, common);
	assert_int_equal(d.counts.removed, strlen(x) - common);
	assert_int_equal(d.counts.added, strlen(y) - common);
	listing_diff_release(&d);
	free_funcs(&fa, 1);
	free_funcs(&fb, 1);
}

static void test_fixed(void **state)
{
	check_pair("", "");
	check_pair("abc", "abc");
	check_pair("abc", "");
	check_pair("", "abc");
	check_pair("abc", "xbz");
	check_pair("abcabba", "cbabac");
	check_pair("aaaa", "aa");
	check_pair("xaxbxc", "abc");
}

static void test_random(void **state)
{
	char x[MAX_LINES], y[MAX_LINES];
	unsigned int seed = 20240718;

	for (int round = 0; round < 20000; round++) {
		char *of[2] = { x, y };
		int letters = 2 + round % 5;

		for (int s = 0; s < 2; s++) {
			int len = rand_r(&seed) % (round % 2 ? 12 : MAX_LINES - 1);

			for (int i = 0; i < len; i++)
				of[s][i] = (char)('a' + rand_r(&seed) % letters);
			of[s][len] = '\0';
		}
		check_pair(x, y);
	}
}

/* @to_a, @to_b: where the "j" of each goes. Returns how many lines are the same. */
static size_t with_branches(const char *x, int32_t to_a, const char *y, int32_t to_b,
			    uint32_t *label_a, uint32_t *label_b)
{
	struct listing_func fa = { 0 }, fb = { 0 };
	struct listing a = { &fa, 1 }, b = { &fb, 1 };
	struct listing_diff d;
	size_t same;

	make_func(&fa, "f", x);
	make_func(&fb, "f", y);
	fa.insns[strchr(x, 'j') - x].target = to_a;
	fb.insns[strchr(y, 'j') - y].target = to_b;
	listing_number_labels(&fa);
	listing_number_labels(&fb);
	assert_int_equal(listing_diff(&d, &a, &b), 0);
	check_rows(&d.funcs[0]);
	same = d.counts.same;
	*label_a = fa.insns[to_a].label;
	*label_b = fb.insns[to_b].label;
	listing_diff_release(&d);
	free_funcs(&fa, 1);
	free_funcs(&fb, 1);
	return same;
}

static void test_branches(void **state)
{
	uint32_t la, lb;

	/* moved, but to the same place */
	assert_int_equal(with_branches("ajbcd", 3, "ajbxxcd", 5, &la, &lb), 5);
	assert_int_equal(la, 1);
	assert_int_equal(lb, 1);
	/* at the same offset, but not the same place */
	assert_int_equal(with_branches("ajbcd", 3, "ajbcd", 4, &la, &lb), 4);
	assert_int_equal(la, 1);
	assert_int_equal(lb, 2);
	/* to something new in front of the same place */
	assert_int_equal(with_branches("ajbcd", 3, "ajbxcd", 3, &la, &lb), 5);
	/* back */
	assert_int_equal(with_branches("ajbcd", 0, "yajbcd", 1, &la, &lb), 5);
}

static void test_functions(void **state)
{
	struct listing_func fa[3] = { 0 }, fb[3] = { 0 };
	struct listing a = { fa, 3 }, b = { fb, 3 };
	struct listing_diff d;

	make_func(&fa[0], "main", "abc");
	make_func(&fa[1], "gone", "de");
	make_func(&fa[2], "twice", "f");
	make_func(&fb[0], "main", "abcc");
	make_func(&fb[1], "twice", "f");
	make_func(&fb[2], "twice", "g");
	assert_int_equal(listing_diff(&d, &a, &b), 0);
	assert_int_equal(d.nr, 4);
	for (size_t i = 0; i < d.nr; i++)
		check_rows(&d.funcs[i]);
	assert_null(d.funcs[1].b);
	assert_ptr_equal(d.funcs[2].b, &fb[1]);
	assert_null(d.funcs[3].a);
	assert_int_equal(d.counts.funcs[0], 3);
	assert_int_equal(d.counts.insns[1], 6);
	assert_int_equal(d.counts.bytes[0], 24);
	assert_int_equal(d.counts.kinds[LISTING_CALL][0], 1);
	assert_int_equal(d.counts.kinds[LISTING_CALL][1], 2);
	assert_int_equal(d.counts.same, 4);
	assert_int_equal(d.counts.removed, 2);
	assert_int_equal(d.counts.added, 2);
	listing_diff_release(&d);
	free_funcs(fa, 3);
	free_funcs(fb, 3);
}

/* Thousands of differences: not aligned, but complete, and in bounded memory. */
static void test_coarse(void **state)
{
	enum { N = 5000 };
	struct listing_func fa = { 0 }, fb = { 0 };
	struct listing a = { &fa, 1 }, b = { &fb, 1 };
	char *x = malloc(N + 1), *y = malloc(N + 1);
	struct listing_diff d;

	assert_true(x && y);
	memset(x, 'a', N);
	memset(y, 'b', N);
	x[0] = y[0] = 's';
	x[N] = y[N] = '\0';
	make_func(&fa, "f", x);
	make_func(&fb, "f", y);
	assert_int_equal(listing_diff(&d, &a, &b), 0);
	assert_true(d.funcs[0].coarse);
	check_rows(&d.funcs[0]);
	assert_int_equal(d.counts.same, 1);
	listing_diff_release(&d);
	free_funcs(&fa, 1);
	free_funcs(&fb, 1);
	free(x);
	free(y);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fixed),     cmocka_unit_test(test_random),
		cmocka_unit_test(test_branches),  cmocka_unit_test(test_functions),
		cmocka_unit_test(test_coarse),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
