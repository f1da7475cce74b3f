// SPDX-License-Identifier: BSD-2-Clause
/* Stored results: what a handful of runs supports, and what makes them incomparable. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compare/historical.h"
#include "result/record.h"
#include "stats/rng.h"

#define assert_near(a, b, eps) assert_true(fabs((a) - (b)) <= (eps))

static char paths[2][32];
static struct historical h;
static struct errline line;

static int make_files(void **state)
{
	for (int i = 0; i < 2; i++) {
		int fd;

		snprintf(paths[i], sizeof(paths[i]), "/tmp/historical.XXXXXX");
		fd = mkstemp(paths[i]);
		assert_true(fd >= 0);
		close(fd);
	}
	return 0;
}

static int remove_files(void **state)
{
	historical_release(&h);
	for (int i = 0; i < 2; i++)
		unlink(paths[i]);
	return 0;
}

struct run {
	double ns;
	const char *bench, *target, *variant, *params, *cpu, *policy;
	int seed;
	bool no_figure;
};

static void put(int file, struct run r)
{
	FILE *f = fopen(paths[file], "a");

	assert_non_null(f);
	fprintf(f, "{\"schema\":\"bpflab.result/1\",\"bench\":\"%s\",\"target\":\"%s\",\"variant\":{%s},"
		   "\"params\":{%s},\"estimate\":%.9g,\"distinguishable\":%s,\"seed\":\"0x%x\",\"env\":{"
		   "\"cpu\":\"%s\",\"overhead_policy\":\"%s\"}}\n", r.bench ? r.bench : "x",
		r.target ? r.target : "user", r.variant ? r.variant : "", r.params ? r.params : "", r.ns,
		r.no_figure ? "false" : "true", r.seed, r.cpu ? r.cpu : "C",
		r.policy ? r.policy : "P");
	fclose(f);
}

static void put_text(int file, const char *text)
{
	FILE *f = fopen(paths[file], "a");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static int compare(void)
{
	historical_release(&h);
	line.text[0] = '\0';
	return historical_compare(&h, paths[0], paths[1], 0.015, &line);
}

/* Five runs of 10 ns, 1 % apart; the sixth is 10 % slower. By hand: sd .0158, half = 2.776 sd sqrt(6/5). */
static void prediction(void **state)
{
	double a[5], b = log(11);
	struct effect e;

	for (int i = 0; i < 5; i++)
		a[i] = log(10) + 0.01 * (i - 2);
	historical_effect(a, 5, &b, 1, &e);
	assert_true(e.has_ci);
	assert_near(e.log_ratio, log(1.1), 1e-12);
	assert_near(e.sigma, sqrt(0.001 / 4), 1e-12);
	assert_near(e.ci.hi - e.log_ratio, 2.77645 * sqrt(0.001 / 4) * sqrt(1.2), 1e-6);
	assert_true(e.p < 0.01 && e.inner.lo > e.ci.lo);
	historical_effect(a, 4, &b, 1, &e);
	assert_false(e.has_ci);
	historical_effect(&b, 1, a, 5, &e);
	assert_true(e.has_ci);
	assert_near(e.log_ratio, -log(1.1), 1e-12);
}

/* If nothing changed, the next run is outside of the interval in 5 %. */
static void prediction_level(void **state)
{
	struct rng rng = { 1 };
	int outside = 0;

	for (int trial = 0; trial < 4000; trial++) {
		double x[8];
		struct effect e;

		for (int i = 0; i < 8; i++) {
			double sum = 0;

			for (int j = 0; j < 12; j++)
				sum += rng_unit(&rng);
			x[i] = 0.03 * (sum - 6);
		}
		historical_effect(x, 6, x + 6, 1 + (size_t)(trial % 2), &e);
		outside += e.p <= 0.05;
		assert_true((e.p <= 0.05) == (e.ci.lo > 0 || e.ci.hi < 0));
	}
	assert_in_range(outside, 150, 250);
}

static void one_run_each(void **state)
{
	put(0, (struct run){ .ns = 10, .seed = 1 });
	put(1, (struct run){ .ns = 20, .seed = 2 });
	assert_int_equal(compare(), 0);
	assert_int_equal(h.nr_rows, 1);
	assert_int_equal(h.rows[0].verdict, VERDICT_INCONCLUSIVE);
	assert_near(exp(h.rows[0].effect.log_ratio), 2, 1e-9);
	assert_non_null(strstr(h.rows[0].reason, "too few runs"));
}

static void many_runs(void **state)
{
	for (int i = 0; i < 6; i++) {
		put(0, (struct run){ .ns = 10 + 0.02 * i, .seed = i });
		put(1, (struct run){ .ns = 12 + 0.02 * i, .seed = 100 + i });
		put(0, (struct run){ .ns = 10 + 0.02 * i, .seed = i, .bench = "y" });
		put(1, (struct run){ .ns = 10.01 + 0.02 * i, .seed = 100 + i, .bench = "y" });
	}
	assert_int_equal(compare(), 0);
	assert_int_equal(h.nr_rows, 2);
	assert_int_equal(h.rows[0].verdict, VERDICT_SLOWER);
	assert_int_equal(h.rows[0].side[0].runs, 6);
	assert_int_equal(h.rows[1].verdict, VERDICT_SAME);
	assert_true(h.rows[0].p_holm < 0.05 && !h.rows[0].reason);
}

/* Five copies of one run are one run. */
static void copies(void **state)
{
	for (int i = 0; i < 5; i++)
		put(0, (struct run){ .ns = 10, .seed = 1 });
	put(1, (struct run){ .ns = 12, .seed = 2 });
	assert_int_equal(compare(), 0);
	assert_int_equal(h.rows[0].side[0].runs, 1);
	assert_int_equal(h.rows[0].verdict, VERDICT_INCONCLUSIVE);
}

static void incomparable(void **state)
{
	for (int i = 0; i < 6; i++) {
		put(0, (struct run){ .ns = 10 + 0.01 * i, .seed = i, .bench = "machine" });
		put(1, (struct run){ .ns = 15, .seed = 50 + i, .bench = "machine", .cpu = "D" });
		put(0, (struct run){ .ns = 10 + 0.01 * i, .seed = i, .bench = "policy" });
		put(1, (struct run){ .ns = 15, .seed = 50 + i, .bench = "policy", .policy = "Q" });
		put(0, (struct run){ .ns = 10 + 0.01 * i, .seed = i, .bench = "none" });
		put(1, (struct run){ .ns = 0, .seed = 50 + i, .bench = "none", .no_figure = true });
	}
	assert_int_equal(compare(), 0);
	assert_int_equal(h.nr_rows, 3);
	assert_non_null(strstr(h.rows[0].reason, "different machines"));
	assert_non_null(strstr(h.rows[1].reason, "different subtractions"));
	assert_non_null(strstr(h.rows[2].reason, "not told apart"));
	for (int i = 0; i < 3; i++)
		assert_int_equal(h.rows[i].verdict, VERDICT_INCONCLUSIVE);
}

/* Targets pair with themselves, or with the only other one; parameters in any order. */
static void pairing(void **state)
{
	put(0, (struct run){ .ns = 1, .variant = "\"jit\":\"on\"", .params = "\"producers\":1,\"nr_loops\":7" });
	put(0, (struct run){ .ns = 2, .variant = "\"jit\":\"off\"", .params = "\"producers\":1,\"nr_loops\":7" });
	put(1, (struct run){ .ns = 3, .variant = "\"jit\":\"off\"", .params = "\"nr_loops\":7,\"producers\":1" });
	put(1, (struct run){ .ns = 4, .target = "host", .params = "\"nr_loops\":7" });
	put(0, (struct run){ .ns = 5, .bench = "only" });
	put(1, (struct run){ .ns = 6, .bench = "only", .target = "host" });
	put(0, (struct run){ .ns = 5, .bench = "left" });
	assert_int_equal(compare(), 0);
	assert_int_equal(h.nr_rows, 2);
	assert_string_equal(h.rows[0].label, "x/nr_loops=7");
	assert_string_equal(h.rows[0].side[0].target, "user:jit=off");
	assert_string_equal(h.rows[0].side[1].target, "user:jit=off");
	assert_near(exp(h.rows[0].effect.log_ratio), 1.5, 1e-9);
	assert_string_equal(h.rows[1].side[1].target, "host");
}

static void bad_files(void **state)
{
	assert_true(compare() < 0);
	assert_non_null(strstr(line.text, "holds no results"));
	put(0, (struct run){ .ns = 1 });
	put_text(1, "\n  \n{\"schema\":\"bpflab.result/1\"\n");
	assert_true(compare() < 0);
	assert_non_null(strstr(line.text, "line 3 is not JSON"));
	unlink(paths[1]);
	assert_int_equal(compare(), -ENOENT);
	put_text(1, "{\"schema\":\"other/1\"}\n");
	assert_true(compare() < 0);
	assert_non_null(strstr(line.text, "schema 'other/1'"));
	unlink(paths[1]);
	put_text(1, "[[[]]]\n");
	assert_true(compare() < 0);
	unlink(paths[1]);
	/* members have their types */
	put_text(1, "{\"schema\":\"bpflab.result/1\",\"bench\":7,\"estimate\":\"x\",\"params\":[],\"env\":3}\n");
	assert_true(compare() < 0);
	assert_non_null(strstr(line.text, "\"bench\" is not a text"));
	assert_true(records_is_file(paths[1]));
	assert_false(records_is_file("/nonexistent"));
	assert_false(records_is_file("/bin/sh"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(prediction),
		cmocka_unit_test(prediction_level),
		cmocka_unit_test_setup_teardown(one_run_each, make_files, remove_files),
		cmocka_unit_test_setup_teardown(many_runs, make_files, remove_files),
		cmocka_unit_test_setup_teardown(copies, make_files, remove_files),
		cmocka_unit_test_setup_teardown(incomparable, make_files, remove_files),
		cmocka_unit_test_setup_teardown(pairing, make_files, remove_files),
		cmocka_unit_test_setup_teardown(bad_files, make_files, remove_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
