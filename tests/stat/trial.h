/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One comparison on a machine made of random numbers, in which everything is known: what A and B cost,
 * what of it is overhead, and what the noise is. The order, the statistics and the rules are bpflab's.
 */
#ifndef STAT_TRIAL_H
#define STAT_TRIAL_H

#include "noise_model.h"
#include "stats/compare_rule.h"
#include "stats/compare_stats.h"

/* What a broken bpflab would do; every check must notice. */
enum trial_mutation {
	MUTATION_NONE,
	MUTATION_SEQUENTIAL, /* all of A, then all of B */
	MUTATION_NO_NULL,    /* the null program is not subtracted */
	MUTATION_OTHER_N,    /* B runs a quarter of the operations, and its time is scaled up */
};

struct trial_setup {
	enum noise_kind noise;
	const double *recorded;
	size_t nr_recorded;
	double effect;   /* the true net difference of B, a share */
	double null;     /* of A's time, a share: the null program, */
	double trigger;  /* … of which this is the trigger */
	double load_sigma; /* scatter of loads, of each arm */
	double tails;    /* share of B's batches that take 30 % more, and as many 30 % less */
	bool control;
	enum trial_mutation mutation;
	size_t load_size; /* quads per load */
};

struct trial_result {
	struct compare_stats stats;
	size_t n;
	double p_least;
	uint32_t looks[SEQUENTIAL_NR_LOOKS];
	size_t nr_looks;
};

#define TRIAL_MAX_QUADS 320

/* @quads has room for TRIAL_MAX_QUADS. Runs until the rule is content. */
void trial_run(const struct trial_setup *setup, const struct compare_rule *rule, uint64_t seed,
	       struct quad *quads, struct trial_result *result);

#endif
