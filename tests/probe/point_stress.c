// SPDX-License-Identifier: BSD-2-Clause
/*
 * Points under load: threads call functions as fast as they can, a timer's signals call them as well,
 * and the main thread attaches and detaches. What stays attached must see every call; results must be
 * right whatever is attached.
 *
 * usage: probe_point_stress jit|remap [ROUNDS [THREADS]]
 *	remap: text is changed by moving pages
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>

#include <bpf/bpf.h>

#include "place.h"
#include "probe/text.h"
#include "uprobe.skel.h"

#define ROUNDS 100
#define THREADS 8
#define THREADS_MAX 64

#if defined(__x86_64__)
#define NOP5 "nopl 0(%%rax,%%rax)"
#else
#define NOP5 "nop"
#endif

PROBE_APART static uint64_t steady(uint64_t a, uint64_t b)
{
	return a + b;
}

PROBE_APART static uint64_t toggled(uint64_t a, uint64_t b)
{
	return a ^ b;
}

/* A long nop in the middle of a computation, whose registers and flags must survive. */
PROBE_APART static uint64_t with_nop(uint64_t a, uint64_t b, double c)
{
#if defined(__x86_64__)
	__asm__ volatile("cmp %1, %0; .globl middle_nop; middle_nop: " NOP5 "; adc $0, %0"
			 : "+r"(a) : "r"(b) : "cc");
#else
	__asm__ volatile(".globl middle_nop; middle_nop: " NOP5);
	a += a < b;
#endif
	return a + (uint64_t)(c * 2);
}

extern const char middle_nop[];

static _Atomic bool stop;
static _Atomic uint64_t calls, wrong;

static void call_all(uint64_t i)
{
	if (steady(i, i + 1) != 2 * i + 1 || toggled(i, i + 1) != (i ^ (i + 1)) ||
	    with_nop(i & 0xff, 128, 2.5) != (i & 0xff) + ((i & 0xff) < 128) + 5)
		atomic_fetch_add(&wrong, 1);
}

static void on_timer(int sig)
{
	call_all(12345);
	atomic_fetch_add(&calls, 1);
}

static void *caller(void *arg)
{
	uint64_t cnt = 0;

	while (!atomic_load_explicit(&stop, memory_order_relaxed))
		call_all(cnt++);
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

static struct bpf_link *attach(const struct bpf_program *prog, uint64_t offset, bool retprobe)
{
	struct bpf_link *link = bpf_program__attach_uprobe(prog, retprobe, 0, SELF, offset);

	expect_true(link != NULL);
	return link;
}

int main(int argc, char **argv)
{
	int rounds = argc > 2 ? atoi(argv[2]) : ROUNDS;
	int threads = argc > 3 ? atoi(argv[3]) : THREADS;
	/* Now: later the pages may not be those of the file any more. */
	const uint64_t steady_at = place_of(steady, NULL), toggled_at = place_of(toggled, NULL),
		       middle_at = place_of(middle_nop, NULL);
	struct bpf_link *kept[2];
	pthread_t tids[THREADS_MAX];
	struct uprobe *s;

	probe_init(argc, argv);
	if (argc > 1 && !strcmp(argv[1], "remap"))
		bpfu_text_set_mode(BPFU_TEXT_REMAP);
	s = uprobe__open_and_load();
	if (!s || threads > THREADS_MAX)
		return 1;
	kept[0] = attach(s->progs.on_steady, steady_at, false);
	kept[1] = attach(s->progs.on_steady_return, steady_at, true);

	start_timer(1000);
	for (int i = 0; i < threads; i++)
		expect_eq(pthread_create(&tids[i], NULL, caller, NULL), 0);
	for (int i = 0; i < rounds && !failures; i++) {
		struct bpf_link *entry = attach(s->progs.on_toggled, toggled_at, false);
		struct bpf_link *ret = attach(s->progs.on_return, toggled_at, true);
		struct bpf_link *middle = attach(s->progs.on_entry, middle_at, false);

		/* Whatever the others get to do meanwhile. */
		call_all((uint64_t)i);
		atomic_fetch_add(&calls, 1);
		bpf_link__destroy(entry);
		bpf_link__destroy(ret);
		bpf_link__destroy(middle);
	}
	atomic_store(&stop, true);
	for (int i = 0; i < threads; i++)
		pthread_join(tids[i], NULL);
	start_timer(0);

	printf("%d rounds: %llu calls, %llu, %llu and %llu seen by programs that come and go\n", rounds,
	       (unsigned long long)calls, (unsigned long long)s->bss->come_and_go,
	       (unsigned long long)s->bss->returns, (unsigned long long)s->bss->hits);
	expect_eq(wrong, 0);
	expect_true(s->bss->come_and_go && s->bss->returns && s->bss->hits);
	expect_eq(s->bss->steady + misses_of(s->progs.on_steady), calls);
	expect_eq(s->bss->steady_returns + misses_of(s->progs.on_steady_return), calls);
	bpf_link__destroy(kept[0]);
	bpf_link__destroy(kept[1]);
	call_all(1);
	expect_eq(s->bss->steady + misses_of(s->progs.on_steady), calls);
	uprobe__destroy(s);
	return probe_result();
}
