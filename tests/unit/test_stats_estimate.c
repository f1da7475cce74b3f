// SPDX-License-Identifier: BSD-2-Clause
/*
 * Estimates from made-up batches whose truth is known: T = trigger + ops * cost, times noise. Seeded;
 * SEED=N replays another one.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/estimate.h"
#include "stats/rng.h"

#define MAX_ROUNDS 400

struct model {
	double full, null, trigger; /* ns per operation, and per trigger */
	double noise;               /* sigma of the factor on each batch */
	double drift;               /* growth over the run, as a share */
	double step;                /* extra cost in the first quarter, as a share */
	double curve;               /* extra share of cost in batches larger than N/2 */
	uint64_t n;                 /* operations of the size N; 0: 80000 */
	bool bare;                  /* batches of bare triggers */
	uint32_t rounds;
	uint64_t per_op;
};

static struct batch batches[MAX_ROUNDS * 6];
static struct rng rng;

static double gauss(void)
{
	return sqrt(-2 * log(1 - rng_unit(&rng))) * cos(2 * M_PI * rng_unit(&rng));
}

static void add(struct estimate_input *in, const struct model *m, uint32_t round, enum bench_arm arm,
		enum batch_size size, uint64_t ops)
{
	double cost = arm == ARM_FULL ? m->full : m->null, speed = 1;
	struct batch *b = &batches[in->nr_batches++];

	speed += m->drift * round / m->rounds;
	if (round < m->rounds / 4)
		speed += m->step;
	if (arm == ARM_FULL && size == SIZE_N)
		cost *= 1 + m->curve;
	*b = (struct batch){ .round = round, .arm = arm, .size = size, .ops = ops };
	b->ns = arm == ARM_TRIGGER ? m->trigger * (double)ops : m->trigger + cost * (double)ops;
	b->ns *= speed * (1 + m->noise * gauss());
	b->wall_ns = b->ns;
}

static void simulate(const struct model *m, struct estimate_input *in)
{
	memset(in, 0, sizeof(*in));
	in->batches = batches;
	in->rounds = m->rounds;
	in->n_full = m->n ? m->n : 80000;
	in->n_null = 2 * in->n_full;
	in->events_per_op = m->per_op ? m->per_op : 1;
	in->producers = 1;
	for (uint32_t r = 0; r < m->rounds; r++) {
		add(in, m, r, ARM_FULL, SIZE_N, in->n_full);
		add(in, m, r, ARM_FULL, SIZE_EIGHTH, batch_eighth(in->n_full, 0));
		add(in, m, r, ARM_NULL, SIZE_N, in->n_null);
		add(in, m, r, ARM_NULL, SIZE_EIGHTH, batch_eighth(in->n_null, 0));
		if (r % 4 == 0 && in->n_full > 2)
			add(in, m, r, ARM_FULL, SIZE_HALF, in->n_full / 2);
		if (m->bare)
			add(in, m, r, ARM_TRIGGER, SIZE_N, 32);
	}
}

static void estimate_model(const struct model *m, struct estimate *est)
{
	struct estimate_input in;

	simulate(m, &in);
	assert_int_equal(estimate_compute(&in, est), 0);
}

static bool warns(const struct estimate *est, const char *text)
{
	for (size_t i = 0; i < est->nr_warnings; i++)
		if (strstr(est->warnings[i], text))
			return true;
	return false;
}

#define assert_near(a, b, share) assert_true(fabs((a) - (b)) <= (share) * fabs((double)(b)))

static void exact_without_noise(void **state)
{
	const struct model m = { .full = 3, .null = 0.5, .trigger = 800, .rounds = 100 };
	struct estimate est;

	estimate_model(&m, &est);
	assert_near(est.value, 2.5, 1e-9);
	assert_near(est.ci.lo, 2.5, 1e-9);
	assert_near(est.ci.hi, 2.5, 1e-9);
	assert_near(est.gross, 3, 1e-9);
	assert_near(est.null, 0.5, 1e-9);
	assert_near(est.intercept, 800, 1e-6);
	assert_near(est.trigger, 800, 1e-6);
	assert_near(est.floor, 2.5, 1e-9);
	assert_near(est.linearity, 1, 1e-9);
	assert_near(est.p50, 3 + 800.0 / 80000, 1e-9);
	assert_near(est.rate_mean, 1e3 / (3 + 0.01), 1e-9);
	assert_true(est.distinguishable);
	assert_int_equal(est.nr_warnings, 0);
	estimate_release(&est);
}

/* Eight producers that take turns on two CPUs: what each needs is one thing, what they do in a second another. */
static void producers_in_turns(void **state)
{
	const struct model m = { .full = 3, .null = 0.5, .trigger = 0, .rounds = 100 };
	struct estimate_input in;
	struct estimate est;

	simulate(&m, &in);
	in.producers = 8;
	for (size_t i = 0; i < in.nr_batches; i++)
		batches[i].wall_ns = 4 * batches[i].ns;
	assert_int_equal(estimate_compute(&in, &est), 0);
	assert_near(est.value, 2.5, 1e-9);
	assert_near(est.rate_mean, 2 * 1e3 / 3, 1e-9);
	estimate_release(&est);
}

static void per_event_of_loops(void **state)
{
	const struct model m = { .full = 130, .null = 2, .trigger = 800, .rounds = 20, .per_op = 100 };
	struct estimate est;

	estimate_model(&m, &est);
	assert_near(est.value, 1.28, 1e-9);
	assert_near(est.null, 0.02, 1e-9);
	estimate_release(&est);
}

/* Batches of a few long operations: two, four, eight. */
static void few_operations(void **state)
{
	struct model m = { .full = 3e5, .null = 1e5, .trigger = 800, .rounds = 20 };
	struct estimate est;

	for (m.n = 2; m.n <= 8; m.n *= 2) {
		estimate_model(&m, &est);
		assert_near(est.value, 2e5, 1e-9);
		assert_near(est.intercept, 800, 1e-3);
		assert_false(est.gross_only);
		assert_true(m.n == 2 ? isnan(est.linearity) : fabs(est.linearity - 1) < 1e-9);
		estimate_release(&est);
	}
	assert_int_equal(batch_eighth(16, 0), 2);
	assert_int_equal(batch_eighth(4, 0), 1);
	assert_int_equal(batch_eighth(200, 100), 100);
	assert_int_equal(batch_eighth(1600, 100), 200);
}

/* A program that runs twice the loop, of which the null runs one half. */
static void executed_more_than_counted(void **state)
{
	const struct model m = { .full = 27, .null = 14, .trigger = 0, .rounds = 20, .per_op = 10 };
	struct estimate_input in;
	struct estimate est;

	simulate(&m, &in);
	in.executed_per_op = 20;
	assert_int_equal(estimate_compute(&in, &est), 0);
	assert_near(est.value, 1.3, 1e-9);
	assert_near(est.null, 1.4, 1e-9);
	/* per event that was executed */
	assert_near(est.gross, 1.35, 1e-9);
	assert_near(est.p50, 1.35, 1e-9);
	assert_near(est.rate_mean, 1e3 / 1.35, 1e-9);
	estimate_release(&est);
}

static void bare_triggers_win(void **state)
{
	const struct model m = { .full = 3, .null = 1, .trigger = 700, .noise = 0.05, .bare = true,
				 .rounds = 100 };
	struct estimate est;

	estimate_model(&m, &est);
	assert_near(est.trigger, 700, 0.03);
	estimate_release(&est);
}

static void never_negative(void **state)
{
	struct model m = { .full = 1, .null = 1, .trigger = 800, .noise = 0.02, .rounds = 100 };
	struct estimate est;

	estimate_model(&m, &est);
	assert_false(est.distinguishable);
	assert_true(est.value >= 0 && est.ci.lo == 0);
	assert_true(est.below > 0 && est.below < 0.1);
	estimate_release(&est);

	m.null = 2;
	estimate_model(&m, &est);
	assert_false(est.distinguishable);
	assert_true(est.value == 0 && est.ci.lo == 0 && est.below > 0 && est.ci.hi == est.below);
	assert_true(warns(&est, "null program cost more"));
	estimate_release(&est);
}

static void nonlinear_is_gross(void **state)
{
	const struct model m = { .full = 3, .null = 1, .trigger = 800, .noise = 0.002, .curve = 0.1,
				 .rounds = 100 };
	struct estimate est;

	estimate_model(&m, &est);
	assert_true(est.gross_only);
	assert_true(warns(&est, "not linear in N"));
	assert_near(est.value, 3 * 1.1 + 0.01, 0.01);
	estimate_release(&est);
}

static void drift_widens(void **state)
{
	const struct model steady = { .full = 3, .null = 1, .trigger = 800, .noise = 0.005,
				      .rounds = 100 };
	struct model drifting = steady;
	struct estimate a, b;

	drifting.drift = 0.3;
	estimate_model(&steady, &a);
	estimate_model(&drifting, &b);
	assert_false(warns(&a, "drifted"));
	assert_true(warns(&b, "drifted"));
	assert_int_equal(b.ci_kind, INTERVAL_GROUPS);
	assert_true(b.ci.hi - b.ci.lo > 3 * (a.ci.hi - a.ci.lo));
	assert_true(b.ci.lo <= b.value && b.value <= b.ci.hi);
	estimate_release(&a);
	estimate_release(&b);
}

static void warm_up_shows(void **state)
{
	const struct model m = { .full = 3, .null = 0.3, .trigger = 800, .noise = 0.005, .step = 0.1,
				 .rounds = 100 };
	struct estimate est;

	estimate_model(&m, &est);
	assert_true(warns(&est, "no steady state"));
	estimate_release(&est);
}

static void overhead_shows(void **state)
{
	const struct model m = { .full = 22.7, .null = 20, .trigger = 80000, .noise = 0.001,
				 .rounds = 100 };
	struct estimate est;

	estimate_model(&m, &est);
	assert_true(warns(&est, "dominated by overhead"));
	assert_true(warns(&est, "the trigger is"));
	estimate_release(&est);
}

static void few_rounds(void **state)
{
	struct model m = { .full = 3, .null = 1, .trigger = 800, .noise = 0.01, .rounds = 5 };
	struct estimate_input in = { .batches = batches, .rounds = 0 };
	struct estimate est;

	estimate_model(&m, &est);
	assert_int_equal(est.ci_kind, INTERVAL_NONE);
	assert_true(warns(&est, "too few"));
	estimate_release(&est);
	m.rounds = 6;
	estimate_model(&m, &est);
	assert_int_equal(est.ci_kind, INTERVAL_SIGN);
	estimate_release(&est);
	assert_int_equal(estimate_compute(&in, &est), -61 /* ENODATA */);
}

/* A round that was not finished must not count. */
static void incomplete_rounds(void **state)
{
	const struct model m = { .full = 3, .null = 1, .trigger = 800, .rounds = 20 };
	struct estimate_input in;
	struct estimate est;

	simulate(&m, &in);
	for (size_t i = 0; i < in.nr_batches; i++)
		if (batches[i].round == 7 && batches[i].arm == ARM_NULL)
			batches[i].round = 99;
	assert_int_equal(estimate_compute(&in, &est), 0);
	assert_near(est.value, 2, 1e-9);
	estimate_release(&est);
}

static void disturbances_are_counted(void **state)
{
	const struct model m = { .full = 3, .null = 1, .trigger = 800, .rounds = 20 };
	struct estimate_input in;
	struct estimate est;

	simulate(&m, &in);
	for (size_t i = 0; i < in.nr_batches; i++) {
		batches[i].migrated = i % 2;
		batches[i].nivcsw = i % 3 == 0;
		batches[i].steal = 2;
	}
	assert_int_equal(estimate_compute(&in, &est), 0);
	assert_int_equal(est.migrated, in.nr_batches / 2);
	assert_int_equal(est.steal, 40);
	assert_true(warns(&est, "moved to another CPU"));
	/* Most rounds are preempted: nothing is left out. */
	assert_int_equal(est.rounds_used, 20);
	assert_true(warns(&est, "too many to leave out"));
	estimate_release(&est);
}

/* Rounds with a preempted batch are left out of the estimate, but not of the throughput. */
static void preempted_rounds_are_left_out(void **state)
{
	const struct model m = { .full = 3, .null = 1, .trigger = 800, .rounds = 100 };
	struct estimate_input in;
	struct estimate est;

	simulate(&m, &in);
	for (size_t i = 0; i < in.nr_batches; i++)
		if (batches[i].round % 2 && batches[i].arm == ARM_FULL && batches[i].size == SIZE_N) {
			batches[i].nivcsw = 1;
			batches[i].ns += 1e7;
			batches[i].wall_ns += 1e7;
		}
	assert_int_equal(estimate_compute(&in, &est), 0);
	assert_int_equal(est.rounds, 100);
	assert_int_equal(est.rounds_used, 50);
	assert_near(est.value, 2, 1e-9);
	assert_near(est.ci.hi, 2, 1e-9);
	assert_false(warns(&est, "leave out"));
	assert_true(est.p95 > 100 && est.rate_mean < 100);
	estimate_release(&est);
	/* Without the mark they count, and the interval shows it. */
	for (size_t i = 0; i < in.nr_batches; i++)
		batches[i].nivcsw = 0;
	assert_int_equal(estimate_compute(&in, &est), 0);
	assert_int_equal(est.rounds_used, 100);
	assert_true(est.ci.hi > 100);
	estimate_release(&est);
}

/* The interval covers the truth under noise with heavy tails. */
static void coverage(void **state)
{
	const struct model m = { .full = 3, .null = 1, .trigger = 800, .noise = 0.03, .rounds = 100 };
	const int trials = 600;
	int covered = 0;

	for (int t = 0; t < trials; t++) {
		struct estimate_input in;
		struct estimate est;

		simulate(&m, &in);
		for (size_t i = 0; i < in.nr_batches; i++)
			if (rng_unit(&rng) < 0.01)
				batches[i].ns *= 20;
		assert_int_equal(estimate_compute(&in, &est), 0);
		covered += est.ci.lo <= 2 && 2 <= est.ci.hi;
		estimate_release(&est);
	}
	print_message("covered %.1f %%\n", 100.0 * covered / trials);
	assert_true(covered >= 0.93 * trials);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exact_without_noise), cmocka_unit_test(per_event_of_loops),
		cmocka_unit_test(producers_in_turns),
		cmocka_unit_test(executed_more_than_counted), cmocka_unit_test(few_operations),
		cmocka_unit_test(bare_triggers_win),   cmocka_unit_test(never_negative),
		cmocka_unit_test(nonlinear_is_gross),  cmocka_unit_test(drift_widens),
		cmocka_unit_test(warm_up_shows),       cmocka_unit_test(overhead_shows),
		cmocka_unit_test(few_rounds),	       cmocka_unit_test(incomplete_rounds),
		cmocka_unit_test(disturbances_are_counted),
		cmocka_unit_test(preempted_rounds_are_left_out), cmocka_unit_test(coverage),
	};

	rng.state = getenv("SEED") ? strtoull(getenv("SEED"), NULL, 0) : 42;
	print_message("seed %llu\n", (unsigned long long)rng.state);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
