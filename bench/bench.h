/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a benchmark is to the runner.
 *
 * An *operation* is what a driver repeats; an *event* is what the figure is per. They differ where an
 * operation is a loop of events (bpf-loop). A *trigger* runs the driver once for a number of
 * operations and gets back how many events the program executed. Each bench has two arms, the
 * measured program and the null program, and the figure is the difference of their costs.
 *
 * A bench is one file in benches/ that defines a struct bench, and one row in benches.def.
 */
#ifndef BPFLAB_BENCH_H
#define BPFLAB_BENCH_H

#include <stdbool.h>
#include <stdint.h>

#include "errline.h"

struct target;

enum bench_arm {
	ARM_FULL,
	ARM_NULL,
	ARM_TRIGGER, /* the null program with no operations: a bare trigger */
	ARM_PLAIN,   /* what ARM_FULL stands for when nothing is subtracted: --classic */
};

/* Whether the construct that a bench is about is in a batch of @arm. */
static inline bool arm_is_measured(enum bench_arm arm)
{
	return arm == ARM_FULL || arm == ARM_PLAIN;
}

enum bench_flags {
	BENCH_NEEDS_BPF = 1u << 0,    /* issues bpf(2) calls; others run where bpf(2) does not */
	BENCH_HAS_NR_LOOPS = 1u << 1, /* takes --nr_loops */
	BENCH_HAS_TRIGGER = 1u << 2,  /* takes --trig-batch-iters unless BENCH_HAS_BATCH_ITERS;
				       * a trigger may run no operation */
	BENCH_HAS_PRODUCERS = 1u << 3, /* takes -p */
	BENCH_OPS_REPORT = 1u << 4,   /* --classic prints throughput and latency, not hits and drops */
	BENCH_NO_EMPTY_TRIGGER = 1u << 5, /* a trigger runs at least two operations */
	BENCH_HAS_BATCH_ITERS = 1u << 6,  /* takes --nr-batch-iters, which means the same as
					   * --trig-batch-iters, and knows larger numbers */
	BENCH_HAS_NATIVE = 1u << 7, /* has a native form (native.h), though it issues bpf(2) calls */
	BENCH_HAS_PROGRAMS = 1u << 8, /* takes --programs */
	BENCH_LONG_OPS = 1u << 9, /* an operation is thousands of instructions */
	BENCH_DEAR_PREPARE = 1u << 10, /* prepare() may be dear unless the batch before had the same arm */
	BENCH_HAS_STACKTRACE = 1u << 11, /* takes --stacktrace */
};

struct bench_params {
	uint64_t nr_loops;
	uint32_t producers;
	uint32_t trig_batch_iters; /* 0: a batch is one trigger */
	uint32_t programs;
	bool stacktrace; /* the measured program also takes a stack trace */
};

/* One bench opened on one target with one set of parameters; struct point in suite.h has more. */
struct bench_inst {
	const struct bench *bench;
	const struct target *target;
	struct bench_params params;
	void *priv;
};

struct bench {
	const char *name;
	const char *event;    /* what one event is */
	const char *null_is;  /* what is subtracted */
	unsigned int flags;
	uint32_t classic_ops; /* operations per trigger in --classic, without --trig-batch-iters */

	/* Load both arms; the target is in force. Release everything with close(). */
	int (*open)(struct bench_inst *inst, struct errline *e); /* -EBADMSG: a wrong result */
	void (*close)(struct bench_inst *inst);

	/*
	 * Run @ops operations of @arm, from thread @producer. *@events: what was executed, as counted
	 * by the program. Returns 0 or a negative errno, -EBADMSG if results were wrong. Called
	 * concurrently by several producers.
	 */
	int (*trigger)(struct bench_inst *inst, unsigned int producer, enum bench_arm arm,
		       uint64_t ops, uint64_t *events);

	/*
	 * Optional: what a batch of @arm needs, and what undoes it, outside the time that is measured.
	 * A failed prepare() leaves nothing to undo.
	 */
	int (*prepare)(struct bench_inst *inst, enum bench_arm arm, struct errline *e);
	void (*finish)(struct bench_inst *inst, enum bench_arm arm);

	/* Events in one operation, as the figure counts them; NULL: one. */
	uint64_t (*events_per_op)(const struct bench_inst *inst);

	/*
	 * Events that an operation of @arm executes, where that is not events_per_op(): the measured
	 * program may do more, of which the null program does a part as well.
	 */
	uint64_t (*executed_per_op)(const struct bench_inst *inst, enum bench_arm arm);

	/*
	 * Optional: @counted is what the measured program left behind (map contents, say) after
	 * everything ran; the runner compares it with the events of all triggers.
	 */
	int (*left_behind)(struct bench_inst *inst, uint64_t *counted);

	/* Optional: the descriptor of the measured program, -1 if there is none. */
	int (*prog_fd)(const struct bench_inst *inst);

	/* Optional: a remark for the report, or "". */
	void (*note)(const struct bench_inst *inst, char *buf, size_t size);

	const void *data; /* the bench's own */
};

/* A bench that issues no bpf(2) calls is native itself. */
static inline bool bench_is_native(const struct bench *bench)
{
	return !(bench->flags & BENCH_NEEDS_BPF) || bench->flags & BENCH_HAS_NATIVE;
}

static inline uint64_t bench_events_per_op(const struct bench_inst *inst)
{
	return inst->bench->events_per_op ? inst->bench->events_per_op(inst) : 1;
}

static inline uint64_t bench_executed_per_op(const struct bench_inst *inst, enum bench_arm arm)
{
	return inst->bench->executed_per_op ? inst->bench->executed_per_op(inst, arm) :
					      bench_events_per_op(inst);
}

#endif
