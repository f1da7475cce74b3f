// SPDX-License-Identifier: BSD-2-Clause
/*
 * kprobes and kretprobes, through libbpf: registers, cookies, many functions at once, calls that do
 * not return, and what is refused.
 *
 * usage: probe_kprobe jit|interp
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <setjmp.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include <bpf/bpf.h>

#include "kprobe.skel.h"
#include "probe.h"

#define MANY 1000

long probe_sum(long a, long b, long c, long d, long e, long f, long g, long h, double x);
int probe_recurse(int depth, jmp_buf *leave);

/* On the stack and in vector registers, too: nothing of it may be lost. */
BPFU_PROBE_ENTRY long probe_sum(long a, long b, long c, long d, long e, long f, long g, long h,
				double x)
{
	__asm__ volatile("" ::: "memory"); /* see BPFU_PROBE_ENTRY */
	return a + b + c + d + e + f + g + h + (long)x;
}

BPFU_PROBE_ENTRY int probe_recurse(int depth, jmp_buf *leave)
{
	volatile char frame[64];

	frame[0] = (char)depth;
	if (depth)
		return probe_recurse(depth - 1, leave) + (frame[0] == (char)depth);
	if (leave)
		longjmp(*leave, 1);
	return 0;
}

/* A thousand functions, each returning its number. */
/* clang-format off */
#define FN(n) BPFU_PROBE_ENTRY static int probe_many_##n(void) { __asm__ volatile(""); return 1##n - 1000; }
#define FN10(n) FN(n##0) FN(n##1) FN(n##2) FN(n##3) FN(n##4) FN(n##5) FN(n##6) FN(n##7) FN(n##8) FN(n##9)
#define FN100(n) FN10(n##0) FN10(n##1) FN10(n##2) FN10(n##3) FN10(n##4) FN10(n##5) FN10(n##6) \
	FN10(n##7) FN10(n##8) FN10(n##9)
FN100(0) FN100(1) FN100(2) FN100(3) FN100(4) FN100(5) FN100(6) FN100(7) FN100(8) FN100(9)
#define REF(n) probe_many_##n,
#define REF10(n) REF(n##0) REF(n##1) REF(n##2) REF(n##3) REF(n##4) REF(n##5) REF(n##6) REF(n##7) REF(n##8) REF(n##9)
#define REF100(n) REF10(n##0) REF10(n##1) REF10(n##2) REF10(n##3) REF10(n##4) REF10(n##5) \
	REF10(n##6) REF10(n##7) REF10(n##8) REF10(n##9)
static int (*const many[MANY])(void) = {
	REF100(0) REF100(1) REF100(2) REF100(3) REF100(4) REF100(5) REF100(6) REF100(7) REF100(8) REF100(9)
};
/* clang-format on */

static void register_functions(void)
{
	char decl[64];

	/* By their names alone: there is no BTF of a double. */
	expect_eq(bpfu_func_register(probe_sum, "probe_sum", 0), 0);
	expect_eq(bpfu_func_register(probe_recurse, "int probe_recurse(int depth, void *leave)", 0),
		  0);
	for (int i = 0; i < MANY; i++) {
		snprintf(decl, sizeof(decl), "int probe_many_%03d(void)", i);
		expect_eq(bpfu_func_register(many[i], decl, 0), 0);
	}
}

static void reset(struct kprobe *s)
{
	memset(s->bss, 0, sizeof(*s->bss));
}

static long call_sum(void)
{
	return probe_sum(1, -2, 3, 4, 5, 6, 70, 800, 9000.5);
}

#define SUM (1 - 2 + 3 + 4 + 5 + 6 + 70 + 800 + 9000)

static void test_registers(struct kprobe *s)
{
	LIBBPF_OPTS(bpf_kprobe_opts, opts, .bpf_cookie = 11);
	struct bpf_link *entry, *ret;

	reset(s);
	entry = bpf_program__attach_kprobe_opts(s->progs.on_sum, "probe_sum", &opts);
	expect_true(entry != NULL);
	expect_eq(call_sum(), SUM);
	expect_eq(s->bss->entry_hits, 1);
	expect_eq(s->bss->args[0], 1);
	expect_eq((long)s->bss->args[1], -2);
	expect_eq(s->bss->args[4], 5);
	expect_eq(s->bss->ip, (uintptr_t)probe_sum);
	expect_eq(s->bss->cookies, 11);
	expect_true(s->bss->sp && (uintptr_t)&entry - s->bss->sp < 4096);

	opts.bpf_cookie = 22;
	opts.retprobe = true;
	ret = bpf_program__attach_kprobe_opts(s->progs.on_sum_return, "probe_sum", &opts);
	expect_true(ret != NULL);
	expect_eq(call_sum(), SUM);
	expect_eq(s->bss->entry_hits, 2);
	expect_eq(s->bss->return_hits, 1);
	expect_eq(s->bss->ret, SUM);
	expect_eq(s->bss->cookies, 22);
	expect_eq(s->bss->ip, (uintptr_t)probe_sum);
	bpf_link__destroy(entry);
	expect_eq(call_sum(), SUM);
	expect_eq(s->bss->entry_hits, 2);
	expect_eq(s->bss->return_hits, 2);
	bpf_link__destroy(ret);
	expect_eq(call_sum(), SUM);
	expect_eq(s->bss->return_hits, 2);
}

static void test_nested_calls(struct kprobe *s)
{
	struct bpf_link *entry = bpf_program__attach(s->progs.on_recurse);
	struct bpf_link *ret = bpf_program__attach(s->progs.on_recurse_return);

	reset(s);
	expect_eq(probe_recurse(5, NULL), 5);
	expect_eq(s->bss->entry_hits, 6);
	expect_eq(s->bss->return_hits, 6);
	bpf_link__destroy(entry);
	bpf_link__destroy(ret);
}

/* Calls that end in longjmp() are seen to begin, and do not use up what returns need. */
static void test_longjmp(struct kprobe *s)
{
	struct bpf_link *entry = bpf_program__attach(s->progs.on_recurse);
	struct bpf_link *ret = bpf_program__attach(s->progs.on_recurse_return);
	jmp_buf leave;

	reset(s);
	for (volatile int i = 0; i < 1000; i++)
		if (!setjmp(leave))
			probe_recurse(3, &leave);
	expect_eq(s->bss->entry_hits, 4000);
	expect_eq(s->bss->return_hits, 0);
	expect_eq(probe_recurse(3, NULL), 3);
	expect_eq(s->bss->return_hits, 4);
	bpf_link__destroy(entry);
	bpf_link__destroy(ret);
}

static void *end_inside(void *arg)
{
	jmp_buf *leave = arg;

	if (!setjmp(*leave))
		probe_recurse(2, leave);
	pthread_exit(NULL);
}

static void test_ended_threads(struct kprobe *s)
{
	struct bpf_link *ret = bpf_program__attach(s->progs.on_recurse_return);

	reset(s);
	for (int i = 0; i < 200; i++) {
		jmp_buf leave;
		pthread_t tid;

		expect_eq(pthread_create(&tid, NULL, end_inside, &leave), 0);
		pthread_join(tid, NULL);
	}
	expect_eq(probe_recurse(3, NULL), 3);
	expect_eq(s->bss->return_hits, 4);
	bpf_link__destroy(ret);
}

static uint64_t call_many(void)
{
	uint64_t sum = 0;

	for (int i = 0; i < MANY; i++)
		sum += many[i]();
	return sum;
}

#define MANY_SUM (MANY * (MANY - 1) / 2)

static void test_many(struct kprobe *s)
{
	struct bpf_link *entry = bpf_program__attach(s->progs.on_many);
	struct bpf_link *ret;

	reset(s);
	expect_true(entry != NULL);
	expect_eq(call_many(), MANY_SUM);
	expect_eq(s->bss->multi_hits, MANY);
	ret = bpf_program__attach(s->progs.on_many_return);
	expect_true(ret != NULL);
	expect_eq(call_many(), MANY_SUM);
	expect_eq(s->bss->multi_hits, 2 * MANY);
	expect_eq(s->bss->multi_return_hits, MANY);
	expect_eq(s->bss->ret, MANY_SUM);
	bpf_link__destroy(entry);
	expect_eq(call_many(), MANY_SUM);
	expect_eq(s->bss->multi_hits, 2 * MANY);
	expect_eq(s->bss->multi_return_hits, 2 * MANY);
	bpf_link__destroy(ret);
	expect_eq(call_many(), MANY_SUM);
	expect_eq(s->bss->multi_return_hits, 2 * MANY);
}

static void test_cookies_and_names(struct kprobe *s)
{
	const char *names[] = { "probe_many_007", "probe_many_500", "probe_many_007" };
	const unsigned long addrs[] = { (unsigned long)many[1], (unsigned long)many[2] };
	const __u64 by_name[] = { 5, 7, 5 }, by_addr[] = { 100, 1000 };
	LIBBPF_OPTS(bpf_kprobe_multi_opts, opts, .syms = names, .cookies = by_name, .cnt = 3);
	LIBBPF_OPTS(bpf_kprobe_multi_opts, opts2, .addrs = addrs, .cookies = by_addr, .cnt = 2);
	struct bpf_link *a = bpf_program__attach_kprobe_multi_opts(s->progs.on_many, NULL, &opts);
	struct bpf_link *b = bpf_program__attach_kprobe_multi_opts(s->progs.on_many, NULL, &opts2);

	reset(s);
	expect_true(a && b);
	call_many();
	expect_eq(s->bss->multi_hits, 4);
	expect_eq(s->bss->cookies, 1112);
	bpf_link__destroy(a);
	bpf_link__destroy(b);
}

/* A program that calls what it is attached to. */
static void test_recursion(struct kprobe *s)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	struct bpf_link *link = bpf_program__attach(s->progs.on_helper);
	struct bpf_prog_info info = { 0 };
	uint32_t len = sizeof(info);

	reset(s);
	expect_eq(bpf_prog_test_run_opts(bpf_program__fd(s->progs.driver), &opts), 0);
	expect_eq(s->bss->entry_hits, 100);
	expect_eq(bpf_obj_get_info_by_fd(bpf_program__fd(s->progs.on_helper), &info, &len), 0);
	expect_eq(info.recursion_misses, 100);
	bpf_link__destroy(link);
}

/* The form without links: a program put on an event. */
static void test_perf_event(struct kprobe *s)
{
	struct perf_event_attr attr = { .size = sizeof(attr) };
	unsigned int type = 0;
	FILE *f = fopen("/sys/bus/event_source/devices/kprobe/type", "r");
	int fd, prog_fd = bpf_program__fd(s->progs.on_sum);

	expect_eq(f ? fscanf(f, "%u", &type) : 0, 1);
	if (f)
		fclose(f);
	attr.type = type;
	attr.config1 = (uintptr_t)"probe_sum";
	fd = syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	expect_true(fd >= 0);
	reset(s);
	call_sum();
	expect_eq(s->bss->entry_hits, 0);
	expect_eq(ioctl(fd, PERF_EVENT_IOC_SET_BPF, -1), -1);
	expect_eq(ioctl(fd, PERF_EVENT_IOC_SET_BPF, bpf_program__fd(s->progs.on_many)), -1);
	expect_eq(ioctl(fd, PERF_EVENT_IOC_SET_BPF, prog_fd), 0);
	expect_eq(ioctl(fd, PERF_EVENT_IOC_SET_BPF, prog_fd) == -1 && errno == EEXIST, 1);
	call_sum();
	expect_eq(s->bss->entry_hits, 1);
	expect_eq(ioctl(fd, PERF_EVENT_IOC_DISABLE, 0), 0);
	call_sum();
	expect_eq(s->bss->entry_hits, 1);
	expect_eq(ioctl(fd, PERF_EVENT_IOC_ENABLE, 0), 0);
	call_sum();
	expect_eq(s->bss->entry_hits, 2);
	bpfu_fd_close(fd);
	call_sum();
	expect_eq(s->bss->entry_hits, 2);
	/* Bad attributes. */
	attr.config = 0xf0;
	expect_eq(syscall(SYS_perf_event_open, &attr, -1, 0, -1, 0) == -1 && errno == EINVAL, 1);
	attr.config = 0;
	attr.config1 = 16;
	expect_eq(syscall(SYS_perf_event_open, &attr, -1, 0, -1, 0) == -1 && errno == EFAULT, 1);
}

static int multi_create(const struct bpf_program *prog, union bpf_attr *attr)
{
	attr->link_create.prog_fd = (uint32_t)bpf_program__fd(prog);
	attr->link_create.attach_type = BPF_TRACE_KPROBE_MULTI;
	return bpfu_bpf(BPF_LINK_CREATE, attr, sizeof(*attr));
}

static void test_refusals(struct kprobe *s)
{
	const char *unknown[] = { "probe_many_001", "probe_mny_002" };
	const uint64_t wild[] = { 0x1234 };
	union bpf_attr attr = { 0 };
	struct bpf_link *link;

	link = bpf_program__attach_kprobe(s->progs.on_sum, false, "probe_smu");
	expect_eq(libbpf_get_error(link), -ENOENT);
	LIBBPF_OPTS(bpf_kprobe_opts, opts, .offset = 3);
	link = bpf_program__attach_kprobe_opts(s->progs.on_sum, "probe_sum", &opts);
	expect_eq(libbpf_get_error(link), -EILSEQ); /* in the middle of the nop */

	expect_eq(multi_create(s->progs.on_many, &attr), -EINVAL); /* nothing */
	attr.link_create.kprobe_multi.cnt = 2;
	expect_eq(multi_create(s->progs.on_many, &attr), -EINVAL); /* no names */
	attr.link_create.kprobe_multi.syms = (uintptr_t)unknown;
	expect_eq(multi_create(s->progs.on_many, &attr), -ESRCH);
	attr.link_create.kprobe_multi.addrs = (uintptr_t)wild;
	expect_eq(multi_create(s->progs.on_many, &attr), -EINVAL); /* both */
	attr.link_create.kprobe_multi.syms = 0;
	attr.link_create.kprobe_multi.cnt = 1;
	expect_eq(multi_create(s->progs.on_many, &attr), -EINVAL); /* no function there */
	attr.link_create.kprobe_multi.addrs = 8;
	expect_eq(multi_create(s->progs.on_many, &attr), -EFAULT);
	attr.link_create.kprobe_multi.cnt = (1u << 20) + 1;
	expect_eq(multi_create(s->progs.on_many, &attr), -E2BIG);
	attr.link_create.kprobe_multi.flags = 2;
	expect_eq(multi_create(s->progs.on_many, &attr), -EINVAL);
	/* A program for one function on many, and the other way round. */
	attr.link_create.kprobe_multi.flags = 0;
	attr.link_create.kprobe_multi.cnt = 1;
	expect_eq(multi_create(s->progs.on_sum, &attr), -EINVAL);
	/* After all this nothing is attached. */
	reset(s);
	call_many();
	expect_eq(s->bss->multi_hits, 0);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*fn)(struct kprobe *s);
	} tests[] = {
		{ "registers", test_registers },
		{ "nested calls", test_nested_calls },
		{ "longjmp", test_longjmp },
		{ "threads that end", test_ended_threads },
		{ "many functions", test_many },
		{ "cookies and names", test_cookies_and_names },
		{ "recursion", test_recursion },
		{ "perf events", test_perf_event },
		{ "refusals", test_refusals },
	};
	struct kprobe *s;

	probe_init(argc, argv);
	register_functions();
	s = kprobe__open_and_load();
	if (!s) {
		printf("cannot load: %s\n", strerror(errno));
		return 1;
	}
	PROBE_RUN(tests, s);
	kprobe__destroy(s);
	return probe_result();
}
