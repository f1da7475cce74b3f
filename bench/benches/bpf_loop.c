// SPDX-License-Identifier: BSD-2-Clause
/*
 * bpf-loop and bpf-loop-direct: an iteration of bpf_loop() against the same empty function called
 * directly; on `native`, both in native code. Both arms are one program: the measured one runs loops twice as long as the null's.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

#include "bench.h"
#include "bpf_loop.skel.h"
#include "driver.h"
#include "native.h"
#include "target.h"

enum loop_driver { LOOP_HELPER, LOOP_DIRECT, NR_LOOP_DRIVERS };

struct loop_state {
	struct bpf_loop *skel; /* NULL on native */
	int fds[NR_LOOP_DRIVERS];
	native_driver natives[NR_LOOP_DRIVERS];
};

NATIVE_DRIVER(bpf_loop_driver)
NATIVE_DRIVER(bpf_loop_direct_driver)

static const struct native_forms forms[NR_LOOP_DRIVERS] = {
	[LOOP_HELPER] = NATIVE_FORMS(bpf_loop_driver),
	[LOOP_DIRECT] = NATIVE_FORMS(bpf_loop_direct_driver),
};

static int load_bpf(struct bench_inst *inst, struct loop_state *s, struct errline *e)
{
	s->skel = bpf_loop__open_and_load();
	if (!s->skel)
		return driver_load_error(e, -errno, inst->bench->name, inst->target->spec);
	s->fds[LOOP_HELPER] = bpf_program__fd(s->skel->progs.bpf_loop_driver);
	s->fds[LOOP_DIRECT] = bpf_program__fd(s->skel->progs.bpf_loop_direct_driver);
	return 0;
}

static int loop_open(struct bench_inst *inst, struct errline *e)
{
	struct loop_state *s = calloc(1, sizeof(*s));
	int err = 0;

	if (!s)
		return errline_set(e, -ENOMEM, "out of memory");
	if (target_is_native(inst->target)) {
		for (int i = 0; i < NR_LOOP_DRIVERS; i++)
			s->natives[i] = native_choose(&forms[i], inst->target);
	} else {
		err = load_bpf(inst, s, e);
	}
	if (err)
		free(s);
	else
		inst->priv = s;
	return err;
}

static void loop_close(struct bench_inst *inst)
{
	struct loop_state *s = inst->priv;

	bpf_loop__destroy(s->skel);
	free(s);
	inst->priv = NULL;
}

static uint64_t loop_executed_per_op(const struct bench_inst *inst, enum bench_arm arm)
{
	return arm == ARM_FULL ? 2 * inst->params.nr_loops : inst->params.nr_loops;
}

static int run_arm(struct bench_inst *inst, enum loop_driver driver, enum bench_arm arm,
		   uint64_t ops, uint64_t *events)
{
	const struct loop_state *s = inst->priv;
	uint64_t nr_loops = loop_executed_per_op(inst, arm);

	if (s->natives[driver])
		return native_run(s->natives[driver], ops, nr_loops, events);
	return driver_run(s->fds[driver], ops, nr_loops, events);
}

static int loop_trigger(struct bench_inst *inst, unsigned int producer, enum bench_arm arm,
			uint64_t ops, uint64_t *events)
{
	return run_arm(inst, LOOP_HELPER, arm, ops, events);
}

static int direct_trigger(struct bench_inst *inst, unsigned int producer, enum bench_arm arm,
			  uint64_t ops, uint64_t *events)
{
	return run_arm(inst, LOOP_DIRECT, arm, ops, events);
}

static uint64_t loop_events_per_op(const struct bench_inst *inst)
{
	return inst->params.nr_loops;
}

static int prog_fd(const struct bench_inst *inst, enum loop_driver driver)
{
	const struct loop_state *s = inst->priv;

	return s->skel ? s->fds[driver] : -1;
}

static int loop_prog_fd(const struct bench_inst *inst)
{
	return prog_fd(inst, LOOP_HELPER);
}

static int direct_prog_fd(const struct bench_inst *inst)
{
	return prog_fd(inst, LOOP_DIRECT);
}

const struct bench bench_bpf_loop = {
	.name = "bpf-loop",
	.event = "an iteration of bpf_loop() with an empty callback",
	.null_is = "the same loop of half the iterations",
	.flags = BENCH_NEEDS_BPF | BENCH_HAS_NR_LOOPS | BENCH_HAS_TRIGGER | BENCH_HAS_PRODUCERS |
		 BENCH_HAS_NATIVE | BENCH_OPS_REPORT,
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
		 BENCH_HAS_NATIVE | BENCH_OPS_REPORT,
	.classic_ops = 1000,
	.open = loop_open,
	.close = loop_close,
	.trigger = direct_trigger,
	.prog_fd = direct_prog_fd,
	.events_per_op = loop_events_per_op,
	.executed_per_op = loop_executed_per_op,
};
