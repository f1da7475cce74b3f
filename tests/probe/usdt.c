// SPDX-License-Identifier: BSD-2-Clause
/*
 * USDT through libbpf: arguments from registers, memory and constants, cookies, a semaphore, several
 * places of one probe.
 *
 * usage: probe_usdt jit|interp
 */
#include <errno.h>

#include <bpf/bpf.h>

#include "probe.h"
#include "sdt.h"
#include "usdt.skel.h"

unsigned short probe_semaphore __attribute__((section(".probes")));

PROBE_APART static long by_register(long a, int b)
{
	USDT(SDT_NOP, "registers", "0", "8@%0 -4@%1 " SDT_CONST_ARG, "r"(a), "r"(b));
	return a + b;
}

PROBE_APART static long in_memory(long a, int b)
{
	volatile long memory = a * 2;

	USDT(SDT_LONG_NOP, "memory", "probe_semaphore", "8@%0 -4@%1 " SDT_CONST_ARG, "m"(memory), "r"(b));
	return memory + b;
}

/* Two places of one probe. */
PROBE_APART static long twice(long a)
{
	USDT(SDT_NOP, "twice", "0", "8@%0", "r"(a));
	a += 5;
	USDT(SDT_LONG_NOP, "twice", "0", "8@%0", "r"(a));
	return a;
}

static struct bpf_link *attach(struct usdt *s, const char *name, uint64_t cookie)
{
	LIBBPF_OPTS(bpf_usdt_opts, opts, .usdt_cookie = cookie);
	struct bpf_link *link = bpf_program__attach_usdt(s->progs.on_usdt, 0, "/proc/self/exe", "test",
							 name, &opts);

	expect_true(link != NULL);
	memset(s->bss, 0, sizeof(*s->bss));
	return link;
}

static void test_registers(struct usdt *s)
{
	struct bpf_link *link = attach(s, "registers", 77);

	expect_eq(by_register(-5000000000, -2), -5000000002);
	expect_eq(s->bss->hits, 1);
	expect_eq(s->bss->first, -5000000000);
	expect_eq(s->bss->second, -2);
	expect_eq(s->bss->third, -3);
	expect_eq(s->bss->arg_cnt, 3);
	expect_eq(s->bss->cookie, 77);
	bpf_link__destroy(link);
	expect_eq(by_register(1, 2), 3);
	expect_eq(s->bss->hits, 1);
}

static void test_memory(struct usdt *s)
{
	volatile unsigned short *semaphore = &probe_semaphore;
	struct bpf_link *link, *other;

	expect_eq(*semaphore, 0);
	link = attach(s, "memory", 1);
	expect_eq(*semaphore, 1);
	other = attach(s, "memory", 2);
	expect_eq(*semaphore, 2);
	expect_eq(in_memory(21, -2), 40);
	expect_eq(s->bss->hits, 2);
	expect_eq(s->bss->first, 42);
	expect_eq(s->bss->second, -2);
	bpf_link__destroy(link);
	expect_eq(*semaphore, 1);
	bpf_link__destroy(other);
	expect_eq(*semaphore, 0);
	expect_eq(in_memory(21, -2), 40);
	expect_eq(s->bss->hits, 2);
}

static void test_two_places(struct usdt *s)
{
	struct bpf_link *link = attach(s, "twice", 3);

	expect_eq(twice(1), 6);
	expect_eq(s->bss->hits, 2);
	expect_eq(s->bss->first, 6);
	expect_eq(s->bss->arg_cnt, 1);
	bpf_link__destroy(link);
	expect_eq(twice(1), 6);
	expect_eq(s->bss->hits, 2);
}

static void test_unknown(struct usdt *s)
{
	struct bpf_link *link = bpf_program__attach_usdt(s->progs.on_usdt, 0, "/proc/self/exe", "test",
							 "nothing", NULL);

	expect_true(link == NULL);
	expect_eq(errno, ENOENT);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*fn)(struct usdt *s);
	} tests[] = {
		{ "registers", test_registers },
		{ "memory and semaphore", test_memory },
		{ "two places", test_two_places },
		{ "unknown", test_unknown },
	};
	struct usdt *s;

	probe_init(argc, argv);
	s = usdt__open_and_load();
	if (!s) {
		printf("cannot load: %s\n", strerror(errno));
		return 1;
	}
	PROBE_RUN(tests, s);
	usdt__destroy(s);
	return probe_result();
}
