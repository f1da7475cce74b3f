// SPDX-License-Identifier: BSD-2-Clause
/*
 * Deferred reclamation: never early (checked by contents and, under ASan, by the allocator), not
 * unboundedly late, and a barrier that waits for exactly what was queued before it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "no_membarrier.h"
#include "percpu/cpu.h"
#include "percpu/rcu.h"
#include "util/bits.h"

static _Atomic uint32_t called;

struct thing {
	struct bpfu_rcu_head rcu;
	uint32_t number;
	uint32_t *log;
	_Atomic uint32_t *log_len;
};

static void count_and_free(struct bpfu_rcu_head *head)
{
	atomic_fetch_add(&called, 1);
	free(bpfu_container_of(head, struct thing, rcu));
}

static void queue_one(void)
{
	struct thing *t = calloc(1, sizeof(*t));

	assert_non_null(t);
	bpfu_call_rcu(&t->rcu, count_and_free);
}

static void barrier_runs_all(void **state)
{
	uint32_t i;

	(void)state;
	atomic_store(&called, 0);
	for (i = 0; i < 10; i++)
		queue_one();
	bpfu_rcu_barrier();
	assert_int_equal(atomic_load(&called), 10);
	bpfu_rcu_barrier();
	assert_int_equal(atomic_load(&called), 10);
}

static void few_are_pending_when_nobody_reads(void **state)
{
	uint32_t i;

	(void)state;
	atomic_store(&called, 0);
	for (i = 1; i <= 10000; i++) {
		queue_one();
		assert_true(i - atomic_load(&called) <= 64);
	}
	bpfu_rcu_poll();
	assert_int_equal(atomic_load(&called), 10000);
}

static void not_inside_own_section(void **state)
{
	uint32_t i;

	(void)state;
	atomic_store(&called, 0);
	bpfu_cpu_enter();
	for (i = 0; i < 100; i++)
		queue_one();
	bpfu_rcu_poll();
	assert_int_equal(atomic_load(&called), 0);
	bpfu_cpu_exit();
	bpfu_rcu_read_lock();
	bpfu_rcu_read_lock();
	for (i = 0; i < 100; i++)
		queue_one();
	bpfu_rcu_poll();
	bpfu_rcu_read_unlock();
	bpfu_rcu_poll();
	assert_int_equal(atomic_load(&called), 0);
	bpfu_rcu_read_unlock();
	bpfu_rcu_poll();
	assert_int_equal(atomic_load(&called), 200);
}

static void log_number(struct bpfu_rcu_head *head)
{
	struct thing *t = bpfu_container_of(head, struct thing, rcu);

	t->log[atomic_fetch_add(t->log_len, 1)] = t->number;
}

static void in_order(void **state)
{
	enum { CNT = 200 };
	struct thing things[CNT];
	uint32_t log[CNT], i;
	_Atomic uint32_t len = 0;

	(void)state;
	for (i = 0; i < CNT; i++) {
		things[i].number = i;
		things[i].log = log;
		things[i].log_len = &len;
		bpfu_call_rcu(&things[i].rcu, log_number);
	}
	bpfu_rcu_barrier();
	assert_int_equal(atomic_load(&len), CNT);
	for (i = 0; i < CNT; i++)
		assert_int_equal(log[i], i);
}

static uint32_t chain_left;

static void chain(struct bpfu_rcu_head *head)
{
	if (chain_left--)
		bpfu_call_rcu(head, chain);
	else
		count_and_free(head);
}

/* As a program's last put, which queues its maps. */
static void callbacks_may_queue(void **state)
{
	struct thing *t = calloc(1, sizeof(*t));
	uint32_t i;

	(void)state;
	assert_non_null(t);
	atomic_store(&called, 0);
	chain_left = 100;
	bpfu_call_rcu(&t->rcu, chain);
	for (i = 0; i < 102 && !atomic_load(&called); i++)
		bpfu_rcu_barrier();
	assert_int_equal(atomic_load(&called), 1);
}

/* ---- readers in other threads ---- */

struct reader {
	pthread_t thread;
	bool is_program;
	sem_t inside;
	sem_t leave;
};

static void *read_once(void *arg)
{
	struct reader *r = arg;

	if (r->is_program)
		bpfu_cpu_enter();
	else
		bpfu_rcu_read_lock();
	sem_post(&r->inside);
	sem_wait(&r->leave);
	if (r->is_program)
		bpfu_cpu_exit();
	else
		bpfu_rcu_read_unlock();
	return NULL;
}

static void *barrier_thread(void *arg)
{
	bpfu_rcu_barrier();
	return arg;
}

static void reader_holds_up(bool is_program)
{
	struct reader r = { .is_program = is_program };
	pthread_t barrier;
	uint32_t i;

	sem_init(&r.inside, 0, 0);
	sem_init(&r.leave, 0, 0);
	atomic_store(&called, 0);
	assert_int_equal(pthread_create(&r.thread, NULL, read_once, &r), 0);
	sem_wait(&r.inside);
	for (i = 0; i < 3000; i++)
		queue_one();
	bpfu_rcu_poll();
	assert_int_equal(atomic_load(&called), 0);
	assert_int_equal(pthread_create(&barrier, NULL, barrier_thread, NULL), 0);
	sem_post(&r.leave);
	pthread_join(barrier, NULL);
	pthread_join(r.thread, NULL);
	assert_int_equal(atomic_load(&called), 3000);
	sem_destroy(&r.inside);
	sem_destroy(&r.leave);
}

static void program_holds_up(void **state)
{
	(void)state;
	reader_holds_up(true);
}

static void read_lock_holds_up(void **state)
{
	(void)state;
	reader_holds_up(false);
}

/* A reader that ends its section and starts the next at once does not hold up for ever. */
static _Atomic bool stop;

static void *read_loop(void *arg)
{
	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		if (arg)
			bpfu_cpu_enter();
		else
			bpfu_rcu_read_lock();
		if (arg)
			bpfu_cpu_exit();
		else
			bpfu_rcu_read_unlock();
	}
	return NULL;
}

static void *relax_loop(void *arg)
{
	bpfu_cpu_enter();
	while (!atomic_load_explicit(&stop, memory_order_relaxed))
		bpfu_cpu_relax();
	bpfu_cpu_exit();
	return arg;
}

static void busy_readers_do_not_hold_up(void **state)
{
	pthread_t threads[3];
	uint32_t i;

	(void)state;
	atomic_store(&stop, false);
	atomic_store(&called, 0);
	assert_int_equal(pthread_create(&threads[0], NULL, read_loop, NULL), 0);
	assert_int_equal(pthread_create(&threads[1], NULL, read_loop, &stop), 0);
	assert_int_equal(pthread_create(&threads[2], NULL, relax_loop, NULL), 0);
	for (i = 0; i < 50; i++) {
		queue_one();
		bpfu_rcu_barrier();
		assert_int_equal(atomic_load(&called), i + 1);
	}
	atomic_store(&stop, true);
	for (i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
}

/* ---- use after free, if there were any, under ASan or by contents ---- */

#define ALIVE 0x600dcafeu
#define DEAD  0xdeadbeefu

struct node {
	struct bpfu_rcu_head rcu;
	_Atomic uint32_t magic;
};

static _Atomic(struct node *) shared;
static _Atomic uint32_t reader_errors, reader_reads;

static void node_free(struct bpfu_rcu_head *head)
{
	struct node *node = bpfu_container_of(head, struct node, rcu);

	atomic_store_explicit(&node->magic, DEAD, memory_order_relaxed);
	free(node);
}

static void node_replace(void)
{
	struct node *node = malloc(sizeof(*node)), *old;

	assert_non_null(node);
	atomic_init(&node->magic, ALIVE);
	old = atomic_exchange(&shared, node);
	if (old)
		bpfu_call_rcu(&old->rcu, node_free);
}

static void *node_reader(void *arg)
{
	struct node *node;
	uint32_t i;

	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		if (arg)
			bpfu_cpu_enter();
		else
			bpfu_rcu_read_lock();
		node = atomic_load_explicit(&shared, memory_order_acquire);
		for (i = 0; i < 20; i++)
			if (atomic_load_explicit(&node->magic, memory_order_relaxed) != ALIVE)
				atomic_fetch_add(&reader_errors, 1);
		if (arg)
			bpfu_cpu_exit();
		else
			bpfu_rcu_read_unlock();
		atomic_fetch_add_explicit(&reader_reads, 1, memory_order_relaxed);
	}
	return NULL;
}

static void *node_writer(void *arg)
{
	uint32_t i;

	for (i = 0; i < 20000; i++)
		node_replace();
	return arg;
}

static void nothing_is_freed_early(void **state)
{
	pthread_t readers[4], writers[2];
	uint32_t i;

	(void)state;
	atomic_store(&stop, false);
	node_replace();
	for (i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&readers[i], NULL, node_reader,
						i & 1 ? &stop : NULL), 0);
	for (i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&writers[i], NULL, node_writer, NULL), 0);
	for (i = 0; i < 2; i++)
		pthread_join(writers[i], NULL);
	atomic_store(&stop, true);
	for (i = 0; i < 4; i++)
		pthread_join(readers[i], NULL);
	free(atomic_exchange(&shared, NULL));
	bpfu_rcu_barrier();
	assert_int_equal(atomic_load(&reader_errors), 0);
	assert_true(atomic_load(&reader_reads) > 0);
}

/* In the child the parent's reader is gone and holds up nothing. */
static void fork_forgets_readers(void **state)
{
	struct reader r = { .is_program = false };
	int status = -1;
	pid_t pid;

	(void)state;
	sem_init(&r.inside, 0, 0);
	sem_init(&r.leave, 0, 0);
	assert_int_equal(pthread_create(&r.thread, NULL, read_once, &r), 0);
	sem_wait(&r.inside);
	queue_one();
	bpfu_rcu_poll(); /* a grace period has begun and cannot end */
	atomic_store(&called, 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		queue_one();
		bpfu_rcu_barrier();
		_exit(atomic_load(&called) == 2 ? 0 : 1);
	}
	waitpid(pid, &status, 0);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	sem_post(&r.leave);
	pthread_join(r.thread, NULL);
	bpfu_rcu_barrier();
	assert_int_equal(atomic_load(&called), 1);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(barrier_runs_all),
		cmocka_unit_test(few_are_pending_when_nobody_reads),
		cmocka_unit_test(not_inside_own_section),
		cmocka_unit_test(in_order),
		cmocka_unit_test(callbacks_may_queue),
		cmocka_unit_test(program_holds_up),
		cmocka_unit_test(read_lock_holds_up),
		cmocka_unit_test(busy_readers_do_not_hold_up),
		cmocka_unit_test(nothing_is_freed_early),
		cmocka_unit_test(fork_forgets_readers),
	};
	int exit_code = no_membarrier_main(argc, argv);

	if (exit_code)
		return exit_code;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
