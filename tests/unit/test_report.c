// SPDX-License-Identifier: BSD-2-Clause
/*
 * The views of a fixed result against their goldens: the table and the CSV byte by byte, the JSON by
 * its schema. BPFLAB_UPDATE=1 prints what the goldens would be.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "report/classic.h"
#include "report/report.h"

static struct target_kind user_kind = { .name = "user" };
static struct target target = {
	.kind = &user_kind,
	.spec = "user:jit=on",
	.variants = { { "jit", "on" } },
	.nr_variants = 1,
};
static const struct bench loop_bench = {
	.name = "bpf-loop",
	.flags = BENCH_HAS_NR_LOOPS | BENCH_HAS_TRIGGER,
};
static const struct bench odd_bench = { .name = "odd,\"name\".o:p" };

static struct batch batch = {
	.t_ns = 1000, .ops = 800, .expected = 8000, .events = 8000, .ns = 1234.5, .round = 0,
	.arm = ARM_FULL, .size = SIZE_N, .cpu = 1, .nvcsw = 2, .nivcsw = 3, .steal = 4,
};
static struct point points[2];
static struct result results[2];
static struct suite suite;
static struct env env;
static struct report report;

static int setup(void **state)
{
	points[0] = (struct point){
		.inst = { .bench = &loop_bench, .target = &target,
			  .params = { .nr_loops = 10, .producers = 1 } },
		.label = "bpf-loop/nr_loops=10", .n_full = 800, .n_null = 1600, .batches = &batch,
		.nr_batches = 1, .expected = 8000, .counted = 8000, .left_behind = 8000,
		.has_left_behind = true, .warmup_batches = 30, .warmup_settled = true,
	};
	points[1] = (struct point){
		.inst = { .bench = &odd_bench, .target = &target,
			  .params = { .producers = 2, .trig_batch_iters = 100 } },
		.label = "odd/p=2", .batches = &batch,
	};
	results[0] = (struct result){
		.point = &points[0],
		.est = { .value = 1.364, .ci = { 1.35, 1.38 }, .ci_kind = INTERVAL_SIGN,
			 .distinguishable = true, .gross = 1.527, .null = 0.163, .trigger = 1520.25,
			 .intercept = 1510, .floor = 1.3, .p50 = 1.53, .p95 = 1.6, .p99 = 1.7,
			 .linearity = 1.001, .rate_mean = 652.8, .rate_stddev = 3.5 },
		.prog = { .known = true, .tag = { 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef },
			  .xlated_len = 704, .jited_len = 396 },
	};
	results[1] = (struct result){
		.point = &points[1],
		.est = { .value = 0.001, .ci = { 0, 0.042 }, .ci_kind = INTERVAL_GROUPS, .below = 0.042,
			 .trigger = NAN, .linearity = NAN, .null = 21.5 },
		.note = "the program returned 7",
	};
	estimate_warn(&results[1].est, "machine speed drifted %d %%", 5);
	suite = (struct suite){ .seed = 0xabcdef, .rounds_done = 100, .seconds = 10.04, .points = points,
				.nr_points = 2 };
	env = (struct env){ .kernel = "6.18.0", .arch = "x86_64", .cpu = "Some CPU",
			    .hypervisor = "KVMKVMKVM", .cpus = 2 };
	report = (struct report){ .suite = &suite, .env = &env, .results = results, .nr_results = 2 };
	return 0;
}

static int teardown(void **state)
{
	estimate_release(&results[1].est);
	return 0;
}

/* What @view prints; the caller frees it. */
static char *capture(int (*view)(FILE *f, const struct report *r))
{
	static char *text;
	static size_t size;
	FILE *f = open_memstream(&text, &size);

	assert_int_equal(view(f, &report), 0);
	fclose(f);
	return text;
}

static void assert_golden(char *text, const char *golden)
{
	if (getenv("BPFLAB_UPDATE"))
		print_message("%s", text);
	assert_string_equal(text, golden);
	free(text);
}

static int table_view(FILE *f, const struct report *r)
{
	report_table(f, r, false);
	return 0;
}

static int quiet_view(FILE *f, const struct report *r)
{
	report_table(f, r, true);
	return 0;
}

#define TABLE                                                                                      \
	"bench                 target       ns/event         95 % CI  trigger ns  null ns  "        \
	" throughput M/s\n"                                                                        \
	"bpf-loop/nr_loops=10  user:jit=on     1.364  [1.350, 1.380]      1520.2    0.163  "        \
	"652.800 ± 3.500\n"                                                                        \
	"odd/p=2               user:jit=on  < 0.0420  [0.00, 0.0420]           -    21.50  "        \
	"  0.000 ± 0.000\n"

static void table(void **state)
{
	assert_golden(capture(table_view),
		      TABLE "\n"
		      "odd/p=2 on user:jit=on: machine speed drifted 5 %\n"
		      "odd/p=2 on user:jit=on: the program returned 7\n"
		      "\n"
		      "Median cost of one event in the state the machine was in, trigger and null program "
		      "subtracted;\n"
		      "100 rounds spread over 10.0 s, seed 0xabcdef. With several producers: the time "
		      "each of them\n"
		      "needs per event of its own, and the throughput of all.\n"
		      "Some CPU, Linux 6.18.0, virtual machine (KVMKVMKVM), no PMU\n");
}

/* On a busy machine there is one line about it, not one for each row. */
static void busy_table(void **state)
{
	char *text;

	results[0].est.rounds = results[1].est.rounds = 100;
	results[0].est.rounds_used = 80;
	results[1].est.rounds_used = 60;
	text = capture(table_view);
	assert_non_null(strstr(text, " The machine is busy:\nrounds that were preempted are left out, up "
				     "to 40 of 100 in 2 of 2 rows.\n"));
	free(text);
	results[0].est.rounds_used = 100;
	results[1].est.rounds_used = 95;
	text = capture(table_view);
	assert_null(strstr(text, "busy"));
	free(text);
}

static void quiet_table(void **state)
{
	assert_golden(capture(quiet_view), TABLE);
}

static void csv(void **state)
{
	assert_golden(capture(report_csv),
		      "bench,target,nr_loops,producers,trig_batch_iters,ns_per_op,ci95_lo,ci95_hi,"
		      "distinguishable,trigger_ns,null_ns,gross_ns,floor_ns,throughput_mean_m,"
		      "throughput_stddev_m,events_expected,events_counted,rounds,seed,warnings,"
		      "programs,stacktrace\n"
		      "bpf-loop,user:jit=on,10,1,,1.364,1.35,1.38,1,1520.25,0.163,1.527,1.3,652.8,3.5,"
		      "8000,8000,100,0x0000000000abcdef,,,0\n"
		      "\"odd,\"\"name\"\".o:p\",user:jit=on,,2,100,0.001,0,0.042,0,,21.5,0,0,0,0,0,0,"
		      "100,0x0000000000abcdef,machine speed drifted 5 %,,0\n");
}

/* The first line of the JSON view, parsed; then the second. */
static json_t *json_line(unsigned int idx)
{
	char *text = capture(report_json), *line = text;
	json_t *o;

	while (idx--)
		line = strchr(line, '\n') + 1;
	assert_non_null(strchr(line, '\n'));
	o = json_loads(line, JSON_DISABLE_EOF_CHECK, NULL);
	assert_non_null(o);
	free(text);
	return o;
}

/* design: fields may be added, never renamed */
static void json_schema(void **state)
{
	static const char *const texts[] = { "schema", "bench", "target", "unit", "seed" };
	static const char *const numbers[] = { "estimate", "trigger_ns", "null_ns" };
	static const char *const objects[] = { "variant", "params", "throughput", "events", "env" };
	static const char *const lists[] = { "ci95", "warnings", "samples" };
	json_t *o = json_line(0);

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_true(json_is_string(json_object_get(o, texts[i])));
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		assert_true(json_is_number(json_object_get(o, numbers[i])));
	for (size_t i = 0; i < sizeof(objects) / sizeof(objects[0]); i++)
		assert_true(json_is_object(json_object_get(o, objects[i])));
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		assert_true(json_is_array(json_object_get(o, lists[i])));
	json_decref(o);
}

static void json_values(void **state)
{
	const char *schema, *jit, *seed, *tag, *arm, *size, *unit;
	int nr_loops, producers, expected, counted, ops, events, cpu, nivcsw, steal, warmup;
	double estimate, lo, hi, mean, ns;
	json_t *o = json_line(0);

	assert_int_equal(json_unpack(o,
				     "{s:s, s:{s:s}, s:{s:i, s:i}, s:F, s:[F,F], s:{s:i, s:i}, s:s, "
				     "s:{s:s}, s:{s:F, s:s}, s:{s:i}, s:[{s:s, s:s, s:i, s:i, s:F, "
				     "s:i, s:i, s:i}]}",
				     "schema", &schema, "variant", "jit", &jit, "params", "nr_loops",
				     &nr_loops, "producers", &producers, "estimate", &estimate, "ci95",
				     &lo, &hi, "events", "expected", &expected, "counted", &counted,
				     "seed", &seed, "prog", "tag", &tag, "throughput", "mean", &mean,
				     "unit", &unit, "batch", "warmup", &warmup, "samples", "arm", &arm,
				     "size", &size, "ops", &ops, "events", &events, "ns", &ns, "cpu",
				     &cpu, "nivcsw", &nivcsw, "steal", &steal),
			 0);
	assert_string_equal(schema, "bpflab.result/1");
	assert_string_equal(jit, "on");
	assert_string_equal(seed, "0x0000000000abcdef");
	assert_string_equal(tag, "0123456789abcdef");
	assert_string_equal(arm, "full");
	assert_string_equal(size, "N");
	assert_string_equal(unit, "M/s");
	assert_true(nr_loops == 10 && producers == 1 && expected == 8000 && counted == 8000);
	assert_true(estimate == 1.364 && lo == 1.35 && hi == 1.38 && mean == 652.8 && ns == 1234.5);
	assert_true(ops == 800 && events == 8000 && cpu == 1 && nivcsw == 3 && steal == 4);
	assert_int_equal(warmup, 30);
	json_decref(o);
}

/* What is unknown is null, never NaN or a made-up number. */
static void json_unknown(void **state)
{
	json_t *o = json_line(1);

	assert_true(json_is_null(json_object_get(o, "trigger_ns")));
	assert_true(json_is_null(json_object_get(o, "linearity")));
	assert_true(json_is_null(json_object_get(o, "prog")));
	assert_true(json_is_false(json_object_get(o, "distinguishable")));
	assert_true(json_real_value(json_object_get(o, "below")) == 0.042);
	assert_int_equal(json_array_size(json_object_get(o, "warnings")), 1);
	assert_int_equal(json_integer_value(json_object_get(json_object_get(o, "params"),
							    "trig_batch_iters")), 100);
	json_decref(o);
}

/* The kernel tool's own lines, which scripts take apart. */
static void classic(void **state)
{
	const double rates[] = { 10, 12, 14 };
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	classic_print_interval(f, false, 3, 1000123456, 24.5, 2);
	classic_print_interval(f, true, 0, 999000000, 24.5, 1);
	classic_print_summary(f, false, rates, 3, 2);
	classic_print_summary(f, true, rates, 3, 1);
	fclose(f);
	assert_golden(text,
		      "Iter   3 (123.456us): hits   24.500M/s ( 12.250M/prod), drops    0.000M/s, total "
		      "operations   24.500M/s\n"
		      "Iter   0 (-1000.000us): hits   24.500M/s ( 24.500M/prod)\n"
		      "Summary: hits   12.000 ± 2.000M/s (  6.000M/prod), drops    0.000 ± 0.000M/s, "
		      "total operations   12.000 ± 2.000M/s\n"
		      "Summary: throughput   12.000 ± 2.000 M ops/s ( 12.000M ops/prod), latency   83.333 "
		      "ns/op\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(table, setup, teardown),
		cmocka_unit_test_setup_teardown(busy_table, setup, teardown),
		cmocka_unit_test_setup_teardown(quiet_table, setup, teardown),
		cmocka_unit_test_setup_teardown(csv, setup, teardown),
		cmocka_unit_test_setup_teardown(json_schema, setup, teardown),
		cmocka_unit_test_setup_teardown(json_values, setup, teardown),
		cmocka_unit_test_setup_teardown(json_unknown, setup, teardown),
		cmocka_unit_test(classic),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
