// SPDX-License-Identifier: BSD-2-Clause
/*
 * private-stack and no-private-stack: calls of functions that do nothing but use their frames, in a
 * program that may have private stacks and in one that may not. --nr-batch-iters is the number of
 * events that one run of the program causes.
 */
#include <bpf/libbpf.h>
#include <errno.h>

#include "bench.h"
#include "driver.h"
#include "private_stack.skel.h"
#include "target.h"

static int stack_open(struct bench_inst *inst, struct errline *e)
{
	struct private_stack *skel = private_stack__open_and_load();

	if (!skel)
		return driver_load_error(e, -errno, inst->bench->name, inst->target->spec);
	inst->priv = skel;
	return 0;
}

static void stack_close(struct bench_inst *inst)
{
	private_stack__destroy(inst->priv);
	inst->priv = NULL;
}

static int run_arm(struct bench_inst *inst, const struct bpf_program *prog, enum bench_arm arm,
		   uint64_t ops, uint64_t *events)
{
	struct private_stack *skel = inst->priv;

	if (arm == ARM_NULL || arm == ARM_TRIGGER)
		prog = skel->progs.driver_alone;
	return driver_run(bpf_program__fd(prog), ops, 0, events);
}

/* The trigger and the program of the bench whose program is @prog in the skeleton. */
#define STACK_BENCH(prog)                                                                          \
	static int prog##_trigger(struct bench_inst *inst, unsigned int producer,                  \
				  enum bench_arm arm, uint64_t ops, uint64_t *events)              \
	{                                                                                          \
		struct private_stack *skel = inst->priv;                                           \
												   \
		return run_arm(inst, skel->progs.prog, arm, ops, events);                          \
	}                                                                                          \
	static int prog##_fd(const struct bench_inst *inst)                                        \
	{                                                                                          \
		struct private_stack *skel = inst->priv;                                           \
												   \
		return bpf_program__fd(skel->progs.prog);                                          \
	}

STACK_BENCH(private_stack)
STACK_BENCH(no_private_stack)

#define STACK_FLAGS                                                                                \
	(BENCH_NEEDS_BPF | BENCH_HAS_TRIGGER | BENCH_HAS_BATCH_ITERS | BENCH_HAS_PRODUCERS)

const struct bench bench_private_stack = {
	.name = "private-stack",
	.event = "a call of a function that calls three no-op functions, all with large stacks",
	.null_is = "the same loop without the calls",
	.flags = STACK_FLAGS,
	.classic_ops = 4096,
	.open = stack_open,
	.close = stack_close,
	.trigger = private_stack_trigger,
	.prog_fd = private_stack_fd,
};

const struct bench bench_no_private_stack = {
	.name = "no-private-stack",
	.event = "the same in a program that may not have a private stack",
	.null_is = "the same loop without the calls",
	.flags = STACK_FLAGS,
	.classic_ops = 4096,
	.open = stack_open,
	.close = stack_close,
	.trigger = no_private_stack_trigger,
	.prog_fd = no_private_stack_fd,
};
