// SPDX-License-Identifier: BSD-2-Clause
/*
 * The trig-* benches: what it costs that a program is attached to a function. The measured arm calls
 * the function with the program attached, the null arm without; all of them use one function, so
 * each attaches just before its batch and detaches behind it, outside the time that is measured.
 *
 * A kernel takes a tenth of a second and more to do that: it waits until no task can be in what it takes
 * away. There a program stays attached until a batch comes that is not its own, and the schedule puts
 * batches of one arm together (BENCH_DEAR_PREPARE).
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "benches/crowd.h"
#include "driver.h"
#include "target.h"
#include "trigger.skel.h"

/* What a bench attaches, by the names of the programs in the skeleton. */
struct trigger_data {
	const char *prog;
	bool on_kfunc;    /* to bpf_modify_return_test_tp(), not to bpf_get_numa_node_id() */
	const char *rest; /* a program to be on all other functions meanwhile */
	bool rest_returns;
};

struct trigger_state {
	struct trigger *skel;
	struct bpf_program *prog; /* NULL: nothing is attached, the calls alone are measured */
	struct bpf_link *link;
	struct bpf_link *rest; /* for as long as the instance is open */
	struct crowd crowd;
};

/* What is attached to a kernel's function beyond its batch, or NULL. */
static struct trigger_state *lingering;

static int attach(struct bench_inst *inst, struct errline *e)
{
	static const char *function = "bpf_get_numa_node_id";
	struct trigger_state *s = inst->priv;
	LIBBPF_OPTS(bpf_kprobe_multi_opts, multi, .syms = &function, .cnt = 1);
	const char *section = bpf_program__section_name(s->prog);

	/* by its section libbpf would read all symbols of the kernel, each time */
	if (!strncmp(section, "kprobe.multi/", 13) || !strncmp(section, "kretprobe.multi/", 16)) {
		multi.retprobe = !strncmp(section, "kret", 4);
		s->link = bpf_program__attach_kprobe_multi_opts(s->prog, NULL, &multi);
	} else {
		s->link = bpf_program__attach(s->prog);
	}
	return s->link ? 0 : driver_attach_error(e, -errno, inst->bench->name, inst->target->spec);
}

static void detach(struct trigger_state *s)
{
	if (lingering == s)
		lingering = NULL;
	bpf_link__destroy(s->link);
	s->link = NULL;
}

static const struct trigger_data *data_of(const struct bench_inst *inst)
{
	static const struct trigger_data none;

	return inst->bench->data ? inst->bench->data : &none;
}

/* The driver of the calls, with or without the null arm's counting. */
static struct bpf_program *driver_of(const struct bench_inst *inst, bool counts)
{
	const struct trigger_state *s = inst->priv;

	if (data_of(inst)->on_kfunc)
		return counts ? s->skel->progs.kfunc_null : s->skel->progs.kfunc_driver;
	return counts ? s->skel->progs.trigger_null : s->skel->progs.trigger_driver;
}

/* Frames of the deepest stack that the programs have taken, one per CPU. */
static unsigned int frames_taken(const struct trigger_state *s)
{
	const struct bpf_map *map = s->skel->maps.stack_heap;
	size_t words = bpf_map__value_size(map) / sizeof(uint64_t);
	int cpus = libbpf_num_possible_cpus();
	uint64_t *stacks = calloc((size_t)(cpus > 0 ? cpus : 0), words * sizeof(*stacks));
	unsigned int deepest = 0;
	uint32_t zero = 0;

	if (stacks && !bpf_map_lookup_elem(bpf_map__fd(map), &zero, stacks)) {
		for (int cpu = 0; cpu < cpus; cpu++) {
			unsigned int depth = 0;

			while (depth < words && stacks[(size_t)cpu * words + depth])
				depth++;
			deepest = depth > deepest ? depth : deepest;
		}
	}
	free(stacks);
	return deepest;
}

static void choose_programs(struct bench_inst *inst)
{
	const struct trigger_data *data = data_of(inst);
	struct trigger_state *s = inst->priv;
	char name[64];

	bpf_map__set_autocreate(s->skel->maps.stack_heap, inst->params.stacktrace);
	if (!data->prog)
		return;
	snprintf(name, sizeof(name), "%s%s", data->prog, inst->params.stacktrace ? "_stack" : "");
	s->prog = bpf_object__find_program_by_name(s->skel->obj, name);
	bpf_program__set_autoload(s->prog, true);
	bpf_program__set_autoload(driver_of(inst, false), true);
	bpf_program__set_autoload(driver_of(inst, true), true);
	if (data->rest)
		bpf_program__set_autoload(bpf_object__find_program_by_name(s->skel->obj, data->rest),
					  true);
}

/* Put the bench's other program on all functions that benches do not call. */
static int attach_rest(struct bench_inst *inst, struct errline *e)
{
	const struct trigger_data *data = data_of(inst);
	struct trigger_state *s = inst->priv;
	LIBBPF_OPTS(bpf_kprobe_multi_opts, opts, .retprobe = data->rest_returns);
	struct bpf_program *prog;
	struct timespec before, after;
	int err;

	if (!data->rest)
		return 0;
	err = crowd_gather(&s->crowd, e);
	if (err)
		return err;
	opts.syms = (const char **)s->crowd.names;
	opts.cnt = s->crowd.cnt;
	prog = bpf_object__find_program_by_name(s->skel->obj, data->rest);
	clock_gettime(CLOCK_MONOTONIC, &before);
	s->rest = bpf_program__attach_kprobe_multi_opts(prog, NULL, &opts);
	clock_gettime(CLOCK_MONOTONIC, &after);
	if (!s->rest)
		return driver_attach_error(e, -errno, inst->bench->name, inst->target->spec);
	s->crowd.attach_s = (double)(after.tv_sec - before.tv_sec) +
			    (double)(after.tv_nsec - before.tv_nsec) / 1e9;
	return 0;
}

static void trigger_note(const struct bench_inst *inst, char *buf, size_t size)
{
	const struct trigger_state *s = inst->priv;

	buf[0] = '\0';
	if (s->rest)
		snprintf(buf, size, "%zu other functions had a program, attached in %.3f s%s",
			 s->crowd.cnt, s->crowd.attach_s, inst->params.stacktrace ? "; " : "");
	if (inst->params.stacktrace)
		snprintf(buf + strlen(buf), size - strlen(buf), "stacks of up to %u frames",
			 frames_taken(s));
}

static int load(struct bench_inst *inst, struct errline *e)
{
	struct trigger_state *s = inst->priv;
	int err;

	s->skel = trigger__open();
	if (!s->skel)
		return driver_load_error(e, -errno, inst->bench->name, inst->target->spec);
	choose_programs(inst);
	err = trigger__load(s->skel);
	if (err && s->prog)
		return driver_load_probe_error(e, err, inst->bench->name, inst->target->spec);
	return err ? driver_load_error(e, err, inst->bench->name, inst->target->spec) : 0;
}

static void trigger_close(struct bench_inst *inst)
{
	struct trigger_state *s = inst->priv;

	detach(s);
	bpf_link__destroy(s->rest);
	crowd_release(&s->crowd);
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
	if (!err)
		err = attach_rest(inst, e);
	if (err)
		trigger_close(inst);
	return err;
}

static int trigger_prepare(struct bench_inst *inst, enum bench_arm arm, struct errline *e)
{
	struct trigger_state *s = inst->priv;
	int err;

	if (lingering && (lingering != s || !arm_is_measured(arm)))
		detach(lingering);
	if (!s->prog || !arm_is_measured(arm) || lingering == s)
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
	struct trigger_state *s = inst->priv;

	if (s->link && inst->target->kind == &target_kind_host)
		lingering = s;
	else
		detach(s);
}

static int trigger_trigger(struct bench_inst *inst, unsigned int producer, enum bench_arm arm,
			   uint64_t ops, uint64_t *events)
{
	struct trigger_state *s = inst->priv;
	const struct bpf_program *prog = s->skel->progs.trigger_empty;

	if (arm_is_measured(arm) || s->prog)
		prog = driver_of(inst, !arm_is_measured(arm));
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

#define TRIGGER_FLAGS                                                                              \
	(BENCH_NEEDS_BPF | BENCH_HAS_TRIGGER | BENCH_HAS_PRODUCERS | BENCH_DEAR_PREPARE)

const struct bench bench_trig_kernel_count = {
	.name = "trig-kernel-count",
	.event = "a call of bpf_get_numa_node_id(), with nothing attached to it",
	.null_is = "the same loop without the call",
	.flags = TRIGGER_FLAGS,
	.classic_ops = 100,
	.open = trigger_open,
	.close = trigger_close,
	.prepare = trigger_prepare,
	.finish = trigger_finish,
	.trigger = trigger_trigger,
	.prog_fd = trigger_prog_fd,
};

/* Further arguments are members of struct trigger_data. */
#define TRIGGER_BENCH_OF(flags_, ident, name_, event_, ...)                                        \
	const struct bench bench_trig_##ident = {                                                  \
		.name = name_,                                                                     \
		.event = event_,                                                                   \
		.null_is = "the call without a program, and the counting",                         \
		.flags = TRIGGER_FLAGS | (flags_),                                                 \
		.classic_ops = 100,                                                                \
		.open = trigger_open,                                                              \
		.close = trigger_close,                                                            \
		.prepare = trigger_prepare,                                                        \
		.finish = trigger_finish,                                                          \
		.trigger = trigger_trigger,                                                        \
		.left_behind = trigger_left_behind,                                                \
		.prog_fd = trigger_prog_fd,                                                        \
		.note = trigger_note,                                                              \
		.data = &(const struct trigger_data){ __VA_ARGS__ },                               \
	}

#define TRIGGER_BENCH(...) TRIGGER_BENCH_OF(BENCH_HAS_STACKTRACE, __VA_ARGS__)

TRIGGER_BENCH(fentry, "trig-fentry", "entering a fentry program on a called function",
	      "trigger_fentry");
TRIGGER_BENCH(fexit, "trig-fexit", "entering a fexit program on a called function", "trigger_fexit");
TRIGGER_BENCH(fmodret, "trig-fmodret",
	      "a fmod_ret program that runs in place of a called function", "trigger_fmodret", true);
TRIGGER_BENCH(tp, "trig-tp", "entering a tp program on a tracepoint that is passed", "trigger_tp",
	      true);
TRIGGER_BENCH(rawtp, "trig-rawtp", "entering a raw_tp program on a tracepoint that is passed",
	      "trigger_rawtp", true);
TRIGGER_BENCH(kprobe, "trig-kprobe", "entering a kprobe program on a called function",
	      "trigger_kprobe");
TRIGGER_BENCH(kretprobe, "trig-kretprobe", "entering a kretprobe program on a called function",
	      "trigger_kretprobe");
TRIGGER_BENCH(kprobe_multi, "trig-kprobe-multi",
	      "entering a kprobe.multi program on a called function", "trigger_kprobe_multi");
TRIGGER_BENCH(kretprobe_multi, "trig-kretprobe-multi",
	      "entering a kretprobe.multi program on a called function", "trigger_kretprobe_multi");
TRIGGER_BENCH(kprobe_multi_all, "trig-kprobe-multi-all",
	      "trig-kprobe-multi with an empty kprobe.multi program on all other functions",
	      "trigger_kprobe_multi", .rest = "trigger_kprobe_rest");
TRIGGER_BENCH(kretprobe_multi_all, "trig-kretprobe-multi-all",
	      "trig-kretprobe-multi with an empty kretprobe.multi program on all other functions",
	      "trigger_kretprobe_multi", .rest = "trigger_kretprobe_rest", .rest_returns = true);

/* The benches of private_stack.c, driven by calls of the function that the program is attached to. */
TRIGGER_BENCH_OF(0, private_stack, "private-stack-fentry",
		 "private-stack's function, called by a fentry program on a called function",
		 "trigger_private_stack");
TRIGGER_BENCH_OF(0, no_private_stack, "no-private-stack-fentry",
		 "the same in a program that may not have a private stack",
		 "trigger_no_private_stack");

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
	*events = arm_is_measured(arm) ? plain_loop(CALL_NOP, ops) : plain_loop(CALL_NOTHING, ops);
	return 0;
}

static int syscall_trigger(struct bench_inst *inst, unsigned int producer, enum bench_arm arm,
			   uint64_t ops, uint64_t *events)
{
	*events = arm_is_measured(arm) ? plain_loop(CALL_SYSCALL, ops) : plain_loop(CALL_NOTHING, ops);
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
