// SPDX-License-Identifier: BSD-2-Clause
/*
 * Every thread is asked with a SIGTRAP that carries our mark, and answers in its handler.
 *
 * A thread has at most one SIGTRAP pending: while one is, that of a breakpoint that it has just met or
 * one of the application's, another is dropped without a word. So who has not answered is asked again.
 * It is also why a signal of an earlier eviction counts as a question of the present one: its handler
 * looks at where the thread stands now.
 *
 * A thread that is being created or is ending blocks all signals for a moment; that is waited for. One
 * that never does anything else is an emulator's own, if there is one: no thread of ours has that number.
 */
#include "probe/evict.h"

#include <dirent.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "jit/pack.h"
#include "percpu/sys.h"
#include "probe/trap.h"

#define THREADS_MAX 65536

#define NS_PER_MS 1000000u
#define ASK_AGAIN_NS (10 * NS_PER_MS)
#define BLOCKED_NS (1000 * NS_PER_MS)          /* a mask that long is the application's */
#define EMULATED_NS (100 * NS_PER_MS)          /* or the emulator's */
#define SILENT_NS (10000ull * NS_PER_MS)       /* stopped, or starved beyond hope */

struct asked {
	pid_t tid;
	_Atomic bool answered;
};

struct eviction {
	size_t size;
	_Atomic uint32_t cnt;
	struct asked asked[THREADS_MAX];
};

static _Atomic(struct eviction *) current;
static _Atomic uint32_t readers;               /* handlers that may be looking at it */
#define MARK ((void *)&current)                /* in the signals, to know them by */

bool bpfu_evict_answer(const siginfo_t *info, uintptr_t *pc)
{
	pid_t self = (pid_t)bpfu_sys6(SYS_gettid, 0, 0, 0, 0, 0, 0);
	struct eviction *e;

	if (info->si_code != SI_QUEUE || info->si_pid != getpid() ||
	    info->si_value.sival_ptr != MARK)
		return false;
	atomic_fetch_add(&readers, 1);
	e = atomic_load(&current);
	if (e) {
		uint32_t cnt = atomic_load(&e->cnt);

		bpfu_trap_step_over(pc, e->size);
		for (uint32_t i = 0; i < cnt; i++) {
			if (e->asked[i].tid == self)
				atomic_store(&e->asked[i].answered, true);
		}
	}
	atomic_fetch_sub(&readers, 1);
	return true;
}

/* A thread that has ended has nothing to answer. */
static void ask(struct asked *a)
{
	siginfo_t info = {
		.si_signo = SIGTRAP,
		.si_code = SI_QUEUE,
	};

	info.si_pid = getpid();
	info.si_uid = getuid();
	info.si_value.sival_ptr = MARK;
	if (syscall(SYS_rt_tgsigqueueinfo, getpid(), a->tid, SIGTRAP, &info) && errno == ESRCH)
		atomic_store(&a->answered, true);
}

static bool known(const struct eviction *e, pid_t tid)
{
	uint32_t cnt = atomic_load(&e->cnt);

	for (uint32_t i = 0; i < cnt; i++) {
		if (e->asked[i].tid == tid)
			return true;
	}
	return false;
}

/* Ask each other thread that was not asked before; how many. */
static uint32_t ask_new(struct eviction *e)
{
	pid_t self = (pid_t)syscall(SYS_gettid);
	uint32_t new_cnt = 0;
	struct dirent *entry;
	DIR *dir = opendir("/proc/self/task");

	while (dir && (entry = readdir(dir))) {
		uint32_t cnt = atomic_load(&e->cnt);
		pid_t tid = atoi(entry->d_name);

		if (tid <= 0 || tid == self || cnt == THREADS_MAX || known(e, tid))
			continue;
		e->asked[cnt].tid = tid;
		atomic_store(&e->cnt, cnt + 1);
		ask(&e->asked[cnt]);
		new_cnt++;
	}
	if (dir)
		closedir(dir);
	return new_cnt;
}

static bool blocks_trap(pid_t tid)
{
	unsigned long long mask = 0;
	char path[64], line[128];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/status", tid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		if (!strncmp(line, "SigBlk:", 7))
			mask = strtoull(line + 7, NULL, 16);
	}
	if (f)
		fclose(f);
	return mask & 1ull << (SIGTRAP - 1);
}

static bool all_answered(const struct eviction *e)
{
	uint32_t cnt = atomic_load(&e->cnt);

	for (uint32_t i = 0; i < cnt; i++) {
		if (!atomic_load(&e->asked[i].answered))
			return false;
	}
	return true;
}

/* Do without the answers of threads that are none of the program's. */
static void excuse_emulator(struct eviction *e)
{
	uint32_t cnt = atomic_load(&e->cnt);

	for (uint32_t i = 0; i < cnt; i++)
		if (!atomic_load(&e->asked[i].answered) && blocks_trap(e->asked[i].tid))
			atomic_store(&e->asked[i].answered, true);
}

/* Whether it makes no sense to go on waiting, @waited nanoseconds after the start. */
static bool hopeless(struct eviction *e, uint64_t waited)
{
	uint32_t cnt = atomic_load(&e->cnt);

	for (uint32_t i = 0; i < cnt && waited > BLOCKED_NS; i++) {
		const struct asked *a = &e->asked[i];

		if (!atomic_load(&a->answered) && (waited > SILENT_NS || blocks_trap(a->tid)))
			return true;
	}
	return false;
}

static int wait_answers(struct eviction *e)
{
	uint64_t start = bpfu_now_ns(), asked = start;

	while (!all_answered(e)) {
		uint64_t now = bpfu_now_ns();

		bpfu_sys6(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
		if (now - asked < ASK_AGAIN_NS)
			continue;
		asked = now;
		if (now - start > EMULATED_NS && bpfu_pack_emulated())
			excuse_emulator(e);
		if (hopeless(e, now - start))
			return -EBUSY;
		for (uint32_t i = 0; i < atomic_load(&e->cnt); i++) {
			if (!atomic_load(&e->asked[i].answered))
				ask(&e->asked[i]);
		}
	}
	return 0;
}

int bpfu_evict(size_t size)
{
	struct eviction *e = calloc(1, sizeof(*e));
	int err;

	if (!e)
		return -ENOMEM;
	e->size = size;
	atomic_store(&current, e);
	/* Threads that are created meanwhile start elsewhere, but their creators may be anywhere. */
	while (ask_new(e))
		;
	err = wait_answers(e);
	atomic_store(&current, NULL);
	while (atomic_load(&readers))
		bpfu_sys6(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
	free(e);
	return err;
}
