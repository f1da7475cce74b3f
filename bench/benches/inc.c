// SPDX-License-Identifier: BSD-2-Clause
/*
 * glob-arr-inc, arr-inc, hash-inc: increments of a counter of the CPU. The counters are read back at
 * the end and must hold every event, whatever the number of producers.
 */
#include <bpf/libbpf.h>
#include <errno.h>

#include "bench.h"
#include "driver.h"
#include "inc.skel.h"
#include "target.h"

static int inc_open(struct bench_inst *inst, struct errline *e)
{
	struct inc *skel = inc__open_and_load();

	if (!skel)
		return driver_load_error(e, -errno, inst->bench->name, inst->target->spec);
	inst->priv = skel;
	return 0;
}

static void inc_close(struct bench_inst *inst)
{
	inc__destroy(inst->priv);
	inst->priv = NULL;
}

static int run_arm(struct bench_inst *inst, const struct bpf_program *prog, enum bench_arm arm,
		   uint64_t ops, uint64_t *events)
{
	struct inc *skel = inst->priv;

	if (arm == ARM_NULL || arm == ARM_TRIGGER)
		prog = skel->progs.inc_null;
	return driver_run(bpf_program__fd(prog), ops, 0, events);
}

/* The trigger and the program of the bench whose program is @prog in the skeleton. */
#define INC_BENCH(prog)                                                                            \
	static int prog##_trigger(struct bench_inst *inst, unsigned int producer,                  \
				  enum bench_arm arm, uint64_t ops, uint64_t *events)              \
	{                                                                                          \
		struct inc *skel = inst->priv;                                                     \
												   \
		return run_arm(inst, skel->progs.prog, arm, ops, events);                          \
	}                                                                                          \
	static int prog##_fd(const struct bench_inst *inst)                                        \
	{                                                                                          \
		struct inc *skel = inst->priv;                                                     \
												   \
		return bpf_program__fd(skel->progs.prog);                                          \
	}

INC_BENCH(glob_arr_inc)
INC_BENCH(arr_inc)
INC_BENCH(hash_inc)

static int glob_arr_left_behind(struct bench_inst *inst, uint64_t *counted)
{
	struct inc *skel = inst->priv;

	*counted = 0;
	for (size_t i = 0; i < sizeof(skel->bss->counters) / sizeof(skel->bss->counters[0]); i++)
		*counted += skel->bss->counters[i].value;
	return 0;
}

static int arr_left_behind(struct bench_inst *inst, uint64_t *counted)
{
	struct inc *skel = inst->priv;

	return driver_percpu_sum(bpf_map__fd(skel->maps.percpu_arr), counted);
}

static int hash_left_behind(struct bench_inst *inst, uint64_t *counted)
{
	struct inc *skel = inst->priv;

	return driver_percpu_sum(bpf_map__fd(skel->maps.percpu_hash), counted);
}

#define INC_FLAGS (BENCH_NEEDS_BPF | BENCH_HAS_TRIGGER | BENCH_HAS_PRODUCERS)

const struct bench bench_glob_arr_inc = {
	.name = "glob-arr-inc",
	.event = "an increment in a global array indexed by bpf_get_smp_processor_id()",
	.null_is = "the same loop without the increment",
	.flags = INC_FLAGS,
	.classic_ops = 100,
	.open = inc_open,
	.close = inc_close,
	.trigger = glob_arr_inc_trigger,
	.prog_fd = glob_arr_inc_fd,
	.left_behind = glob_arr_left_behind,
};

const struct bench bench_arr_inc = {
	.name = "arr-inc",
	.event = "a lookup in a per-CPU array and an increment of the value",
	.null_is = "the same loop without lookup and increment",
	.flags = INC_FLAGS,
	.classic_ops = 100,
	.open = inc_open,
	.close = inc_close,
	.trigger = arr_inc_trigger,
	.prog_fd = arr_inc_fd,
	.left_behind = arr_left_behind,
};

const struct bench bench_hash_inc = {
	.name = "hash-inc",
	.event = "a lookup in a per-CPU hash and an increment of the value",
	.null_is = "the same loop without lookup and increment",
	.flags = INC_FLAGS,
	.classic_ops = 100,
	.open = inc_open,
	.close = inc_close,
	.trigger = hash_inc_trigger,
	.prog_fd = hash_inc_fd,
	.left_behind = hash_left_behind,
};
