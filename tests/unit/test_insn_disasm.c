// SPDX-License-Identifier: BSD-2-Clause
/*
 * The printer: fixed texts, and a large set of instructions held against the text of the running
 * kernel, which prints every instruction of a program before it walks it ("Live regs before insn").
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
#include "util/bits.h"
#include "../insn/asm.h"
#include "../insn/oracle.h"

#define MAX_INSNS 8192
#define LOG_SIZE (16u << 20)

/* The few names the tests below use; the table of all names is helper/'s. */
static const char *helper_name(int32_t id)
{
	static const struct {
		int32_t id;
		const char *name;
	} names[] = { { 1, "bpf_map_lookup_elem" }, { 5, "bpf_ktime_get_ns" },
		      { 6, "bpf_trace_printk" }, { 0, "bpf_unspec" } };

	for (size_t i = 0; i < BPFU_ARRAY_SIZE(names); i++)
		if (names[i].id == id)
			return names[i].name;
	return "unknown";
}

static const char *print(const struct bpf_insn *insn)
{
	static char buf[128];
	int len = bpfu_insn_print(buf, sizeof(buf), insn, helper_name);

	assert_int_equal(len, strlen(buf));
	return buf;
}

/* ---- fixed texts ---- */

#define I(code, dst, src, off, imm) { BPFU_INSN(code, dst, src, off, imm), { 0 } }

/* clang-format off */
static const struct {
	const char *want;
	struct bpf_insn insn[2];
} texts[] = {
	{ "(b7) r0 = 0", I(0xb7, 0, 0, 0, 0) },
	{ "(07) r1 += -1", I(0x07, 1, 0, 0, -1) },
	{ "(0c) w1 += w2", I(0x0c, 1, 2, 0, 0) },
	{ "(3f) r1 s/= r2", I(0x3f, 1, 2, 1, 0) },
	{ "(94) w1 s%= 7", I(0x94, 1, 0, 1, 7) },
	{ "(c7) r1 s>>= 63", I(0xc7, 1, 0, 0, 63) },
	{ "(87) r3 = -r3", I(0x87, 3, 0, 0, 0) },
	{ "(84) w3 = -w3", I(0x84, 3, 0, 0, 0) },
	{ "(d4) r3 = le16 r3", I(0xd4, 3, 0, 0, 16) },
	{ "(dc) r3 = be64 r3", I(0xdc, 3, 0, 0, 64) },
	{ "(d7) r3 = bswap32 r3", I(0xd7, 3, 0, 0, 32) },
	{ "(bf) r1 = (s8)r2", I(0xbf, 1, 2, 8, 0) },
	{ "(bc) w1 = (s16)w2", I(0xbc, 1, 2, 16, 0) },
	{ "(bf) r1 = &(void __percpu *)(r2)", I(0xbf, 1, 2, -1, 0) },
	{ "(bf) r1 = addr_space_cast(r2, 0, 1)", I(0xbf, 1, 2, 1, 1) },
	{ "(18) r1 = 0x123456789abcdef", { BPFU_INSN(0x18, 1, 0, 0, (int32_t)0x89abcdef),
					   BPFU_INSN(0, 0, 0, 0, 0x01234567) } },
	{ "(79) r1 = *(u64 *)(r10 -8)", I(0x79, 1, 10, -8, 0) },
	{ "(81) r1 = *(s32 *)(r10 -8)", I(0x81, 1, 10, -8, 0) },
	{ "(62) *(u32 *)(r10 -8) = -1", I(0x62, 10, 0, -8, -1) },
	{ "(73) *(u8 *)(r10 +0) = r1", I(0x73, 10, 1, 0, 0) },
	{ "(db) lock *(u64 *)(r1 +0) ^= r2", I(0xdb, 1, 2, 0, 0xa0) },
	{ "(c3) r2 = atomic_fetch_and((u32 *)(r1 +4), r2)", I(0xc3, 1, 2, 4, 0x51) },
	{ "(db) r2 = atomic64_xchg((u64 *)(r1 +0), r2)", I(0xdb, 1, 2, 0, 0xe1) },
	{ "(db) r0 = atomic64_cmpxchg((u64 *)(r1 +0), r0, r2)", I(0xdb, 1, 2, 0, 0xf1) },
	{ "(d3) r1 = load_acquire((u8 *)(r2 +0))", I(0xd3, 1, 2, 0, 0x100) },
	{ "(cb) store_release((u16 *)(r1 -2), r2)", I(0xcb, 1, 2, -2, 0x110) },
	{ "BUG_db", I(0xdb, 1, 2, 0, 0xe0) },
	{ "BUG_8d", I(0x8d, 0, 0, 0, 0) },
	{ "(30) r0 = *(u8 *)skb[14]", I(0x30, 0, 0, 0, 14) },
	{ "(48) r0 = *(u16 *)skb[r7 + -2]", I(0x48, 0, 7, 0, -2) },
	{ "(05) goto pc-2", I(0x05, 0, 0, -2, 0) },
	{ "(06) gotol pc+100000", I(0x06, 0, 0, 0, 100000) },
	{ "(e5) may_goto pc+3", I(0xe5, 0, 0, 3, 0) },
	{ "(15) if r1 == 0xffffffff goto pc+1", I(0x15, 1, 0, 1, -1) },
	{ "(6e) if w1 s> w2 goto pc-3", I(0x6e, 1, 2, -3, 0) },
	{ "(85) call bpf_map_lookup_elem#1", I(0x85, 0, 0, 0, 1) },
	{ "(85) call unknown#4000", I(0x85, 0, 0, 0, 4000) },
	{ "(85) call pc+7", I(0x85, 0, 1, 0, 7) },
	{ "(85) call kernel-function", I(0x85, 0, 2, 0, 7) },
	{ "(95) exit", I(0x95, 0, 0, 0, 0) },
	/* internal forms: no kernel shows them */
	{ "(39) r1 = *(u64 *)(r2 +8)", I(0x39, 1, 2, 8, 0) },
	{ "(41) r1 = *(s32 *)(r2 +8)", I(0x41, 1, 2, 8, 0) },
	{ "(f5) call bpf_tail_call", I(0xf5, 0, 0, 0, 0) },
};
/* clang-format on */

static void test_texts(void **state)
{
	for (size_t i = 0; i < BPFU_ARRAY_SIZE(texts); i++)
		assert_string_equal(print(texts[i].insn), texts[i].want);
}

static void test_truncation(void **state)
{
	const struct bpf_insn insn = BPFU_INSN(0xb7, 0, 0, 0, 1234);
	const char *full = "(b7) r0 = 1234";
	char buf[32];

	assert_int_equal(bpfu_insn_print(NULL, 0, &insn, NULL), strlen(full));
	for (size_t size = 1; size < sizeof(buf); size++) {
		memset(buf, 'x', sizeof(buf));
		assert_int_equal(bpfu_insn_print(buf, size, &insn, NULL), strlen(full));
		assert_int_equal(strlen(buf), BPFU_MIN(size - 1, strlen(full)));
		assert_memory_equal(buf, full, strlen(buf));
	}
}

/* ---- against the kernel ---- */

/* A program that is printed in full; it need not be safe. */
struct program {
	struct bpf_insn insns[MAX_INSNS];
	uint32_t cnt;
};

static void add(struct program *p, struct bpf_insn insn)
{
	assert_true(p->cnt < MAX_INSNS);
	p->insns[p->cnt++] = insn;
}

static const int32_t imm_values[] = { 0, 1, -1, 42, 0x7fffffff, (int32_t)0x80000000, 31, 100000 };
static const int16_t off_values[] = { 0, 1, -1, 32767, -32768, 8, 16, 32 };

static bool is_jump(enum bpfu_form form)
{
	return form == BPFU_FORM_JMP_K || form == BPFU_FORM_JMP_X || form == BPFU_FORM_JA ||
	       form == BPFU_FORM_MAY_GOTO;
}

/*
 * Random fields for the row @code. Jumps stay within the ten instructions on both sides, which the
 * caller fills with instructions of one slot.
 */
static struct bpf_insn random_fields(uint8_t code)
{
	static const int32_t atomics[] = {
#define _(name, imm, shape, sym) imm,
		BPFU_ATOMIC_DEF(_)
#undef _
	};
	enum bpfu_form form = bpfu_opcode_of(code)->form;
	struct bpf_insn insn = BPFU_INSN(code, rand() % 11, rand() % 11, off_values[rand() % 8],
					 imm_values[rand() % 8]);

	if (is_jump(form)) {
		insn.off = form == BPFU_FORM_JA ? rand() % 2 - 1 : rand() % 19 - 9;
		if (code == BPFU_OP_JA32)
			insn.imm = rand() % 2 - 1;
		if (form == BPFU_FORM_MAY_GOTO)
			insn.src_reg = 0;
	}
	if (form == BPFU_FORM_LDX)
		insn.imm = 0;
	if (form == BPFU_FORM_ATOMIC && rand() % 16)
		insn.imm = atomics[rand() % BPFU_ARRAY_SIZE(atomics)];
	if (form == BPFU_FORM_END && rand() % 4)
		insn.imm = 16 << rand() % 3;
	if (form == BPFU_FORM_MOV_X && rand() % 4)
		insn.off = rand() % 2 ? 0 : 8 << rand() % 3;
	if (form == BPFU_FORM_CALL) {
		insn.src_reg = 0;
		insn.imm = (int32_t[]){ 1, 5, 6, 0, -1, 4000 }[rand() % 6];
	}
	return insn;
}

/*
 * "goto pc-1" is a loop of its own and makes what follows unreachable, so such jumps are jumped
 * over as well: if r0 == 0 goto +1; goto …
 */
static void add_row(struct program *p, uint8_t code)
{
	enum bpfu_form form = bpfu_opcode_of(code)->form;
	struct bpf_insn insn = random_fields(code);

	if (form == BPFU_FORM_EXIT)
		return;
	if (form == BPFU_FORM_LD_IMM64) {
		insn.src_reg = 0;
		add(p, insn);
		add(p, BPFU_INSN(0, 0, 0, 0, imm_values[rand() % 8]));
		return;
	}
	if (form == BPFU_FORM_JA)
		add(p, BPFU_INSN(BPFU_OP_JEQ64_K, 0, 0, 1, 0));
	if (is_jump(form) && form != BPFU_FORM_JA)
		for (int i = 0; i < 10; i++)
			add(p, BPFU_INSN(BPFU_OP_MOV64_K, i, 0, 0, i));
	add(p, insn);
	if (is_jump(form) && form != BPFU_FORM_JA)
		for (int i = 0; i < 10; i++)
			add(p, BPFU_INSN(BPFU_OP_MOV64_K, i, 0, 0, i));
}

static void build(struct program *p, int rounds)
{
	p->cnt = 0;
	for (int round = 0; round < rounds; round++)
		for (int code = 0; code < 256; code++)
			if (bpfu_insn_opcode_valid(code))
				add_row(p, code);
	add(p, BPFU_INSN(BPFU_OP_CALL, 0, BPF_PSEUDO_CALL, 0, 2));
	add(p, BPFU_INSN(BPFU_OP_MOV64_K, 0, 0, 0, 0));
	add(p, BPFU_INSN(BPFU_OP_EXIT, 0, 0, 0, 0));
	add(p, BPFU_INSN(BPFU_OP_MOV64_K, 0, 0, 0, 0));
	add(p, BPFU_INSN(BPFU_OP_EXIT, 0, 0, 0, 0));
}

/*
 * One line of the listing: "[loop] index: registers (xx) text". Returns the text or NULL if it is not
 * one.
 */
static char *parse_line(char *line, unsigned int *idx)
{
	char *colon = strchr(line, ':'), *start = colon;

	if (line[0] != ' ' || !colon || strlen(colon) < 14)
		return NULL;
	while (start > line && start[-1] != ' ')
		start--;
	*idx = strtoul(start, NULL, 10);
	return colon + strlen(": 0123456789 ");
}

/* Compare the listing in @log with our text of @p; returns the number of instructions compared. */
static uint32_t compare(const struct program *p, char *log)
{
	char *line = strstr(log, "Live regs before insn:\n"), *end, *text;
	uint32_t compared = 0;
	unsigned int idx;

	if (!line)
		fail_msg("the kernel did not list the program:\n%.2000s", log);
	for (line = strchr(line, '\n') + 1; (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		text = parse_line(line, &idx);
		if (!text)
			break;
		assert_true(idx < p->cnt);
		if (strcmp(text, print(&p->insns[idx])))
			fail_msg("instruction %u: ours '%s', kernel '%s'", idx,
				 print(&p->insns[idx]), text);
		compared++;
	}
	return compared;
}

/* What the printer writes, the assembler of the tests reads back, for every opcode. */
static void test_assembled_again(void **state)
{
	uint32_t tried = 0;

	srand(20240229);
	for (int i = 0; i < 40000; i++) {
		struct bpf_insn insn[2], back[4];
		char msg[128], err[200];
		uint8_t code = rand(), clear;

		if (!bpfu_insn_opcode_valid(code))
			continue;
		insn[0] = random_fields(code);
		insn[1] = BPFU_INSN(0, 0, 0, 0, imm_values[rand() % 8]);
		clear = rand(); /* what is left of them may be reserved */
		insn[0].src_reg = clear & 1 ? 0 : insn[0].src_reg;
		insn[0].off = clear & 2 ? 0 : insn[0].off;
		insn[0].imm = clear & 4 ? 0 : insn[0].imm;
		if (code == BPFU_OP_EXIT || bpfu_insn_check(insn, 2, 0, msg, sizeof(msg)))
			continue;
		if (asm_parse(print(insn), back, 4, err, sizeof(err)) < 1)
			fail_msg("'%s': %s", print(insn), err);
		if (memcmp(back, insn, code == BPFU_OP_LD_IMM64 ? 16 : 8) &&
		    !(code == BPFU_OP_LD_IMM64 && insn[0].src_reg))
			fail_msg("'%s' is not itself again", print(insn));
		tried++;
	}
	print_message("%u instructions printed and read\n", tried);
	assert_true(tried > 3000);
}

static void test_against_kernel(void **state)
{
	const char *env = getenv("BPFU_TEST_SEED"), *why;
	unsigned int seed = env ? strtoul(env, NULL, 0) : 20240229;
	struct program *p = calloc(1, sizeof(*p));
	char *log = malloc(LOG_SIZE);
	uint32_t compared = 0;

	assert_non_null(p);
	assert_non_null(log);
	if (!oracle_available(&why)) {
		print_message("skipped: %s\n", why);
		free(p);
		free(log);
		skip();
	}
	print_message("seed %u (BPFU_TEST_SEED)\n", seed);
	srand(seed);
	for (int round = 0; round < 10; round++) {
		struct oracle_load load = { .type = BPF_PROG_TYPE_SOCKET_FILTER,
					    .insns = p->insns, .log_level = 2, .log = log,
					    .log_size = LOG_SIZE };
		int fd;

		build(p, 3);
		load.insn_cnt = p->cnt;
		fd = oracle_prog_load(&load);
		if (fd >= 0)
			close(fd);
		compared += compare(p, log);
	}
	print_message("%u instructions compared\n", compared);
	assert_true(compared > 10000);
	free(p);
	free(log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_truncation),
		cmocka_unit_test(test_assembled_again),
		cmocka_unit_test(test_against_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
