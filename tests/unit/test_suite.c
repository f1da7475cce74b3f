// SPDX-License-Identifier: BSD-2-Clause
/*
 * The suite: which points a command line makes, and how their rounds are scheduled. Benches are made
 * up and take no time; targets are real, but only benches without BPF are opened on them.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "measure/suite.h"

#define MAX_LOG 4096

static struct suite suite;
static struct opts opts;
static struct errline line;

/* Every trigger of the fake benches, in order. */
static struct {
	char name;
	enum bench_arm arm;
	uint64_t ops;
} trigger_log[MAX_LOG];
static size_t nr_log;
static char failing; /* the bench that loses events */

static int fake_open(struct bench_inst *inst, struct errline *e)
{
	inst->priv = &suite;
	return 0;
}

static void fake_close(struct bench_inst *inst)
{
	inst->priv = NULL;
}

static int fake_trigger(struct bench_inst *inst, unsigned int producer, enum bench_arm arm,
			uint64_t ops, uint64_t *events)
{
	char name = inst->bench->name[0];

	if (nr_log < MAX_LOG) {
		trigger_log[nr_log].name = name;
		trigger_log[nr_log].arm = arm;
		trigger_log[nr_log++].ops = ops;
	}
	*events = ops - (name == failing && arm == ARM_FULL);
	return 0;
}

static const struct bench fakes[] = {
	{ .name = "a", .open = fake_open, .close = fake_close, .trigger = fake_trigger },
	{ .name = "b", .open = fake_open, .close = fake_close, .trigger = fake_trigger },
	{ .name = "c", .open = fake_open, .close = fake_close, .trigger = fake_trigger },
};
#define NR_FAKES (sizeof(fakes) / sizeof(fakes[0]))

/* A suite of the fake benches, measured. */
static int measure(uint64_t seed, uint32_t rounds)
{
	static struct target target;
	int err;

	suite = (struct suite){ .nr_points = NR_FAKES };
	assert_int_equal(target_parse(&target, "host", &line), 0);
	suite.points = calloc(NR_FAKES, sizeof(*suite.points));
	for (size_t i = 0; i < NR_FAKES; i++) {
		suite.points[i].inst.bench = &fakes[i];
		suite.points[i].inst.target = &target;
		suite.points[i].inst.params.producers = 1;
	}
	opts = (struct opts){ .rounds = rounds, .duration = 1e-6, .warmup = 0, .seed = seed,
			      .has_seed = true, .quiet = true };
	nr_log = 0;
	assert_int_equal(suite_open(&suite, &opts, &line), 0);
	err = suite_measure(&suite, &opts, &line);
	suite_verify(&suite);
	return err;
}

static void release(void)
{
	suite_release(&suite);
	memset(&suite, 0, sizeof(suite));
}

static int reset(void **state)
{
	failing = 0;
	unsetenv("BPFLAB_FAULT");
	return 0;
}

static void every_round_is_complete(void **state)
{
	assert_int_equal(measure(1, 20), 0);
	assert_int_equal(suite.rounds_done, 20);
	for (size_t i = 0; i < NR_FAKES; i++) {
		const struct point *pt = &suite.points[i];
		unsigned int seen[20][2][3] = { { { 0 } } };

		assert_int_equal(pt->failed, 0);
		assert_int_equal(pt->n_full % 8, 0);
		for (size_t j = 0; j < pt->nr_batches; j++) {
			const struct batch *b = &pt->batches[j];
			uint64_t n = b->arm == ARM_FULL ? pt->n_full : pt->n_null;
			static const uint64_t divisor[] = { 1, 8, 2 };

			seen[b->round][b->arm][b->size]++;
			assert_int_equal(b->ops, n / divisor[b->size]);
			assert_true(!j || b->t_ns >= pt->batches[j - 1].t_ns);
		}
		for (int r = 0; r < 20; r++) {
			assert_int_equal(seen[r][ARM_FULL][SIZE_N], 1);
			assert_int_equal(seen[r][ARM_FULL][SIZE_EIGHTH], 1);
			assert_int_equal(seen[r][ARM_NULL][SIZE_N], 1);
			assert_int_equal(seen[r][ARM_NULL][SIZE_EIGHTH], 1);
			assert_int_equal(seen[r][ARM_FULL][SIZE_HALF], r % 4 == 0);
		}
	}
	release();
}

/* Events of calibration and warm-up count as well: the maps hold them, too. */
static void all_events_are_counted(void **state)
{
	uint64_t sums[NR_FAKES] = { 0 };

	assert_int_equal(measure(2, 10), 0);
	assert_true(nr_log < MAX_LOG);
	for (size_t i = 0; i < nr_log; i++)
		if (trigger_log[i].arm == ARM_FULL)
			sums[trigger_log[i].name - 'a'] += trigger_log[i].ops;
	for (size_t i = 0; i < NR_FAKES; i++) {
		assert_int_equal(suite.points[i].counted, sums[i]);
		assert_int_equal(suite.points[i].expected, sums[i]);
	}
	release();
}

/* The order in which the points' rounds began, as "abcbca…". */
static void round_orders(char *orders, uint32_t rounds)
{
	for (uint32_t r = 0; r < rounds; r++) {
		uint64_t begin[NR_FAKES];

		for (size_t i = 0; i < NR_FAKES; i++) {
			const struct point *pt = &suite.points[i];

			begin[i] = UINT64_MAX;
			for (size_t j = 0; j < pt->nr_batches; j++)
				if (pt->batches[j].round == r && pt->batches[j].t_ns < begin[i])
					begin[i] = pt->batches[j].t_ns;
		}
		for (size_t i = 0; i < NR_FAKES; i++) {
			size_t rank = 0;

			for (size_t k = 0; k < NR_FAKES; k++)
				rank += begin[k] < begin[i];
			orders[r * NR_FAKES + rank] = (char)('a' + i);
		}
	}
	orders[rounds * NR_FAKES] = '\0';
}

static void rounds_are_interleaved(void **state)
{
	char first[60 * NR_FAKES + 1], again[60 * NR_FAKES + 1];
	unsigned int leads[NR_FAKES] = { 0 };

	assert_int_equal(measure(3, 60), 0);
	for (size_t i = 0; i < NR_FAKES; i++)
		for (size_t k = 0; k < NR_FAKES; k++) {
			/* Nobody's round r + 1 before everybody's round r is done. */
			const struct point *p = &suite.points[i], *q = &suite.points[k];

			for (size_t j = 0; j < p->nr_batches; j++)
				for (size_t l = 0; l < q->nr_batches; l++)
					assert_true(p->batches[j].round <= q->batches[l].round ||
						    p->batches[j].t_ns >= q->batches[l].t_ns);
		}
	round_orders(first, 60);
	release();
	for (int r = 0; r < 60; r++)
		leads[first[r * NR_FAKES] - 'a']++;
	/* Each leads 20 of 60 on average; 6 is four standard deviations below. */
	for (size_t i = 0; i < NR_FAKES; i++)
		assert_true(leads[i] >= 6);
	assert_int_equal(measure(3, 60), 0);
	round_orders(again, 60);
	release();
	assert_string_equal(first, again);
	assert_int_equal(measure(4, 60), 0);
	round_orders(again, 60);
	release();
	assert_string_not_equal(first, again);
}

static void a_failing_bench_is_out(void **state)
{
	failing = 'b';
	assert_int_equal(measure(5, 10), 0);
	assert_int_equal(suite.points[1].failed, -EBADMSG);
	assert_non_null(strstr(suite.points[1].error.text, "b on host"));
	assert_int_equal(suite.points[0].failed, 0);
	assert_int_equal(suite.points[2].failed, 0);
	assert_int_equal(suite.rounds_done, 10);
	assert_true(suite.points[2].nr_batches >= 40);
	release();
}

/* Words of a command line to a suite. */
static int build(const char *text)
{
	static char buf[256];
	static char *argv[24];
	char *save = NULL;
	int argc = 0;

	release();
	opts_release(&opts);
	snprintf(buf, sizeof(buf), "bpflab run --on host %s", text);
	for (char *w = strtok_r(buf, " ", &save); w && argc < 23; w = strtok_r(NULL, " ", &save))
		argv[argc++] = w;
	assert_int_equal(opts_parse(&opts, argc, argv, &line), 0);
	return suite_build(&suite, &opts, &line);
}

static bool host_works(void)
{
	struct target target;

	return !target_parse(&target, "host", &line) && !target_probe(&target, &line);
}

static void points_of_a_command_line(void **state)
{
	if (!host_works())
		skip();
	assert_int_equal(build(""), 0);
	assert_int_equal(suite.nr_points, 7);
	assert_int_equal(build("*-inc count-local arr-inc"), 0);
	assert_int_equal(suite.nr_points, 4);
	assert_int_equal(build("bpf-loop arr-inc --sweep nr_loops=1,1k --sweep p=1,2,3"), 0);
	assert_int_equal(suite.nr_points, 9);
	assert_string_equal(suite.points[0].label, "bpf-loop/nr_loops=1");
	assert_string_equal(suite.points[5].label, "bpf-loop/nr_loops=1000/p=3");
	assert_string_equal(suite.points[8].label, "arr-inc/p=3");
	assert_int_equal(build("hash-inc --trig-batch-iters 50 -p 2"), 0);
	assert_string_equal(suite.points[0].label, "hash-inc/iters=50/p=2");
	assert_int_equal(build("bpf-loop count-local --trig-batch-iters 50"), 0);
	assert_int_equal(suite.points[0].inst.params.nr_loops, 10);
	assert_int_equal(suite.points[0].inst.params.trig_batch_iters, 50);
	/* It has no triggers of that kind. */
	assert_int_equal(suite.points[1].inst.params.trig_batch_iters, 0);
	/* The same under another name. */
	assert_int_equal(build("private-stack arr-inc --sweep nr-batch-iters=1,4k --sweep p=1,2 "
			       "--trig-batch-iters 7"),
			 0);
	assert_int_equal(suite.nr_points, 6);
	assert_string_equal(suite.points[0].label, "private-stack/iters=1");
	assert_string_equal(suite.points[3].label, "private-stack/iters=4000/p=2");
	assert_string_equal(suite.points[5].label, "arr-inc/iters=7/p=2");
}

static void mistakes_of_a_command_line(void **state)
{
	if (!host_works())
		skip();
	assert_int_equal(build("no-such"), -ENOENT);
	assert_int_equal(build("arr-inc --nr_loops 3"), -EINVAL);
	assert_int_equal(build("count-local --trig-batch-iters 3"), -EINVAL);
	assert_int_equal(build("private-stack --trig-batch-iters 3"), -EINVAL);
	assert_int_equal(build("arr-inc --nr-batch-iters 3"), -EINVAL);
	assert_int_equal(build("arr-inc --sweep p=1 -p 1"), -EINVAL);
	assert_int_equal(build("arr-inc --sweep p=1 --sweep producers=2"), -EINVAL);
	assert_int_equal(build("arr-inc --on host"), -EINVAL);
	assert_int_equal(build("arr-inc --sweep x=1"), -EINVAL);
	assert_int_equal(build("./no/such.bpf.o"), -ENOENT);
	assert_int_equal(build("arr-inc -c 1"), -EINVAL);
}

/* What is left behind is compared with what was counted; only the kernel may lose, and only if many. */
static int one_less(struct bench_inst *inst, uint64_t *counted)
{
	*counted = 99;
	return 0;
}

static int unreadable(struct bench_inst *inst, uint64_t *counted)
{
	return -ENOENT;
}

static int verify(const char *spec, uint32_t producers, uint64_t counted,
		  int (*left_behind)(struct bench_inst *inst, uint64_t *counted))
{
	const struct bench bench = { .name = "x", .left_behind = left_behind };
	struct target target = { .kind = spec[0] == 'h' ? &target_kind_host : &target_kind_user };
	struct point pt = { .inst = { .bench = &bench, .target = &target,
				      .params = { .producers = producers } }, .counted = counted };
	struct suite s = { .points = &pt, .nr_points = 1 };

	suite_verify(&s);
	return pt.failed;
}

static void lost_updates(void **state)
{
	assert_int_equal(verify("user", 1, 99, one_less), 0);
	assert_int_equal(verify("user", 1, 100, one_less), -EBADMSG);
	assert_int_equal(verify("user", 4, 100, one_less), -EBADMSG);
	assert_int_equal(verify("host", 1, 100, one_less), -EBADMSG);
	assert_int_equal(verify("host", 4, 100, one_less), 0);
	assert_int_equal(verify("host", 4, 98, one_less), -EBADMSG);
	assert_int_equal(verify("host", 4, 99, unreadable), -ENOENT);
	setenv("BPFLAB_FAULT", "lose-update", 1);
	assert_int_equal(verify("user", 1, 99, one_less), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(every_round_is_complete, reset),
		cmocka_unit_test_setup(all_events_are_counted, reset),
		cmocka_unit_test_setup(rounds_are_interleaved, reset),
		cmocka_unit_test_setup(a_failing_bench_is_out, reset),
		cmocka_unit_test_setup(points_of_a_command_line, reset),
		cmocka_unit_test_setup(mistakes_of_a_command_line, reset),
		cmocka_unit_test_setup(lost_updates, reset),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	release();
	opts_release(&opts);
	return failed;
}
