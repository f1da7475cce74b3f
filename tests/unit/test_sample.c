// SPDX-License-Identifier: BSD-2-Clause
/* Batches of made-up benches: what is counted, what is checked, and that producers run together. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "measure/sample.h"
#include "target.h"

#define MAX_PRODUCERS 4

struct fake {
	uint64_t triggers, ops, lose;
	uint64_t last_ops;
	enum bench_arm last_arm;
	int err;
	uint32_t inside, most_inside; /* producers in the trigger at the same time */
	uint32_t wait_for;            /* … that it waits for */
};

static struct fake fake;
static struct target target = { .spec = "host" };

static int fake_trigger(struct bench_inst *inst, unsigned int producer, enum bench_arm arm,
			uint64_t ops, uint64_t *events)
{
	uint32_t inside = __atomic_add_fetch(&fake.inside, 1, __ATOMIC_SEQ_CST);

	/* All producers of a batch have to be inside before any leaves. */
	while (inside < fake.wait_for)
		inside = __atomic_load_n(&fake.inside, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&fake.triggers, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&fake.ops, ops, __ATOMIC_RELAXED);
	__atomic_store_n(&fake.last_ops, ops, __ATOMIC_RELAXED);
	__atomic_store_n(&fake.last_arm, arm, __ATOMIC_RELAXED);
	*events = ops * inst->params.nr_loops - __atomic_load_n(&fake.lose, __ATOMIC_RELAXED);
	return fake.err;
}

static uint64_t fake_events_per_op(const struct bench_inst *inst)
{
	return inst->params.nr_loops;
}

static const struct bench fake_bench = {
	.name = "fake",
	.trigger = fake_trigger,
	.events_per_op = fake_events_per_op,
};

static struct producers *producers;
static struct errline line;

static int run(uint32_t nr, uint32_t iters, enum bench_arm arm, uint64_t ops, struct batch *b)
{
	struct bench_inst inst = {
		.bench = &fake_bench,
		.target = &target,
		.params = { .nr_loops = 10, .producers = nr, .trig_batch_iters = iters },
	};

	*b = (struct batch){ .arm = arm, .ops = ops };
	line.text[0] = '\0';
	return sample_batch(&inst, producers, b, &line);
}

static int reset(void **state)
{
	memset(&fake, 0, sizeof(fake));
	unsetenv("BPFLAB_FAULT");
	return 0;
}

static void one_trigger(void **state)
{
	struct batch b;

	assert_int_equal(run(1, 0, ARM_FULL, 800, &b), 0);
	assert_int_equal(fake.triggers, 1);
	assert_int_equal(fake.last_ops, 800);
	assert_int_equal(b.expected, 8000);
	assert_int_equal(b.events, 8000);
	assert_true(b.ns > 0 && b.wall_ns == b.ns && b.cpu >= 0);
}

static void several_triggers(void **state)
{
	struct batch b;

	assert_int_equal(run(1, 100, ARM_NULL, 800, &b), 0);
	assert_int_equal(fake.triggers, 8);
	assert_int_equal(fake.last_ops, 100);
	assert_int_equal(fake.last_arm, ARM_NULL);
	assert_int_equal(b.events, 8000);
}

static void bare_triggers(void **state)
{
	struct batch b;

	assert_int_equal(run(1, 0, ARM_TRIGGER, 32, &b), 0);
	assert_int_equal(fake.triggers, 32);
	assert_int_equal(fake.ops, 0);
	assert_int_equal(b.expected, 0);
}

static void producers_run_together(void **state)
{
	struct batch b;

	for (uint32_t nr = 2; nr <= MAX_PRODUCERS; nr++) {
		fake = (struct fake){ .wait_for = nr };
		assert_int_equal(run(nr, 0, ARM_FULL, 800, &b), 0);
		assert_int_equal(fake.triggers, nr);
		assert_int_equal(b.events, nr * 8000);
		assert_int_equal(b.expected, nr * 8000);
		assert_true(b.wall_ns >= b.ns);
	}
	/* … and fewer than there are works as well. */
	fake = (struct fake){ .wait_for = 2 };
	assert_int_equal(run(2, 0, ARM_FULL, 8, &b), 0);
	assert_int_equal(fake.triggers, 2);
}

static void a_lost_event_fails(void **state)
{
	struct batch b;

	fake.lose = 1;
	assert_int_equal(run(1, 0, ARM_FULL, 800, &b), -EBADMSG);
	assert_non_null(strstr(line.text, "fake on host"));
	assert_non_null(strstr(line.text, "7999 events of 8000"));
	assert_int_equal(run(3, 0, ARM_NULL, 8, &b), -EBADMSG);
	assert_non_null(strstr(line.text, "null program"));
	/* An event too many is as bad. */
	fake.lose = (uint64_t)-1;
	assert_int_equal(run(1, 0, ARM_FULL, 800, &b), -EBADMSG);
}

static void a_failed_trigger_fails(void **state)
{
	struct batch b;

	fake.err = -EFAULT;
	assert_int_equal(run(1, 100, ARM_FULL, 800, &b), -EFAULT);
	assert_int_equal(fake.triggers, 1);
	assert_non_null(strstr(line.text, "Bad address"));
	assert_int_equal(run(3, 0, ARM_FULL, 800, &b), -EFAULT);
}

static void injected_faults(void **state)
{
	struct batch b;

	setenv("BPFLAB_FAULT", "drop-event", 1);
	assert_int_equal(run(1, 0, ARM_FULL, 800, &b), -EBADMSG);
	assert_int_equal(fake.last_ops, 799);
	assert_int_equal(b.expected - b.events, 10);
	/* The null program is left alone. */
	assert_int_equal(run(1, 0, ARM_NULL, 800, &b), 0);
	assert_int_equal(sample_fault(), FAULT_DROP_EVENT);
	setenv("BPFLAB_FAULT", "lose-update", 1);
	assert_int_equal(sample_fault(), FAULT_LOSE_UPDATE);
	setenv("BPFLAB_FAULT", "other", 1);
	assert_int_equal(sample_fault(), FAULT_NONE);
}

static void pinned(void **state)
{
	struct producers_config config = { .nr = 2, .pin = true };
	struct producers *pool = producers, *two;
	cpu_set_t before, now;
	struct batch b;

	sched_getaffinity(0, sizeof(before), &before);
	assert_int_equal(producers_start(&two, &config, &line), 0);
	sched_getaffinity(0, sizeof(now), &now);
	assert_int_equal(CPU_COUNT(&now), 1);
	producers = two;
	assert_int_equal(run(2, 0, ARM_FULL, 8, &b), 0);
	assert_true(CPU_ISSET(b.cpu, &now));
	assert_false(b.migrated);
	producers = pool;
	producers_stop(two);
	sched_getaffinity(0, sizeof(now), &now);
	assert_true(CPU_EQUAL(&now, &before));
}

static void pinned_nowhere(void **state)
{
	struct producers_config config = { .nr = 1, .pin = true, .has_cpus = true };
	struct producers *p;

	CPU_SET(CPU_SETSIZE - 1, &config.cpus);
	assert_int_equal(producers_start(&p, &config, &line), -EINVAL);
	assert_non_null(strstr(line.text, "cannot pin producer 0 to CPU 1023"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(one_trigger, reset),
		cmocka_unit_test_setup(several_triggers, reset),
		cmocka_unit_test_setup(bare_triggers, reset),
		cmocka_unit_test_setup(producers_run_together, reset),
		cmocka_unit_test_setup(a_lost_event_fails, reset),
		cmocka_unit_test_setup(a_failed_trigger_fails, reset),
		cmocka_unit_test_setup(injected_faults, reset),
		cmocka_unit_test_setup(pinned, reset),
		cmocka_unit_test_setup(pinned_nowhere, reset),
	};
	struct producers_config config = { .nr = MAX_PRODUCERS };
	int failed;

	if (producers_start(&producers, &config, &line))
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	producers_stop(producers);
	return failed;
}
