/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A run: points (bench x target x parameters), measured in one interleaved schedule.
 *
 *	open      load every point on its target
 *	calibrate batch sizes, until two in a row agree
 *	warm up   until batches have settled
 *	rounds    each: every point once, in random order, at random times of the round's share of the
 *	          run; a point's round is one batch of each arm and size, in random order
 *	verify    what the programs left behind
 */
#ifndef BPFLAB_SUITE_H
#define BPFLAB_SUITE_H

#include <stddef.h>
#include <stdint.h>

#include "bench.h"
#include "measure/sample.h"
#include "opts.h"
#include "stats/rng.h"
#include "target.h"

struct point {
	struct bench_inst inst;
	char label[128];     /* bench with its parameters: bpf-loop/nr_loops=10 */
	uint64_t n_full;     /* operations of a batch of size N */
	uint64_t n_null;
	struct batch *batches; /* of the rounds, in time order */
	size_t nr_batches, max_batches;
	uint64_t expected;   /* events of the measured arm, over the whole run */
	uint64_t counted;
	uint64_t left_behind; /* what the bench found in its maps, if it looks */
	bool has_left_behind;
	size_t warmup_batches;
	bool warmup_settled;
	double round_ns;     /* what a round of this point takes, about */
	int failed;          /* negative errno once the point failed; then @error says why */
	bool unavailable;    /* it failed because it could not be loaded, which was to be expected */
	struct errline error;
};

struct suite {
	struct point *points;
	size_t nr_points;
	struct target *targets;
	size_t nr_targets;
	struct bench **objects; /* benches made of the user's own programs */
	size_t nr_objects;

	uint64_t seed;
	struct rng rng;
	struct producers *producers;
	uint64_t begin_ns;
	uint32_t rounds; /* planned */
	uint32_t rounds_done;
	double seconds;  /* the whole run, when it is over */
	bool pinned;     /* producers have a CPU each */
	char *skipped[8]; /* a line per target that was left out */
	size_t nr_skipped;
};

/* Targets and points from the command line (suite_build.c). */
int suite_build(struct suite *s, const struct opts *opts, struct errline *e);
void suite_release(struct suite *s);

/*
 * Load everything and start the producers. A point that does not load is an error of the run, or with
 * --keep-going marked; one that computes a wrong result is marked.
 */
int suite_open(struct suite *s, const struct opts *opts, struct errline *e);

/*
 * Calibrate, warm up and measure (schedule.c). -EINTR if interrupted. Points that fail their checks
 * are marked, the others go on.
 */
int suite_measure(struct suite *s, const struct opts *opts, struct errline *e);

/* Compare what the programs left behind with the events counted; marks points that fail. */
void suite_verify(struct suite *s);

/* The steps of the above for one point, for measurements with an order of their own (compare). */
int point_open(struct point *pt, struct errline *e);
int suite_start_producers(struct suite *s, const struct opts *opts, struct errline *e);
/* The operations that make a batch of @pt of the right length, in @pt->n_full. */
int point_calibrate(struct suite *s, struct point *pt, struct errline *e);
int point_warm_up(struct suite *s, struct point *pt, double max_ns, struct errline *e);
/* @ops rounded to what a batch of @pt can have. */
uint64_t point_round_ops(const struct point *pt, double ops);
/* Run @b and count its events. -EINTR after a signal. */
int point_batch(struct suite *s, struct point *pt, struct batch *b, struct errline *e);
void point_verify(struct point *pt);

#endif
