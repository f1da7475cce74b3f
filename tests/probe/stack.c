// SPDX-License-Identifier: BSD-2-Clause
/*
 * Stacks as programs see them: the names of their frames, for every kind of program, with other probes
 * on the way, in threads and signal handlers. This file has no frame pointers.
 *
 * usage: probe_stack jit|interp
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>

#include <bpf/bpf.h>

#include "place.h"
#include "stack.h"
#include "stack.skel.h"

/* Where a function's own instructions begin: behind landing pads and the nop. */
#ifdef __aarch64__
#define BODY 4
#else
#define BODY 5
#endif

#define CHAIN "stack_inner stack_middle stack_outer"

static struct bpfu_tracepoint *event;
static bool interp;

/* dladdr() knows what is exported. */
#pragma GCC visibility push(default)
long stack_probed(long n);
long stack_plain(long n);
long stack_inner(long n);
long stack_middle(long n);
long stack_outer(long n);
void stack_on_signal(int sig);
int main(int argc, char **argv);
#pragma GCC visibility pop

BPFU_PROBE_ENTRY long stack_probed(long n)
{
	__asm__ volatile("" ::: "memory");
	return n + 1;
}

/* Without a nop, and unknown to libbpfu: what uprobes are for. */
PROBE_APART long stack_plain(long n)
{
	volatile long twice = 2 * n;

	return twice + n;
}

BPFU_PROBE_ENTRY long stack_inner(long n)
{
	long got = stack_probed(n);

	BPFU_TRACE(event, (uint64_t)n);
	return got + stack_plain(n);
}

/* As much stack as the argument says: only a frame pointer leads out of it. */
PROBE_APART long stack_middle(long n)
{
	volatile char *bytes = __builtin_alloca((size_t)n * 16 + 16);

	bytes[0] = 1;
	return stack_inner(n) + bytes[0];
}

PROBE_APART long stack_outer(long n)
{
	volatile long many[100];
	long sum = 0;

	for (int i = 0; i < 100; i++)
		many[i] = n;
	sum = stack_middle(n);
	return sum + many[99];
}

/* ---- names ---- */

/* The names of @s up to stack_outer or "main", with a space in between; "?" for what no file has. */
static const char *names_of(const struct stacks *s, const char *last)
{
	static char text[4096];
	size_t len = 0;
	Dl_info info;

	text[0] = '\0';
	if (s->size < 0)
		snprintf(text, sizeof(text), "error %lld", (long long)s->size);
	for (long i = 0; i < s->size / 8 && i < STACK_DEPTH; i++) {
		const char *name = "?";

		if (dladdr((void *)(uintptr_t)s->ips[i], &info))
			name = info.dli_sname ?: "-";
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s", len ? " " : "", name);
		if (!strcmp(name, last))
			break;
	}
	return text;
}

#define expect_names(stacks, want) expect_str(__LINE__, names_of(&(stacks), "stack_outer"), want)

static void expect_part(int line, const struct stacks *s, const char *part)
{
	if (!strstr(names_of(s, ""), part))
		expect_str(line, names_of(s, ""), part);
}

static struct stack *load(const char *name)
{
	struct stack *s = stack__open();

	if (!s || bpf_program__set_autoload(bpf_object__find_program_by_name(s->obj, name), true) ||
	    stack__load(s)) {
		printf("cannot load %s\n", name);
		exit(1);
	}
	return s;
}

/* Call the chain; the stack of the map must be the one of the buffer. */
static void call(int line, struct stack *s, uint64_t runs)
{
	uint64_t value[STACK_DEPTH] = { 0 };
	uint32_t key;

	memset(&s->bss->kernel, 0, sizeof(s->bss->kernel));
	memset(&s->bss->user, 0, sizeof(s->bss->user));
	s->bss->runs = 0;
	expect(line, "result", stack_outer(5), 5 + 6 + 15 + 1);
	expect(line, "runs", (int64_t)s->bss->runs, (int64_t)runs);
	key = (uint32_t)s->bss->id;
	expect(line, "lookup", bpf_map_lookup_elem(bpf_map__fd(s->maps.ids), &key, value), 0);
	if (!interp) /* whose own frames differ: it is called in several places */
		for (int i = 1; i < STACK_DEPTH; i++)
			expect(line, "the map's", (int64_t)value[i], (int64_t)s->bss->kernel.ips[i]);
}

/* ---- functions ---- */

static void on_function(const char *name)
{
	struct stack *s = load(name);
	struct bpf_link *link =
		bpf_program__attach(bpf_object__find_program_by_name(s->obj, name));

	expect_true(link != NULL);
	call(__LINE__, s, 1);
	/* The program, its trampoline, the function; the interpreter is not a program. */
	expect_names(s->bss->kernel, interp ? "? stack_probed " CHAIN : "? ? stack_probed " CHAIN);
	expect_names(s->bss->user, "stack_probed " CHAIN);
	expect_part(__LINE__, &s->bss->user, " main ");
	expect_part(__LINE__, &s->bss->user, " _start");
	bpf_link__destroy(link);
	stack__destroy(s);
}

static void test_fentry(void)
{
	on_function("on_fentry");
}

static void test_fexit(void)
{
	on_function("on_fexit");
}

static void test_fmod_ret(void)
{
	on_function("on_fmod_ret");
}

/* The functions of a program are frames, too. */
static void test_functions_of_programs(void)
{
	struct stack *s = load("on_fentry_deep");
	struct bpf_link *link = bpf_program__attach(s->progs.on_fentry_deep);

	expect_true(link != NULL);
	call(__LINE__, s, 1);
	expect_names(s->bss->other, interp ? "? stack_probed " CHAIN : "? ? ? stack_probed " CHAIN);
	bpf_link__destroy(link);
	stack__destroy(s);
}

/* ---- registers ---- */

static void by_registers(struct stack *s, struct bpf_link *link, uint64_t runs, const char *want)
{
	expect_true(link != NULL);
	call(__LINE__, s, runs);
	expect_names(s->bss->kernel, want);
	expect_names(s->bss->user, want);
	expect_names(s->bss->other, want);
	bpf_link__destroy(link);
}

static struct bpf_link *kprobe(struct bpf_program *prog, const char *name, bool ret, size_t offset)
{
	LIBBPF_OPTS(bpf_kprobe_opts, opts, .retprobe = ret, .offset = offset);

	return bpf_program__attach_kprobe_opts(prog, name, &opts);
}

static struct bpf_link *uprobe(struct bpf_program *prog, const void *at, bool ret)
{
	LIBBPF_OPTS(bpf_uprobe_opts, opts, .retprobe = ret);

	return bpf_program__attach_uprobe_opts(prog, 0, SELF, place_of(at, NULL), &opts);
}

static struct bpf_link *multi(struct bpf_program *prog, const char *name, bool ret)
{
	LIBBPF_OPTS(bpf_kprobe_multi_opts, opts, .syms = &name, .cnt = 1, .retprobe = ret);

	return bpf_program__attach_kprobe_multi_opts(prog, NULL, &opts);
}

static void test_kprobe(void)
{
	struct stack *s = load("on_kprobe");
	struct bpf_program *prog = s->progs.on_kprobe;

	by_registers(s, kprobe(prog, "stack_probed", false, 0), 1, "stack_probed " CHAIN);
	by_registers(s, kprobe(prog, "stack_probed", true, 0), 1, "stack_probed " CHAIN);
	/* Behind its nop: by a breakpoint. */
	by_registers(s, kprobe(prog, "stack_inner", false, BODY), 1, CHAIN);
	stack__destroy(s);
}

static void test_kprobe_multi(void)
{
	struct stack *s = stack__open();
	struct bpf_program *prog = s->progs.on_kprobe;

	bpf_program__set_autoload(prog, true);
	bpf_program__set_expected_attach_type(prog, BPF_TRACE_KPROBE_MULTI);
	expect_eq(stack__load(s), 0);
	by_registers(s, multi(prog, "stack_probed", false), 1, "stack_probed " CHAIN);
	by_registers(s, multi(prog, "stack_probed", true), 1, "stack_probed " CHAIN);
	stack__destroy(s);
}

static void test_uprobe(void)
{
	struct stack *s = load("on_kprobe");
	struct bpf_program *prog = s->progs.on_kprobe;

	by_registers(s, uprobe(prog, stack_plain, false), 1, "stack_plain " CHAIN);
	by_registers(s, uprobe(prog, stack_plain, true), 1, CHAIN); /* where it returns to */
	by_registers(s, uprobe(prog, stack_probed, false), 1, "stack_probed " CHAIN);
	stack__destroy(s);
}

/* ---- tracepoints ---- */

static void test_raw_tp(void)
{
	struct stack *s = load("on_raw_tp");
	struct bpf_link *link = bpf_program__attach(s->progs.on_raw_tp);

	expect_true(link != NULL);
	call(__LINE__, s, 1);
	expect_names(s->bss->user, CHAIN);
	expect_part(__LINE__, &s->bss->kernel, " " CHAIN);
	if (!interp)
		expect_eq(names_of(&s->bss->kernel, "stack_outer")[0], '?');
	bpf_link__destroy(link);
	stack__destroy(s);
}

static void test_tp(void)
{
	struct stack *s = load("on_tp");
	struct bpf_link *link = bpf_program__attach(s->progs.on_tp);

	expect_true(link != NULL);
	call(__LINE__, s, 1);
	expect_names(s->bss->user, CHAIN);
	expect_names(s->bss->kernel, CHAIN);
	bpf_link__destroy(link);
	stack__destroy(s);
}

/* ---- what else is on the way ---- */

/* Pending returns: called from generated code (shown for trampolines), or by another return address. */
static void test_nested(void)
{
	struct stack *s = load("on_fentry"), *t = load("on_kprobe_empty"), *u = load("on_inner_fexit");
	struct bpf_link *link = bpf_program__attach(s->progs.on_fentry), *others[3];
	const char *prefix = interp ? "" : "? ";
	char want[256];

	others[0] = uprobe(t->progs.on_kprobe_empty, stack_middle, true);
	others[1] = uprobe(t->progs.on_kprobe_empty, stack_outer, true);
	others[2] = kprobe(t->progs.on_kprobe_empty, "stack_inner", true, 0);
	expect_true(link && others[0] && others[1] && others[2]);
	call(__LINE__, s, 1);
	snprintf(want, sizeof(want), "%s? stack_probed " CHAIN, prefix);
	expect_names(s->bss->kernel, want);
	expect_names(s->bss->user, "stack_probed " CHAIN);
	expect_part(__LINE__, &s->bss->user, " main ");

	bpf_link__destroy(others[2]);
	others[2] = bpf_program__attach(u->progs.on_inner_fexit);
	expect_true(others[2] != NULL);
	call(__LINE__, s, 1);
	snprintf(want, sizeof(want), "%s? stack_probed stack_inner ? stack_middle stack_outer", prefix);
	expect_names(s->bss->kernel, want);
	for (int i = 0; i < 3; i++)
		bpf_link__destroy(others[i]);
	bpf_link__destroy(link);
	stack__destroy(s);
	stack__destroy(t);
	stack__destroy(u);
}

void stack_on_signal(int sig)
{
	volatile long got = stack_outer(1); /* not by a jump */

	got++;
}

static void test_signal(void)
{
	struct stack *s = load("on_fentry");
	struct bpf_link *link = bpf_program__attach(s->progs.on_fentry);

	expect_true(link != NULL);
	signal(SIGUSR1, stack_on_signal);
	raise(SIGUSR1);
	expect_part(__LINE__, &s->bss->user, "stack_probed " CHAIN " stack_on_signal ");
	/* Through the handler's frame to what it has interrupted. */
	expect_part(__LINE__, &s->bss->user, " main ");
	expect_part(__LINE__, &s->bss->user, " _start");
	bpf_link__destroy(link);
	stack__destroy(s);
}

#define CALLS 2000

/* Each in a depth of its own. */
static PROBE_APART long dive(long depth, long n)
{
	long got = depth ? dive(depth - 1, n) : stack_probed(n);

	__asm__ volatile("" : "+r"(got)); /* or it becomes a loop */
	return got;
}

static void *in_thread(void *arg)
{
	long thread = (long)(intptr_t)arg, sum = 0;

	for (int i = 0; i < CALLS; i++) {
		__asm__ volatile("" : "+r"(i));
		sum += dive(thread, thread);
	}
	return (void *)(intptr_t)sum;
}

static void test_threads(void)
{
	struct stack *s = load("on_threads");
	struct bpf_link *link = bpf_program__attach(s->progs.on_threads);
	pthread_t threads[STACK_THREADS];

	expect_true(link != NULL);
	for (long i = 0; i < STACK_THREADS; i++)
		expect_eq(pthread_create(&threads[i], NULL, in_thread, (void *)i), 0);
	for (int i = 0; i < STACK_THREADS; i++)
		pthread_join(threads[i], NULL);
	expect_eq(s->bss->runs, CALLS * STACK_THREADS);
	expect_eq(s->bss->differ, 0);
	for (int i = 0; i < STACK_THREADS; i++)
		for (int k = 0; k < i; k++)
			expect_true(s->bss->id_of_thread[i] != s->bss->id_of_thread[k]);
	bpf_link__destroy(link);
	stack__destroy(s);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*fn)(void);
	} tests[] = {
		{ "fentry", test_fentry },
		{ "fexit", test_fexit },
		{ "fmod_ret", test_fmod_ret },
		{ "functions of programs", test_functions_of_programs },
		{ "kprobe, kretprobe", test_kprobe },
		{ "kprobe.multi, kretprobe.multi", test_kprobe_multi },
		{ "uprobe, uretprobe", test_uprobe },
		{ "raw_tp", test_raw_tp },
		{ "tp", test_tp },
		{ "nested", test_nested },
		{ "signal", test_signal },
		{ "threads", test_threads },
	};

	probe_init(argc, argv);
	interp = argc > 1 && !strcmp(argv[1], "interp");
	expect_eq(bpfu_func_register(stack_probed, "long stack_probed(long n)",
				     BPFU_FUNC_MODIFY_RETURN), 0);
	expect_eq(bpfu_func_register(stack_inner, "long stack_inner(long n)", 0), 0);
	expect_eq(bpfu_tracepoint_register("house", "void stack_event(long n)", &event), 0);
	PROBE_RUN(tests, );
	return probe_result();
}
