// SPDX-License-Identifier: BSD-2-Clause
/* The processes, and the page that each shares with its parent; see instances.h. */
#include "measure/instances.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "benches/prog_pack.h"
#include "machine/code_memory.h"
#include "util/interrupt.h"

#define START_MS 60000
#define STOP_MS 10000

struct instance_shared {
	_Atomic int ready;  /* 1: runs; negative: an errno, with a line in e */
	_Atomic int stop;
	_Atomic int done;   /* as ready, of the end */
	uint64_t events;
	uint64_t code_bytes, huge_bytes;
	struct errline e;
};

/* ---- in the process ---- */

static int run_until_stopped(struct bench_inst *inst, struct instance_shared *s)
{
	uint64_t left_behind, events;
	int err = 0;

	while (!atomic_load_explicit(&s->stop, memory_order_relaxed) && !err) {
		err = bench_prog_pack.trigger(inst, 0, ARM_FULL, INSTANCE_TRIGGERED, &events);
		if (!err && events != INSTANCE_TRIGGERED)
			return errline_set(&s->e, -EBADMSG, "an instance ran %llu programs of %d",
					   (unsigned long long)events, INSTANCE_TRIGGERED);
		s->events += events;
	}
	if (err)
		return errline_set(&s->e, err, "an instance cannot run its programs: %s",
				   strerror(-err));
	bench_prog_pack.left_behind(inst, &left_behind);
	if (left_behind != s->events)
		return errline_set(&s->e, -EBADMSG, "the programs of an instance noted %llu of %llu runs",
				   (unsigned long long)left_behind, (unsigned long long)s->events);
	return 0;
}

static void read_memory(const struct target *target, struct instance_shared *s)
{
	struct code_memory m[2];

	/* The kernel's is one for all; it is not this process's. */
	if (strcmp(target->kind->name, "user"))
		return;
	for (int packed = 0; packed < 2; packed++) {
		code_memory_read(true, packed, &m[packed]);
		s->code_bytes += m[packed].bytes;
		s->huge_bytes += m[packed].huge;
	}
}

static void instance_main(const struct target *target, struct instance_shared *s, pid_t parent)
{
	struct bench_inst inst = { .bench = &bench_prog_pack, .target = target };
	int err;

	/* Ctrl-C reaches all processes of the terminal; the parent tells when to end. */
	signal(SIGINT, SIG_IGN);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	inst.params.producers = 1;
	inst.params.programs = INSTANCE_PROGRAMS;
	err = target_enter(target, &s->e);
	if (!err)
		err = bench_prog_pack.open(&inst, &s->e);
	if (err) {
		atomic_store(&s->ready, err);
		_exit(1);
	}
	prog_pack_only(&inst, INSTANCE_TRIGGERED);
	atomic_store(&s->ready, 1);
	err = run_until_stopped(&inst, s);
	read_memory(target, s);
	bench_prog_pack.close(&inst);
	atomic_store(&s->done, err ? err : 1);
	_exit(err ? 1 : 0);
}

/* ---- in the parent ---- */

static void kill_all(struct instances *all)
{
	for (uint32_t i = 0; i < all->nr; i++) {
		if (all->list[i].pid <= 0)
			continue;
		kill(all->list[i].pid, SIGKILL);
		waitpid(all->list[i].pid, NULL, 0);
		all->list[i].pid = 0;
	}
}

static void release(struct instances *all)
{
	kill_all(all);
	if (all->shared)
		munmap(all->shared, all->nr * sizeof(*all->shared));
	free(all->list);
	memset(all, 0, sizeof(*all));
}

/* Wait for a flag of @s that is not 0. Its value; -ECHILD if the process ended without, -ETIMEDOUT. */
static int wait_for(struct instance *inst, _Atomic int *flag, int timeout_ms)
{
	for (int ms = 0; ms < timeout_ms; ms++) {
		int value = atomic_load(flag);

		if (value)
			return value;
		if (interrupt_signal())
			return -EINTR;
		if (waitpid(inst->pid, NULL, WNOHANG) == inst->pid) {
			inst->pid = 0;
			value = atomic_load(flag);
			return value ? value : -ECHILD;
		}
		poll(NULL, 0, 1);
	}
	return -ETIMEDOUT;
}

static int explain(int err, const struct instance *inst, const char *what, struct errline *e)
{
	if (inst->shared->e.text[0])
		return errline_set(e, err, "%s", inst->shared->e.text);
	return errline_set(e, err, "an instance %s: %s", what,
			   err == -ECHILD    ? "its process ended" :
			   err == -ETIMEDOUT ? "it takes too long" :
					       strerror(-err));
}

int instances_start(struct instances *all, uint32_t nr, const struct target *target,
		    struct errline *e)
{
	pid_t parent = getpid();
	int err = 0;

	memset(all, 0, sizeof(*all));
	if (!nr)
		return 0;
	all->list = calloc(nr, sizeof(*all->list));
	all->shared = mmap(NULL, nr * sizeof(*all->shared), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!all->list || all->shared == MAP_FAILED) {
		free(all->list);
		memset(all, 0, sizeof(*all));
		return errline_set(e, -ENOMEM, "out of memory");
	}
	all->nr = nr;
	fflush(NULL);
	for (uint32_t i = 0; i < nr && !err; i++) {
		struct instance *inst = &all->list[i];

		inst->shared = &all->shared[i];
		inst->pid = fork();
		if (!inst->pid)
			instance_main(target, inst->shared, parent);
		if (inst->pid < 0)
			err = errline_set(e, -errno, "cannot start instance %u of %u: %s", i + 1, nr,
					  strerror(errno));
	}
	for (uint32_t i = 0; i < nr && !err; i++) {
		err = wait_for(&all->list[i], &all->shared[i].ready, START_MS);
		err = err < 0 ? explain(err, &all->list[i], "does not start", e) : 0;
	}
	if (err)
		release(all);
	return err;
}

int instances_stop(struct instances *all, struct instances_result *result, struct errline *e)
{
	int err = 0;

	memset(result, 0, sizeof(*result));
	for (uint32_t i = 0; i < all->nr; i++)
		atomic_store(&all->shared[i].stop, 1);
	for (uint32_t i = 0; i < all->nr && !err; i++) {
		err = wait_for(&all->list[i], &all->shared[i].done, STOP_MS);
		err = err < 0 ? explain(err, &all->list[i], "does not end", e) : 0;
		result->events += all->shared[i].events;
		result->code_bytes += all->shared[i].code_bytes;
		result->huge_bytes += all->shared[i].huge_bytes;
	}
	release(all);
	return err;
}
