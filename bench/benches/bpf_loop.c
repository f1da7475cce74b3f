// SPDX-License-Identifier: BSD-2-Clause
/*
 * bpf-loop and bpf-loop-direct: an iteration of bpf_loop() against the same empty function called
 * directly. Both arms are one program: the null runs it with no iterations.
 */
#include <bpf/libbpf.h>
#include <errno.h>

#include "bench.h"
#include "bpf_loop.skel.h"
#include "driver.h"
#include "target.h"

static int loop_open(struct bench_inst *inst, struct errline *e)
{
	struct bpf_loop *skel = bpf_loop__open_and_load();

	if (!skel)
		return driver_load_error(e, -errno, inst->bench->name, inst->target->spec);
	inst->priv = skel;
	return 0;
}

static void loop_close(struct bench_inst *inst)
{
	bpf_loop__destroy(inst->priv);
	inst->priv = NULL;
}

static int run_arm(struct bench_inst *inst, const struct bpf_program *prog, enum bench_arm arm,
		   uint64_t ops, uint64_t *events)
{
	uint64_t nr_loops = arm == ARM_FULL ? inst->params.nr_loops : 0;
	int err = driver_run(bpf_program__fd(prog), ops, nr_loops, events);

	/* The null executes no iteration, and must say so; its operations are what was asked for. */
	if (arm != ARM_FULL && !err)
		*events = *events ? 0 : ops * inst->params.nr_loops;
	return err;
}

static int loop_trigger(struct bench_inst *inst, unsigned int producer, enum bench_arm arm,
			uint64_t ops, uint64_t *events)
{
	struct bpf_loop *skel = inst->priv;

	return run_arm(inst, skel->progs.bpf_loop_driver, arm, ops, events);
}

static int direct_trigger(struct bench_inst *inst, unsigned int producer, enum bench_arm arm,
			  uint64_t ops, uint64_t *events)
{
	struct bpf_loop *skel = inst->priv;

	return run_arm(inst, skel->progs.bpf_loop_direct_driver, arm, ops, events);
}

static uint64_t loop_events_per_op(const struct bench_inst *inst)
{
	return inst->params.nr_loops;
}

static int loop_prog_fd(const struct bench_inst *inst)
{
	struct bpf_loop *skel = inst->priv;

	return bpf_program__fd(skel->progs.bpf_loop_driver);
}

static int direct_prog_fd(const struct bench_inst *inst)
{
	struct bpf_loop *skel = inst->priv;

	return bpf_program__fd(skel->progs.bpf_loop_direct_driver);
}

const struct bench bench_bpf_loop = {
	.name = "bpf-loop",
	.event = "an iteration of bpf_loop() with an empty callback",
	.null_is = "bpf_loop() of no iterations",
	.flags = BENCH_NEEDS_BPF | BENCH_HAS_NR_LOOPS | BENCH_HAS_TRIGGER | BENCH_HAS_PRODUCERS |
		 BENCH_OPS_REPORT,
	.classic_ops = 1000,
	.open = loop_open,
	.close = loop_close,
	.trigger = loop_trigger,
	.prog_fd = loop_prog_fd,
	.events_per_op = loop_events_per_op,
};

const struct bench bench_bpf_loop_direct = {
	.name = "bpf-loop-direct",
	.event = "an iteration of a plain loop that calls bpf-loop's empty callback directly",
	.null_is = "the loop with no iterations",
	.flags = BENCH_NEEDS_BPF | BENCH_HAS_NR_LOOPS | BENCH_HAS_TRIGGER | BENCH_HAS_PRODUCERS |
		 BENCH_OPS_REPORT,
	.classic_ops = 1000,
	.open = loop_open,
	.close = loop_close,
	.trigger = direct_trigger,
	.prog_fd = direct_prog_fd,
	.events_per_op = loop_events_per_op,
};
