/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Machines made of random numbers: how much longer than it should each batch takes, one after the other.
 * All of them have noise of 3 % a batch; what else they do is in their names.
 */
#ifndef STAT_NOISE_MODEL_H
#define STAT_NOISE_MODEL_H

#include <stdbool.h>
#include <stddef.h>

#include "stats/rng.h"

enum noise_kind {
	NOISE_NORMAL,
	NOISE_LOGNORMAL, /* skewed */
	NOISE_BIMODAL,   /* two speeds, 8 % apart, that change now and then */
	NOISE_AR,        /* a slow walk of another 3 % */
	NOISE_RAMP,      /* from -10 % to +10 % over the whole run */
	NOISE_SPIKES,    /* somebody else runs for up to 20 ms in half a percent of all batches */
	NOISE_PERIOD2,   /* every other batch takes 5 % more */
	NOISE_TICKS,     /* a clock of 1 us */
	NOISE_RECORDED,  /* the times of a real run, from a random place on */
	NR_NOISE_KINDS,
};

struct noise_model {
	enum noise_kind kind;
	struct rng rng;
	size_t step, total; /* batches so far, and in the whole run */
	double walk;
	bool slow;
	double spare;       /* the second of a pair of normal deviates */
	bool has_spare;
	const double *recorded; /* times relative to their median */
	size_t nr_recorded, at;
};

const char *noise_name(enum noise_kind kind);

void noise_init(struct noise_model *m, enum noise_kind kind, uint64_t seed, size_t total);

/* The time of the next batch that should take @us microseconds. */
double noise_time(struct noise_model *m, double us);

double noise_normal(struct noise_model *m);

#endif
