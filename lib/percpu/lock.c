// SPDX-License-Identifier: BSD-2-Clause
/*
 * Owner-aware futex lock (lock.h has the word's layout and the rules). The count of locks held
 * lives in the thread's bpfu_cpu_self, raised before the word is taken and lowered after it is
 * given back, so that an interrupting program never sees too few.
 */
#include "percpu/lock.h"

#include <errno.h>

#include "percpu/fence.h"
#include "percpu/sys.h"
#include "util/log.h"

#define LOCK_WAITERS   (1u << 31)
#define LOCK_TID_MASK  ((1u << 22) - 1)
#define LOCK_GEN_SHIFT 22
#define LOCK_GEN_MASK  (0x1ffu << LOCK_GEN_SHIFT)

#define SPINS_BEFORE_SLEEP 100
#define SPINS_BOUNDED      20000

static uint32_t fork_gen; /* in place; written only by the single thread of a new child */

static uint32_t self_word(void)
{
	struct bpfu_cpu_self *self = &bpfu_cpu_self;

	if (bpfu_unlikely(!self->tid))
		self->tid = (uint32_t)bpfu_sys6(SYS_gettid, 0, 0, 0, 0, 0, 0) & LOCK_TID_MASK;
	return self->tid | fork_gen;
}

static void hold_inc(void)
{
	bpfu_cpu_self.locks_held++;
	atomic_signal_fence(memory_order_seq_cst);
}

static void hold_dec(void)
{
	atomic_signal_fence(memory_order_seq_cst);
	bpfu_cpu_self.locks_held--;
}

static int lock_slow(struct bpfu_lock *lock, uint32_t me, bool bounded)
{
	uint32_t waited = 0, spins = 0, word;

	for (;;) {
		word = atomic_load_explicit(&lock->word, memory_order_relaxed);
		if (!word || (word & LOCK_GEN_MASK) != (me & LOCK_GEN_MASK)) {
			if (atomic_compare_exchange_weak_explicit(&lock->word, &word, me | waited,
								  memory_order_acquire,
								  memory_order_relaxed))
				return 0;
			continue;
		}
		if ((word & ~LOCK_WAITERS) == me)
			return -EDEADLK;
		if (++spins < (bounded ? SPINS_BOUNDED : SPINS_BEFORE_SLEEP)) {
			bpfu_pause();
			continue;
		}
		if (bounded)
			return -EBUSY;
		if (!(word & LOCK_WAITERS) &&
		    !atomic_compare_exchange_weak_explicit(&lock->word, &word, word | LOCK_WAITERS,
							   memory_order_relaxed,
							   memory_order_relaxed))
			continue;
		bpfu_futex_wait(&lock->word, word | LOCK_WAITERS, 0);
		/* Others may sleep, too: whoever has slept keeps the bit for them. */
		waited = LOCK_WAITERS;
	}
}

static int lock_common(struct bpfu_lock *lock, bool bounded)
{
	uint32_t me = self_word();
	uint32_t word = 0;
	int err;

	hold_inc();
	if (bpfu_likely(atomic_compare_exchange_strong_explicit(
		    &lock->word, &word, me, memory_order_acquire, memory_order_relaxed)))
		return 0;
	err = lock_slow(lock, me, bounded);
	if (err)
		hold_dec();
	return err;
}

int bpfu_lock(struct bpfu_lock *lock)
{
	return lock_common(lock, false);
}

int bpfu_lock_bounded(struct bpfu_lock *lock, uint32_t may_hold)
{
	return lock_common(lock, bpfu_cpu_self.locks_held >= may_hold);
}

bool bpfu_trylock(struct bpfu_lock *lock)
{
	uint32_t me = self_word();
	uint32_t word = atomic_load_explicit(&lock->word, memory_order_relaxed);

	hold_inc();
	if ((!word || (word & LOCK_GEN_MASK) != (me & LOCK_GEN_MASK)) &&
	    atomic_compare_exchange_strong_explicit(&lock->word, &word, me, memory_order_acquire,
						    memory_order_relaxed))
		return true;
	hold_dec();
	return false;
}

void bpfu_unlock(struct bpfu_lock *lock)
{
	uint32_t word = atomic_exchange_explicit(&lock->word, 0, memory_order_release);

	BPFU_BUG_ON(!word, "lock released that is free");
	hold_dec();
	if (bpfu_unlikely(word & LOCK_WAITERS))
		bpfu_futex_wake(&lock->word, 1);
}

void bpfu_locks_forked(void)
{
	fork_gen = (fork_gen + (1u << LOCK_GEN_SHIFT)) & LOCK_GEN_MASK;
	bpfu_cpu_self.tid = 0;
}
