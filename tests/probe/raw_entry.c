// SPDX-License-Identifier: BSD-2-Clause
/*
 * Programs on the entries of functions, without libbpf, so that they can be executed under an emulator:
 * fentry, fexit, fmod_ret, kprobe.multi, kretprobe.multi and kprobe.session on functions with more arguments than
 * registers and on one without prototype; what is between caller and body must not be noticed.
 */
#include <errno.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <asm/ptrace.h>
#include <stdarg.h>
#include <unistd.h>
#include <unwind.h>

#include "bpfu/bpfu.h"
#include "btf/func.h"
#include "obj/obj.h"
#include "raw.h"
#include "util/uapi.h"

#define ARGS 10

#if defined(__x86_64__)
#define FIRST_ARG offsetof(struct pt_regs, rdi)
#define RESULT offsetof(struct pt_regs, rax)
#define PC offsetof(struct pt_regs, rip)
#else
#define FIRST_ARG offsetof(struct user_pt_regs, regs[0])
#define RESULT FIRST_ARG
#define PC offsetof(struct user_pt_regs, pc)
#endif

static int map_fd;

/* ---- the functions ---- */

static jmp_buf out;
static uintptr_t bodies[64];
static int body_cnt;

static _Unwind_Reason_Code on_frame(struct _Unwind_Context *ctx, void *arg)
{
	if (body_cnt < 64)
		bodies[body_cnt++] = _Unwind_GetRegionStart(ctx);
	return _URC_NO_REASON;
}

static int with_unwinding;

BPFU_PROBE_ENTRY static long many(long a, long b, long c, long d, long e, long f, long g, long h,
				  long i, long j)
{
	if (with_unwinding)
		_Unwind_Backtrace(on_frame, NULL);
	return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j;
}

BPFU_PROBE_ENTRY static double mixed(double x, int cnt, ...)
{
	double sum = x;
	va_list ap;

	va_start(ap, cnt);
	while (cnt-- > 0)
		sum += va_arg(ap, double) + va_arg(ap, int);
	va_end(ap);
	return sum;
}

BPFU_PROBE_ENTRY static long leaves(long a)
{
	if (a < 0)
		longjmp(out, 1);
	return a + 1;
}

static __attribute__((noinline)) long call_many(void)
{
	long ret = many(1, 2, 3, 4, 5, 6, 7, 8, 9, 10);

	__asm__ volatile("" ::: "memory"); /* no tail call: this frame has to be seen */
	return ret;
}

/* ---- programs ---- */

/* What programs add up, in the one map: each in words of its own. */
enum { SUM, RUNS, RETURNED, RETURNS, WORDS };

static void make_map(void)
{
	union bpf_attr map = { .map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4,
			       .value_size = 8 * WORDS, .max_entries = 1 };

	map_fd = bpf(BPF_MAP_CREATE, &map);
}

/* What was added since the last call. */
static void take(uint64_t words[WORDS])
{
	uint64_t zero[WORDS] = { 0 };
	uint32_t key = 0;
	union bpf_attr attr = { .map_fd = (uint32_t)map_fd };

	attr.key = (uintptr_t)&key;
	attr.value = (uintptr_t)words;
	bpf(BPF_MAP_LOOKUP_ELEM, &attr);
	attr.value = (uintptr_t)zero;
	bpf(BPF_MAP_UPDATE_ELEM, &attr);
}

struct text {
	struct bpf_insn insns[64];
	uint32_t cnt;
};

static void emit(struct text *t, struct bpf_insn insn)
{
	t->insns[t->cnt++] = insn;
}

static struct text begin(void)
{
	struct text t = { .cnt = 0 };

	emit(&t, (struct bpf_insn){ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 6, .src_reg = 1 });
	emit(&t, (struct bpf_insn){ .code = BPF_LD | BPF_IMM | BPF_DW, .dst_reg = 7,
				    .src_reg = BPF_PSEUDO_MAP_VALUE, .imm = map_fd });
	emit(&t, (struct bpf_insn){ 0 });
	return t;
}

/* map[@word] += @factor * ctx[@off], or + @factor for @off < 0 */
static void add(struct text *t, int word, int off, int factor)
{
	if (off >= 0)
		emit(t, (struct bpf_insn){ .code = BPF_LDX | BPF_MEM | BPF_DW, .dst_reg = 1, .src_reg = 6,
					   .off = (int16_t)off });
	else
		emit(t, (struct bpf_insn){ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 1, .imm = 1 });
	emit(t, (struct bpf_insn){ .code = BPF_ALU64 | BPF_MUL | BPF_K, .dst_reg = 1, .imm = factor });
	emit(t, (struct bpf_insn){ .code = BPF_STX | BPF_ATOMIC | BPF_DW, .dst_reg = 7, .src_reg = 1,
				   .off = (int16_t)(8 * word), .imm = BPF_ADD });
}

static int load(struct text *t, uint32_t type, uint32_t attach_type, const char *func, int ret)
{
	union bpf_attr attr = { .prog_type = type, .insns = (uintptr_t)t->insns,
				.license = (uintptr_t)"GPL", .expected_attach_type = attach_type };

	emit(t, (struct bpf_insn){ .code = BPF_ALU64 | BPF_MOV | BPF_K, .imm = ret });
	emit(t, (struct bpf_insn){ .code = BPF_JMP | BPF_EXIT });
	attr.insn_cnt = t->cnt;
	if (func)
		attr.attach_btf_id = bpfu_func_by_name(func)->btf_id;
	return bpf(BPF_PROG_LOAD, &attr);
}

static int attach(int prog, uint32_t type)
{
	union bpf_attr attr = { .link_create = { .prog_fd = (uint32_t)prog, .attach_type = type } };

	return bpf(BPF_LINK_CREATE, &attr);
}

static int attach_to(int prog, uint32_t type, const char *sym, uint32_t flags)
{
	struct {
		uint32_t prog_fd, target_fd, attach_type, flags;
		uint32_t multi_flags, cnt;
		uint64_t syms, addrs, cookies;
	} attr = { .prog_fd = (uint32_t)prog, .attach_type = type, .multi_flags = flags, .cnt = 1,
		   .syms = (uintptr_t)&sym };

	return bpfu_bpf(BPF_LINK_CREATE, (union bpf_attr *)&attr, sizeof(attr));
}

static int attach_multi(int prog, const char *sym, bool is_return)
{
	return attach_to(prog, BPF_TRACE_KPROBE_MULTI, sym, is_return ? BPF_F_KPROBE_MULTI_RETURN : 0);
}

/* ---- the tests ---- */

#define MANY_RESULT 385 /* the sum of squares to 10 */

static void test_trampoline(bool entry, bool exit)
{
	struct text t = begin();
	int progs[2], links[2] = { -1, -1 };
	uint64_t w[WORDS];

	for (int i = 0; i < ARGS; i++)
		add(&t, SUM, 8 * i, i + 1);
	add(&t, RUNS, -1, 1);
	progs[0] = load(&t, BPF_PROG_TYPE_TRACING, BPF_TRACE_FENTRY, "raw_many", 0);
	t = begin();
	for (int i = 0; i < ARGS; i++)
		add(&t, SUM, 8 * i, i + 1);
	add(&t, RETURNED, 8 * ARGS, 1);
	add(&t, RETURNS, -1, 1);
	progs[1] = load(&t, BPF_PROG_TYPE_TRACING, BPF_TRACE_FEXIT, "raw_many", 0);
	if (entry)
		links[0] = attach(progs[0], BPF_TRACE_FENTRY);
	if (exit)
		links[1] = attach(progs[1], BPF_TRACE_FEXIT);
	body_cnt = 0;
	with_unwinding = true;
	expect_eq(call_many(), MANY_RESULT);
	with_unwinding = false;
	expect_eq(call_many(), MANY_RESULT);
	take(w);
	expect_eq(w[RUNS], entry ? 2 : 0);
	expect_eq(w[RETURNS], exit ? 2 : 0);
	expect_eq(w[SUM], (entry + exit) * 2 * MANY_RESULT);
	expect_eq(w[RETURNED], exit ? 2 * MANY_RESULT : 0);
	for (int i = 0; i < 2; i++) {
		if (links[i] >= 0)
			detach(links[i]);
		detach(progs[i]);
	}
	expect_eq(call_many(), MANY_RESULT);
	take(w);
	expect_eq(w[RUNS] + w[RETURNS], 0);
}

/* The unwinder got through whatever is between the function and its caller. */
static void expect_unwound(void)
{
	bool found = false;

	for (int i = 0; i < body_cnt; i++)
		found |= bodies[i] == (uintptr_t)call_many;
	expect_eq(found, true);
}

static void test_fmod_ret(void)
{
	struct text t = begin();
	int prog, link;
	uint64_t w[WORDS];

	add(&t, RUNS, -1, 1);
	prog = load(&t, BPF_PROG_TYPE_TRACING, BPF_MODIFY_RETURN, "raw_many", 77);
	link = attach(prog, BPF_MODIFY_RETURN);
	expect_eq(call_many(), 77);
	detach(link);
	expect_eq(call_many(), MANY_RESULT);
	take(w);
	expect_eq(w[RUNS], 1);
	detach(prog);
}

static void test_registers(void)
{
	struct text t = begin();
	int entry, ret, on_entry, on_return;
	uint64_t w[WORDS];

	add(&t, SUM, FIRST_ARG, 1);
	add(&t, RETURNED, PC, 1);
	add(&t, RUNS, -1, 1);
	entry = load(&t, BPF_PROG_TYPE_KPROBE, BPF_TRACE_KPROBE_MULTI, NULL, 0);
	t = begin();
	add(&t, RETURNED, RESULT, 1);
	add(&t, RETURNS, -1, 1);
	ret = load(&t, BPF_PROG_TYPE_KPROBE, BPF_TRACE_KPROBE_MULTI, NULL, 0);

	on_entry = attach_multi(entry, "raw_many", false);
	expect_eq(call_many(), MANY_RESULT);
	take(w);
	expect_eq(w[SUM], 1);
	expect_eq(w[RUNS], 1);
	expect_eq(w[RETURNED], (uintptr_t)many);
	on_return = attach_multi(ret, "raw_many", true);
	body_cnt = 0;
	with_unwinding = true;
	expect_eq(call_many(), MANY_RESULT);
	with_unwinding = false;
	expect_unwound();
	take(w);
	expect_eq(w[RETURNS], 1);
	expect_eq(w[RETURNED], (uintptr_t)many + MANY_RESULT);
	detach(on_entry);
	expect_eq(call_many(), MANY_RESULT);
	take(w);
	expect_eq(w[RUNS], 0);
	expect_eq(w[RETURNED], MANY_RESULT);
	detach(on_return);

	/* No prototype: vectors, and arguments on the stack. */
	on_entry = attach_multi(entry, "raw_mixed", false);
	on_return = attach_multi(ret, "raw_mixed", true);
	for (int i = 0; i < 2; i++)
		expect_eq(mixed(0.5, 6, 1.5, 1, 2.5, 2, 3.5, 3, 4.5, 4, 5.5, 5, 6.5, 6) * 2, 91);
	take(w);
	expect_eq(w[RUNS], 2);
	expect_eq(w[RETURNS], 2);
	detach(on_entry);
	detach(on_return);

	/* A call that does not return. */
	on_return = attach_multi(ret, "raw_leaves", true);
	for (volatile int i = 0; i < 100; i++)
		if (!setjmp(out))
			leaves(-1);
	expect_eq(leaves(1), 2);
	take(w);
	expect_eq(w[RETURNS], 1);
	expect_eq(w[RETURNED], 2);
	detach(on_return);
	detach(entry);
	detach(ret);
}

static void emit_call(struct text *t, const char *func)
{
	emit(t, (struct bpf_insn){ .code = BPF_JMP | BPF_CALL, .src_reg = BPF_PSEUDO_KFUNC_CALL,
				   .imm = (int32_t)bpfu_func_by_name(func)->btf_id });
}

/* Keeps the first argument until the return; with @all it reads a register that nobody else needs. */
static int load_session(bool all, int ret)
{
	struct text t = begin();
	uint32_t branch;

	if (all)
		add(&t, WORDS - 1, PC, 0);
	emit_call(&t, "bpf_session_cookie");
	emit(&t, (struct bpf_insn){ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 8 });
	emit_call(&t, "bpf_session_is_return");
	branch = t.cnt;
	emit(&t, (struct bpf_insn){ .code = BPF_JMP | BPF_JNE | BPF_K });
	add(&t, RUNS, -1, 1);
	emit(&t, (struct bpf_insn){ .code = BPF_LDX | BPF_MEM | BPF_DW, .dst_reg = 1, .src_reg = 6,
				    .off = FIRST_ARG });
	emit(&t, (struct bpf_insn){ .code = BPF_STX | BPF_MEM | BPF_DW, .dst_reg = 8, .src_reg = 1 });
	emit(&t, (struct bpf_insn){ .code = BPF_ALU64 | BPF_MOV | BPF_K, .imm = ret });
	emit(&t, (struct bpf_insn){ .code = BPF_JMP | BPF_EXIT });
	t.insns[branch].off = (int16_t)(t.cnt - branch - 1);
	add(&t, RETURNS, -1, 1);
	emit(&t, (struct bpf_insn){ .code = BPF_LDX | BPF_MEM | BPF_DW, .dst_reg = 1, .src_reg = 8 });
	emit(&t, (struct bpf_insn){ .code = BPF_STX | BPF_ATOMIC | BPF_DW, .dst_reg = 7, .src_reg = 1,
				    .off = 8 * SUM, .imm = BPF_ADD });
	add(&t, RETURNED, RESULT, 1);
	return load(&t, BPF_PROG_TYPE_KPROBE, BPFU_TRACE_KPROBE_SESSION, NULL, 0);
}

#define SESSIONS 6 /* more than the smaller frames have room for */

static void test_sessions(bool all)
{
	int prog = load_session(all, 0), other = load_session(all, 1), links[SESSIONS];
	uint64_t w[WORDS];

	for (int n = 1; n <= SESSIONS; n++) {
		links[n - 1] = attach_to(n == 2 ? other : prog, BPFU_TRACE_KPROBE_SESSION, "raw_many", 0);
		body_cnt = 0;
		with_unwinding = true;
		expect_eq(call_many(), MANY_RESULT);
		with_unwinding = false;
		expect_unwound();
		take(w);
		expect_eq(w[RUNS], n);
		expect_eq(w[RETURNS], n - (n >= 2));
		expect_eq(w[SUM], w[RETURNS]);
		expect_eq(w[RETURNED], w[RETURNS] * MANY_RESULT);
	}
	for (int n = 0; n < SESSIONS; n++)
		detach(links[n]);
	expect_eq(call_many(), MANY_RESULT);

	/* No prototype: vectors, and arguments on the stack. */
	links[0] = attach_to(prog, BPFU_TRACE_KPROBE_SESSION, "raw_mixed", 0);
	for (int i = 0; i < 2; i++)
		expect_eq(mixed(0.5, 6, 1.5, 1, 2.5, 2, 3.5, 3, 4.5, 4, 5.5, 5, 6.5, 6) * 2, 91);
	take(w);
	expect_eq(w[RUNS], 2);
	expect_eq(w[RETURNS], 2);
	detach(links[0]);

	links[0] = attach_to(prog, BPFU_TRACE_KPROBE_SESSION, "raw_leaves", 0);
	for (volatile int i = 0; i < 100; i++)
		if (!setjmp(out))
			leaves(-1);
	expect_eq(leaves(1), 2);
	take(w);
	expect_eq(w[RUNS], 101);
	expect_eq(w[RETURNS], 1);
	expect_eq(w[SUM], 1);
	expect_eq(w[RETURNED], 2);
	detach(links[0]);
	detach(prog);
	detach(other);
}

/* One kind on top of the other: probes come first. */
static void test_both_kinds(void)
{
	struct text t = begin();
	int probe, prog, on_probe, link;
	uint64_t w[WORDS];

	add(&t, RUNS, -1, 1);
	probe = load(&t, BPF_PROG_TYPE_KPROBE, BPF_TRACE_KPROBE_MULTI, NULL, 0);
	t = begin();
	for (int i = 0; i < ARGS; i++)
		add(&t, SUM, 8 * i, i + 1);
	prog = load(&t, BPF_PROG_TYPE_TRACING, BPF_TRACE_FENTRY, "raw_many", 0);
	on_probe = attach_multi(probe, "raw_many", true);
	link = attach(prog, BPF_TRACE_FENTRY);
	expect_eq(call_many(), MANY_RESULT);
	detach(on_probe);
	expect_eq(call_many(), MANY_RESULT);
	take(w);
	expect_eq(w[RUNS], 1);
	expect_eq(w[SUM], 2 * MANY_RESULT);
	detach(link);
	detach(prog);
	detach(probe);
}

int main(int argc, char **argv)
{
	expect_eq(bpfu_func_register(many, "long raw_many(long a, long b, long c, long d, long e, "
					   "long f, long g, long h, long i, long j)",
				     BPFU_FUNC_MODIFY_RETURN), 0);
	expect_eq(bpfu_func_register(mixed, "raw_mixed", 0), 0);
	expect_eq(bpfu_func_register(leaves, "long raw_leaves(long a)", 0), 0);
	make_map();
	test_trampoline(true, false);
	test_trampoline(false, true);
	expect_unwound();
	test_trampoline(true, true);
	expect_unwound();
	test_fmod_ret();
	test_registers();
	test_sessions(false);
	test_sessions(true);
	test_both_kinds();
	printf("%s\n", failures ? "not ok" : "ok");
	return failures != 0;
}
