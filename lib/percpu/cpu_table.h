/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the files of this folder share: the table of slots and threads (cpu.c, cpu_thread.c), the
 * asymmetric barrier, and who tells whom about sections, threads and forks.
 */
#ifndef BPFU_PERCPU_CPU_TABLE_H
#define BPFU_PERCPU_CPU_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "percpu/cpu.h"
#include "percpu/lock.h"

struct bpfu_cpu_slot {
	struct bpfu_cpu_self *owner; /* NULL: free */
	uint64_t since;              /* when the owner got it, CLOCK_MONOTONIC ns */
};

/* Everything under .lock unless said otherwise; taken with signals blocked. */
struct bpfu_cpu_table {
	struct bpfu_lock lock;
	_Atomic uint32_t cpus;  /* number of slots, 0 before the first use; read without the lock */
	_Atomic bool fenced; /* no membarrier: threads get BPFU_CPU_FENCED; read without the lock */
	uint32_t free_slots;
	struct bpfu_cpu_slot slots[BPFU_MAX_CPUS];
	struct bpfu_cpu_self *threads;    /* all registered ones */
	struct bpfu_cpu_self *wait_first; /* in the order of asking */
	struct bpfu_cpu_self *wait_last;
};

extern struct bpfu_cpu_table bpfu_cpu_table;

/* Fill the table, once. With the lock held. */
void bpfu_cpu_table_init(void);

/* Lock and unlock the table with all signals blocked meanwhile; @signals keeps the old mask. */
void bpfu_cpu_table_lock(uint64_t *signals);
void bpfu_cpu_table_unlock(const uint64_t *signals);

/* Make the calling thread known to revokers and to grace periods. With the lock held. */
void bpfu_cpu_thread_add(struct bpfu_cpu_self *self);
void bpfu_cpu_thread_del(struct bpfu_cpu_self *self);

/* After the lock is gone: have the slot given back when the thread ends. */
void bpfu_cpu_thread_watch(struct bpfu_cpu_self *self);

/* With the lock held: free the slot of @self and give it to whom waits for it. */
void bpfu_cpu_give_back(struct bpfu_cpu_self *self);

/*
 * The heavy half of the asymmetric fence: every thread of the process has passed a full fence when
 * it returns. The light half is the compiler barrier of the fast paths.
 */
void bpfu_cpu_barrier(void);

/* rcu.c: the thread has left a section and BPFU_CPU_GP was set; fork handlers. */
void bpfu_rcu_section_left(struct bpfu_cpu_self *self);
bool bpfu_rcu_fork_prepare(void);
void bpfu_rcu_fork_parent(bool locked);
void bpfu_rcu_fork_child(void);

/* percpu_alloc.c: reserve the region; bytes from one unit to the next. */
void bpfu_percpu_init(uint32_t cpus);

static inline bool bpfu_state_in_section(const _Atomic uint64_t *state)
{
	return atomic_load_explicit(state, memory_order_seq_cst) & BPFU_STATE_NEST;
}

#endif
