// SPDX-License-Identifier: BSD-2-Clause
/*
 * count-global and count-local: atomic counters of this process, no BPF. They show what the harness
 * itself can count: a bench that comes near them measures the harness.
 */
#include <errno.h>
#include <stdlib.h>

#include "bench.h"

#define MAX_PRODUCERS 1024

struct counter {
	uint64_t value;
} __attribute__((aligned(128)));

struct count_state {
	struct counter counters[MAX_PRODUCERS];
};

static int count_open(struct bench_inst *inst, struct errline *e)
{
	inst->priv = aligned_alloc(128, sizeof(struct count_state));
	if (!inst->priv)
		return errline_set(e, -ENOMEM, "out of memory");
	*(struct count_state *)inst->priv = (struct count_state){ 0 };
	return 0;
}

static void count_close(struct bench_inst *inst)
{
	free(inst->priv);
	inst->priv = NULL;
}

/* Own functions, so that both loops are aligned alike and neither is optimised into the other. */
__attribute__((noinline, aligned(64))) static uint64_t count_loop(struct counter *c, uint64_t ops)
{
	uint64_t i = 0;

	while (i < ops) {
		__atomic_add_fetch(&c->value, 1, __ATOMIC_RELAXED);
		i++;
		asm volatile("" : "+r"(i));
	}
	return i;
}

__attribute__((noinline, aligned(64))) static uint64_t empty_loop(uint64_t ops)
{
	uint64_t i = 0;

	while (i < ops) {
		i++;
		asm volatile("" : "+r"(i));
	}
	return i;
}

static int count_in(struct counter *c, enum bench_arm arm, uint64_t ops, uint64_t *events)
{
	bool counts = arm_is_measured(arm);

	*events = counts ? count_loop(c, ops) : empty_loop(ops);
	return 0;
}

static int global_trigger(struct bench_inst *inst, unsigned int producer, enum bench_arm arm,
			  uint64_t ops, uint64_t *events)
{
	struct count_state *s = inst->priv;

	return count_in(&s->counters[0], arm, ops, events);
}

static int local_trigger(struct bench_inst *inst, unsigned int producer, enum bench_arm arm,
			 uint64_t ops, uint64_t *events)
{
	struct count_state *s = inst->priv;

	return count_in(&s->counters[producer % MAX_PRODUCERS], arm, ops, events);
}

static int count_left_behind(struct bench_inst *inst, uint64_t *counted)
{
	struct count_state *s = inst->priv;

	*counted = 0;
	for (size_t i = 0; i < MAX_PRODUCERS; i++)
		*counted += s->counters[i].value;
	return 0;
}

const struct bench bench_count_global = {
	.name = "count-global",
	.event = "an atomic increment of one counter that all producers share (no BPF)",
	.null_is = "the same loop without the increment",
	.flags = BENCH_HAS_PRODUCERS,
	.classic_ops = 1000,
	.open = count_open,
	.close = count_close,
	.trigger = global_trigger,
	.left_behind = count_left_behind,
};

const struct bench bench_count_local = {
	.name = "count-local",
	.event = "an atomic increment of a counter of the producer's own (no BPF)",
	.null_is = "the same loop without the increment",
	.flags = BENCH_HAS_PRODUCERS,
	.classic_ops = 1000,
	.open = count_open,
	.close = count_close,
	.trigger = local_trigger,
	.left_behind = count_left_behind,
};
