// SPDX-License-Identifier: BSD-2-Clause
/*
 * Slots: exclusive, enough to go round for any number of threads, given back by threads that end,
 * and sane after fork(). The pounding is in test_map_stress.c; here are the promises one by one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "bpfu/bpfu.h"
#include "no_membarrier.h"
#include "percpu/cpu.h"
#include "percpu/cpu_list.h"
#include "percpu/cpu_table.h"
#include "percpu/lock.h"
#include "percpu/percpu_alloc.h"

static void possible_cpus_is_libbpfs(void **state)
{
	(void)state;
	assert_int_equal(bpfu_possible_cpus(), libbpf_num_possible_cpus());
}

static void cpu_lists(void **state)
{
	bool has;

	(void)state;
	assert_int_equal(bpfu_cpu_list_parse("0\n", 0, &has), 1);
	assert_true(has);
	assert_int_equal(bpfu_cpu_list_parse("0-3\n", 4, &has), 4);
	assert_false(has);
	assert_int_equal(bpfu_cpu_list_parse("0-3,8,10-11", 10, &has), 7);
	assert_true(has);
	assert_int_equal(bpfu_cpu_list_parse("0-3,8,10-11", 9, &has), 7);
	assert_false(has);
	assert_int_equal(bpfu_cpu_list_parse("", 0, NULL), -EINVAL);
	assert_int_equal(bpfu_cpu_list_parse("\n", 0, NULL), -EINVAL);
	assert_int_equal(bpfu_cpu_list_parse("3-1", 0, NULL), -EINVAL);
	assert_int_equal(bpfu_cpu_list_parse("1-", 0, NULL), -EINVAL);
	assert_int_equal(bpfu_cpu_list_parse("-1", 0, NULL), -EINVAL);
	assert_int_equal(bpfu_cpu_list_parse("1;2", 0, NULL), -EINVAL);
	assert_int_equal(bpfu_cpu_list_parse("99999999999999999999", 0, NULL), -EINVAL);
	assert_int_equal(bpfu_cpu_list_read("/nonexistent", 0, NULL), -ENOENT);
}

static void enter_nests(void **state)
{
	uint32_t cpu;

	(void)state;
	assert_int_equal(bpfu_cpu_depth(), 0);
	bpfu_cpu_enter();
	cpu = bpfu_cpu_self.cpu;
	assert_true(cpu < bpfu_possible_cpus());
	assert_int_equal(bpfu_cpu_self.percpu_off, cpu * bpfu_percpu_stride());
	bpfu_cpu_enter();
	assert_int_equal(bpfu_cpu_depth(), 2);
	assert_int_equal(bpfu_cpu_self.cpu, cpu);
	bpfu_cpu_exit();
	assert_int_equal(bpfu_cpu_depth(), 1);
	bpfu_cpu_exit();
	assert_int_equal(bpfu_cpu_depth(), 0);
	/* The lease is kept: the next section is on the same slot. */
	bpfu_cpu_enter();
	assert_int_equal(bpfu_cpu_self.cpu, cpu);
	bpfu_cpu_exit();
}

static void enter_on_chooses(void **state)
{
	uint32_t cpu, round;

	(void)state;
	for (round = 0; round < 3; round++)
		for (cpu = 0; cpu < bpfu_possible_cpus(); cpu++) {
			assert_int_equal(bpfu_cpu_enter_on(cpu), 0);
			assert_int_equal(bpfu_cpu_self.cpu, cpu);
			assert_int_equal(*(uint32_t *)bpfu_percpu_this(bpfu_percpu_cpu_number()),
					 cpu);
			bpfu_cpu_exit();
		}
	assert_int_equal(bpfu_cpu_enter_on(bpfu_possible_cpus()), -ENXIO);
	assert_int_equal(bpfu_cpu_enter_on(UINT32_MAX), -ENXIO);
	assert_int_equal(bpfu_cpu_depth(), 0);
}

static void *thread_pointer(void)
{
	void *tp;

#if defined(__x86_64__)
	__asm__("mov %%fs:0, %0" : "=r"(tp));
#else
	__asm__("mrs %0, tpidr_el0" : "=r"(tp));
#endif
	return tp;
}

static void *check_tpoff(void *arg)
{
	return (char *)thread_pointer() + *(int64_t *)arg == (char *)&bpfu_cpu_self ? arg : NULL;
}

static void tpoff_is_the_same_everywhere(void **state)
{
	int64_t off = bpfu_cpu_self_tpoff();
	pthread_t thread;
	void *ok;

	(void)state;
	assert_non_null(check_tpoff(&off));
	assert_int_equal(pthread_create(&thread, NULL, check_tpoff, &off), 0);
	pthread_join(thread, &ok);
	assert_non_null(ok);
}

/* ---- taking turns ---- */

struct holder {
	pthread_t thread;
	sem_t inside;
	sem_t leave;
	uint32_t cpu;
};

static void *hold_slot(void *arg)
{
	struct holder *h = arg;

	bpfu_cpu_enter();
	h->cpu = bpfu_cpu_self.cpu;
	sem_post(&h->inside);
	sem_wait(&h->leave);
	bpfu_cpu_exit();
	return NULL;
}

static struct holder *start_holders(uint32_t cnt)
{
	struct holder *h = calloc(cnt, sizeof(*h));
	uint32_t i;

	assert_non_null(h);
	for (i = 0; i < cnt; i++) {
		sem_init(&h[i].inside, 0, 0);
		sem_init(&h[i].leave, 0, 0);
		assert_int_equal(pthread_create(&h[i].thread, NULL, hold_slot, &h[i]), 0);
	}
	return h;
}

static void end_holder(struct holder *h)
{
	sem_post(&h->leave);
	pthread_join(h->thread, NULL);
	sem_destroy(&h->inside);
	sem_destroy(&h->leave);
}

static void all_slots_at_once(void **state)
{
	uint32_t cpus = bpfu_possible_cpus(), i, j;
	struct holder *h = start_holders(cpus);

	(void)state;
	for (i = 0; i < cpus; i++)
		sem_wait(&h[i].inside);
	for (i = 0; i < cpus; i++)
		for (j = 0; j < i; j++)
			assert_int_not_equal(h[i].cpu, h[j].cpu);
	for (i = 0; i < cpus; i++)
		end_holder(&h[i]);
	free(h);
}

static void *enter_once(void *arg)
{
	bpfu_cpu_enter();
	*(uint32_t *)arg = bpfu_cpu_self.cpu;
	bpfu_cpu_exit();
	return NULL;
}

static void waiter_gets_the_slot_that_is_left(void **state)
{
	uint32_t cpus = bpfu_possible_cpus(), i, got = UINT32_MAX;
	struct holder *h = start_holders(cpus);
	pthread_t waiter;

	(void)state;
	for (i = 0; i < cpus; i++)
		sem_wait(&h[i].inside);
	assert_int_equal(pthread_create(&waiter, NULL, enter_once, &got), 0);
	end_holder(&h[0]);
	pthread_join(waiter, NULL);
	assert_int_equal(got, h[0].cpu);
	for (i = 1; i < cpus; i++)
		end_holder(&h[i]);
	free(h);
}

static void *enter_on_arg(void *arg)
{
	uint32_t cpu = *(uint32_t *)arg;

	if (bpfu_cpu_enter_on(cpu) == 0) {
		if (bpfu_cpu_self.cpu != cpu)
			*(uint32_t *)arg = UINT32_MAX;
		bpfu_cpu_exit();
	}
	return NULL;
}

static void enter_on_waits_for_that_slot(void **state)
{
	struct holder *h = start_holders(1);
	pthread_t waiter;
	uint32_t cpu;

	(void)state;
	sem_wait(&h[0].inside);
	cpu = h[0].cpu;
	assert_int_equal(pthread_create(&waiter, NULL, enter_on_arg, &cpu), 0);
	end_holder(&h[0]);
	pthread_join(waiter, NULL);
	assert_int_equal(cpu, h[0].cpu);
	free(h);
}

/* A thread in one endless section of runs gives way in bpfu_cpu_relax(). */
static _Atomic bool relax_stop;

static void *relax_loop(void *arg)
{
	bpfu_cpu_enter();
	sem_post(arg);
	while (!atomic_load(&relax_stop))
		bpfu_cpu_relax();
	bpfu_cpu_exit();
	return NULL;
}

static void relax_gives_way(void **state)
{
	uint32_t cpus = bpfu_possible_cpus(), i, got;
	pthread_t *loops = calloc(cpus, sizeof(*loops)), waiter;
	sem_t inside;

	(void)state;
	assert_non_null(loops);
	sem_init(&inside, 0, 0);
	atomic_store(&relax_stop, false);
	for (i = 0; i < cpus; i++)
		assert_int_equal(pthread_create(&loops[i], NULL, relax_loop, &inside), 0);
	for (i = 0; i < cpus; i++)
		sem_wait(&inside);
	for (i = 0; i < 3; i++) {
		got = UINT32_MAX;
		assert_int_equal(pthread_create(&waiter, NULL, enter_once, &got), 0);
		pthread_join(waiter, NULL);
		assert_true(got < cpus);
	}
	atomic_store(&relax_stop, true);
	for (i = 0; i < cpus; i++)
		pthread_join(loops[i], NULL);
	sem_destroy(&inside);
	free(loops);
}

/* ---- threads that end ---- */

/* Sanitizers take milliseconds per thread. */
#if defined(__SANITIZE_ADDRESS__) || defined(BPFU_TSAN)
#define CHURN_ROUNDS 40
#else
#define CHURN_ROUNDS 400
#endif

static void churn(void **state)
{
	pthread_t threads[8];
	uint32_t round, i, got[8];

	(void)state;
	for (round = 0; round < CHURN_ROUNDS; round++) {
		for (i = 0; i < 8; i++)
			assert_int_equal(pthread_create(&threads[i], NULL, enter_once, &got[i]), 0);
		for (i = 0; i < 8; i++) {
			pthread_join(threads[i], NULL);
			assert_true(got[i] < bpfu_possible_cpus());
		}
	}
}

static sem_t detached_done;

static void *detached(void *arg)
{
	uint32_t cpu;

	(void)arg;
	enter_once(&cpu);
	sem_post(&detached_done);
	return NULL;
}

static void detached_threads_give_slots_back(void **state)
{
	pthread_attr_t attr;
	pthread_t thread;
	uint32_t i;

	(void)state;
	sem_init(&detached_done, 0, 0);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	for (i = 0; i < 200; i++) {
		while (pthread_create(&thread, &attr, detached, NULL) == EAGAIN)
			sched_yield();
	}
	for (i = 0; i < 200; i++)
		sem_wait(&detached_done);
	pthread_attr_destroy(&attr);
	/* Had one kept its slot, this would find an owner whose memory is gone. */
	all_slots_at_once(NULL);
}

static pthread_key_t late_key;
static _Atomic uint32_t late_runs;

/* Runs programs after cpu.c's destructor, in every round that pthread has. */
static void late_destructor(void *arg)
{
	bpfu_cpu_enter();
	bpfu_cpu_enter();
	if (bpfu_cpu_self.cpu < bpfu_possible_cpus())
		atomic_fetch_add(&late_runs, 1);
	bpfu_cpu_exit();
	bpfu_cpu_exit();
	if (bpfu_cpu_self.ending && (bpfu_cpu_self.held || bpfu_cpu_self.registered))
		atomic_store(&late_runs, 1000000);
	pthread_setspecific(late_key, arg);
}

static void *late_thread(void *arg)
{
	uint32_t cpu;

	enter_once(&cpu);
	pthread_setspecific(late_key, &late_key);
	return arg;
}

static void programs_in_destructors(void **state)
{
	pthread_t thread;
	uint32_t i;

#ifdef BPFU_TSAN
	/* The sanitizer of clang 14 stops at a signal in a thread that is going. */
	skip();
#endif
	(void)state;
	assert_int_equal(pthread_key_create(&late_key, late_destructor), 0);
	for (i = 0; i < 20; i++) {
		assert_int_equal(pthread_create(&thread, NULL, late_thread, NULL), 0);
		pthread_join(thread, NULL);
	}
	pthread_key_delete(late_key);
	assert_true(atomic_load(&late_runs) >= 20 && atomic_load(&late_runs) <= 20 * 4);
	all_slots_at_once(NULL);
}

/* ---- fork ---- */

static int wait_child(pid_t pid)
{
	int status = -1;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void fork_frees_the_others_slots(void **state)
{
	uint32_t cpus = bpfu_possible_cpus(), i;
	struct holder *h = start_holders(cpus);
	pid_t pid;

	(void)state;
	for (i = 0; i < cpus; i++)
		sem_wait(&h[i].inside);
	/* All slots are in use; in the child by threads that do not exist there. */
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		for (i = 0; i < cpus; i++) {
			if (bpfu_cpu_enter_on(i) || bpfu_cpu_self.cpu != i)
				_exit(1);
			bpfu_cpu_exit();
		}
		_exit(0);
	}
	assert_int_equal(wait_child(pid), 0);
	for (i = 0; i < cpus; i++)
		end_holder(&h[i]);
	free(h);
}

static void fork_inside_a_section(void **state)
{
	uint32_t cpu;
	pid_t pid;

	(void)state;
	bpfu_cpu_enter();
	cpu = bpfu_cpu_self.cpu;
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (bpfu_cpu_self.cpu != cpu || bpfu_cpu_depth() != 1)
			_exit(1);
		bpfu_cpu_exit();
		bpfu_cpu_enter();
		bpfu_cpu_exit();
		_exit(bpfu_cpu_depth() ? 2 : 0);
	}
	bpfu_cpu_exit();
	assert_int_equal(wait_child(pid), 0);
}

/* ---- signals ---- */

static _Atomic uint32_t handler_runs, handler_bad;

static void handler(int sig)
{
	(void)sig;
	bpfu_cpu_enter();
	if (bpfu_cpu_self.cpu >= bpfu_possible_cpus() ||
	    *(uint32_t *)bpfu_percpu_this(bpfu_percpu_cpu_number()) != bpfu_cpu_self.cpu)
		atomic_fetch_add(&handler_bad, 1);
	bpfu_cpu_exit();
	atomic_fetch_add(&handler_runs, 1);
}

static _Atomic bool signal_stop;

static void *signalled(void *arg)
{
	while (!atomic_load(&signal_stop)) {
		bpfu_cpu_enter();
		bpfu_cpu_exit();
	}
	return arg;
}

/* More busy threads than slots, all of them interrupted by handlers that run programs, too. */
static void programs_in_signal_handlers(void **state)
{
	struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_RESTART }, old;
	enum { THREADS = 6, SIGNALS = 2000 };
	pthread_t threads[THREADS];
	uint32_t i;

	(void)state;
	sigaction(SIGUSR1, &sa, &old);
	for (i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, signalled, NULL), 0);
	for (i = 0; i < SIGNALS; i++) {
		pthread_kill(threads[i % THREADS], SIGUSR1);
		sched_yield();
	}
	atomic_store(&signal_stop, true);
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	sigaction(SIGUSR1, &old, NULL);
	assert_true(atomic_load(&handler_runs) > 0);
	assert_int_equal(atomic_load(&handler_bad), 0);
}

/* ---- the fence under it all ---- */

enum { LITMUS_ROUNDS = 20000 };

/*
 * Store buffering: each side writes its word and reads the other's. Without a fence on both sides
 * both may read the old value; the owner's side has only the compiler's.
 */
struct litmus {
	_Alignas(64) _Atomic uint32_t owner_word;
	_Alignas(64) _Atomic uint32_t revoker_word;
	_Alignas(64) _Atomic uint32_t owner_round;
	_Alignas(64) _Atomic uint32_t revoker_round;
	uint32_t owner_saw[LITMUS_ROUNDS];
	uint32_t revoker_saw[LITMUS_ROUNDS];
};

static void meet(_Atomic uint32_t *mine, const _Atomic uint32_t *other, uint32_t round)
{
	uint32_t spins = 0;

	atomic_store(mine, round);
	while (atomic_load_explicit(other, memory_order_acquire) < round)
		if (++spins % 256 == 0)
			sched_yield();
}

static void *litmus_owner(void *arg)
{
	struct litmus *l = arg;
	uint32_t i;

	for (i = 0; i < LITMUS_ROUNDS; i++) {
		meet(&l->owner_round, &l->revoker_round, i + 1);
		atomic_store_explicit(&l->owner_word, i + 1, BPFU_CPU_ORDER);
		atomic_signal_fence(memory_order_seq_cst);
		l->owner_saw[i] = atomic_load_explicit(&l->revoker_word, BPFU_CPU_ORDER);
	}
	return NULL;
}

static void barrier_is_a_fence_in_other_threads(void **state)
{
	uint32_t i, both_old = 0;
	struct litmus *l;
	pthread_t owner;

	(void)state;
	if (atomic_load(&bpfu_cpu_table.fenced))
		skip();
	l = aligned_alloc(64, sizeof(*l));
	assert_non_null(l);
	memset(l, 0, sizeof(*l));
	assert_int_equal(pthread_create(&owner, NULL, litmus_owner, l), 0);
	for (i = 0; i < LITMUS_ROUNDS; i++) {
		meet(&l->revoker_round, &l->owner_round, i + 1);
		atomic_store(&l->revoker_word, i + 1);
		bpfu_cpu_barrier();
		l->revoker_saw[i] = atomic_load(&l->owner_word);
	}
	pthread_join(owner, NULL);
	for (i = 0; i < LITMUS_ROUNDS; i++)
		both_old += l->owner_saw[i] <= i && l->revoker_saw[i] <= i;
	assert_int_equal(both_old, 0);
	free(l);
}

/* ---- lock.h ---- */

static void lock_knows_its_owner(void **state)
{
	struct bpfu_lock a = { 0 }, b = { 0 };

	(void)state;
	assert_int_equal(bpfu_lock(&a), 0);
	assert_int_equal(bpfu_cpu_self.locks_held, 1);
	assert_int_equal(bpfu_lock(&a), -EDEADLK);
	assert_false(bpfu_trylock(&a));
	assert_int_equal(bpfu_lock_bounded(&a, 1), -EDEADLK);
	assert_int_equal(bpfu_lock_bounded(&b, 1), 0);
	assert_int_equal(bpfu_cpu_self.locks_held, 2);
	bpfu_unlock(&b);
	bpfu_unlock(&a);
	assert_int_equal(bpfu_cpu_self.locks_held, 0);
	assert_true(bpfu_trylock(&a));
	bpfu_unlock(&a);
}

struct lock_other {
	struct bpfu_lock lock;
	sem_t locked;
	sem_t unlock;
};

static void *lock_other(void *arg)
{
	struct lock_other *o = arg;

	bpfu_lock(&o->lock);
	sem_post(&o->locked);
	sem_wait(&o->unlock);
	bpfu_unlock(&o->lock);
	return NULL;
}

static void lock_bounded_gives_up(void **state)
{
	struct lock_other o = { .lock = { 0 } };
	struct bpfu_lock mine = { 0 };
	pthread_t thread;
	pid_t pid;

	(void)state;
	sem_init(&o.locked, 0, 0);
	sem_init(&o.unlock, 0, 0);
	assert_int_equal(pthread_create(&thread, NULL, lock_other, &o), 0);
	sem_wait(&o.locked);
	assert_false(bpfu_trylock(&o.lock));
	assert_int_equal(bpfu_lock(&mine), 0);
	assert_int_equal(bpfu_lock_bounded(&o.lock, 1), -EBUSY);
	bpfu_unlock(&mine);
	assert_int_equal(bpfu_cpu_self.locks_held, 0);

	/* In a child the owner is gone, and the lock free. */
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (bpfu_lock(&o.lock))
			_exit(1);
		if (bpfu_lock(&o.lock) != -EDEADLK)
			_exit(2);
		bpfu_unlock(&o.lock);
		_exit(bpfu_trylock(&o.lock) ? 0 : 3);
	}
	assert_int_equal(wait_child(pid), 0);

	/* Outside of critical sections the same call waits. */
	sem_post(&o.unlock);
	assert_int_equal(bpfu_lock_bounded(&o.lock, 1), 0);
	bpfu_unlock(&o.lock);
	pthread_join(thread, NULL);
}

enum { COUNT_THREADS = 4, COUNTS = 20000 };

struct counted {
	struct bpfu_lock lock;
	uint64_t n;
};

static void *count_locked(void *arg)
{
	struct counted *c = arg;
	uint32_t i;

	for (i = 0; i < COUNTS; i++) {
		bpfu_lock(&c->lock);
		c->n++;
		bpfu_unlock(&c->lock);
	}
	return NULL;
}

static void lock_excludes(void **state)
{
	struct counted c = { .n = 0 };
	pthread_t threads[COUNT_THREADS];
	uint32_t i;

	(void)state;
	for (i = 0; i < COUNT_THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, count_locked, &c), 0);
	for (i = 0; i < COUNT_THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(c.n, COUNT_THREADS * COUNTS);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(possible_cpus_is_libbpfs),
		cmocka_unit_test(cpu_lists),
		cmocka_unit_test(enter_nests),
		cmocka_unit_test(enter_on_chooses),
		cmocka_unit_test(tpoff_is_the_same_everywhere),
		cmocka_unit_test(all_slots_at_once),
		cmocka_unit_test(waiter_gets_the_slot_that_is_left),
		cmocka_unit_test(enter_on_waits_for_that_slot),
		cmocka_unit_test(relax_gives_way),
		cmocka_unit_test(churn),
		cmocka_unit_test(detached_threads_give_slots_back),
		cmocka_unit_test(programs_in_destructors),
		cmocka_unit_test(fork_frees_the_others_slots),
		cmocka_unit_test(fork_inside_a_section),
		cmocka_unit_test(programs_in_signal_handlers),
		cmocka_unit_test(barrier_is_a_fence_in_other_threads),
		cmocka_unit_test(lock_knows_its_owner),
		cmocka_unit_test(lock_bounded_gives_up),
		cmocka_unit_test(lock_excludes),
	};
	int exit_code = no_membarrier_main(argc, argv);

	if (exit_code)
		return exit_code;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
