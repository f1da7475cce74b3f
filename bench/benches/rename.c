// SPDX-License-Identifier: BSD-2-Clause
/*
 * The rename-* benches: what a program costs beside something that is done with it, a write of the
 * process's name to /proc. On a kernel the program is on the kernel's __set_task_comm() or its
 * tracepoint; on `user` on a function of that name in this program, which makes the system call, and
 * on a tracepoint in it. The null arm renames without a program.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpfu/bpfu.h>

#include "bench.h"
#include "driver.h"
#include "rename.skel.h"
#include "target.h"

#define NAME "bpflab-rename"

struct rename_state {
	struct rename *skel;
	struct bpf_program *prog; /* NULL: rename-base */
	struct bpf_link *link;
	int fd; /* of the name */
};

/* ---- what is renamed ---- */

static struct bpfu_tracepoint *task_rename;

long bpflab_set_task_comm(void *task, const char *buf, int fd);

BPFU_PROBE_ENTRY long bpflab_set_task_comm(void *task, const char *buf, int fd)
{
	BPFU_TRACE(task_rename, (uint64_t)(uintptr_t)task, (uint64_t)(uintptr_t)buf);
	return write(fd, buf, sizeof(NAME) - 1);
}

static int offer_error;

static void offer(void)
{
	offer_error = bpfu_func_register(bpflab_set_task_comm,
					 "long __set_task_comm(void *task, const char *buf, int fd)", 0);
	if (!offer_error)
		offer_error = bpfu_tracepoint_register(
			"task", "void task_rename(void *task, const char *comm)", &task_rename);
}

/* ---- the bench ---- */

static int attach(struct bench_inst *inst, struct errline *e)
{
	struct rename_state *s = inst->priv;

	s->link = bpf_program__attach(s->prog);
	return s->link ? 0 : driver_attach_error(e, -errno, inst->bench->name, inst->target->spec);
}

static void detach(struct rename_state *s)
{
	bpf_link__destroy(s->link);
	s->link = NULL;
}

static void rename_close(struct bench_inst *inst)
{
	struct rename_state *s = inst->priv;

	detach(s);
	rename__destroy(s->skel);
	if (s->fd >= 0)
		close(s->fd);
	free(s);
	inst->priv = NULL;
}

static int load(struct bench_inst *inst, struct errline *e)
{
	struct rename_state *s = inst->priv;
	int err;

	s->skel = rename__open();
	if (!s->skel)
		return driver_load_error(e, -errno, inst->bench->name, inst->target->spec);
	s->prog = bpf_object__find_program_by_name(s->skel->obj, inst->bench->data);
	bpf_program__set_autoload(s->prog, true);
	err = rename__load(s->skel);
	if (err)
		return driver_load_error(e, err, inst->bench->name, inst->target->spec);
	/* Once now, so that a target that refuses says so before anything is measured. */
	err = attach(inst, e);
	detach(s);
	return err;
}

static int rename_open(struct bench_inst *inst, struct errline *e)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct rename_state *s = calloc(1, sizeof(*s));
	int err = 0;

	if (!s)
		return errline_set(e, -ENOMEM, "out of memory");
	inst->priv = s;
	pthread_once(&once, offer);
	s->fd = open("/proc/self/comm", O_WRONLY | O_CLOEXEC);
	if (offer_error)
		err = errline_set(e, offer_error, "cannot offer a function to attach to: %s",
				  strerror(-offer_error));
	else if (s->fd < 0)
		err = errline_set(e, -errno, "cannot open /proc/self/comm: %s", strerror(errno));
	else if (inst->bench->data)
		err = load(inst, e);
	if (err)
		rename_close(inst);
	return err;
}

static int rename_prepare(struct bench_inst *inst, enum bench_arm arm, struct errline *e)
{
	int err;

	if (!arm_is_measured(arm))
		return 0;
	err = target_enter(inst->target, e);
	if (err)
		return err;
	err = attach(inst, e);
	target_leave(inst->target);
	return err;
}

static void rename_finish(struct bench_inst *inst, enum bench_arm arm)
{
	detach(inst->priv);
}

static int rename_trigger(struct bench_inst *inst, unsigned int producer, enum bench_arm arm,
			  uint64_t ops, uint64_t *events)
{
	struct rename_state *s = inst->priv;

	for (*events = 0; *events < ops; ++*events) {
		if (!s->prog && !arm_is_measured(arm))
			__asm__ volatile("");
		else if (bpflab_set_task_comm(s, NAME, s->fd) != sizeof(NAME) - 1)
			return -errno;
	}
	return 0;
}

static int rename_left_behind(struct bench_inst *inst, uint64_t *counted)
{
	struct rename_state *s = inst->priv;

	*counted = s->skel->bss->hits;
	return 0;
}

static int rename_prog_fd(const struct bench_inst *inst)
{
	const struct rename_state *s = inst->priv;

	return bpf_program__fd(s->prog);
}

const struct bench bench_rename_base = {
	.name = "rename-base",
	.event = "a change of the process's name (no BPF)",
	.null_is = "the same loop without it",
	.flags = BENCH_HAS_PRODUCERS,
	.classic_ops = 100,
	.open = rename_open,
	.close = rename_close,
	.trigger = rename_trigger,
};

#define RENAME_BENCH(ident, name_, event_)                                                         \
	const struct bench bench_rename_##ident = {                                                \
		.name = name_,                                                                     \
		.event = event_,                                                                   \
		.null_is = "the change of name without a program",                                 \
		.flags = BENCH_NEEDS_BPF | BENCH_HAS_PRODUCERS,                                    \
		.classic_ops = 100,                                                                \
		.open = rename_open,                                                               \
		.close = rename_close,                                                             \
		.prepare = rename_prepare,                                                         \
		.finish = rename_finish,                                                           \
		.trigger = rename_trigger,                                                         \
		.left_behind = rename_left_behind,                                                 \
		.prog_fd = rename_prog_fd,                                                         \
		.data = "rename_" #ident,                                                          \
	}

RENAME_BENCH(kprobe, "rename-kprobe", "a kprobe program at a change of the process's name");
RENAME_BENCH(kretprobe, "rename-kretprobe", "a kretprobe program at a change of the process's name");
RENAME_BENCH(rawtp, "rename-rawtp", "a raw_tp program at a change of the process's name");
RENAME_BENCH(fentry, "rename-fentry", "a fentry program at a change of the process's name");
RENAME_BENCH(fexit, "rename-fexit", "a fexit program at a change of the process's name");
