// SPDX-License-Identifier: BSD-2-Clause
/*
 * bpf-loop and bpf-loop-direct: an iteration of bpf_loop() against the same empty function called
 * directly. Both arms are one program: the measured one runs loops twice as long as the null's.
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

static uint64_t loop_executed_per_op(const struct bench_inst *inst, enum bench_arm arm)
{
	return arm == ARM_FULL ? 2 * inst->params.nr_loops : inst->params.nr_loops;
}

static int run_arm(struct bench_inst *inst, const struct bpf_program *prog, enum bench_arm arm,
		   uint64_t ops, uint64_t *events)
{
	return driver_run(bpf_program__fd(prog), ops, loop_executed_per_op(inst, arm), events);
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
	.null_is = "the same loop of half the iterations",
	.flags = BENCH_NEEDS_BPF | BENCH_HAS_NR_LOOPS | BENCH_HAS_TRIGGER | BENCH_HAS_PRODUCERS |
		 BENCH_OPS_REPORT,
	.classic_ops = 1000,
	.open = loop_open,
	.close = loop_close,
	.trigger = loop_trigger,
	.prog_fd = loop_prog_fd,
	.events_per_op = loop_events_per_op,
	.executed_per_op = loop_executed_per_op,
};

const struct bench bench_bpf_loop_direct = {
	.name = "bpf-loop-direct",
	.event = "an iteration of a plain loop that calls bpf-loop's empty callback directly",
	.null_is = "the same loop of half the iterations",
	.flags = BENCH_NEEDS_BPF | BENCH_HAS_NR_LOOPS | BENCH_HAS_TRIGGER | BENCH_HAS_PRODUCERS |
		 BENCH_OPS_REPORT,
	.classic_ops = 1000,
	.open = loop_open,
	.close = loop_close,
	.trigger = direct_trigger,
	.prog_fd = direct_prog_fd,
	.events_per_op = loop_events_per_op,
	.executed_per_op = loop_executed_per_op,
};
