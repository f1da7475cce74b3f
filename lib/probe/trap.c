// SPDX-License-Identifier: BSD-2-Clause
/*
 * The SIGTRAP handler. It runs on any thread at any time, so it takes no lock: it announces itself in
 * a counter, looks at the set of traps, and withdraws; who clears the set waits for the counter.
 *
 * A trap whose breakpoint is no longer in the text when the handler looks has been met before it was
 * removed: the instruction is executed again.
 */
#include "probe/trap.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "percpu/sys.h"
#include "probe/evict.h"
#include "probe/point.h"

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

/*
 * True if the trap was ours, and the thread goes on somewhere. A thread has one SIGTRAP pending at
 * most: that of a breakpoint is dropped if it meets it with another one pending, whose handler then
 * finds it behind the breakpoint (@sync false).
 */
static bool resolve(ucontext_t *uc, bool sync)
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
		} else if (sync && *(volatile uint8_t *)at != INT3) {
			PC(uc) = (greg_t)at;
			ours = true;
		}
		/* A breakpoint that no set explains: of somebody else, or of a set just made. */
	} while (sync && !ours && gen != atomic_load(&set_gen));
	atomic_fetch_sub(&readers, 1);
	return ours;
}
#else
#define PC(uc) ((uc)->uc_mcontext.pc)

static bool resolve(ucontext_t *uc, bool sync)
{
	return false;
}
#endif

void bpfu_trap_step_over(uintptr_t *pc, size_t size)
{
	const struct bpfu_trap *trap;
	struct trap_set *s;

	atomic_fetch_add(&readers, 1);
	s = atomic_load(&set);
	trap = s ? trap_below(s, *pc) : NULL;
	if (trap && *pc > trap->at && *pc < trap->at + size)
		*pc = trap->at + size;
	atomic_fetch_sub(&readers, 1);
}

static bool evicted(const siginfo_t *info, ucontext_t *uc)
{
	uintptr_t pc = (uintptr_t)PC(uc);

	if (!bpfu_evict_answer(info, &pc))
		return false;
	PC(uc) = (__typeof__(PC(uc)))pc;
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
	/* Single steps and hardware breakpoints are a debugger's. */
	bool sync = info->si_code == SI_KERNEL || info->si_code == TRAP_BRKPT;
	/* First, and without errno, which is a call into the C library: it may have a breakpoint. */
	bool ours = bpfu_point_trap(arg, sync);
	int saved_errno;

	if (ours && sync)
		return;
	saved_errno = errno;
	ours = ours || resolve(arg, sync);
	if (!(sync && ours) && !evicted(info, arg))
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
