// SPDX-License-Identifier: BSD-2-Clause
/*
 * The trig-* benches: what it costs that a program is attached to a function. The measured arm calls
 * the function with the program attached, the null arm without; all of them use one function, so
 * each attaches just before its batch and detaches behind it, outside the time that is measured.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench.h"
#include "driver.h"
#include "target.h"
#include "trigger.skel.h"

/* What a bench attaches, by the name of the program in the skeleton. */
struct trigger_data {
	const char *prog;
};

struct trigger_state {
	struct trigger *skel;
	struct bpf_program *prog; /* NULL: nothing is attached, the calls alone are measured */
	struct bpf_link *link;
};

static int attach(struct bench_inst *inst, struct errline *e)
{
	struct trigger_state *s = inst->priv;

	s->link = bpf_program__attach(s->prog);
	return s->link ? 0 : driver_attach_error(e, -errno, inst->bench->name, inst->target->spec);
}

static void detach(struct trigger_state *s)
{
	bpf_link__destroy(s->link);
	s->link = NULL;
}

static int load(struct bench_inst *inst, struct errline *e)
{
	const struct trigger_data *data = inst->bench->data;
	struct trigger_state *s = inst->priv;
	int err;

	s->skel = trigger__open();
	if (!s->skel)
		return driver_load_error(e, -errno, inst->bench->name, inst->target->spec);
	if (data) {
		s->prog = bpf_object__find_program_by_name(s->skel->obj, data->prog);
		bpf_program__set_autoload(s->prog, true);
	}
	err = trigger__load(s->skel);
	if (err == -EPERM && s->prog && !geteuid())
		return errline_set(e, err, "cannot load '%s' on %s: this kernel lets nobody load "
				   "programs that are attached to functions; use --on user",
				   inst->bench->name, inst->target->spec);
	if (err)
		return driver_load_error(e, err, inst->bench->name, inst->target->spec);
	return 0;
}

static void trigger_close(struct bench_inst *inst)
{
	struct trigger_state *s = inst->priv;

	detach(s);
	trigger__destroy(s->skel);
	free(s);
	inst->priv = NULL;
}

/* Attached once at the start, so that a target that refuses says so before anything is measured. */
static int trigger_open(struct bench_inst *inst, struct errline *e)
{
	struct trigger_state *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return errline_set(e, -ENOMEM, "out of memory");
	inst->priv = s;
	err = load(inst, e);
	if (!err && s->prog) {
		err = attach(inst, e);
		detach(s);
	}
	if (err)
		trigger_close(inst);
	return err;
}

static bool is_measured(enum bench_arm arm)
{
	return arm == ARM_FULL || arm == ARM_PLAIN;
}

static int trigger_prepare(struct bench_inst *inst, enum bench_arm arm, struct errline *e)
{
	struct trigger_state *s = inst->priv;
	int err;

	if (!s->prog || !is_measured(arm))
		return 0;
	/* libbpf looks names up where the thread's target says. */
	err = target_enter(inst->target, e);
	if (err)
		return err;
	err = attach(inst, e);
	target_leave(inst->target);
	return err;
}

static void trigger_finish(struct bench_inst *inst, enum bench_arm arm)
{
	detach(inst->priv);
}

static int trigger_trigger(struct bench_inst *inst, unsigned int producer, enum bench_arm arm,
			   uint64_t ops, uint64_t *events)
{
	struct trigger_state *s = inst->priv;
	const struct bpf_program *prog = s->skel->progs.trigger_driver;

	if (!is_measured(arm))
		prog = s->prog ? s->skel->progs.trigger_null : s->skel->progs.trigger_empty;
	return driver_run(bpf_program__fd(prog), ops, 0, events);
}

static int trigger_left_behind(struct bench_inst *inst, uint64_t *counted)
{
	struct trigger_state *s = inst->priv;

	*counted = 0;
	for (size_t i = 0; i < sizeof(s->skel->bss->hits) / sizeof(s->skel->bss->hits[0]); i++)
		*counted += s->skel->bss->hits[i].value;
	return 0;
}

static int trigger_prog_fd(const struct bench_inst *inst)
{
	const struct trigger_state *s = inst->priv;

	return bpf_program__fd(s->prog ? s->prog : s->skel->progs.trigger_driver);
}

#define TRIGGER_FLAGS (BENCH_NEEDS_BPF | BENCH_HAS_TRIGGER | BENCH_HAS_PRODUCERS)

const struct bench bench_trig_kernel_count = {
	.name = "trig-kernel-count",
	.event = "a call of bpf_get_numa_node_id(), with nothing attached to it",
	.null_is = "the same loop without the call",
	.flags = TRIGGER_FLAGS,
	.classic_ops = 100,
	.open = trigger_open,
	.close = trigger_close,
	.trigger = trigger_trigger,
	.prog_fd = trigger_prog_fd,
};

#define TRIGGER_BENCH(ident, name_, event_)                                                        \
	const struct bench bench_trig_##ident = {                                                  \
		.name = name_,                                                                     \
		.event = event_,                                                                   \
		.null_is = "the call without a program, and the counting",                         \
		.flags = TRIGGER_FLAGS,                                                            \
		.classic_ops = 100,                                                                \
		.open = trigger_open,                                                              \
		.close = trigger_close,                                                            \
		.prepare = trigger_prepare,                                                        \
		.finish = trigger_finish,                                                          \
		.trigger = trigger_trigger,                                                        \
		.left_behind = trigger_left_behind,                                                \
		.prog_fd = trigger_prog_fd,                                                        \
		.data = &(const struct trigger_data){ "trigger_" #ident },                         \
	}

TRIGGER_BENCH(fentry, "trig-fentry", "entering a fentry program on a called function");
TRIGGER_BENCH(fexit, "trig-fexit", "entering a fexit program on a called function");
TRIGGER_BENCH(kprobe, "trig-kprobe", "entering a kprobe program on a called function");
TRIGGER_BENCH(kretprobe, "trig-kretprobe", "entering a kretprobe program on a called function");
TRIGGER_BENCH(kprobe_multi, "trig-kprobe-multi",
	      "entering a kprobe.multi program on a called function");
TRIGGER_BENCH(kretprobe_multi, "trig-kretprobe-multi",
	      "entering a kretprobe.multi program on a called function");

/* ---- without BPF: what calls cost ---- */

__attribute__((noinline, aligned(64))) static void nop_target(void)
{
	asm volatile("");
}

enum plain_call { CALL_NOTHING, CALL_NOP, CALL_SYSCALL };

static inline __attribute__((always_inline)) uint64_t plain_loop(enum plain_call call, uint64_t ops)
{
	uint64_t i = 0;

	while (i < ops) {
		if (call == CALL_NOP)
			nop_target();
		else if (call == CALL_SYSCALL)
			getpgid(0);
		i++;
		asm volatile("" : "+r"(i));
	}
	return i;
}

static int plain_open(struct bench_inst *inst, struct errline *e)
{
	return 0;
}

static void plain_close(struct bench_inst *inst)
{
}

static int usermode_trigger(struct bench_inst *inst, unsigned int producer, enum bench_arm arm,
			    uint64_t ops, uint64_t *events)
{
	*events = is_measured(arm) ? plain_loop(CALL_NOP, ops) : plain_loop(CALL_NOTHING, ops);
	return 0;
}

static int syscall_trigger(struct bench_inst *inst, unsigned int producer, enum bench_arm arm,
			   uint64_t ops, uint64_t *events)
{
	*events = is_measured(arm) ? plain_loop(CALL_SYSCALL, ops) : plain_loop(CALL_NOTHING, ops);
	return 0;
}

const struct bench bench_trig_usermode_count = {
	.name = "trig-usermode-count",
	.event = "a call of an empty function of this program (no BPF)",
	.null_is = "the same loop without the call",
	.flags = BENCH_HAS_PRODUCERS,
	.classic_ops = 1000,
	.open = plain_open,
	.close = plain_close,
	.trigger = usermode_trigger,
};

const struct bench bench_trig_syscall_count = {
	.name = "trig-syscall-count",
	.event = "a getpgid() system call of the running kernel (no BPF)",
	.null_is = "the same loop without the call",
	.flags = BENCH_HAS_PRODUCERS,
	.classic_ops = 1000,
	.open = plain_open,
	.close = plain_close,
	.trigger = syscall_trigger,
};
