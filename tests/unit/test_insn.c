// SPDX-License-Identifier: BSD-2-Clause
/*
 * The opcode table and the structural check, alone and against the running kernel: the same opcodes,
 * the same verdicts, the same phrases. The kernel half is skipped where bpf(2) is refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "insn/insn.h"
#include "insn/opcode.h"
#include "../insn/oracle.h"

#define MOV64(r, v) BPFU_INSN(BPFU_OP_MOV64_K, r, 0, 0, v)
#define ROWS 128 /* opcodes of RFC 9669, may_goto, and the 8 and 16 bit forms of atomics */
#define EXIT BPFU_INSN(BPFU_OP_EXIT, 0, 0, 0, 0)

static const char *check(const struct bpf_insn *insns, uint32_t cnt)
{
	static char msg[128];

	msg[0] = '\0';
	if (!bpfu_insn_check(insns, cnt, 0, msg, sizeof(msg)))
		return "ok";
	assert_true(msg[0]);
	return msg;
}

static void test_table_complete(void **state)
{
	uint32_t rows = 0, unique = 0;

#define _(row, code, form, sym)                                                                    \
	rows++;                                                                                    \
	assert_non_null(bpfu_opcode_of(code));                                                     \
	assert_string_equal(bpfu_opcode_of(code)->name, #row);
	BPFU_INSN_DEF(_)
#undef _
	for (int code = 0; code < 256; code++) {
		const struct bpfu_opcode *op = bpfu_opcode_of(code);

		assert_int_equal(bpfu_insn_opcode_valid(code), op && !op->internal);
		if (op && !op->internal)
			unique++;
		if (op)
			assert_true(op->sym[0]);
	}
	assert_int_equal(rows, unique);
	assert_int_equal(rows, ROWS);
}

/* Every class x operation x source of <linux/bpf.h> is either a row or reserved by the RFC. */
static void test_table_against_uapi(void **state)
{
	static const uint8_t alu[] = { BPF_ADD, BPF_SUB, BPF_MUL, BPF_DIV, BPF_OR,  BPF_AND,
				       BPF_LSH, BPF_RSH, BPF_MOD, BPF_XOR, BPF_MOV, BPF_ARSH };
	static const uint8_t jmp[] = { BPF_JEQ,  BPF_JGT, BPF_JGE, BPF_JSET, BPF_JNE, BPF_JSGT,
				       BPF_JSGE, BPF_JLT, BPF_JLE, BPF_JSLT, BPF_JSLE };
	static const uint8_t sizes[] = { BPF_B, BPF_H, BPF_W, BPF_DW };
	uint32_t rows = 0;

	for (size_t i = 0; i < sizeof(alu); i++)
		for (int src = BPF_K; src <= BPF_X; src += BPF_X) {
			assert_true(bpfu_insn_opcode_valid(BPF_ALU64 | alu[i] | src));
			assert_true(bpfu_insn_opcode_valid(BPF_ALU | alu[i] | src));
			rows += 2;
		}
	for (size_t i = 0; i < sizeof(jmp); i++)
		for (int src = BPF_K; src <= BPF_X; src += BPF_X) {
			assert_true(bpfu_insn_opcode_valid(BPF_JMP | jmp[i] | src));
			assert_true(bpfu_insn_opcode_valid(BPF_JMP32 | jmp[i] | src));
			rows += 2;
		}
	for (size_t i = 0; i < sizeof(sizes); i++) {
		bool dw = sizes[i] == BPF_DW;

		assert_true(bpfu_insn_opcode_valid(BPF_LDX | BPF_MEM | sizes[i]));
		assert_true(bpfu_insn_opcode_valid(BPF_ST | BPF_MEM | sizes[i]));
		assert_true(bpfu_insn_opcode_valid(BPF_STX | BPF_MEM | sizes[i]));
		assert_true(bpfu_insn_opcode_valid(BPF_STX | BPF_ATOMIC | sizes[i]));
		assert_int_equal(bpfu_insn_opcode_valid(BPF_LDX | BPF_MEMSX | sizes[i]), !dw);
		assert_int_equal(bpfu_insn_opcode_valid(BPF_LD | BPF_ABS | sizes[i]), !dw);
		assert_int_equal(bpfu_insn_opcode_valid(BPF_LD | BPF_IND | sizes[i]), !dw);
		assert_int_equal(bpfu_insn_opcode_valid(BPF_LD | BPF_IMM | sizes[i]), dw);
		rows += dw ? 5 : 7;
	}
	/* neg twice, le, be, bswap, ja, gotol, may_goto, call, exit */
	assert_int_equal(rows + 10, ROWS);
}

static void test_atomic_table(void **state)
{
	static const int32_t imms[] = { BPF_ADD,  BPF_OR,      BPF_AND,      BPF_XOR,
					BPF_XCHG, BPF_CMPXCHG, BPF_LOAD_ACQ, BPF_STORE_REL,
					BPF_ADD | BPF_FETCH, BPF_OR | BPF_FETCH,
					BPF_AND | BPF_FETCH, BPF_XOR | BPF_FETCH };
	int found = 0;

	for (int32_t imm = -1; imm < 0x1000; imm++)
		found += bpfu_atomic_of(imm) != NULL;
	assert_int_equal(found, sizeof(imms) / sizeof(imms[0]));
	for (size_t i = 0; i < sizeof(imms) / sizeof(imms[0]); i++)
		assert_int_equal(bpfu_atomic_of(imms[i])->imm, imms[i]);
}

/* ---- phrases ---- */

#define I(code, dst, src, off, imm) { BPFU_INSN(code, dst, src, off, imm), { 0 } }
#define LD64(dst, src, off, c2, d2, s2, o2, i2)                                                    \
	{ BPFU_INSN(0x18, dst, src, off, 0), BPFU_INSN(c2, d2, s2, o2, i2) }

/* clang-format off */
static const struct phrase {
	const char *want;
	struct bpf_insn insn[2];
} phrases[] = {
	{ "unknown opcode 00", I(0x00, 0, 0, 0, 0) },
	{ "unknown opcode 8d", I(0x8d, 0, 0, 0, 0) },
	{ "unknown opcode 0e", I(0x0e, 0, 0, 0, 0) },
	{ "unknown opcode f5", I(0xf5, 0, 0, 0, 0) },
	{ "unknown opcode 99", I(0x99, 0, 10, -8, 0) },
	{ "BPF_LDX uses reserved fields", I(0x79, 0, 10, -8, 1) },
	{ "BPF_LDX uses reserved fields", I(0x39, 0, 10, -8, 0) },
	{ "BPF_LDX uses reserved fields", I(0x21, 0, 10, -8, 0) },
	{ "BPF_NEG uses reserved fields", I(0x87, 0, 1, 0, 0) },
	{ "BPF_NEG uses reserved fields", I(0x84, 0, 0, 1, 0) },
	{ "BPF_NEG uses reserved fields", I(0x87, 11, 0, 0, 1) },
	{ "R11 is invalid", I(0x87, 11, 0, 0, 0) },
	{ "BPF_END uses reserved fields", I(0xd4, 0, 0, 0, 8) },
	{ "BPF_END uses reserved fields", I(0xdc, 0, 0, 0, 0) },
	{ "BPF_END uses reserved fields", I(0xd7, 0, 1, 0, 16) },
	{ "BPF_END uses reserved fields", I(0xd4, 0, 0, 1, 16) },
	{ "R15 is invalid", I(0xd4, 15, 0, 0, 16) },
	{ "BPF_MOV uses reserved fields", I(0xbf, 0, 1, 5, 0) },
	{ "BPF_MOV uses reserved fields", I(0xbc, 0, 1, 32, 0) },
	{ "BPF_MOV uses reserved fields", I(0xbc, 0, 1, -1, 0) },
	{ "BPF_MOV uses reserved fields", I(0xbc, 0, 1, 1, 0) },
	{ "BPF_MOV uses reserved fields", I(0xbf, 0, 1, 0, 1) },
	{ "BPF_MOV uses reserved fields", I(0xbf, 0, 1, -1, 0) },
	{ "BPF_MOV uses reserved fields", I(0xbf, 0, 1, 8, 1) },
	{ "BPF_MOV uses reserved fields", I(0xb7, 0, 1, 0, 0) },
	{ "BPF_MOV uses reserved fields", I(0xb4, 0, 0, 8, 0) },
	{ "ok", I(0xbf, 0, 1, 32, 0) },
	{ "ok", I(0xbc, 0, 1, 16, 0) },
	{ "addr_space_cast insn can only convert between address space 1 and 0",
	  I(0xbf, 0, 1, 1, 7) },
	{ "addr_space_cast insn can only be used in a program that has an associated arena",
	  I(0xbf, 0, 1, 1, 1) },
	{ "R11 is invalid", I(0xbf, 12, 11, 0, 0) },
	{ "R13 is invalid", I(0xb7, 13, 0, 0, 1) },
	{ "BPF_ALU uses reserved fields", I(0x0f, 0, 1, 0, 1) },
	{ "BPF_ALU uses reserved fields", I(0x0f, 0, 1, 1, 0) },
	{ "BPF_ALU uses reserved fields", I(0x07, 0, 1, 0, 0) },
	{ "BPF_ALU uses reserved fields", I(0x07, 0, 0, 1, 0) },
	{ "BPF_ALU uses reserved fields", I(0x3f, 0, 1, 2, 0) },
	{ "BPF_ALU uses reserved fields", I(0x37, 0, 0, 2, 1) },
	{ "ok", I(0x3f, 0, 1, 1, 0) },
	{ "ok", I(0x94, 0, 0, 1, 3) },
	{ "R12 is invalid", I(0x0f, 11, 12, 0, 0) },
	{ "R11 is invalid", I(0x0f, 11, 1, 0, 0) },
	{ "div by zero", I(0x37, 0, 0, 0, 0) },
	{ "div by zero", I(0x34, 0, 0, 1, 0) },
	{ "div by zero", I(0x97, 0, 0, 1, 0) },
	{ "div by zero", I(0x94, 0, 0, 0, 0) },
	{ "R11 is invalid", I(0x37, 11, 0, 0, 0) },
	{ "invalid shift 64", I(0x67, 0, 0, 0, 64) },
	{ "invalid shift -1", I(0x77, 0, 0, 0, -1) },
	{ "invalid shift 32", I(0x64, 0, 0, 0, 32) },
	{ "invalid shift 33", I(0xc4, 0, 0, 0, 33) },
	{ "invalid shift 2147483647", I(0xc7, 0, 0, 0, 0x7fffffff) },
	{ "R11 is invalid", I(0x67, 11, 0, 0, 64) },
	{ "ok", I(0x67, 0, 0, 0, 63) },
	{ "ok", I(0x64, 0, 0, 0, 31) },
	{ "BPF_ST uses reserved fields", I(0x7a, 10, 1, -8, 0) },
	{ "R11 is invalid", I(0x7a, 11, 0, -8, 0) },
	{ "BPF_STX uses reserved fields", I(0x7b, 10, 1, -8, 1) },
	{ "R12 is invalid", I(0x7b, 11, 12, -8, 0) },
	{ "R11 is invalid", I(0x79, 12, 11, -8, 0) },
	{ "BPF_ATOMIC uses invalid atomic opcode e0", I(0xdb, 10, 1, -8, 0xe0) },
	{ "BPF_ATOMIC uses invalid atomic opcode f0", I(0xdb, 10, 1, -8, 0xf0) },
	{ "BPF_ATOMIC uses invalid atomic opcode 02", I(0xc3, 10, 1, -8, 0x02) },
	{ "BPF_ATOMIC uses invalid atomic opcode 11", I(0xdb, 10, 1, -8, 0x11) },
	{ "BPF_ATOMIC uses invalid atomic opcode ffffffff", I(0xdb, 10, 1, -8, -1) },
	{ "BPF_ATOMIC uses invalid atomic opcode 101", I(0xdb, 10, 1, -8, 0x101) },
	{ "invalid atomic operand size", I(0xd3, 10, 1, -8, 0) },
	{ "invalid atomic operand size", I(0xcb, 10, 1, -8, 0xf1) },
	{ "R11 is invalid", I(0xdb, 12, 11, -8, 1) },
	{ "R12 is invalid", I(0xdb, 12, 1, -8, 0xf1) },
	{ "R11 is invalid", I(0xdb, 12, 11, -8, 0x100) },
	{ "BPF_CALL uses reserved fields", I(0x85, 0, 3, 0, 5) },
	{ "BPF_CALL uses reserved fields", I(0x85, 0, 0, 1, 5) },
	{ "BPF_CALL uses reserved fields", I(0x85, 1, 0, 0, 5) },
	{ "ok", I(0x85, 0, 0, 0, 5) },
	{ "BPF_JA uses reserved fields", I(0x05, 0, 1, 0, 0) },
	{ "BPF_JA uses reserved fields", I(0x05, 1, 0, 0, 0) },
	{ "BPF_JA uses reserved fields", I(0x05, 0, 0, 0, 1) },
	{ "BPF_JA uses reserved fields", I(0x06, 0, 0, 1, 0) },
	{ "BPF_EXIT uses reserved fields", I(0x95, 0, 1, 0, 0) },
	{ "BPF_EXIT uses reserved fields", I(0x95, 1, 0, 0, 0) },
	{ "BPF_EXIT uses reserved fields", I(0x95, 0, 0, 0, 1) },
	{ "ok", I(0x95, 0, 0, 1, 0) },
	{ "BPF_JMP/JMP32 uses reserved fields", I(0x1d, 0, 1, 0, 1) },
	{ "BPF_JMP/JMP32 uses reserved fields", I(0x15, 0, 1, 0, 0) },
	{ "R11 is invalid", I(0x1d, 11, 12, 0, 0) },
	{ "R12 is invalid", I(0x1e, 0, 12, 0, 0) },
	{ "R11 is invalid", I(0x16, 11, 0, 0, 0) },
	{ "R11 is invalid", I(0x16, 11, 1, 0, 0) },
	{ "R12 is invalid", I(0x7d, 12, 0, 0, 64) },
	{ "invalid may_goto imm 0", I(0xe5, 0, 1, 0, 0) },
	{ "invalid may_goto imm 0", I(0xe5, 1, 0, 0, 0) },
	{ "invalid may_goto imm 3", I(0xe5, 0, 0, 0, 3) },
	{ "BPF_LD_[ABS|IND] uses reserved fields", I(0x20, 1, 0, 0, 0) },
	{ "BPF_LD_[ABS|IND] uses reserved fields", I(0x20, 0, 1, 0, 0) },
	{ "BPF_LD_[ABS|IND] uses reserved fields", I(0x40, 0, 0, 1, 0) },
	{ "invalid bpf_ld_imm64 insn", LD64(0, 0, 0, 1, 0, 0, 0, 0) },
	{ "invalid bpf_ld_imm64 insn", LD64(0, 0, 0, 0, 1, 0, 0, 0) },
	{ "invalid bpf_ld_imm64 insn", LD64(0, 0, 0, 0, 0, 1, 0, 0) },
	{ "invalid bpf_ld_imm64 insn", LD64(0, 0, 0, 0, 0, 0, 1, 0) },
	{ "unrecognized bpf_ld_imm64 insn", LD64(0, 1, 0, 0, 0, 0, 0, 1) },
	{ "unrecognized bpf_ld_imm64 insn", LD64(0, 5, 0, 0, 0, 0, 0, 1) },
	{ "unrecognized bpf_ld_imm64 insn", LD64(0, 7, 0, 0, 0, 0, 0, 0) },
	{ "unrecognized bpf_ld_imm64 insn", LD64(0, 15, 0, 0, 0, 0, 0, 0) },
	{ "BPF_LD_IMM64 uses reserved fields", LD64(0, 0, 1, 0, 0, 0, 0, 0) },
	{ "R11 is invalid", LD64(11, 0, 0, 0, 0, 0, 0, 0) },
	{ "ok", LD64(0, 0, 0, 0, 0, 0, 0, -1) },
};
/* clang-format on */

static void test_phrases(void **state)
{
	for (size_t i = 0; i < sizeof(phrases) / sizeof(phrases[0]); i++) {
		const struct phrase *p = &phrases[i];
		uint32_t cnt = p->insn[0].code == BPFU_OP_LD_IMM64 ? 2 : 1;

		assert_string_equal(check(p->insn, cnt), p->want);
	}
}

static void test_check_edges(void **state)
{
	const struct bpf_insn half = BPFU_INSN(BPFU_OP_LD_IMM64, 0, 0, 0, 0);
	const struct bpf_insn bad_late = BPFU_INSN(BPFU_OP_MOV64_K, 0, 1, 0, 0);
	const struct bpf_insn bad_early = BPFU_INSN(0xff, 0, 0, 0, 0);
	char msg[8];

	assert_string_equal(check(&half, 1), "invalid bpf_ld_imm64 insn");
	assert_int_equal(bpfu_insn_check(&bad_late, 1, 0, msg, sizeof(msg)), -22);
	assert_string_equal(msg, "BPF_MOV");
	assert_int_equal(bpfu_insn_check(&bad_late, 1, 0, NULL, 0), -22);
	assert_int_equal(bpfu_insn_check_early(&bad_late, 1, 0, msg, sizeof(msg)), 0);
	assert_int_equal(bpfu_insn_check_early(&bad_early, 1, 0, msg, sizeof(msg)), -22);
}

/* ---- against the kernel ---- */

#define PREFIX 10

static char kernel_log[1 << 20];

/* Load @insn (two slots for LD_IMM64) behind "r0 = 0 … r9 = 0", before "r0 = 0; exit". */
static int kernel_check(const struct bpf_insn *insn)
{
	struct bpf_insn prog[PREFIX + 4];
	uint32_t cnt = 0;
	struct oracle_load load = { .type = BPF_PROG_TYPE_SOCKET_FILTER, .insns = prog,
				    .log_level = 2, .log = kernel_log,
				    .log_size = sizeof(kernel_log) };
	int fd;

	for (int r = 0; r < PREFIX; r++)
		prog[cnt++] = MOV64(r, 0);
	prog[cnt++] = insn[0];
	if (insn[0].code == BPFU_OP_LD_IMM64)
		prog[cnt++] = insn[1];
	if (insn[0].code != BPFU_OP_EXIT) {
		prog[cnt++] = MOV64(0, 0);
		prog[cnt++] = EXIT;
	}
	load.insn_cnt = cnt;
	fd = oracle_prog_load(&load);
	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

static bool kernel_said(const char *phrase)
{
	size_t len = strlen(phrase);

	for (const char *p = kernel_log; p; p = strchr(p, '\n'), p = p ? p + 1 : NULL)
		if (!strncmp(p, phrase, len) && p[len] == '\n')
			return true;
	return false;
}

static void need_kernel(void)
{
	const char *why;

	if (!oracle_available(&why)) {
		print_message("skipped: %s\n", why);
		skip();
	}
}

static void test_opcodes_against_kernel(void **state)
{
	need_kernel();
	for (int code = 0; code < 256; code++) {
		const struct bpf_insn insn[2] = { BPFU_INSN(code, 0, 0, 0, 0) };
		bool unknown;

		kernel_check(insn);
		unknown = strstr(kernel_log, "unknown opcode") ||
			  strstr(kernel_log, "BPF_LDX uses reserved fields");
		if (unknown == bpfu_insn_opcode_valid(code))
			fail_msg("opcode %02x: the kernel says %s", code, unknown ? "no" : "yes");
	}
}

static void test_phrases_against_kernel(void **state)
{
	need_kernel();
	for (size_t i = 0; i < sizeof(phrases) / sizeof(phrases[0]); i++) {
		const struct phrase *p = &phrases[i];
		int err = kernel_check(p->insn);

		if (!strcmp(p->want, "ok") ? err : !kernel_said(p->want))
			fail_msg("row %zu: '%s': the kernel returns %d and says:\n%s", i, p->want,
				 err, kernel_log);
	}
}

/* The structural phrases that a kernel log may contain; none may appear when our check passes. */
static const char *structural_phrase(void)
{
	static const char *const parts[] = { "uses reserved fields", "unknown opcode",
					     "div by zero", "invalid shift", " is invalid\n",
					     "bpf_ld_imm64 insn", "invalid atomic",
					     "addr_space_cast insn", "invalid may_goto" };

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (strstr(kernel_log, parts[i]))
			return parts[i];
	return NULL;
}

static void random_insn(struct bpf_insn insn[2])
{
	static const int32_t imms[] = { 0, 0, 0, 1, -1, 3, 16, 31, 32, 63, 64, 0xe1, 0xf1, 0x100 };
	static const int16_t offs[] = { 0, 0, 0, 0, 1, 8, 16, 32, -1, -8 };
	uint8_t code, cls;

	do {
		code = rand();
	} while (!bpfu_insn_opcode_valid(code) && rand() % 32);
	cls = BPF_CLASS(code);
	insn[0] = BPFU_INSN(code, rand() % 3 ? rand() % 10 : rand() % 16,
			    rand() % 3 ? 0 : rand() % 16, offs[rand() % 10], imms[rand() % 14]);
	/* A jump must stay inside the program, or the kernel complains of that first. */
	if ((cls == BPF_JMP || cls == BPF_JMP32) && code != BPFU_OP_CALL && code != BPFU_OP_EXIT)
		insn[0].off = code == BPFU_OP_JA ? 0 : rand() % 2;
	if (code == BPFU_OP_JA32)
		insn[0].imm = 0;
	if (code == BPFU_OP_CALL && insn[0].src_reg) /* subprograms and kfuncs are resolved first */
		insn[0].src_reg = 3 + rand() % 13;
	insn[1] = BPFU_INSN(rand() % 8 ? 0 : 1, 0, rand() % 8 ? 0 : 1, 0, rand() % 2);
	/* Descriptors are looked up first. */
	if (code == BPFU_OP_LD_IMM64 && insn[0].src_reg > 0 && insn[0].src_reg < 7)
		insn[0].src_reg = 0;
	/* So is the kind of program and r6 for these. */
	if (bpfu_insn_opcode_valid(code) && bpfu_opcode_of(code)->form == BPFU_FORM_LD_IND)
		insn[0].src_reg %= 11;
}

static void test_random_against_kernel(void **state)
{
	const char *env = getenv("BPFU_TEST_SEED");
	unsigned int seed = env ? strtoul(env, NULL, 0) : 20240229;

	need_kernel();
	print_message("seed %u (BPFU_TEST_SEED)\n", seed);
	srand(seed);
	for (int i = 0; i < 3000; i++) {
		struct bpf_insn insn[2];
		const char *ours, *theirs;

		random_insn(insn);
		kernel_check(insn);
		ours = check(insn, 2);
		theirs = structural_phrase();
		if (!strcmp(ours, "ok") ? theirs != NULL : !kernel_said(ours))
			fail_msg("round %d: %02x dst %d src %d off %d imm %d: ours '%s', kernel:\n%s",
				 i, insn->code, insn->dst_reg, insn->src_reg, insn->off, insn->imm,
				 ours, kernel_log);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table_complete),
		cmocka_unit_test(test_table_against_uapi),
		cmocka_unit_test(test_atomic_table),
		cmocka_unit_test(test_phrases),
		cmocka_unit_test(test_check_edges),
		cmocka_unit_test(test_opcodes_against_kernel),
		cmocka_unit_test(test_phrases_against_kernel),
		cmocka_unit_test(test_random_against_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
