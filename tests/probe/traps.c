// SPDX-License-Identifier: BSD-2-Clause
/*
 * What stands in the way of changing text: threads that block SIGTRAP, an application with a handler
 * of its own, text that cannot be written.
 *
 * usage: probe_traps jit
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include <bpf/bpf.h>

#include "probe.h"
#include "probe/text.h"
#include "stress.skel.h"

uint64_t test_steady(uint64_t a, uint64_t b);
uint64_t test_toggled(uint64_t a, uint64_t b);

BPFU_PROBE_ENTRY uint64_t test_steady(uint64_t a, uint64_t b)
{
	__asm__ volatile("" ::: "memory"); /* see BPFU_PROBE_ENTRY */
	return a + b;
}

BPFU_PROBE_ENTRY uint64_t test_toggled(uint64_t a, uint64_t b)
{
	__asm__ volatile("" ::: "memory"); /* see BPFU_PROBE_ENTRY */
	return a ^ b;
}

/* ---- a thread that blocks the signal ---- */

enum { START, UNBLOCK, UNBLOCKED, END };
static _Atomic int stage;

static void wait_for(int wanted)
{
	while (atomic_load(&stage) < wanted)
		sched_yield();
}

static void *blocker(void *arg)
{
	sigset_t trap;

	sigemptyset(&trap);
	sigaddset(&trap, SIGTRAP);
	pthread_sigmask(SIG_BLOCK, &trap, NULL);
	pthread_barrier_wait(arg);
	wait_for(UNBLOCK);
	/* The signal that could not be delivered comes now, when nobody waits for it. */
	pthread_sigmask(SIG_UNBLOCK, &trap, NULL);
	atomic_store(&stage, UNBLOCKED);
	wait_for(END);
	return NULL;
}

static int try_attach(const struct bpf_program *prog)
{
	int link = bpf_raw_tracepoint_open(NULL, bpf_program__fd(prog));

	bpfu_fd_close(link);
	return link < 0 ? link : 0;
}

static void test_blocked(struct stress *s)
{
	pthread_barrier_t ready;
	pthread_t tid;

	pthread_barrier_init(&ready, NULL, 2);
	expect_eq(pthread_create(&tid, NULL, blocker, &ready), 0);
	pthread_barrier_wait(&ready);
	/* One long nop is changed in place; of five short ones each thread has to be asked. */
	expect_eq(try_attach(s->progs.on_steady), *(uint8_t *)test_steady == 0x90 ? -EBUSY : 0);
	expect_eq(test_steady(1, 2), 3);
	atomic_store(&stage, UNBLOCK);
	wait_for(UNBLOCKED);
	expect_eq(try_attach(s->progs.on_steady), 0);
	atomic_store(&stage, END);
	pthread_join(tid, NULL);
	expect_eq(test_steady(1, 2), 3);
}

/* ---- a thread with a SIGTRAP of somebody else's pending: one more of ours is dropped ---- */

static volatile sig_atomic_t own_traps;

static void on_own_trap(int sig)
{
	own_traps++;
}

static void *pending(void *arg)
{
	sigset_t trap;

	sigemptyset(&trap);
	sigaddset(&trap, SIGTRAP);
	pthread_sigmask(SIG_BLOCK, &trap, NULL);
	pthread_kill(pthread_self(), SIGTRAP);
	pthread_barrier_wait(arg);
	usleep(100000); /* long enough to be asked, not long enough to be given up */
	pthread_sigmask(SIG_UNBLOCK, &trap, NULL);
	wait_for(END);
	return NULL;
}

static void test_pending(struct stress *s)
{
	struct sigaction sa = { .sa_handler = on_own_trap };
	pthread_barrier_t ready;
	pthread_t tid;

	sigaction(SIGTRAP, &sa, NULL);
	own_traps = 0;
	atomic_store(&stage, START);
	pthread_barrier_init(&ready, NULL, 2);
	expect_eq(pthread_create(&tid, NULL, pending, &ready), 0);
	pthread_barrier_wait(&ready);
	expect_eq(try_attach(s->progs.on_toggled), 0);
	atomic_store(&stage, END);
	pthread_join(tid, NULL);
	expect_eq(own_traps, 1);
	expect_eq(test_toggled(1, 2), 3);
}

/* ---- the application's own traps ---- */

static void test_own_handler(struct stress *s)
{
	struct sigaction sa = { .sa_handler = on_own_trap };

	own_traps = 0;
	/* In front of what libbpfu has installed by now; it goes in front again when it needs to. */
	sigaction(SIGTRAP, &sa, NULL);
	expect_eq(try_attach(s->progs.on_steady), 0);
	raise(SIGTRAP);
	expect_eq(own_traps, 1);
#if defined(__x86_64__)
	__asm__ volatile("int3");
	expect_eq(own_traps, 2);
#endif
}

/* ---- text that cannot be changed ---- */

static void test_text(struct stress *s)
{
	bpfu_text_set_mode(BPFU_TEXT_NEVER);
	expect_eq(try_attach(s->progs.on_toggled), -EACCES);
	expect_eq(test_toggled(1, 2), 3);
	bpfu_text_set_mode(BPFU_TEXT_REMAP);
	expect_eq(try_attach(s->progs.on_toggled), 0);
	bpfu_text_set_mode(BPFU_TEXT_AUTO);
	expect_eq(try_attach(s->progs.on_toggled), 0);
	expect_eq(test_toggled(1, 2), 3);
}

/* ---- fork ---- */

static void test_fork(struct stress *s)
{
	int status = -1;
	pid_t pid = fork();

	if (!pid) {
		int err = try_attach(s->progs.on_toggled);

		_exit(err || test_toggled(1, 2) != 3);
	}
	expect_eq(waitpid(pid, &status, 0), pid);
	expect_eq(status, 0);
	expect_eq(try_attach(s->progs.on_toggled), 0);
	expect_eq(test_toggled(1, 2), 3);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*fn)(struct stress *s);
	} tests[] = {
		{ "a thread that blocks SIGTRAP", test_blocked },
		{ "a thread with SIGTRAP pending", test_pending },
		{ "an application's handler", test_own_handler },
		{ "text that cannot be changed", test_text },
		{ "fork", test_fork },
	};
	struct stress *s;

	probe_init(argc, argv);
	expect_eq(bpfu_func_register(test_steady, "u64 test_steady(u64 a, u64 b)", 0), 0);
	expect_eq(bpfu_func_register(test_toggled, "u64 test_toggled(u64 a, u64 b)", 0), 0);
	s = stress__open_and_load();
	if (!s)
		return 1;
	PROBE_RUN(tests, s);
	stress__destroy(s);
	return probe_result();
}
