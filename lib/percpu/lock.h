/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The lock of everything that programs and commands share: hash buckets, free lists, the slot
 * table. A word of four bytes that knows its owner, because programs run in strange places: a
 * signal handler or a probe may interrupt a thread inside a critical section, and its program may
 * want the same lock. That must end in an error, never in a deadlock:
 *
 *     bit 31     somebody sleeps on the word
 *     22 … 30    fork generation: in the child, locks held by threads that are gone are free
 *     0 … 21     thread id of the owner (the kernel's limit is 2^22)
 *
 * Rules. A thread asks for a lock that it holds: -EDEADLK at once. A thread that already holds
 * locks and is allowed to wait only for a bounded time (bpfu_lock_bounded) gives up with -EBUSY,
 * which breaks cycles between two interrupted threads. Everybody else sleeps on the futex.
 */
#ifndef BPFU_PERCPU_LOCK_H
#define BPFU_PERCPU_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "percpu/cpu.h"

struct bpfu_lock {
	_Atomic uint32_t word; /* 0: free */
};

/* 0, or -EDEADLK if the calling thread holds @lock. Waits. */
int bpfu_lock(struct bpfu_lock *lock);

/*
 * As bpfu_lock(), but when the thread holds @may_hold or more locks already, so when it may be
 * inside an interrupted critical section, waits for some microseconds only: -EBUSY.
 */
int bpfu_lock_bounded(struct bpfu_lock *lock, uint32_t may_hold);

bool bpfu_trylock(struct bpfu_lock *lock);
void bpfu_unlock(struct bpfu_lock *lock);

/* In the child of fork(): locks of other threads are free from now on. */
void bpfu_locks_forked(void);

#endif
