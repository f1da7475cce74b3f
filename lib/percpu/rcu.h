/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Deferred reclamation, as RCU: what a reader can still see is freed only after every section that
 * was open at the time has ended. A section is bpfu_cpu_enter() … bpfu_cpu_exit(), or the cheaper
 * bpfu_rcu_read_lock() … unlock() which owns no slot (user-space side of the map commands).
 * Nothing runs in the background: callbacks run inside later bpfu_call_rcu(), bpfu_rcu_poll() and
 * bpfu_rcu_barrier() calls of any thread that is outside a section and holds no lock (lock.h).
 */
#ifndef BPFU_PERCPU_RCU_H
#define BPFU_PERCPU_RCU_H

#include <stdbool.h>

struct bpfu_rcu_head {
	struct bpfu_rcu_head *next;
	void (*fn)(struct bpfu_rcu_head *head);
};

/* Nests, also inside bpfu_cpu_enter(). Cheap; no system call. */
void bpfu_rcu_read_lock(void);
void bpfu_rcu_read_unlock(void);

/* Run @fn(@head) after a grace period. May be called inside a section; never blocks. */
void bpfu_call_rcu(struct bpfu_rcu_head *head, void (*fn)(struct bpfu_rcu_head *head));

/*
 * Run the callbacks that need no waiting for, if the caller is outside a section. For those who
 * have just queued something big (the memory of a map) and do not want it to wait for company.
 */
void bpfu_rcu_poll(void);

/* So many callbacks wait that bpfu_rcu_poll() is due: programs queue, but do not run them. */
bool bpfu_rcu_is_behind(void);

/* Wait until all callbacks queued so far have run. Not inside a section. */
void bpfu_rcu_barrier(void);

#endif
