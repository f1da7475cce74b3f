// SPDX-License-Identifier: BSD-2-Clause
/* Making the quads of a trial, and looking at them as bpflab does. */
#include "trial.h"

#include <math.h>
#include <stdlib.h>

#define BATCH_US 200.0
#define OTHER_N 4

struct machine {
	const struct trial_setup *setup;
	struct noise_model noise;
	struct rng loads;
	double load_factor[QUAD_NR_ARMS];
};

/* What a batch of @arm costs on a quiet machine. */
static double true_time(const struct machine *m, enum quad_arm arm, bool null)
{
	const struct trial_setup *s = m->setup;
	double net = (1 - s->null) * (arm == QUAD_B ? 1 + s->effect : 1) * m->load_factor[arm];
	double t = s->null + (null ? 0 : net);

	/* A quarter of the operations, times four, has four triggers in it. */
	if (s->mutation == MUTATION_OTHER_N && arm == QUAD_B && !null)
		t += (OTHER_N - 1) * s->trigger;
	return BATCH_US * t;
}

static double measure(struct machine *m, enum quad_arm arm, bool null)
{
	double t, u;

	if (null && (m->setup->mutation == MUTATION_NO_NULL || m->setup->null <= 0))
		return 0;
	t = noise_time(&m->noise, true_time(m, arm, null));
	if (arm == QUAD_B && m->setup->tails > 0) {
		u = rng_unit(&m->noise.rng);
		t *= u < m->setup->tails ? 1.3 : u > 1 - m->setup->tails ? 0.7 : 1;
	}
	return fmax(t, 1e-3);
}

static void new_loads(struct machine *m, uint32_t load, uint64_t seed)
{
	struct noise_model deviates;

	noise_init(&deviates, NOISE_NORMAL, seed ^ (load + 1) * 0x2545f4914f6cdd1dull, 1);
	for (int arm = 0; arm < QUAD_NR_ARMS; arm++)
		m->load_factor[arm] = 1 + m->setup->load_sigma * noise_normal(&deviates);
}

static void measure_quad(struct machine *m, uint64_t seed, uint32_t number, struct quad *q)
{
	struct quad_slot slots[QUAD_MAX_SLOTS];
	size_t nr = quad_plan(seed, 0, number, m->setup->control, slots);

	*q = (struct quad){ .number = number, .load = number / (uint32_t)m->setup->load_size };
	if (!number || q->load != (number - 1) / m->setup->load_size)
		new_loads(m, q->load, seed);
	for (size_t i = 0; i < nr; i++)
		q->ns[slots[i].arm][slots[i].null][slots[i].half] =
			1e3 * measure(m, slots[i].arm, slots[i].null);
}

/* Arm by arm, all of them before the next: what most tools do. */
static void measure_sequentially(struct machine *m, struct quad *quads, size_t n)
{
	for (size_t i = 0; i < n; i++)
		quads[i] = (struct quad){ .number = (uint32_t)i };
	for (int arm = QUAD_A; arm <= QUAD_B; arm++)
		for (size_t i = 0; i < 2 * n; i++)
			quads[i / 2].ns[arm][0][i % 2] = 1e3 * measure(m, arm, false);
}

void trial_run(const struct trial_setup *setup, const struct compare_rule *rule, uint64_t seed,
	       struct quad *quads, struct trial_result *result)
{
	size_t last = rule->looks[rule->nr_looks - 1], arms = setup->control ? 3 : 2;
	size_t per_quad = 2 * arms * (setup->null > 0 ? 2 : 1);
	struct machine m = { .setup = setup, .load_factor = { 1, 1, 1 } };

	*result = (struct trial_result){ .p_least = 1 };
	noise_init(&m.noise, setup->noise, seed * 0x9e3779b97f4a7c15ull + 1, last * per_quad);
	m.noise.recorded = setup->recorded;
	m.noise.nr_recorded = setup->nr_recorded;
	if (setup->mutation == MUTATION_SEQUENTIAL)
		measure_sequentially(&m, quads, last);
	for (size_t look = 0; look < rule->nr_looks; look++) {
		for (; result->n < rule->looks[look]; result->n++)
			if (setup->mutation != MUTATION_SEQUENTIAL)
				measure_quad(&m, seed, (uint32_t)result->n, &quads[result->n]);
		result->looks[result->nr_looks++] = rule->looks[look];
		if (compare_stats_look(quads, result->n, rule, &result->stats))
			abort();
		result->p_least = fmin(result->p_least, result->stats.effect.p);
		if (compare_rule_decided(rule, &result->stats.suite, &result->stats.effect))
			break;
	}
}
