// SPDX-License-Identifier: BSD-2-Clause
/*
 * Callers are found through the code between a function and its caller, from inside of the function
 * and from every instruction of that code; pthread_exit() and exceptions get through it.
 *
 * usage: probe_unwind jit|interp
 */
#include <errno.h>
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpfu/bpfu.h"
#include "probe.h"
#include "unwind.skel.h"

#define FRAMES 64

/* unwind_throw.cc */
int unwind_throw(int what);
int unwind_catch(int (*traced)(int what), int what);

enum action { NOTHING, TRACE, EXIT, THROW };

static void *frames[FRAMES];
static int frame_cnt;

int unwind_traced(int action);

BPFU_PROBE_ENTRY int unwind_traced(int action)
{
	if (action == TRACE)
		frame_cnt = backtrace(frames, FRAMES);
	else if (action == EXIT)
		pthread_exit(NULL);
#ifdef HAVE_CXX
	else if (action == THROW)
		return unwind_throw(77);
#endif
	__asm__ volatile("" ::: "memory");
	return action + 1;
}

/* Where the caller of the last call of outer() goes on: every good backtrace has it. */
static void *goes_on;

static __attribute__((noinline)) int outer(int action)
{
	int ret;

	goes_on = __builtin_return_address(0);
	ret = unwind_traced(action);
	__asm__ volatile("" : "+r"(ret)); /* no tail call */
	return ret;
}

static bool has_caller(void *const *list, int cnt)
{
	for (int i = 0; i < cnt; i++)
		if (list[i] == goes_on)
			return true;
	return false;
}

static void test_backtrace(struct unwind *s)
{
	frame_cnt = 0;
	expect_eq(outer(TRACE), TRACE + 1);
	expect_true(has_caller(frames, frame_cnt));
}

/* ---- every instruction ---- */

static uint64_t steps, steps_inside, steps_lost;

static void on_step(int sig, siginfo_t *info, void *uc)
{
#ifdef __x86_64__
	const ucontext_t *context = uc;
	void *list[FRAMES];
	char name[64];

	steps++;
	if (bpfu_code_symbol((uint64_t)context->uc_mcontext.gregs[REG_RIP], name, sizeof(name)))
		return;
	steps_inside++;
	if (!strcmp(name, "trampoline of unwind_traced") &&
	    has_caller(list, backtrace(list, FRAMES)))
		return;
	steps_lost++;
#endif
}

static void set_trap_flag(bool on)
{
#ifdef __x86_64__
	if (on)
		__asm__ volatile("pushfq\n\torq $0x100, (%%rsp)\n\tpopfq" ::: "memory", "cc");
	else
		__asm__ volatile("pushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq" ::: "memory", "cc");
#endif
}

static __attribute__((noinline)) int stepped_outer(int action)
{
	int ret;

	goes_on = __builtin_return_address(0);
	set_trap_flag(true);
	ret = unwind_traced(action);
	set_trap_flag(false);
	return ret;
}

static void test_steps(struct unwind *s)
{
	steps = steps_inside = steps_lost = 0;
	expect_eq(stepped_outer(NOTHING), 1);
	expect_true(steps_inside > 10);
	expect_eq(steps_lost, 0);
}

/* ---- leaving without returning ---- */

static bool cleaned;

static void clean(int *unused)
{
	cleaned = true;
}

static void *exit_inside(void *unused)
{
	__attribute__((cleanup(clean))) int guard = 0;

	outer(EXIT);
	(void)guard;
	return NULL;
}

static void test_thread_exit(struct unwind *s)
{
	pthread_t thread;

	cleaned = false;
	expect_eq(pthread_create(&thread, NULL, exit_inside, NULL), 0);
	pthread_join(thread, NULL);
	expect_true(cleaned);
}

static void test_exception(struct unwind *s)
{
#ifdef HAVE_CXX
	for (int i = 0; i < 1000; i++)
		expect_eq(unwind_catch(outer, THROW), 77);
	expect_eq(unwind_catch(outer, NOTHING), -1);
#endif
}

/* ---- with what ---- */

#define ATTACH_KPROBE_SESSION 56

struct attached {
	struct bpf_link *link;
	int fd; /* of a session, which this libbpf does not know */
};

static struct attached attach(const struct bpf_program *prog)
{
	const char *name = "unwind_traced";
	struct {
		uint32_t prog_fd, target_fd, attach_type, flags, multi_flags, cnt;
		uint64_t syms, addrs, cookies;
	} attr = { .prog_fd = (uint32_t)bpf_program__fd(prog), .attach_type = ATTACH_KPROBE_SESSION,
		   .cnt = 1, .syms = (uintptr_t)&name };
	struct attached a = { NULL, -1 };

	if ((int)bpf_program__expected_attach_type(prog) == ATTACH_KPROBE_SESSION)
		a.fd = bpfu_bpf(BPF_LINK_CREATE, (union bpf_attr *)&attr, sizeof(attr));
	else
		a.link = bpf_program__attach(prog);
	expect_true(a.link || a.fd >= 0);
	return a;
}

static void detach(struct attached a)
{
	bpf_link__destroy(a.link);
	bpfu_fd_close(a.fd);
}

/* With each program alone, and with all. */
static void with_programs(struct unwind *s, void (*fn)(struct unwind *s))
{
	struct attached all[16];
	struct bpf_program *prog;
	size_t cnt = 0;
	uint64_t before;

	bpf_object__for_each_program(prog, s->obj) {
		struct attached one = attach(prog);

		before = s->bss->hits;
		fn(s);
		expect_true(s->bss->hits > before ||
			    (fn != test_backtrace && fn != test_steps));
		detach(one);
	}
	bpf_object__for_each_program(prog, s->obj)
		all[cnt++] = attach(prog);
	fn(s);
	while (cnt)
		detach(all[--cnt]);
	if (fn == test_exception || fn == test_thread_exit)
		fn(s); /* as without any */
}

static void backtraces(struct unwind *s)
{
	with_programs(s, test_backtrace);
}

static void all_steps(struct unwind *s)
{
	struct attached session = attach(s->progs.on_session);
	struct bpf_link *links[2];

	test_steps(s);
	detach(session);
	links[0] = bpf_program__attach(s->progs.on_fentry);
	test_steps(s);
	bpf_link__destroy(links[0]);
	links[0] = bpf_program__attach(s->progs.on_fexit);
	test_steps(s);
	links[1] = bpf_program__attach(s->progs.on_kretprobe_multi);
	test_steps(s);
	bpf_link__destroy(links[0]);
	test_steps(s);
	bpf_link__destroy(links[1]);
	links[0] = bpf_program__attach(s->progs.on_fmodret);
	links[1] = bpf_program__attach(s->progs.on_kprobe);
	test_steps(s);
	bpf_link__destroy(links[0]);
	bpf_link__destroy(links[1]);
}

static void thread_exits(struct unwind *s)
{
	with_programs(s, test_thread_exit);
}

static void exceptions(struct unwind *s)
{
	with_programs(s, test_exception);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*fn)(struct unwind *s);
	} tests[] = {
		{ "backtrace(3) inside", backtraces },
		{ "backtrace(3) at every instruction", all_steps },
		{ "pthread_exit() inside", thread_exits },
		{ "exceptions", exceptions },
	};
	struct sigaction sa = { .sa_sigaction = on_step, .sa_flags = SA_SIGINFO };
	struct unwind *s;

	sigaction(SIGTRAP, &sa, NULL); /* libbpfu passes on what is not its own */
	probe_init(argc, argv);
	backtrace(frames, FRAMES); /* loads the unwinder */
	expect_eq(bpfu_func_register(unwind_traced, "int unwind_traced(int action)",
				     BPFU_FUNC_MODIFY_RETURN), 0);
	s = unwind__open();
	if (s)
		bpf_program__set_expected_attach_type(s->progs.on_session, ATTACH_KPROBE_SESSION);
	if (!s || unwind__load(s)) {
		printf("cannot load: %s\n", strerror(errno));
		return 1;
	}
	PROBE_RUN(tests, s);
	unwind__destroy(s);
	return probe_result();
}
