// SPDX-License-Identifier: BSD-2-Clause
/*
 * Probes on any place of the process, through libbpf: entries with and without nops, returns, offsets,
 * counters, what is refused.
 *
 * usage: probe_uprobe jit|interp
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <bpf/bpf.h>

#include "place.h"
#include "uprobe.skel.h"

/* ---- functions that begin with one instruction or another ---- */

long first_nop(long a);
long first_push(long a);
long first_ret(long a);
long first_nop5(long a);
long first_nop10(long a);
long plain(long a, long b);
long recurse(long depth, jmp_buf *leave);

#if defined(__x86_64__)
#define RETURN_POPS 8
#define FIRST(name, insns)                                                                         \
	__asm__(".pushsection .text\n.globl " #name "\n.type " #name ", @function\n" #name         \
		":\n.cfi_startproc\n" insns "\n.cfi_endproc\n.size " #name ", . - " #name          \
		"\n.popsection")
FIRST(first_nop, "nop; lea 1(%rdi), %rax; ret");
FIRST(first_push, "push %rbx; mov %rdi, %rbx; lea 1(%rbx), %rax; pop %rbx; ret");
FIRST(first_ret, "ret");
FIRST(first_nop5, "nopl 0(%rax,%rax); lea 1(%rdi), %rax; ret");
FIRST(first_nop10, ".byte 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0; lea 1(%rdi), %rax; ret");
#else
#define RETURN_POPS 0
#define FIRST(name, insns)                                                                         \
	__asm__(".pushsection .text\n.globl " #name "\n.type " #name ", %function\n" #name         \
		":\n.cfi_startproc\n" insns "\n.cfi_endproc\n.size " #name ", . - " #name          \
		"\n.popsection")
FIRST(first_nop, "nop; add x0, x0, #1; ret");
FIRST(first_push, "stp x29, x30, [sp, #-16]!; add x0, x0, #1; ldp x29, x30, [sp], #16; ret");
FIRST(first_ret, "ret");
FIRST(first_nop5, "nop; add x0, x0, #1; ret");
FIRST(first_nop10, "nop; nop; add x0, x0, #1; ret");
#endif

PROBE_APART long plain(long a, long b)
{
	return a * 3 + b;
}

PROBE_APART long recurse(long depth, jmp_buf *leave)
{
	volatile char frame[64];

	frame[0] = (char)depth;
	if (depth)
		return recurse(depth - 1, leave) + (frame[0] == (char)depth);
	if (leave)
		longjmp(*leave, 1);
	return 0;
}

static void reset(struct uprobe *s)
{
	memset(s->bss, 0, sizeof(*s->bss));
}

static struct bpf_link *attach(const struct bpf_program *prog, void *fn, bool retprobe, uint64_t cookie)
{
	LIBBPF_OPTS(bpf_uprobe_opts, opts, .bpf_cookie = cookie, .retprobe = retprobe);
	struct bpf_link *link =
		bpf_program__attach_uprobe_opts(prog, 0, SELF, place_of(fn, NULL), &opts);

	expect_true(link != NULL);
	return link;
}

/* Entry and return, each alone and together. */
static void test_function(struct uprobe *s, long (*fn)(long), long result, bool by_nop)
{
	struct bpf_link *entry = attach(s->progs.on_entry, fn, false, 100), *ret;
	uint64_t frame = (uintptr_t)__builtin_frame_address(0), entry_sp;

	reset(s);
	expect_eq(fn(41), result);
	expect_eq(s->bss->hits, 1);
	expect_eq(s->bss->first_arg, 41);
	expect_eq(s->bss->pc, (uintptr_t)fn);
	expect_eq(s->bss->ip, (uintptr_t)fn);
	expect_eq(s->bss->cookies, 100);
	entry_sp = s->bss->sp;
	expect_true(entry_sp <= frame && frame - entry_sp < 4096); /* equal on arm64 */

	ret = attach(s->progs.on_return, fn, true, 1);
	reset(s);
	expect_eq(fn(41), result);
	expect_eq(s->bss->hits, 1);
	expect_eq(s->bss->returns, 1);
	expect_eq(s->bss->cookies, 101);
	expect_eq(s->bss->ip, (uintptr_t)fn);
	expect_eq(s->bss->ret, result);
	if (!by_nop) { /* there the function was called, and the return is seen from above it */
		expect_true(s->bss->pc != (uintptr_t)fn);
		expect_eq(s->bss->sp, entry_sp + RETURN_POPS);
	}
	bpf_link__destroy(entry);
	reset(s);
	expect_eq(fn(41), result);
	expect_eq(s->bss->hits, 0);
	expect_eq(s->bss->returns, 1);
	bpf_link__destroy(ret);
	reset(s);
	expect_eq(fn(41), result);
	expect_eq(s->bss->returns + s->bss->hits, 0);
}

/* rax is not the argument's register on x86-64: first_ret() returns what was there. */
static long call_ret(long a)
{
#if defined(__x86_64__)
	long result;

	__asm__ volatile("sub $128, %%rsp; call first_ret; add $128, %%rsp"
			 : "=a"(result)
			 : "a"(7L), "D"(a)
			 : "memory", "cc");
	return result;
#else
	return first_ret(a);
#endif
}

static void test_entries(struct uprobe *s)
{
	struct bpf_link *entry, *ret;

	test_function(s, first_nop, 42, false);
	test_function(s, first_push, 42, false);
	test_function(s, first_nop5, 42, false);
	test_function(s, first_nop10, 42, false);

	entry = attach(s->progs.on_entry, first_ret, false, 1);
	ret = attach(s->progs.on_return, first_ret, true, 2);
	reset(s);
	expect_eq(call_ret(7), 7);
	expect_eq(s->bss->hits, 1);
	expect_eq(s->bss->returns, 1);
	expect_eq(s->bss->ret, 7);
	expect_eq(s->bss->cookies, 3);
	bpf_link__destroy(entry);
	bpf_link__destroy(ret);
}

/* A function of this program that is traceable: the same through its nop. */
BPFU_PROBE_ENTRY static long registered(long a)
{
	__asm__ volatile("" ::: "memory"); /* see BPFU_PROBE_ENTRY */
	return a + 1;
}

static void test_registered(struct uprobe *s)
{
	struct bpf_link *kprobe;

	expect_eq(bpfu_func_register(registered, "registered", 0), 0);
	test_function(s, registered, 42, true);
	/* And without a nop: kprobes find the breakpoint's way. */
	expect_eq(bpfu_func_register(plain, "long plain(long a, long b)", 0), 0);
	kprobe = bpf_program__attach_kprobe(s->progs.on_entry, false, "plain");
	expect_true(kprobe != NULL);
	reset(s);
	expect_eq(plain(4, 5), 17);
	expect_eq(s->bss->hits, 1);
	expect_eq(s->bss->ip, (uintptr_t)plain);
	expect_eq(s->bss->first_arg, 4);
	bpf_link__destroy(kprobe);
	kprobe = bpf_program__attach_kprobe(s->progs.on_return, true, "plain");
	expect_true(kprobe != NULL);
	expect_eq(plain(4, 5), 17);
	expect_eq(s->bss->returns, 1);
	expect_eq(s->bss->ret, 17);
	bpf_link__destroy(kprobe);
	expect_eq(plain(4, 5), 17);
	expect_eq(s->bss->hits + s->bss->returns, 2);
}

/* Functions of libraries, which libbpfu and libbpf call, too. */
static void test_libraries(struct uprobe *s)
{
	static const char *const names[] = { "strtol", "malloc", "free", "pthread_mutex_lock",
					     "__errno_location", "getppid" };
	const char *volatile text = "77"; /* or the compiler knows the result */
	struct bpf_link *links[6];

	for (int i = 0; i < 6; i++) {
		LIBBPF_OPTS(bpf_uprobe_opts, opts, .func_name = names[i]);

		links[i] = bpf_program__attach_uprobe_opts(s->progs.on_entry, -1, "libc.so.6", 0, &opts);
		expect_true(links[i] != NULL);
	}
	reset(s);
	expect_eq(strtol(text, NULL, 10), 77);
	expect_true(s->bss->hits >= 1);
	reset(s);
	errno = 33;
	getppid();
	expect_eq(errno, 33);
	expect_true(s->bss->hits >= 2);
	free(malloc(10));
	for (int i = 0; i < 6; i++)
		bpf_link__destroy(links[i]);
	reset(s);
	free(malloc(10));
	expect_eq(s->bss->hits, 0);
}

static void test_recursion(struct uprobe *s)
{
	struct bpf_link *entry = attach(s->progs.on_entry, recurse, false, 0);
	struct bpf_link *ret = attach(s->progs.on_return, recurse, true, 0);
	uint64_t missed = misses_of(s->progs.on_return);

	reset(s);
	expect_eq(recurse(100, NULL), 100);
	expect_eq(s->bss->hits, 101);
	expect_eq(s->bss->returns, 101);
	expect_eq(misses_of(s->progs.on_return), missed);
	/* More calls than can be waited for: the innermost are missed. */
	reset(s);
	expect_eq(recurse(1500, NULL), 1500);
	expect_eq(s->bss->hits, 1501);
	expect_eq(s->bss->returns, 1024);
	expect_eq(misses_of(s->progs.on_return) - missed, 1501 - 1024);
	reset(s);
	expect_eq(recurse(1000, NULL), 1000);
	expect_eq(s->bss->returns, 1001);
	bpf_link__destroy(entry);
	bpf_link__destroy(ret);
}

/* Calls that do not return use up no more than the stack that they were on. */
static void test_longjmp(struct uprobe *s)
{
	struct bpf_link *ret = attach(s->progs.on_return, recurse, true, 0);
	uint64_t missed = misses_of(s->progs.on_return);
	jmp_buf leave;

	reset(s);
	for (volatile int i = 0; i < 5000; i++)
		if (!setjmp(leave))
			recurse(3, &leave);
	expect_eq(s->bss->returns, 0);
	expect_eq(recurse(3, NULL), 3);
	expect_eq(s->bss->returns, 4);
	expect_eq(misses_of(s->progs.on_return), missed);
	bpf_link__destroy(ret);
}

static void *end_inside(void *arg)
{
	jmp_buf leave;

	if (!setjmp(leave))
		recurse(2, &leave);
	pthread_exit(NULL);
}

static void test_ended_threads(struct uprobe *s)
{
	struct bpf_link *ret = attach(s->progs.on_return, recurse, true, 0);
	uint64_t missed = misses_of(s->progs.on_return);

	reset(s);
	for (int i = 0; i < 600; i++) {
		pthread_t tid;

		expect_eq(pthread_create(&tid, NULL, end_inside, NULL), 0);
		pthread_join(tid, NULL);
	}
	expect_eq(recurse(3, NULL), 3);
	expect_eq(s->bss->returns, 4);
	expect_eq(misses_of(s->progs.on_return), missed);
	bpf_link__destroy(ret);
}

/* Detached by the function itself, between its entry and its return. */
static struct bpf_link *inside_link;

PROBE_APART static long detaches(long a)
{
	bpf_link__destroy(inside_link);
	return a + 1;
}

static void test_detach_inside(struct uprobe *s)
{
	reset(s);
	inside_link = attach(s->progs.on_return, detaches, true, 0);
	expect_eq(detaches(1), 2);
	expect_eq(s->bss->returns, 0);
}

/* ---- fork ---- */

PROBE_APART static long forks(long a)
{
	pid_t pid = fork();
	int status = -1;

	if (!pid)
		return 0;
	waitpid(pid, &status, 0);
	return status;
}

static void test_fork(struct uprobe *s)
{
	struct bpf_link *entry = attach(s->progs.on_entry, first_push, false, 0);
	struct bpf_link *ret = attach(s->progs.on_return, forks, true, 0);
	pid_t self = getpid();
	long status;

	reset(s);
	status = forks(1); /* returns in the child, too */
	if (getpid() != self) {
		bool right = s->bss->returns == 1 && first_push(1) == 2 && s->bss->hits == 1;

		bpf_link__destroy(entry);
		right = right && first_push(1) == 2 && s->bss->hits == 1;
		_exit(right ? 0 : 1);
	}
	expect_eq(status, 0);
	expect_true(s->bss->returns >= 1);
	reset(s);
	expect_eq(first_push(1), 2);
	expect_eq(s->bss->hits, 1);
	bpf_link__destroy(entry);
	bpf_link__destroy(ret);
}

/* ---- many places in one link ---- */

static void test_multi(struct uprobe *s)
{
	const uint64_t offsets[] = { place_of(first_nop, NULL), place_of(first_nop5, NULL),
				     place_of(registered, NULL), place_of(first_nop, NULL) };
	const uint64_t cookies[] = { 1, 2, 3, 4 };
	int entry, ret;

	reset(s);
	entry = place_attach(s->progs.on_place, SELF, offsets, cookies, 4, 0);
	ret = place_attach(s->progs.on_place_return, SELF, offsets, cookies, 3, UPROBE_MULTI_RETURN);
	expect_true(entry >= 0 && ret >= 0);
	expect_eq(first_nop(1) + first_nop5(1) + registered(1), 6);
	expect_eq(s->bss->hits, 4);
	for (int i = 1; i <= 4; i++)
		expect_eq(s->bss->places[i], 1);
	expect_eq(s->bss->returns, 3);
	expect_eq(s->bss->cookies, 6);
	bpfu_fd_close(entry);
	bpfu_fd_close(ret);
	expect_eq(first_nop(1) + first_nop5(1) + registered(1), 6);
	expect_eq(s->bss->hits + s->bss->returns, 7);
}

/* ---- what is refused ---- */

static int try_uprobe(const struct bpf_program *prog, int pid, const char *path, uint64_t offset,
		      bool retprobe)
{
	LIBBPF_OPTS(bpf_uprobe_opts, opts, .retprobe = retprobe);
	struct bpf_link *link = bpf_program__attach_uprobe_opts(prog, pid, path, offset, &opts);
	int err = link ? 0 : -errno;

	bpf_link__destroy(link);
	return err;
}

static int try_kprobe(const struct bpf_program *prog, const char *name, uint64_t offset, bool retprobe)
{
	LIBBPF_OPTS(bpf_kprobe_opts, opts, .offset = offset, .retprobe = retprobe);
	struct bpf_link *link = bpf_program__attach_kprobe_opts(prog, name, &opts);
	int err = link ? 0 : -errno;

	bpf_link__destroy(link);
	return err;
}

static void test_refusals(struct uprobe *s)
{
	const struct bpf_program *prog = s->progs.on_entry;
	uint64_t offset = place_of(first_push, NULL), offsets[] = { offset, 1ull << 40 };
	char path[256];

	expect_eq(try_uprobe(prog, 0, "/nonexistent", 0, false), -ENOENT);
	expect_eq(try_uprobe(prog, 0, "/proc/version", 0, false), -EOPNOTSUPP);
	expect_eq(try_uprobe(prog, getppid(), SELF, offset, false), -EOPNOTSUPP);
	expect_eq(try_uprobe(prog, getpid(), SELF, offset, false), 0);
	expect_eq(try_uprobe(prog, 0, SELF, 1ull << 40, false), -EINVAL);
	expect_eq(try_uprobe(prog, 0, SELF, place_of(&s, NULL), false), -EINVAL);
	/* In the middle of "mov rdi, rbx". */
	expect_eq(try_uprobe(prog, 0, SELF, offset + 2, false), -EILSEQ);
	/* libbpfu itself. */
	expect_eq(try_uprobe(prog, 0, SELF, place_of(bpfu_option_set, NULL), false), -EINVAL);
	expect_eq(try_uprobe(prog, 0, SELF, place_of(bpfu_bpf, path), true), -EINVAL);
	expect_eq(try_uprobe(prog, 0, path, place_of(first_push, NULL), false), 0);

	expect_eq(try_kprobe(prog, "plian", 0, false), -ENOENT);
	expect_eq(try_kprobe(prog, "plain", 100000, false), -EINVAL);
	expect_eq(try_kprobe(prog, "plain", 4, true), -EINVAL);
	expect_eq(try_kprobe(prog, "plain", 2, false), -EILSEQ);

	expect_eq(place_attach(s->progs.on_entry, SELF, offsets, NULL, 1, 0), -EINVAL);
	expect_eq(place_attach(s->progs.on_place, NULL, offsets, NULL, 1, 0), -EINVAL);
	expect_eq(place_attach(s->progs.on_place, SELF, NULL, NULL, 1, 0), -EINVAL);
	expect_eq(place_attach(s->progs.on_place, SELF, offsets, NULL, 0, 0), -EINVAL);
	expect_eq(place_attach(s->progs.on_place, SELF, offsets, NULL, 1, 2), -EINVAL);
	expect_eq(place_attach(s->progs.on_place, SELF, offsets, NULL, (1u << 20) + 1, 0), -E2BIG);
	expect_eq(place_attach(s->progs.on_place, SELF, (uint64_t *)16, NULL, 1, 0), -EFAULT);
	expect_eq(place_attach(s->progs.on_place, "/", offsets, NULL, 1, 0), -EBADF);
	expect_eq(place_attach(s->progs.on_place, "/nonexistent", offsets, NULL, 1, 0), -ENOENT);
	/* All or nothing. */
	expect_eq(place_attach(s->progs.on_place, SELF, offsets, NULL, 2, 0), -EINVAL);
	offsets[1] = offset + 2;
	expect_eq(place_attach(s->progs.on_place, SELF, offsets, NULL, 2, 0), -EILSEQ);
	reset(s);
	expect_eq(first_push(1), 2);
	expect_eq(s->bss->hits, 0);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*fn)(struct uprobe *s);
	} tests[] = {
		{ "entries", test_entries },
		{ "registered functions", test_registered },
		{ "libraries", test_libraries },
		{ "recursion", test_recursion },
		{ "longjmp", test_longjmp },
		{ "threads that end", test_ended_threads },
		{ "detached inside", test_detach_inside },
		{ "fork", test_fork },
		{ "uprobe.multi", test_multi },
		{ "refusals", test_refusals },
	};
	struct uprobe *s;

	probe_init(argc, argv);
	s = uprobe__open();
	if (!s)
		return 1;
	bpf_program__set_expected_attach_type(s->progs.on_place, ATTACH_UPROBE_MULTI);
	bpf_program__set_expected_attach_type(s->progs.on_place_return, ATTACH_UPROBE_MULTI);
	if (uprobe__load(s)) {
		printf("cannot load: %s\n", strerror(errno));
		return 1;
	}
	PROBE_RUN(tests, s);
	uprobe__destroy(s);
	return probe_result();
}
