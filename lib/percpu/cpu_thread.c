// SPDX-License-Identifier: BSD-2-Clause
/*
 * The life of threads and of the process as the slot table sees it: number of slots, registration
 * at the first section, release when a thread ends, fork.
 *
 * A thread is known by its thread-local bpfu_cpu_self, linked into a list, so registering allocates
 * nothing. The destructor of a pthread key unlinks it before that memory goes; detached threads run
 * it, too. Destructors that run later may still run programs: the thread is then "ending", which
 * means it registers and acquires at every outermost entry and undoes both at the exit.
 *
 * After fork() the child has one thread. The handlers hold the locks of the table and of rcu.c
 * across the fork, so that the child finds both consistent, and forget everybody else there: their
 * slots are free, their sections are over, the locks they held are released (lock.h).
 */
#include "percpu/cpu_table.h"

#include <pthread.h>
#include <unistd.h>

#include "bpfu/bpfu.h"
#include "percpu/cpu_list.h"
#include "percpu/fence.h"
#include "percpu/sys.h"
#include "util/log.h"

#define POSSIBLE_CPUS "/sys/devices/system/cpu/possible"

static pthread_key_t thread_key;
static bool have_thread_key; /* set by the constructor, before there are threads */

/* ---- the table ---- */

static uint32_t count_cpus(void)
{
	/* As libbpf_num_possible_cpus(), which sizes the values of per-CPU maps for the user. */
	long cnt = bpfu_cpu_list_read(POSSIBLE_CPUS, 0, NULL);

	if (cnt <= 0)
		cnt = sysconf(_SC_NPROCESSORS_CONF);
	return cnt <= 0 ? 1 : (uint32_t)BPFU_MIN(cnt, BPFU_MAX_CPUS);
}

static bool register_membarrier(void)
{
	return bpfu_sys6(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0, 0, 0,
			 0) == 0;
}

void bpfu_cpu_table_init(void)
{
	struct bpfu_cpu_table *t = &bpfu_cpu_table;
	uint32_t cpus;

	if (atomic_load_explicit(&t->cpus, memory_order_relaxed))
		return;
	cpus = count_cpus();
	t->free_slots = cpus;
	atomic_store_explicit(&t->fenced, !register_membarrier(), memory_order_relaxed);
	bpfu_percpu_init(cpus);
	atomic_store_explicit(&t->cpus, cpus, memory_order_release);
}

void bpfu_cpu_table_lock(uint64_t *signals)
{
	bpfu_signals_block(signals);
	bpfu_lock(&bpfu_cpu_table.lock);
	bpfu_cpu_table_init();
}

void bpfu_cpu_table_unlock(const uint64_t *signals)
{
	bpfu_unlock(&bpfu_cpu_table.lock);
	bpfu_signals_restore(signals);
}

unsigned int bpfu_possible_cpus(void)
{
	uint32_t cpus = atomic_load_explicit(&bpfu_cpu_table.cpus, memory_order_acquire);
	uint64_t signals;

	if (bpfu_likely(cpus))
		return cpus;
	bpfu_cpu_table_lock(&signals);
	bpfu_cpu_table_unlock(&signals);
	return atomic_load_explicit(&bpfu_cpu_table.cpus, memory_order_acquire);
}

/* ThreadSanitizer sees the sequentially consistent fast paths; membarrier would tell it nothing. */
void bpfu_cpu_barrier(void)
{
	bpfu_full_fence();
	if (!atomic_load_explicit(&bpfu_cpu_table.fenced, memory_order_relaxed))
		bpfu_sys6(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0, 0, 0, 0);
}

/* ---- threads ---- */

void bpfu_cpu_thread_add(struct bpfu_cpu_self *self)
{
	struct bpfu_cpu_table *t = &bpfu_cpu_table;

	if (self->registered)
		return;
	self->registered = true;
	self->gp_waits = false;
	self->prev = NULL;
	self->next = t->threads;
	if (self->next)
		self->next->prev = self;
	t->threads = self;
	if (atomic_load_explicit(&t->fenced, memory_order_relaxed))
		atomic_fetch_or_explicit(&self->attention, BPFU_CPU_FENCED, memory_order_seq_cst);
}

void bpfu_cpu_thread_del(struct bpfu_cpu_self *self)
{
	if (self->held)
		bpfu_cpu_give_back(self);
	/* An ending thread may still be in the other kind of section. */
	if (!self->registered ||
	    atomic_load_explicit(&self->rcu_state, memory_order_relaxed) & BPFU_STATE_NEST)
		return;
	self->registered = false;
	if (self->next)
		self->next->prev = self->prev;
	if (self->prev)
		self->prev->next = self->next;
	else
		bpfu_cpu_table.threads = self->next;
}

static void thread_ends(void *arg)
{
	struct bpfu_cpu_self *self = arg;
	uint64_t signals;

	bpfu_cpu_table_lock(&signals);
	/* From here on every entry and exit is slow (cpu.c), and leaves nothing behind. */
	self->ending = true;
	atomic_fetch_or_explicit(&self->attention, BPFU_CPU_WANTED, memory_order_seq_cst);
	if (!bpfu_cpu_depth())
		bpfu_cpu_thread_del(self);
	bpfu_cpu_table_unlock(&signals);
	if (atomic_load_explicit(&self->attention, memory_order_relaxed) & BPFU_CPU_GP)
		bpfu_rcu_section_left(self);
}

void bpfu_cpu_thread_watch(struct bpfu_cpu_self *self)
{
	if (bpfu_likely(self->destructor_set) || self->ending)
		return;
	/* First, because pthread_setspecific() may be traced, and come back here. */
	self->destructor_set = true;
	if (have_thread_key && pthread_setspecific(thread_key, self) == 0)
		return;
	/* Nobody would tell us about its end: treat it as one that is about to end. */
	thread_ends(self);
}

/* ---- fork ---- */

static uint64_t fork_signals;
static bool fork_has_rcu_lock;

static void fork_prepare(void)
{
	uint64_t signals;
	bool has_rcu_lock;

	/* Signals first: fork() may be called by a handler only outside our critical sections. */
	bpfu_signals_block(&signals);
	has_rcu_lock = bpfu_rcu_fork_prepare();
	bpfu_lock(&bpfu_cpu_table.lock);
	fork_signals = signals;
	fork_has_rcu_lock = has_rcu_lock;
}

static void fork_parent(void)
{
	uint64_t signals = fork_signals;
	bool has_rcu_lock = fork_has_rcu_lock;

	bpfu_unlock(&bpfu_cpu_table.lock);
	bpfu_rcu_fork_parent(has_rcu_lock);
	bpfu_signals_restore(&signals);
}

static void fork_child(void)
{
	struct bpfu_cpu_table *t = &bpfu_cpu_table;
	struct bpfu_cpu_self *self = &bpfu_cpu_self;
	uint32_t cpus = atomic_load_explicit(&t->cpus, memory_order_relaxed);
	uint32_t i;

	bpfu_locks_forked();
	t->wait_first = NULL;
	t->wait_last = NULL;
	t->threads = NULL;
	t->free_slots = 0;
	for (i = 0; i < cpus; i++) {
		if (t->slots[i].owner != self)
			t->slots[i].owner = NULL;
		t->free_slots += !t->slots[i].owner;
	}
	if (cpus)
		atomic_store_explicit(&t->fenced, !register_membarrier(), memory_order_relaxed);
	if (self->registered) {
		self->registered = false;
		bpfu_cpu_thread_add(self);
	}
	bpfu_unlock(&t->lock);
	bpfu_rcu_fork_child();
	if (fork_has_rcu_lock)
		bpfu_rcu_fork_parent(true);
	bpfu_signals_restore(&fork_signals);
}

__attribute__((constructor)) static void cpu_constructor(void)
{
	bpfu_possible_cpus();
	have_thread_key = pthread_key_create(&thread_key, thread_ends) == 0;
	if (pthread_atfork(fork_prepare, fork_parent, fork_child) != 0)
		bpfu_warn("cpu slots: cannot watch fork(): children must not run programs");
}
