/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One batch: some operations of one arm, timed, with what may have disturbed it, and its events
 * checked against what was asked for.
 */
#ifndef BPFLAB_SAMPLE_H
#define BPFLAB_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "bench.h"
#include "measure/producers.h"

/*
 * The sizes of a point's batches. N is a multiple of eight triggers' operations; where that would take
 * too long it is four or two of them, and the smallest size is one. Where N/2 is that, too, there are
 * no batches of it.
 */
enum batch_size {
	SIZE_N,
	SIZE_EIGHTH,
	SIZE_HALF,
};

/* Operations of the size SIZE_EIGHTH for @n of the size SIZE_N; @iters: 0, or operations per trigger. */
static inline uint64_t batch_eighth(uint64_t n, uint32_t iters)
{
	uint64_t one = iters ? iters : 1;

	return n % (8 * one) ? one : n / 8;
}

struct batch {
	uint64_t t_ns;     /* start, since the start of the run */
	uint64_t ops;      /* of each producer */
	uint64_t expected; /* events of all producers: asked for, */
	uint64_t events;   /* and executed */
	double ns;         /* mean over the producers of the time each took */
	double wall_ns;    /* from when the first began to when the last was done */
	uint32_t round;
	uint8_t arm;       /* enum bench_arm */
	uint8_t size;      /* enum batch_size */
	bool migrated;     /* a producer changed its CPU */
	bool marked;       /* run it between marks, for a plugin that counts (mark.h) */
	bool after_tick;   /* … and begin right after the kernel's clock has ticked */
	int32_t cpu;       /* of producer 0 */
	uint32_t nvcsw;    /* context switches of all producers, */
	uint32_t nivcsw;   /* … involuntary ones */
	uint32_t steal;    /* steal ticks of all CPUs during the round */
};

/*
 * Measure @b->ops operations of @b->arm. 0, or a negative errno with a line: a trigger failed, or
 * (-EBADMSG) the events executed are not those asked for.
 */
int sample_batch(struct bench_inst *inst, struct producers *producers, struct batch *b,
		 struct errline *e);

uint64_t sample_now_ns(void);

/*
 * Faults that tests inject through the environment variable BPFLAB_FAULT, to see that the checks of
 * the runner notice them.
 */
enum sample_fault {
	FAULT_NONE,
	FAULT_DROP_EVENT,  /* each trigger of the measured program does one operation less */
	FAULT_LOSE_UPDATE, /* one update more is expected in the maps than events were counted */
	FAULT_WRONG_RESULT, /* the result of a kernel of jit-* is not what it computed */
	FAULT_BIAS_CONTROL, /* the control of a comparison reads four times as much */
	FAULT_DRIFT,       /* everything reads more with every round: 20 rounds later as much again */
	FAULT_WARM_UP,     /* the measured program reads ten times as much in the first 25 rounds */
	FAULT_NONLINEAR,   /* … and half as much again in batches of the full size */
};
enum sample_fault sample_fault(void);

#endif
