// SPDX-License-Identifier: BSD-2-Clause
/*
 * Live patching: threads call two functions as fast as they can, a timer's signals call them as well,
 * and the main thread attaches and detaches. One program stays attached all the time and must see
 * every call; results must be right whatever is attached.
 *
 * usage: probe_stress jit|remap [ROUNDS [THREADS]]
 *	remap: text is changed by moving pages
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>

#include <bpf/bpf.h>

#include "probe.h"
#include "probe/text.h"
#include "stress.skel.h"

#define ROUNDS 1000
#define THREADS 8
#define THREADS_MAX 64

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

static _Atomic bool stop;
static _Atomic uint64_t calls, wrong;

static void call_both(uint64_t i)
{
	if (test_steady(i, i + 1) != 2 * i + 1 || test_toggled(i, i + 1) != (i ^ (i + 1)))
		atomic_fetch_add(&wrong, 1);
}

static void on_timer(int sig)
{
	call_both(12345);
	atomic_fetch_add(&calls, 1);
}

static void *caller(void *arg)
{
	uint64_t cnt = 0;

	while (!atomic_load_explicit(&stop, memory_order_relaxed))
		call_both(cnt++);
	atomic_fetch_add(&calls, cnt);
	return NULL;
}

static void start_timer(long us)
{
	const struct itimerval every = { .it_interval.tv_usec = us, .it_value.tv_usec = us };
	struct sigaction sa = { .sa_handler = on_timer, .sa_flags = SA_RESTART };

	sigaction(SIGPROF, &sa, NULL);
	setitimer(ITIMER_PROF, &every, NULL);
}

/* A program that is attached while its run is interrupted by a signal misses the signal's call. */
static uint64_t misses(const struct bpf_program *prog)
{
	struct bpf_prog_info info = { 0 };
	uint32_t len = sizeof(info);

	expect_eq(bpf_obj_get_info_by_fd(bpf_program__fd(prog), &info, &len), 0);
	return info.recursion_misses;
}

int main(int argc, char **argv)
{
	int rounds = argc > 2 ? atoi(argv[2]) : ROUNDS;
	int threads = argc > 3 ? atoi(argv[3]) : THREADS;
	pthread_t tids[THREADS_MAX];
	struct bpf_link *steady;
	struct stress *s;

	probe_init(argc, argv);
	if (argc > 1 && !strcmp(argv[1], "remap"))
		bpfu_text_set_mode(BPFU_TEXT_REMAP);
	expect_eq(bpfu_func_register(test_steady, "u64 test_steady(u64 a, u64 b)", 0), 0);
	expect_eq(bpfu_func_register(test_toggled, "u64 test_toggled(u64 a, u64 b)", 0), 0);
	s = stress__open_and_load();
	if (!s || threads > THREADS_MAX)
		return 1;
	steady = bpf_program__attach(s->progs.on_steady);
	expect_true(steady != NULL);

	start_timer(1000);
	for (int i = 0; i < threads; i++)
		expect_eq(pthread_create(&tids[i], NULL, caller, NULL), 0);
	for (int i = 0; i < rounds && !failures; i++) {
		struct bpf_link *entry = bpf_program__attach(s->progs.on_toggled);
		struct bpf_link *exit = bpf_program__attach(s->progs.on_steady_exit);

		expect_true(entry && exit);
		bpf_link__destroy(entry);
		bpf_link__destroy(exit);
	}
	atomic_store(&stop, true);
	for (int i = 0; i < threads; i++)
		pthread_join(tids[i], NULL);
	start_timer(0);

	printf("%d rounds: %llu calls, %llu and %llu seen by programs that come and go\n", rounds,
	       (unsigned long long)calls, (unsigned long long)s->bss->toggled_entry,
	       (unsigned long long)s->bss->toggled_exit);
	expect_eq(wrong, 0);
	expect_eq(s->bss->wrong, 0);
	expect_true(s->bss->toggled_entry > 0 && s->bss->toggled_exit > 0);
	expect_eq(s->bss->steady + misses(s->progs.on_steady), calls);
	bpf_link__destroy(steady);
	call_both(1);
	expect_eq(s->bss->steady + misses(s->progs.on_steady), calls);
	stress__destroy(s);
	return probe_result();
}
