// SPDX-License-Identifier: BSD-2-Clause
/*
 * How a comparison is measured: the same operations for every arm, orders that a seed replays, new loads,
 * rows that end on their own. Benches are made up and take no time, so that verdicts mean nothing here.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "compare/comparison.h"

#define NR_ROWS 3

static struct comparison c;
static struct errline line;
static unsigned int opened, closed;
static char failing;       /* the bench that loses events */
static char losing;        /* the bench whose counters lose one */
static uint64_t counted[4]; /* events of each bench's programs since it was opened */

static int fake_open(struct bench_inst *inst, struct errline *e)
{
	inst->priv = calloc(1, sizeof(uint64_t));
	assert_non_null(inst->priv);
	opened++;
	return 0;
}

static void fake_close(struct bench_inst *inst)
{
	free(inst->priv);
	inst->priv = NULL;
	closed++;
}

static int fake_trigger(struct bench_inst *inst, unsigned int producer, enum bench_arm arm,
			uint64_t ops, uint64_t *events)
{
	char name = inst->bench->name[0];

	*events = ops - (name == failing && arm == ARM_FULL);
	if (arm == ARM_FULL) {
		*(uint64_t *)inst->priv += *events;
		counted[name - 'a'] += *events;
	}
	return 0;
}

static int fake_left_behind(struct bench_inst *inst, uint64_t *left)
{
	*left = *(uint64_t *)inst->priv - (inst->bench->name[0] == losing);
	return 0;
}

#define FAKE(letter) { .name = letter, .open = fake_open, .close = fake_close, \
		       .trigger = fake_trigger, .left_behind = fake_left_behind }
static const struct bench fakes[NR_ROWS] = { FAKE("a"), FAKE("b"), FAKE("c") };

static void prepare(uint64_t seed, uint32_t quads, bool control)
{
	const struct opts opts = { .quiet = true };

	memset(&c, 0, sizeof(c));
	opened = closed = 0;
	memset(counted, 0, sizeof(counted));
	for (int arm = 0; arm < QUAD_NR_ARMS; arm++)
		assert_int_equal(target_parse(&c.targets[arm], "host", &line), 0);
	assert_int_equal(comparison_alloc_rows(&c, NR_ROWS, &line), 0);
	for (size_t i = 0; i < NR_ROWS; i++) {
		c.rows[i].params.producers = 1;
		snprintf(c.rows[i].label, sizeof(c.rows[i].label), "%s", fakes[i].name);
		for (int arm = 0; arm < QUAD_NR_ARMS; arm++) {
			c.rows[i].arms[arm].bench = &fakes[i];
			c.rows[i].arms[arm].target = &c.targets[arm];
		}
	}
	compare_rule_init(&c.rule, quads, NR_ROWS, COMPARE_MARGIN);
	c.control = control;
	c.loads = 5;
	c.warmup = 0;
	c.seed = seed;
	assert_int_equal(suite_start_producers(&c.suite, &opts, &line), 0);
}

static void release(void)
{
	comparison_release(&c);
}

static int reset(void **state)
{
	failing = losing = 0;
	unsetenv("BPFLAB_FAULT");
	return 0;
}

static bool is_same_slot(const struct quad_slot *a, const struct quad_slot *b)
{
	return a->arm == b->arm && a->null == b->null && a->half == b->half;
}

/* The batches of a quad are those of its plan, and all of one size. */
static void check_batches(const struct comparison_row *row, bool control)
{
	size_t per_quad = control ? 12 : 8;

	assert_int_equal(row->nr_batches, row->nr_quads * per_quad);
	for (size_t i = 0; i < row->nr_batches; i++) {
		const struct comparison_batch *cb = &row->batches[i];
		struct quad_slot slots[QUAD_MAX_SLOTS];

		assert_int_equal(cb->batch.ops, row->ops);
		assert_int_equal(cb->position, i % per_quad);
		assert_int_equal(quad_plan(c.seed, row->idx, cb->batch.round, control, slots), per_quad);
		assert_true(is_same_slot(&cb->slot, &slots[cb->position]));
		assert_int_equal(cb->batch.arm, cb->slot.null ? ARM_NULL : ARM_FULL);
		assert_int_equal(cb->batch.events, cb->batch.expected);
		assert_true(!i || cb->batch.t_ns >= row->batches[i - 1].batch.t_ns);
		assert_true(cb->load < c.epochs);
	}
}

static void every_arm_alike(void **state)
{
	for (int control = 0; control < 2; control++) {
		prepare(1, 40, control);
		assert_int_equal(comparison_measure(&c, &line), 0);
		for (size_t i = 0; i < NR_ROWS; i++) {
			const struct comparison_row *row = &c.rows[i];

			assert_int_equal(row->failed, 0);
			assert_true(row->ops > 0 && row->done);
			assert_true(row->crowded ? row->nr_quads >= 40 : row->nr_clean == 40);
			check_batches(row, control);
			assert_int_equal(row->expected, row->counted);
			assert_int_equal(row->counted, counted[i]);
		}
		assert_true(c.epochs >= 5);
		assert_int_equal(opened, closed);
		assert_true(opened >= 5u * NR_ROWS * (control ? 3 : 2));
		release();
	}
}

static void replayed(void **state)
{
	static struct quad_slot first[NR_ROWS][40 * 12];
	static uint32_t rounds[NR_ROWS][40 * 12];

	for (int run = 0; run < 3; run++) {
		size_t same = 0, all = 0;

		prepare(run < 2 ? 77 : 78, 40, true);
		assert_int_equal(comparison_measure(&c, &line), 0);
		for (size_t i = 0; i < NR_ROWS; i++)
			for (size_t j = 0; j < 40 * 12; j++) {
				const struct comparison_batch *cb = &c.rows[i].batches[j];

				if (!run) {
					first[i][j] = cb->slot;
					rounds[i][j] = cb->batch.round;
					continue;
				}
				/* Quads that were left out are rounds that the other run may not have. */
				if (cb->batch.round != rounds[i][j])
					continue;
				all++;
				same += is_same_slot(&first[i][j], &cb->slot);
			}
		if (run == 1)
			assert_int_equal(same, all);
		if (run == 2)
			assert_true(same < all / 2);
		release();
	}
}

static void fixed_number(void **state)
{
	prepare(3, 6, false);
	c.loads = 50;
	assert_int_equal(comparison_measure(&c, &line), 0);
	assert_int_equal(comparison_judge(&c), 0);
	assert_true(c.rows[0].used >= 6);
	assert_int_equal(c.rows[0].nr_looks, 1);
	assert_true(c.rows[0].stats.effect.loads <= 6);
	release();
}

static void looks(void **state)
{
	prepare(4, 0, true);
	assert_int_equal(comparison_measure(&c, &line), 0);
	assert_int_equal(comparison_judge(&c), 0);
	for (size_t i = 0; i < NR_ROWS; i++) {
		const struct comparison_row *row = &c.rows[i];

		assert_in_range(row->nr_looks, 1, 4);
		for (size_t l = 0; l < row->nr_looks; l++)
			assert_true(row->looks[l] >= (row->crowded ? 40 : sequential_looks[l]));
		assert_int_equal(row->looks[row->nr_looks - 1], row->used);
		assert_true(row->p_holm >= row->p && row->p >= row->p_least - 1e-12);
		assert_true(row->fdr <= row->p_holm + 1e-12);
	}
	assert_true(c.geomean.n >= 40 || c.rows[0].crowded || c.rows[1].crowded || c.rows[2].crowded);
	assert_true(c.control_mean.n == c.geomean.n);
	release();
}

/* A bench that does something else than it was asked for is out; the others go on. */
static void failing_row(void **state)
{
	failing = 'b';
	prepare(5, 40, true);
	assert_int_equal(comparison_measure(&c, &line), 0);
	assert_int_equal(comparison_judge(&c), 0);
	assert_int_equal(c.rows[1].failed, -EBADMSG);
	assert_non_null(strstr(c.rows[1].error.text, "b on host"));
	assert_true(!c.rows[0].failed && !c.rows[2].failed);
	assert_true(c.rows[0].used >= 40 && c.rows[2].used >= 40);
	assert_int_equal(opened, closed);
	release();
}

static void losing_row(void **state)
{
	losing = 'c';
	prepare(6, 40, false);
	assert_int_equal(comparison_measure(&c, &line), 0);
	assert_int_equal(c.rows[2].failed, -EBADMSG);
	assert_true(!c.rows[0].failed && !c.rows[1].failed);
	assert_int_equal(opened, closed);
	release();
}

static void out_of_time(void **state)
{
	prepare(7, 1000000, false);
	c.max_seconds = 0.02;
	assert_int_equal(comparison_measure(&c, &line), 0);
	assert_int_equal(comparison_judge(&c), 0);
	assert_true(c.out_of_time);
	assert_true(c.rows[0].done && c.rows[0].nr_looks == 1);
	assert_int_equal(opened, closed);
	release();
}

/* Four times the time in the control of every batch: A differs from itself, and nothing counts. */
static void biased_control(void **state)
{
	setenv("BPFLAB_FAULT", "bias-control", 1);
	prepare(8, 80, true);
	assert_int_equal(comparison_measure(&c, &line), 0);
	assert_int_equal(comparison_judge(&c), 0);
	assert_true(c.control_failed);
	for (size_t i = 0; i < NR_ROWS; i++)
		assert_int_equal(c.rows[i].verdict, VERDICT_UNTRUSTED);
	release();
}

static void confirmation(void **state)
{
	prepare(9, 40, false);
	assert_int_equal(comparison_measure(&c, &line), 0);
	assert_int_equal(comparison_judge(&c), 0);
	/* As if B had been twice as slow: a fresh run of the same two cannot confirm that. */
	for (size_t i = 0; i < NR_ROWS; i++)
		c.rows[i].verdict = VERDICT_SAME;
	c.rows[1].verdict = VERDICT_SLOWER;
	c.rows[1].stats.effect.ci = (struct interval){ 0.6, 0.8 };
	assert_true(comparison_is_regression(&c.rows[1], 0.03));
	assert_false(comparison_is_regression(&c.rows[1], 1.0));
	assert_int_equal(comparison_confirm(&c, 0.5, &line), 0);
	assert_true(c.rows[1].confirmation.done && !c.rows[1].confirmation.confirmed);
	assert_true(c.rows[1].confirmation.quads >= 40);
	assert_true(c.rows[1].confirmation.seed != c.seed);
	assert_false(c.rows[0].confirmation.done || c.rows[2].confirmation.done);
	assert_int_equal(opened, closed);
	release();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(every_arm_alike, reset),
		cmocka_unit_test_setup(replayed, reset),
		cmocka_unit_test_setup(fixed_number, reset),
		cmocka_unit_test_setup(looks, reset),
		cmocka_unit_test_setup(failing_row, reset),
		cmocka_unit_test_setup(losing_row, reset),
		cmocka_unit_test_setup(out_of_time, reset),
		cmocka_unit_test_setup(biased_control, reset),
		cmocka_unit_test_setup(confirmation, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
