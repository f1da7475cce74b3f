// SPDX-License-Identifier: BSD-2-Clause
/*
 * Slots and how they change hands. cpu.h shows the fast path and the fence; this file is what
 * happens when a thread has no slot or is asked for its own.
 *
 *                      first entry                   revoked while outside a section
 *          (no slot) ---------------> [ wait ] <------------------------------------+
 *                                       |  granted                                  |
 *                                       v                                           |
 *          +--- leave, no mark ---- (owns a slot) ---- leave, marked WANTED ---> (no slot)
 *          |                            ^              slot goes to the first waiter
 *          +----------------------------+
 *
 * A thread that needs a slot queues up. Free slots go to the head of the queue. If there is none,
 * the newcomer looks for an owner that is outside a program and takes that slot away (one
 * membarrier, no context switch); failing that it marks the slot that has been owned longest, whose
 * owner gives it up when it leaves its section or enters the next one.
 *
 * Fairness. Only the order of the queue decides who is next, so nobody starves. But a hand-over
 * costs two context switches, so a busy owner may keep its slot for QUANTUM_NS before it is marked:
 * waiters sleep that long, times the number of rounds until it is their turn, and then look again.
 * Every waiter does that, therefore it does not matter which of them wakes first.
 *
 * Locking. bpfu_cpu_table.lock protects the slots, the queue and the fields of bpfu_cpu_self that
 * say so. It is taken with signals blocked, because the program of an interrupting signal handler
 * would want it, too. A mark is set by anyone under the lock, and cleared by the owner under the
 * lock.
 */
#include "percpu/cpu.h"

#include <errno.h>

#include "percpu/cpu_table.h"
#include "percpu/fence.h"
#include "percpu/percpu_alloc.h"
#include "percpu/rcu.h"
#include "percpu/sys.h"
#include "util/log.h"

#define QUANTUM_NS 200000u
#define ANY_SLOT   (-1)

__thread struct bpfu_cpu_self bpfu_cpu_self __attribute__((tls_model("initial-exec"))) = {
	.attention = BPFU_CPU_WANTED,
};

struct bpfu_cpu_table bpfu_cpu_table;

static uint32_t attention(struct bpfu_cpu_self *self)
{
	return atomic_load_explicit(&self->attention, memory_order_seq_cst);
}

int64_t bpfu_cpu_self_tpoff(void)
{
	char *tp;

#if defined(__x86_64__)
	__asm__("mov %%fs:0, %0" : "=r"(tp));
#elif defined(__aarch64__)
	__asm__("mrs %0, tpidr_el0" : "=r"(tp));
#else
	tp = __builtin_thread_pointer();
#endif
	return (char *)&bpfu_cpu_self - tp;
}

/* ---- queue and slots, under the lock ---- */

static void enqueue(struct bpfu_cpu_self *self, int32_t want)
{
	struct bpfu_cpu_table *t = &bpfu_cpu_table;

	self->want = want;
	self->near = bpfu_getcpu();
	self->wait_next = NULL;
	atomic_store_explicit(&self->granted, 0, memory_order_relaxed);
	if (t->wait_last)
		t->wait_last->wait_next = self;
	else
		t->wait_first = self;
	t->wait_last = self;
}

static void dequeue(struct bpfu_cpu_self *self, struct bpfu_cpu_self *before)
{
	struct bpfu_cpu_table *t = &bpfu_cpu_table;

	if (before)
		before->wait_next = self->wait_next;
	else
		t->wait_first = self->wait_next;
	if (t->wait_last == self)
		t->wait_last = before;
}

static bool is_wanted(uint32_t cpu)
{
	struct bpfu_cpu_self *w;

	for (w = bpfu_cpu_table.wait_first; w; w = w->wait_next)
		if (w->want == ANY_SLOT || (uint32_t)w->want == cpu)
			return true;
	return false;
}

/* The i-th slot to look at for @self, beginning with the one of the CPU it runs on. */
static uint32_t nth_candidate(const struct bpfu_cpu_self *self, uint32_t i, uint32_t cpus)
{
	if (self->want != ANY_SLOT)
		return (uint32_t)self->want;
	return ((self->near < 0 ? 0 : (uint32_t)self->near) + i) % cpus;
}

static uint32_t candidates(const struct bpfu_cpu_self *self, uint32_t cpus)
{
	return self->want == ANY_SLOT ? cpus : 1;
}

static void assign(struct bpfu_cpu_self *self, uint32_t cpu)
{
	struct bpfu_cpu_slot *slot = &bpfu_cpu_table.slots[cpu];

	slot->owner = self;
	slot->since = bpfu_now_ns();
	bpfu_cpu_table.free_slots--;
	self->cpu = cpu;
	self->percpu_off = bpfu_percpu_stride() * cpu;
	self->held = true;
	if (!self->ending)
		atomic_fetch_and_explicit(&self->attention, ~(uint32_t)BPFU_CPU_WANTED,
					  memory_order_seq_cst);
}

/* Serve the queue from the slots that are free. */
static void grant_free_slots(void)
{
	struct bpfu_cpu_table *t = &bpfu_cpu_table;
	struct bpfu_cpu_self *w, *next, *before = NULL;
	uint32_t cpus = atomic_load_explicit(&t->cpus, memory_order_relaxed);
	uint32_t i, cpu = 0;

	for (w = t->wait_first; w && t->free_slots; w = next) {
		next = w->wait_next;
		for (i = 0; i < candidates(w, cpus); i++) {
			cpu = nth_candidate(w, i, cpus);
			if (!t->slots[cpu].owner)
				break;
		}
		if (i == candidates(w, cpus)) {
			before = w;
			continue;
		}
		dequeue(w, before);
		assign(w, cpu);
		atomic_store_explicit(&w->granted, 1, memory_order_release);
		/* Its thread cannot end, and its memory go, before we drop the lock. */
		if (w != &bpfu_cpu_self)
			bpfu_futex_wake(&w->granted, 1);
	}
}

static void take_away(struct bpfu_cpu_self *owner)
{
	bpfu_cpu_table.slots[owner->cpu].owner = NULL;
	bpfu_cpu_table.free_slots++;
	owner->held = false;
}

void bpfu_cpu_give_back(struct bpfu_cpu_self *self)
{
	atomic_fetch_or_explicit(&self->attention, BPFU_CPU_WANTED, memory_order_seq_cst);
	take_away(self);
	grant_free_slots();
}

/*
 * The owner whose slot @self, which waits, should get: one outside a section, or the oldest busy.
 */
static struct bpfu_cpu_self *choose_victim(const struct bpfu_cpu_self *self, uint64_t now)
{
	struct bpfu_cpu_table *t = &bpfu_cpu_table;
	uint32_t cpus = atomic_load_explicit(&t->cpus, memory_order_relaxed);
	struct bpfu_cpu_slot *oldest = NULL;
	uint32_t i;

	for (i = 0; i < candidates(self, cpus); i++) {
		struct bpfu_cpu_slot *slot = &t->slots[nth_candidate(self, i, cpus)];

		if (!slot->owner)
			continue;
		if (!bpfu_state_in_section(&slot->owner->state))
			return slot->owner;
		if (attention(slot->owner) & BPFU_CPU_WANTED || slot->since + QUANTUM_NS > now)
			continue;
		if (!oldest || slot->since < oldest->since)
			oldest = slot;
	}
	return oldest ? oldest->owner : NULL;
}

static void revoke_one(const struct bpfu_cpu_self *self)
{
	struct bpfu_cpu_self *owner = choose_victim(self, bpfu_now_ns());

	if (!owner)
		return;
	atomic_fetch_or_explicit(&owner->attention, BPFU_CPU_WANTED, memory_order_seq_cst);
	bpfu_cpu_barrier();
	if (bpfu_state_in_section(&owner->state))
		return; /* leaves the slot, or has not yet begun and will give way */
	take_away(owner);
	grant_free_slots();
}

/* How many threads are before @self in the queue. */
static uint32_t place_in_queue(const struct bpfu_cpu_self *self)
{
	const struct bpfu_cpu_self *w;
	uint32_t place = 0;

	for (w = bpfu_cpu_table.wait_first; w != self; w = w->wait_next)
		place++;
	return place;
}

/* Queue up and return with a slot. Drops the lock. */
static void wait_for_slot(struct bpfu_cpu_self *self, int32_t want, const uint64_t *signals)
{
	uint32_t cpus = atomic_load_explicit(&bpfu_cpu_table.cpus, memory_order_relaxed);
	uint64_t ignored;
	uint32_t rounds;

	enqueue(self, want);
	grant_free_slots();
	while (!atomic_load_explicit(&self->granted, memory_order_acquire)) {
		revoke_one(self);
		if (atomic_load_explicit(&self->granted, memory_order_acquire))
			break;
		rounds = 1 + place_in_queue(self) / cpus;
		bpfu_unlock(&bpfu_cpu_table.lock);
		bpfu_futex_wait(&self->granted, 0, (uint64_t)rounds * QUANTUM_NS);
		bpfu_cpu_table_lock(&ignored);
	}
	bpfu_cpu_table_unlock(signals);
}

/* ---- the slow paths ---- */

/* True if the calling thread, which has just entered, may go on with the slot that it has. */
static bool may_keep_slot(struct bpfu_cpu_self *self)
{
	if (!self->held)
		return false;
	if (bpfu_cpu_depth() > 1) {
		/* A program of ours is under way: whoever wants the slot waits for its end. */
		self->slot_is_sure = true;
		return true;
	}
	if (is_wanted(self->cpu)) {
		bpfu_cpu_give_back(self);
		return false;
	}
	if (!self->ending)
		atomic_fetch_and_explicit(&self->attention, ~(uint32_t)BPFU_CPU_WANTED,
					  memory_order_seq_cst);
	return true;
}

static void acquire(struct bpfu_cpu_self *self, int32_t want)
{
	uint64_t signals;

	bpfu_cpu_table_lock(&signals);
	bpfu_cpu_thread_add(self);
	if (want != ANY_SLOT && self->held && self->cpu != (uint32_t)want)
		bpfu_cpu_give_back(self);
	if (may_keep_slot(self))
		bpfu_cpu_table_unlock(&signals);
	else
		wait_for_slot(self, want, &signals);
	bpfu_cpu_thread_watch(self);
}

void bpfu_cpu_enter_slow(void)
{
	struct bpfu_cpu_self *self = &bpfu_cpu_self;

	bpfu_full_fence();
	if (!(attention(self) & BPFU_CPU_WANTED) || self->slot_is_sure)
		return;
	acquire(self, ANY_SLOT);
}

int bpfu_cpu_enter_on(uint32_t cpu)
{
	struct bpfu_cpu_self *self = &bpfu_cpu_self;
	uint64_t state = atomic_load_explicit(&self->state, memory_order_relaxed);

	BPFU_BUG_ON(state & BPFU_STATE_NEST, "bpfu_cpu_enter_on() inside a section");
	if (cpu >= bpfu_possible_cpus())
		return -ENXIO;
	atomic_store_explicit(&self->state, state + 1, memory_order_seq_cst);
	acquire(self, (int32_t)cpu);
	return 0;
}

void bpfu_cpu_exit_slow(void)
{
	struct bpfu_cpu_self *self = &bpfu_cpu_self;
	uint64_t signals;
	uint32_t marks;

	bpfu_full_fence();
	marks = attention(self);
	if (bpfu_cpu_depth())
		return;
	if (marks & BPFU_CPU_GP)
		bpfu_rcu_section_left(self);
	if (!(marks & BPFU_CPU_WANTED))
		return;

	bpfu_cpu_table_lock(&signals);
	self->slot_is_sure = false;
	if (self->ending)
		bpfu_cpu_thread_del(self);
	else if (self->held && is_wanted(self->cpu))
		bpfu_cpu_give_back(self);
	else if (self->held)
		atomic_fetch_and_explicit(&self->attention, ~(uint32_t)BPFU_CPU_WANTED,
					  memory_order_seq_cst);
	bpfu_cpu_table_unlock(&signals);
}

void bpfu_cpu_relax_slow(void)
{
	bpfu_cpu_exit();
	bpfu_rcu_poll();
	bpfu_cpu_enter();
}
