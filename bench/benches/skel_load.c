// SPDX-License-Identifier: BSD-2-Clause
/*
 * skel-load: what it takes to load an ordinary skeleton (BTF, maps and their contents, four
 * programs), and to destroy it. Opening it, which is libbpf reading an ELF file, is subtracted.
 */
#include <bpf/libbpf.h>
#include <errno.h>

#include "bench.h"
#include "driver.h"
#include "inc.skel.h"
#include "target.h"

static int load_open(struct bench_inst *inst, struct errline *e)
{
	struct inc *skel = inc__open_and_load();

	if (!skel)
		return driver_load_error(e, -errno, inst->bench->name, inst->target->spec);
	inst->priv = skel;
	return 0;
}

static void load_close(struct bench_inst *inst)
{
	inc__destroy(inst->priv);
	inst->priv = NULL;
}

/*
 * One skeleton, opened, loaded if @loaded is NULL, and destroyed. The event is what a program reports
 * that runs one operation: the new skeleton's, or that of @loaded, so that both arms have one run.
 */
static int one(const struct inc *loaded, uint64_t *events)
{
	struct inc *skel = inc__open();
	uint64_t ran = 0;
	int err;

	if (!skel)
		return -errno;
	err = loaded ? 0 : inc__load(skel);
	if (!err)
		err = driver_run(bpf_program__fd((loaded ?: skel)->progs.inc_null), 1, 0, &ran);
	*events += ran;
	inc__destroy(skel);
	return err;
}

static int load_trigger(struct bench_inst *inst, unsigned int producer, enum bench_arm arm,
			uint64_t ops, uint64_t *events)
{
	const struct inc *loaded = arm_is_measured(arm) ? NULL : inst->priv;
	struct errline why;
	int err = target_enter(inst->target, &why); /* what is loaded belongs to it */

	*events = 0;
	if (err)
		return err;
	for (uint64_t i = 0; i < ops && !err; i++)
		err = one(loaded, events);
	target_leave(inst->target);
	return err;
}

static int load_fd(const struct bench_inst *inst)
{
	const struct inc *skel = inst->priv;

	return bpf_program__fd(skel->progs.inc_null);
}

const struct bench bench_skel_load = {
	.name = "skel-load",
	.event = "a skeleton of four programs and three maps loaded, run once and destroyed",
	.null_is = "opening it, a run of a loaded one, destroying it",
	.flags = BENCH_NEEDS_BPF | BENCH_LONG_OPS,
	.classic_ops = 1,
	.open = load_open,
	.close = load_close,
	.trigger = load_trigger,
	.prog_fd = load_fd,
};
