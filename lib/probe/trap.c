// SPDX-License-Identifier: BSD-2-Clause
/*
 * The SIGTRAP handler. It runs on any thread at any time, so it takes no lock: it announces itself in
 * a counter, looks at the set of traps, and withdraws; who clears the set waits for the counter.
 *
 * A trap whose breakpoint is no longer in the text when the handler looks has been met before it was
 * removed: the instruction is executed again.
 */
#include "probe/trap.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "percpu/sys.h"

struct trap_set {
	const struct bpfu_trap *traps;
	size_t cnt;
};

static struct trap_set set_storage;            /* written while no handler can look */
static _Atomic(struct trap_set *) set;
static _Atomic uint32_t set_gen;               /* counts changes of the set */
static _Atomic uint32_t readers;               /* handlers that may be looking at the set */
static struct sigaction previous;
static pthread_mutex_t init_lock = PTHREAD_MUTEX_INITIALIZER;

/*
 * The current eviction. Its number comes with the signals: one that was blocked may arrive long after
 * the eviction is over, and must neither count nor be taken for the application's.
 */
static _Atomic size_t evict_size;              /* 0: none */
static _Atomic uint32_t evict_number;
static _Atomic uint32_t evict_answers;
#define EVICT_SIGVAL ((uintptr_t)&evict_answers << 16) /* whose signals, and 16 bits of which */

/* The last trap at or below @pc. */
static const struct bpfu_trap *trap_below(const struct trap_set *s, uintptr_t pc)
{
	size_t lo = 0, hi = s->cnt;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (s->traps[mid].at <= pc)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? &s->traps[lo - 1] : NULL;
}

#if defined(__x86_64__)
#define INT3 0xcc
#define PC(uc) ((uc)->uc_mcontext.gregs[REG_RIP])

/* True if the trap was ours, and the thread goes on somewhere. */
static bool resolve(ucontext_t *uc)
{
	uintptr_t at = (uintptr_t)PC(uc) - 1;
	bool ours = false;
	uint32_t gen;

	atomic_fetch_add(&readers, 1);
	do {
		struct trap_set *s;
		const struct bpfu_trap *trap;

		gen = atomic_load(&set_gen);
		s = atomic_load(&set);
		trap = s ? trap_below(s, at) : NULL;
		if (trap && trap->at == at) {
			PC(uc) = (greg_t)trap->to;
			ours = true;
		} else if (*(volatile uint8_t *)at != INT3) {
			PC(uc) = (greg_t)at;
			ours = true;
		}
		/* A breakpoint that no set explains: of somebody else, or of a set just made. */
	} while (!ours && gen != atomic_load(&set_gen));
	atomic_fetch_sub(&readers, 1);
	return ours;
}
#else
#define PC(uc) ((uc)->uc_mcontext.pc)

static bool resolve(ucontext_t *uc)
{
	return false;
}
#endif

/* A signal of bpfu_trap_evict(): step out of an instruction that is about to change. */
static bool evicted(const siginfo_t *info, ucontext_t *uc)
{
	size_t size = atomic_load(&evict_size);
	const struct bpfu_trap *trap;
	struct trap_set *s;

	if (info->si_code != SI_QUEUE || info->si_pid != getpid() ||
	    ((uintptr_t)info->si_value.sival_ptr & ~0xffffull) != EVICT_SIGVAL)
		return false;
	if (!size || ((uintptr_t)info->si_value.sival_ptr & 0xffff) !=
			     (atomic_load(&evict_number) & 0xffff))
		return true;
	atomic_fetch_add(&readers, 1);
	s = atomic_load(&set);
	trap = s ? trap_below(s, (uintptr_t)PC(uc)) : NULL;
	if (trap && (uintptr_t)PC(uc) > trap->at && (uintptr_t)PC(uc) < trap->at + size)
		PC(uc) = trap->at + size;
	atomic_fetch_sub(&readers, 1);
	atomic_fetch_add(&evict_answers, 1);
	return true;
}

static void chain(int sig, siginfo_t *info, void *uc)
{
	struct sigaction dfl = { .sa_handler = SIG_DFL };

	if (previous.sa_flags & SA_SIGINFO) {
		previous.sa_sigaction(sig, info, uc);
	} else if (previous.sa_handler == SIG_DFL) {
		/* What the kernel would have done: the signal again, with nobody to catch it. */
		sigaction(sig, &dfl, NULL);
		raise(sig);
	} else if (previous.sa_handler != SIG_IGN) {
		previous.sa_handler(sig);
	}
}

static void on_trap(int sig, siginfo_t *info, void *arg)
{
	int saved_errno = errno;

	if (!(info->si_code > 0 && resolve(arg)) && !evicted(info, arg))
		chain(sig, info, arg);
	errno = saved_errno;
}

void bpfu_trap_init(void)
{
	struct sigaction sa = { .sa_sigaction = on_trap,
				.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK | SA_NODEFER };
	struct sigaction now;

	pthread_mutex_lock(&init_lock);
	sigaction(SIGTRAP, NULL, &now);
	if ((void *)now.sa_sigaction != (void *)on_trap) {
		previous = now;
		sigaction(SIGTRAP, &sa, NULL);
	}
	pthread_mutex_unlock(&init_lock);
}

void bpfu_trap_set(const struct bpfu_trap *traps, size_t cnt)
{
	set_storage = (struct trap_set){ traps, cnt };
	atomic_store(&set, &set_storage);
	atomic_fetch_add(&set_gen, 1);
}

void bpfu_trap_clear(void)
{
	atomic_store(&set, NULL);
	atomic_fetch_add(&set_gen, 1);
	while (atomic_load(&readers))
		bpfu_sys6(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
}

static bool ask_thread(pid_t tid)
{
	siginfo_t info = {
		.si_signo = SIGTRAP,
		.si_code = SI_QUEUE,
	};

	info.si_pid = getpid();
	info.si_uid = getuid();
	info.si_value.sival_ptr =
		(void *)(EVICT_SIGVAL | (atomic_load(&evict_number) & 0xffff));
	return !syscall(SYS_rt_tgsigqueueinfo, getpid(), tid, SIGTRAP, &info);
}

/* Ask each other thread that was not asked before; how many. */
static uint32_t ask_threads(pid_t *asked, uint32_t *asked_cnt, uint32_t max)
{
	pid_t self = (pid_t)syscall(SYS_gettid);
	uint32_t new_cnt = 0;
	struct dirent *entry;
	DIR *dir = opendir("/proc/self/task");

	while (dir && (entry = readdir(dir))) {
		pid_t tid = atoi(entry->d_name);
		bool known = tid <= 0 || tid == self;

		for (uint32_t i = 0; i < *asked_cnt && !known; i++)
			known = asked[i] == tid;
		if (known || *asked_cnt == max)
			continue;
		if (!ask_thread(tid))
			continue; /* it has ended */
		asked[(*asked_cnt)++] = tid;
		new_cnt++;
	}
	if (dir)
		closedir(dir);
	return new_cnt;
}

/* Threads that have ended since they were asked do not answer. */
static uint32_t gone_threads(const pid_t *asked, uint32_t cnt)
{
	uint32_t gone = 0;

	for (uint32_t i = 0; i < cnt; i++)
		gone += syscall(SYS_tgkill, getpid(), asked[i], 0) != 0;
	return gone;
}

#define THREADS_MAX 65536

int bpfu_trap_evict(size_t size)
{
	pid_t *asked = malloc(THREADS_MAX * sizeof(*asked));
	uint64_t deadline = bpfu_now_ns() + 1000000000u;
	uint32_t cnt = 0;
	int err = 0;

	if (!asked)
		return -ENOMEM;
	atomic_fetch_add(&evict_number, 1);
	atomic_store(&evict_answers, 0);
	atomic_store(&evict_size, size);
	/* Threads that are created meanwhile start elsewhere, but their creators may be anywhere. */
	while (ask_threads(asked, &cnt, THREADS_MAX))
		;
	while (atomic_load(&evict_answers) + gone_threads(asked, cnt) < cnt && !err) {
		if (bpfu_now_ns() > deadline)
			err = -EBUSY;
		bpfu_sys6(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
	}
	atomic_store(&evict_size, 0);
	free(asked);
	return err;
}
