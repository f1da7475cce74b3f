// SPDX-License-Identifier: BSD-2-Clause
/*
 * Grace periods. Callbacks wait in three places:
 *
 *    bpfu_call_rcu()     grace period begins          grace period is over
 *       queued  ---------->  waiting  ------------------->  ready  ---> called
 *    (lock-free stack)     (.lock)                         (.lock)
 *
 * A grace period begins with one heavy barrier (cpu_table.h). After it, each thread is either
 * outside sections, and then whatever it reads in later ones was written after our unlinking; or
 * inside, and then it is noted with the number of its section, and the grace period lasts until
 * that section has ended. Sections cost nothing for this: their count is in the word that entering
 * and leaving write anyway.
 *
 * bpfu_call_rcu() pushes and, every BATCH callbacks, moves things along if that needs no waiting:
 * no section of its own, no lock held, nobody else at it. So at most BATCH callbacks lie about
 * while nobody reads, and each costs a BATCH-th of a barrier. If readers hold things up for long,
 * they are marked BPFU_CPU_GP, which makes bpfu_cpu_relax() end the section of long loops.
 * bpfu_rcu_barrier() marks readers, too, and sleeps until one of them leaves.
 */
#include "percpu/rcu.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "percpu/cpu_table.h"
#include "percpu/fence.h"
#include "percpu/sys.h"
#include "util/log.h"

#define BATCH        32u
#define TOO_MANY     1024u /* queued callbacks that make us ask readers to hurry */

struct list {
	struct bpfu_rcu_head *first;
	struct bpfu_rcu_head *last;
};

static struct {
	_Atomic(struct bpfu_rcu_head *) queued; /* newest first */
	_Atomic uint32_t queued_cnt;
	_Atomic uint32_t event;    /* futex: a marked reader left, or a runner finished */
	_Atomic uint32_t sleepers; /* on .event */

	struct bpfu_lock lock; /* of all below */
	bool gp_active;
	bool running; /* a thread is calling the ready ones */
	struct list waiting;
	struct list ready;
} rcu;

static void list_append(struct list *to, struct list *from)
{
	if (!from->first)
		return;
	if (to->last)
		to->last->next = from->first;
	else
		to->first = from->first;
	to->last = from->last;
	from->first = NULL;
	from->last = NULL;
}

static void event(void)
{
	atomic_fetch_add_explicit(&rcu.event, 1, memory_order_seq_cst);
	if (atomic_load_explicit(&rcu.sleepers, memory_order_seq_cst))
		bpfu_futex_wake(&rcu.event, INT_MAX);
}

/* ---- readers ---- */

void bpfu_rcu_read_lock(void)
{
	struct bpfu_cpu_self *self = &bpfu_cpu_self;
	uint64_t state = atomic_load_explicit(&self->rcu_state, memory_order_relaxed);
	uint64_t signals;

	/*
	 * Before the look at ->registered: a signal handler must not unregister an ending thread.
	 */
	atomic_store_explicit(&self->rcu_state, state + 1, BPFU_CPU_ORDER);
	atomic_signal_fence(memory_order_seq_cst);
	if (bpfu_unlikely(!self->registered)) {
		bpfu_cpu_table_lock(&signals);
		bpfu_cpu_thread_add(self);
		bpfu_cpu_table_unlock(&signals);
		bpfu_cpu_thread_watch(self);
	}
	if (bpfu_unlikely(atomic_load_explicit(&self->attention, memory_order_relaxed) &
			  BPFU_CPU_FENCED))
		bpfu_full_fence();
}

void bpfu_rcu_read_unlock(void)
{
	struct bpfu_cpu_self *self = &bpfu_cpu_self;
	uint64_t state = atomic_load_explicit(&self->rcu_state, memory_order_relaxed);
	uint64_t signals;
	uint32_t marks;

	state = bpfu_state_left(state);
#ifdef BPFU_TSAN
	atomic_store_explicit(&self->rcu_state, state, memory_order_seq_cst);
#else
	atomic_store_explicit(&self->rcu_state, state, memory_order_release);
#endif
	atomic_signal_fence(memory_order_seq_cst);
	marks = atomic_load_explicit(&self->attention, BPFU_CPU_ORDER);
	if (bpfu_unlikely(marks & BPFU_CPU_FENCED)) {
		bpfu_full_fence();
		marks = atomic_load_explicit(&self->attention, memory_order_relaxed);
	}
	if (state & BPFU_STATE_NEST)
		return;
	if (bpfu_unlikely(marks & BPFU_CPU_GP))
		bpfu_rcu_section_left(self);
	if (bpfu_unlikely(self->ending) && !bpfu_cpu_depth()) {
		bpfu_cpu_table_lock(&signals);
		bpfu_cpu_thread_del(self);
		bpfu_cpu_table_unlock(&signals);
	}
}

void bpfu_rcu_section_left(struct bpfu_cpu_self *self)
{
	atomic_fetch_and_explicit(&self->attention, ~(uint32_t)BPFU_CPU_GP, memory_order_seq_cst);
	event();
}

/* ---- grace periods, under the lock ---- */

static bool is_same_section(const _Atomic uint64_t *state, uint64_t noted)
{
	uint64_t now = atomic_load_explicit(state, memory_order_seq_cst);

	return now & BPFU_STATE_NEST && (now & ~BPFU_STATE_NEST) == (noted & ~BPFU_STATE_NEST);
}

static bool is_waited_for(struct bpfu_cpu_self *t)
{
	if (!t->gp_waits)
		return false;
	if ((t->gp_state & BPFU_STATE_NEST && is_same_section(&t->state, t->gp_state)) ||
	    (t->gp_rcu_state & BPFU_STATE_NEST && is_same_section(&t->rcu_state, t->gp_rcu_state)))
		return true;
	t->gp_waits = false;
	return false;
}

static void begin_gp(void)
{
	struct bpfu_cpu_self *t;
	uint64_t signals;

	rcu.gp_active = true;
	bpfu_cpu_barrier();
	bpfu_cpu_table_lock(&signals);
	for (t = bpfu_cpu_table.threads; t; t = t->next) {
		t->gp_state = atomic_load_explicit(&t->state, memory_order_seq_cst);
		t->gp_rcu_state = atomic_load_explicit(&t->rcu_state, memory_order_seq_cst);
		t->gp_waits = (t->gp_state | t->gp_rcu_state) & BPFU_STATE_NEST;
	}
	bpfu_cpu_table_unlock(&signals);
}

/* True if no section lasts that the grace period waits for. @mark: have their ends reported. */
static bool poll_gp(bool mark)
{
	struct bpfu_cpu_self *t;
	uint64_t signals;
	bool over = true;

	bpfu_cpu_table_lock(&signals);
	for (t = bpfu_cpu_table.threads; t; t = t->next) {
		if (!is_waited_for(t))
			continue;
		over = false;
		if (mark)
			atomic_fetch_or_explicit(&t->attention, BPFU_CPU_GP, memory_order_seq_cst);
	}
	if (mark && !over) {
		/* A reader that did not see its mark has left, and then we see that it has. */
		bpfu_cpu_barrier();
		over = true;
		for (t = bpfu_cpu_table.threads; t; t = t->next)
			over &= !is_waited_for(t);
	}
	bpfu_cpu_table_unlock(&signals);
	return over;
}

/* All that is queued, in the order of the calls. */
static struct list take_queued(void)
{
	struct bpfu_rcu_head *head, *next;
	struct list list = { 0 };

	head = atomic_exchange_explicit(&rcu.queued, NULL, memory_order_acquire);
	list.last = head;
	for (; head; head = next) {
		next = head->next;
		head->next = list.first;
		list.first = head;
		atomic_fetch_sub_explicit(&rcu.queued_cnt, 1, memory_order_relaxed);
	}
	return list;
}

/* As far as it goes without waiting. Returns false if readers hold up a grace period. */
static bool advance(bool mark)
{
	struct list queued;

	for (;;) {
		if (rcu.gp_active) {
			if (!poll_gp(mark))
				return false;
			rcu.gp_active = false;
			list_append(&rcu.ready, &rcu.waiting);
		}
		if (!atomic_load_explicit(&rcu.queued, memory_order_relaxed))
			return true;
		queued = take_queued();
		list_append(&rcu.waiting, &queued);
		begin_gp();
	}
}

/* Call the ready ones, without the lock; one thread at a time, so that order is kept. */
static void run_ready(void)
{
	struct bpfu_cpu_self *self = &bpfu_cpu_self;
	struct bpfu_rcu_head *head;

	if (rcu.running || !rcu.ready.first)
		return;
	rcu.running = true;
	while ((head = rcu.ready.first)) {
		rcu.ready.first = head->next;
		if (!head->next)
			rcu.ready.last = NULL;
		bpfu_unlock(&rcu.lock);
		self->in_callback = true;
		head->fn(head);
		self->in_callback = false;
		bpfu_lock(&rcu.lock);
	}
	rcu.running = false;
	event();
}

/* ---- the interface ---- */

static bool may_run_callbacks(void)
{
	const struct bpfu_cpu_self *self = &bpfu_cpu_self;

	return !bpfu_cpu_depth() && !self->locks_held && !self->in_callback &&
	       !(atomic_load_explicit(&self->rcu_state, memory_order_relaxed) & BPFU_STATE_NEST);
}

void bpfu_rcu_poll(void)
{
	if (!may_run_callbacks() || !bpfu_trylock(&rcu.lock))
		return;
	advance(atomic_load_explicit(&rcu.queued_cnt, memory_order_relaxed) >= TOO_MANY);
	run_ready();
	bpfu_unlock(&rcu.lock);
}

void bpfu_call_rcu(struct bpfu_rcu_head *head, void (*fn)(struct bpfu_rcu_head *head))
{
	uint32_t cnt;

	head->fn = fn;
	cnt = 1 + atomic_fetch_add_explicit(&rcu.queued_cnt, 1, memory_order_relaxed);
	head->next = atomic_load_explicit(&rcu.queued, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(&rcu.queued, &head->next, head,
						      memory_order_release, memory_order_relaxed))
		;
	if (cnt % BATCH)
		return;
	bpfu_rcu_poll();
	/* Programs that queue more and more in one long row of runs: have bpfu_cpu_relax() see to it. */
	if (cnt >= TOO_MANY && bpfu_cpu_depth())
		atomic_fetch_or_explicit(&bpfu_cpu_self.attention, BPFU_CPU_GP,
					 memory_order_relaxed);
}

bool bpfu_rcu_is_behind(void)
{
	return atomic_load_explicit(&rcu.queued_cnt, memory_order_relaxed) >= TOO_MANY;
}

struct marker {
	struct bpfu_rcu_head head;
	_Atomic bool passed;
};

static void marker_passed(struct bpfu_rcu_head *head)
{
	struct marker *marker = bpfu_container_of(head, struct marker, head);

	atomic_store_explicit(&marker->passed, true, memory_order_release);
	event();
}

void bpfu_rcu_barrier(void)
{
	struct marker marker = { .passed = false };
	uint32_t seen;

	BPFU_BUG_ON(!may_run_callbacks(), "bpfu_rcu_barrier() inside a section, lock or callback");
	bpfu_call_rcu(&marker.head, marker_passed);
	atomic_fetch_add_explicit(&rcu.sleepers, 1, memory_order_seq_cst);
	while (!atomic_load_explicit(&marker.passed, memory_order_acquire)) {
		seen = atomic_load_explicit(&rcu.event, memory_order_seq_cst);
		bpfu_lock(&rcu.lock);
		advance(true);
		run_ready();
		bpfu_unlock(&rcu.lock);
		/* Readers that we wait for are marked, and whoever runs callbacks will tell. */
		if (!atomic_load_explicit(&marker.passed, memory_order_acquire))
			bpfu_futex_wait(&rcu.event, seen, 0);
	}
	atomic_fetch_sub_explicit(&rcu.sleepers, 1, memory_order_seq_cst);
}

/* ---- fork (cpu_thread.c) ---- */

bool bpfu_rcu_fork_prepare(void)
{
	return bpfu_lock(&rcu.lock) == 0;
}

void bpfu_rcu_fork_parent(bool locked)
{
	if (locked)
		bpfu_unlock(&rcu.lock);
}

void bpfu_rcu_fork_child(void)
{
	atomic_store_explicit(&rcu.sleepers, 0, memory_order_relaxed);
	if (!bpfu_cpu_self.in_callback)
		rcu.running = false;
}
