// SPDX-License-Identifier: BSD-2-Clause
/*
 * Sessions: which programs may call their kernel functions, what they may do with what they get, what they
 * may return; which programs go on which links; how often they run on places of this process, and what they
 * keep in between. tests/probe/session.c has the rest, which is about libbpfu.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <bpf/btf.h>

#include "api.h"

#define SELF "/proc/self/exe"
#define PROBE_MULTI 42 /* attach types */
#define PLACE_MULTI 48
#define PROBE_SESSION 56
#define PLACE_SESSION 57

/* ---- programs ---- */

static char text[16384];

static int load(uint32_t type, uint32_t attach_type, const struct bpf_insn *insns, uint32_t cnt)
{
	union bpf_attr attr = {
		.prog_type = type,
		.expected_attach_type = attach_type,
		.insns = ptr(insns),
		.insn_cnt = cnt,
		.license = ptr("GPL"),
		.log_buf = ptr(text),
		.log_size = sizeof(text),
		.log_level = 1,
		.prog_flags = type == BPF_PROG_TYPE_SYSCALL ? BPF_F_SLEEPABLE : 0,
	};

	text[0] = '\0';
	return sys_attr(BPF_PROG_LOAD, &attr);
}

static int32_t func_id(const char *name)
{
	struct btf *btf = btf__load_vmlinux_btf();
	int32_t id = btf ? btf__find_by_name_kind(btf, name, BTF_KIND_FUNC) : -1;

	btf__free(btf);
	return id;
}

static int32_t is_return, cookie; /* ids of the two functions */

/* r1 is the context, which newer kernels want and others do not read. */
#define CALL_FUNC(id) INSN(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_KFUNC_CALL, 0, id)

/* ---- verdicts ---- */

static void expect_verdict(int line, uint32_t type, uint32_t attach_type, const struct bpf_insn *insns,
			   uint32_t cnt, int err, const char *msg)
{
	int fd = load(type, attach_type, insns, cnt);

	api_expect(__FILE__, line, "load", fd < 0 ? fd : 0, err);
	if (!api_expect(__FILE__, line, msg, strstr(text, msg) != NULL, 1))
		printf("%s\n", text);
	if (fd >= 0)
		close(fd);
}
#define EXPECT_VERDICT(type, attach_type, err, msg, ...)                                           \
	expect_verdict(__LINE__, BPF_PROG_TYPE_##type, attach_type,                                \
		       (const struct bpf_insn[]){ __VA_ARGS__ },                                   \
		       sizeof((const struct bpf_insn[]){ __VA_ARGS__ }) / sizeof(struct bpf_insn), err, msg)

static void who_may_call(void)
{
	const char *msg = "calling kernel function bpf_session_is_return is not allowed";

	for (uint32_t type = PROBE_SESSION; type <= PLACE_SESSION; type++)
		EXPECT_VERDICT(KPROBE, type, 0, "", CALL_FUNC(is_return), MOV64_IMM(0, 0), EXIT());
	EXPECT_VERDICT(KPROBE, 0, -EACCES, msg, CALL_FUNC(is_return), MOV64_IMM(0, 0), EXIT());
	EXPECT_VERDICT(KPROBE, PROBE_MULTI, -EACCES, msg, CALL_FUNC(is_return), MOV64_IMM(0, 0), EXIT());
	EXPECT_VERDICT(KPROBE, PLACE_MULTI, -EACCES, msg, CALL_FUNC(is_return), MOV64_IMM(0, 0), EXIT());
	EXPECT_VERDICT(TRACEPOINT, 0, -EACCES, msg, CALL_FUNC(is_return), MOV64_IMM(0, 0), EXIT());
	EXPECT_VERDICT(SOCKET_FILTER, 0, -EACCES, msg, CALL_FUNC(is_return), MOV64_IMM(0, 0), EXIT());
	EXPECT_VERDICT(KPROBE, PROBE_MULTI, -EACCES,
		       "calling kernel function bpf_session_cookie is not allowed", CALL_FUNC(cookie),
		       MOV64_IMM(0, 0), EXIT());
}

static void return_range(void)
{
	for (uint32_t type = PROBE_SESSION; type <= PLACE_SESSION; type++) {
		EXPECT_VERDICT(KPROBE, type, 0, "", MOV64_IMM(0, 0), EXIT());
		EXPECT_VERDICT(KPROBE, type, 0, "", MOV64_IMM(0, 1), EXIT());
		EXPECT_VERDICT(KPROBE, type, -EINVAL, "At program exit the register R0 has smin=2 smax=2 "
			       "should have been in [0, 1]", MOV64_IMM(0, 2), EXIT());
		EXPECT_VERDICT(KPROBE, type, -EINVAL, "At program exit the register R0 has unknown scalar "
			       "value should have been in [0, 1]", LDX_DW(0, 1, 8), EXIT());
		EXPECT_VERDICT(KPROBE, type, -EINVAL, "At program exit the register R0 is not a known "
			       "value", CALL_FUNC(cookie), EXIT());
	}
	/* Others return what they want. */
	EXPECT_VERDICT(KPROBE, PROBE_MULTI, 0, "", LDX_DW(0, 1, 8), EXIT());
	EXPECT_VERDICT(KPROBE, PLACE_MULTI, 0, "", MOV64_IMM(0, 2), EXIT());
}

static void eight_bytes(void)
{
	const char *outside = "R0 min value is outside of the allowed memory range";

	EXPECT_VERDICT(KPROBE, PROBE_SESSION, 0, "", CALL_FUNC(cookie), LDX_DW(1, 0, 0), STX_DW(0, 1, 0),
		       MOV64_IMM(1, 1), INSN(BPF_STX | BPF_ATOMIC | BPF_DW, 0, 1, 0, BPF_ADD),
		       LDX_W(2, 0, 4), ST_W(0, 0, 5), MOV64_IMM(0, 0), EXIT());
	EXPECT_VERDICT(KPROBE, PROBE_SESSION, -EACCES, "invalid access to memory, mem_size=8 off=8 size=8",
		       CALL_FUNC(cookie), LDX_DW(1, 0, 8), MOV64_IMM(0, 0), EXIT());
	EXPECT_VERDICT(KPROBE, PROBE_SESSION, -EACCES, outside, CALL_FUNC(cookie), LDX_DW(1, 0, 1),
		       MOV64_IMM(0, 0), EXIT());
	EXPECT_VERDICT(KPROBE, PROBE_SESSION, -EACCES, outside, CALL_FUNC(cookie), LDX_DW(1, 0, -8),
		       MOV64_IMM(0, 0), EXIT());
	EXPECT_VERDICT(KPROBE, PROBE_SESSION, -EACCES, "R1 !read_ok", CALL_FUNC(is_return), MOV64_REG(0, 1),
		       MOV64_IMM(0, 0), EXIT());
}

/* ---- links ---- */

struct multi {
	uint32_t prog_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, ref_ctr_offsets, cookies;
	uint32_t cnt, multi_flags, pid, pad;
};

long session_place(long a);

/* Calls itself. */
#if defined(__x86_64__)
__asm__(".pushsection .text\n.globl session_place\n.type session_place, @function\nsession_place:\n"
	".cfi_startproc\n"
	"push %rbx; .cfi_adjust_cfa_offset 8; mov %rdi, %rbx; xor %eax, %eax; dec %rdi; js 1f\n"
	"call session_place\n"
	"1: lea 3(%rax), %rax; pop %rbx; .cfi_adjust_cfa_offset -8; ret\n"
	".cfi_endproc\n.size session_place, . - session_place\n.popsection");
#define PT_ARG (14 * 8)
#define PT_RET (10 * 8)
#else
__asm__(".pushsection .text\n.globl session_place\n.type session_place, %function\nsession_place:\n"
	".cfi_startproc\n"
	"stp x29, x30, [sp, #-16]!; .cfi_adjust_cfa_offset 16; .cfi_offset 29, -16; .cfi_offset 30, -8\n"
	"mov x1, x0; subs x0, x0, #1; b.mi 1f\n"
	"bl session_place\n"
	"b 2f\n"
	"1: mov x0, #0\n"
	"2: add x0, x0, #3; ldp x29, x30, [sp], #16; .cfi_adjust_cfa_offset -16; ret\n"
	".cfi_endproc\n.size session_place, . - session_place\n.popsection");
#define PT_ARG 0
#define PT_RET 0
#endif

#define RESULT(a) (3 * ((a) + 1))

static int link_place(int prog, uint32_t attach_type, uint32_t flags)
{
	uint64_t offset = api_file_offset(session_place);
	struct multi m = { .prog_fd = (uint32_t)prog, .attach_type = attach_type, .path = ptr(SELF),
			   .offsets = ptr(&offset), .cnt = 1, .multi_flags = flags };

	return sys_bpf(BPF_LINK_CREATE, &m, offsetof(struct multi, pad));
}

/* A program on what it is not for; the function is one that both sides have. */
static void expect_no_link(uint32_t expected, uint32_t attach_type)
{
	static const struct bpf_insn insns[] = { MOV64_IMM(0, 0), EXIT() };
	const char *name = "bpf_fentry_test1";
	struct {
		uint32_t prog_fd, target_fd, attach_type, flags, multi_flags, cnt;
		uint64_t syms, addrs, cookies;
	} m = { .attach_type = attach_type, .cnt = 1, .syms = ptr(&name) };
	int prog = load(BPF_PROG_TYPE_KPROBE, expected, insns, ARRAY_SIZE(insns)), link;

	if (!expect_ok(prog))
		return;
	m.prog_fd = (uint32_t)prog;
	link = attach_type == PROBE_MULTI || attach_type == PROBE_SESSION ?
		       sys_bpf(BPF_LINK_CREATE, &m, sizeof(m)) : link_place(prog, attach_type, 0);
	if (!expect_eq(link, -EINVAL))
		printf("  expected_attach_type %u on %u\n", expected, attach_type);
	if (link >= 0)
		close(link);
	close(prog);
}

static void wrong_links(void)
{
	static const uint32_t types[] = { PROBE_MULTI, PLACE_MULTI, PROBE_SESSION, PLACE_SESSION };

	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		for (size_t j = 0; j < ARRAY_SIZE(types); j++)
			if (i != j)
				expect_no_link(types[i], types[j]);
	expect_no_link(0, PLACE_SESSION);
}

/* ---- runs ---- */

/* What the program writes down. */
struct seen {
	uint64_t entered, left;
	uint64_t dirty;          /* entries with something in the eight bytes */
	uint64_t args, returned; /* sums of what was kept, and of what came back */
};

static int map_fd;

static struct seen seen(void)
{
	struct seen s = { 0 }, zero = { 0 };
	uint32_t key = 0;

	expect_eq(map_lookup(map_fd, &key, &s), 0);
	expect_eq(map_update(map_fd, &key, &zero, 0), 0);
	return s;
}

#define ADD_TO(field, reg) INSN(BPF_STX | BPF_ATOMIC | BPF_DW, 7, reg, offsetof(struct seen, field), BPF_ADD)

/* Keeps the argument; does not want to see the return of calls with @ignored. */
static int load_session(int32_t ignored)
{
	const struct bpf_insn insns[] = {
		MOV64_REG(6, 1),
		LD_MAP_VALUE(7, map_fd, 0),
		MOV64_REG(1, 6),
		CALL_FUNC(cookie),
		MOV64_REG(8, 0),
		MOV64_REG(1, 6),
		CALL_FUNC(is_return),
		MOV64_IMM(9, 1),
		INSN(BPF_ALU64 | BPF_AND | BPF_K, 0, 0, 0, 1), /* a bool, of which older kernels know nothing */
		JNE_IMM(0, 0, 10),
		ADD_TO(entered, 9),
		LDX_DW(1, 8, 0),
		JEQ_IMM(1, 0, 1),
		ADD_TO(dirty, 9),
		LDX_DW(1, 6, PT_ARG),
		STX_DW(8, 1, 0),
		MOV64_IMM(0, 0),
		JNE_IMM(1, ignored, 1),
		MOV64_IMM(0, 1),
		EXIT(),
		ADD_TO(left, 9), /* at the return */
		LDX_DW(1, 8, 0),
		ADD_TO(args, 1),
		LDX_DW(1, 6, PT_RET),
		ADD_TO(returned, 1),
		MOV64_IMM(0, 1),
		EXIT(),
	};

	return load(BPF_PROG_TYPE_KPROBE, PLACE_SESSION, insns, ARRAY_SIZE(insns));
}

static void runs(void)
{
	int prog = load_session(2), link;
	struct seen s;

	if (!expect_ok(prog)) {
		printf("%s\n", text);
		return;
	}
	link = link_place(prog, PLACE_SESSION, 0);
	expect_ok(link);
	expect_eq(session_place(5), RESULT(5));
	s = seen();
	expect_eq(s.entered, 6);
	expect_eq(s.left, 5);
	expect_eq(s.dirty, 0);
	expect_eq(s.args, 5 + 4 + 3 + 1 + 0);
	expect_eq(s.returned, RESULT(5) + RESULT(4) + RESULT(3) + RESULT(1) + RESULT(0));
	close(link);
	expect_eq(session_place(5), RESULT(5));
	expect_eq(seen().entered, 0);
	close(prog);
}

/* Two on one place know nothing of each other. */
static void two(void)
{
	int progs[] = { load_session(1), load_session(0) }, links[2];
	struct seen s;

	for (int i = 0; i < 2; i++) {
		links[i] = link_place(progs[i], PLACE_SESSION, 0);
		expect_ok(links[i]);
	}
	expect_eq(session_place(1), RESULT(1));
	s = seen();
	expect_eq(s.entered, 4);
	expect_eq(s.left, 2);
	expect_eq(s.dirty, 0);
	expect_eq(s.args, 0 + 1);
	close(links[0]);
	expect_eq(session_place(1), RESULT(1));
	s = seen();
	expect_eq(s.entered, 2);
	expect_eq(s.left, 1);
	close(links[1]);
	close(progs[0]);
	close(progs[1]);
}

static void start(void)
{
	map_fd = map_new(BPF_MAP_TYPE_ARRAY, 4, sizeof(struct seen), 1, 0);
	expect_ok(map_fd);
	is_return = func_id("bpf_session_is_return");
	cookie = func_id("bpf_session_cookie");
	expect_true(is_return > 0 && cookie > 0);
}

API_MAIN(API_TEST(start), API_TEST(who_may_call), API_TEST(return_range), API_TEST(eight_bytes),
	 API_TEST(wrong_links), API_TEST(runs), API_TEST(two))
