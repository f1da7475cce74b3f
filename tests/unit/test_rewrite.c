// SPDX-License-Identifier: BSD-2-Clause
/* Each transformation of rewrite/ on a small program, with the instructions that must come out. */
#include "rewrite_env.h"

#include <errno.h>

#include "rewrite/patch.h"

/* ---- dead code ---- */

static void test_nothing_to_do(void **state)
{
	const struct bpf_insn insns[] = { MOV_K(0, 1), JEQ_K(0, 1, 1), MOV_K(0, 2), EXIT() };

	START(insns);
	rewrite();
	EXPECT(insns);
	finish();
}

static void test_unseen(void **state)
{
	const struct bpf_insn insns[] = {
		MOV_K(0, 1),  JA(3),   MOV_K(0, 2), IMM64(0, 0, 5), IMM64_HI(5),
		ADD_K(0, 1),  EXIT(),
	};
	const struct bpf_insn out[] = { MOV_K(0, 1), ADD_K(0, 1), EXIT() };

	START(insns);
	f.aux[2].seen = f.aux[3].seen = f.aux[4].seen = false;
	rewrite();
	EXPECT(out); /* the jump over nothing has gone too */
	finish();
}

/* The verifier may leave the second slot of a seen LD_IMM64 unmarked. */
static void test_second_slot(void **state)
{
	const struct bpf_insn insns[] = { IMM64(0, 0, 5), IMM64_HI(5ull << 32), EXIT() };

	START(insns);
	f.aux[1].seen = false;
	rewrite();
	EXPECT(insns);
	finish();
}

/* The address of a function that nothing calls: the function goes, and with it its address. */
static void test_dead_callback(void **state)
{
	const struct bpf_insn insns[] = {
		IMM64(2, BPF_PSEUDO_FUNC, 3), IMM64_HI(0), MOV_K(0, 0), EXIT(),
		MOV_K(0, 1), EXIT(),
	};
	const struct bpf_insn out[] = { IMM64(2, 0, 0), IMM64_HI(0), MOV_K(0, 0), EXIT() };

	START(insns);
	subprog(0, 0);
	subprog(4, 1);
	f.aux[4].seen = f.aux[5].seen = false;
	rewrite();
	EXPECT(out);
	assert_int_equal(f.prog.subprog_cnt, 1);
	finish();
}

static void test_branch_always(void **state)
{
	const struct bpf_insn insns[] = { JEQ_K(1, 0, 2), MOV_K(0, 2), JA(1), MOV_K(0, 3), EXIT() };
	const struct bpf_insn out[] = { MOV_K(0, 3), EXIT() };

	START(insns);
	f.aux[0].branch_known = 1;
	f.aux[1].seen = f.aux[2].seen = false;
	rewrite();
	EXPECT(out);
	finish();
}

/* Both sides are reached, but by other ways: the jump stays, as a plain one. */
static void test_branch_always_other_side_live(void **state)
{
	const struct bpf_insn insns[] = { JEQ_K(1, 0, 1), JEQ_K(2, 0, 1), MOV_K(0, 2), EXIT() };
	const struct bpf_insn out[] = { JA(1), JEQ_K(2, 0, 1), MOV_K(0, 2), EXIT() };

	START(insns);
	f.aux[0].branch_known = 1;
	rewrite();
	EXPECT(out);
	finish();
}

static void test_branch_never(void **state)
{
	const struct bpf_insn insns[] = { MOV_K(0, 0), JEQ_K(1, 0, 1), EXIT(), MOV_K(0, 9), EXIT() };
	const struct bpf_insn out[] = { MOV_K(0, 0), EXIT() };

	START(insns);
	f.aux[1].branch_known = 0;
	f.aux[3].seen = f.aux[4].seen = false;
	rewrite();
	EXPECT(out);
	finish();
}

static void test_branch_never_other_side_live(void **state)
{
	const struct bpf_insn insns[] = { JEQ_K(1, 0, 1), JEQ_K(2, 0, 1), MOV_K(0, 2), EXIT() };
	const struct bpf_insn out[] = { JEQ_K(2, 0, 1), MOV_K(0, 2), EXIT() };

	START(insns);
	f.aux[0].branch_known = 0;
	rewrite();
	EXPECT(out);
	finish();
}

/* may_goto counts: it is never settled, whatever was seen. */
static void test_may_goto_stays(void **state)
{
	const struct bpf_insn insns[] = { BPFU_INSN(BPF_JMP | BPF_JCOND, 0, 0, 1, 0), JA(-2),
					  MOV_K(0, 0), EXIT() };

	START(insns);
	f.aux[0].branch_known = 0;
	rewrite();
	EXPECT(insns);
	finish();
}

static void test_jump_chain(void **state)
{
	/* Each jump becomes empty once the one behind it has gone. */
	const struct bpf_insn insns[] = { JA(2), JA(1), JA(0), GOTOL(0), MOV_K(0, 0), EXIT() };
	const struct bpf_insn out[] = { MOV_K(0, 0), EXIT() };

	START(insns);
	rewrite();
	EXPECT(out);
	finish();
}

static void test_backward_jump(void **state)
{
	const struct bpf_insn insns[] = { MOV_K(0, 0), JA(0), ADD_K(0, 1),
					  BPFU_INSN(BPF_JMP | BPF_JLT | BPF_K, 0, 0, -3, 9),
					  EXIT() };
	const struct bpf_insn out[] = { MOV_K(0, 0), ADD_K(0, 1),
					BPFU_INSN(BPF_JMP | BPF_JLT | BPF_K, 0, 0, -2, 9), EXIT() };

	START(insns);
	rewrite();
	EXPECT(out);
	finish();
}

/* ---- tables ---- */

static void test_subprograms(void **state)
{
	const struct bpf_insn insns[] = {
		MOV_K(1, 1),    FUNC(2, 6), IMM64_HI(0), CALL_REL(1), EXIT(), /* main */
		MOV_K(0, 1),    EXIT(),                                      /* 1: called */
		MOV_K(0, 2),    EXIT(),                                      /* 2: dead */
		MOV_K(0, 3),    JA(0),      EXIT(),                          /* 3: callback */
	};
	const struct bpf_insn out[] = {
		MOV_K(1, 1), FUNC(2, 5), IMM64_HI(0), CALL_REL(1), EXIT(),
		MOV_K(0, 1), EXIT(),
		MOV_K(0, 3), EXIT(),
	};

	START(insns);
	/* The callback of r2 is number 3: 1 + 1 + 7 = 9. */
	f.prog.insns[1].imm = 7;
	subprog(0, 0);
	subprog(5, 1);
	subprog(7, 2);
	subprog(9, 3);
	f.aux[7].seen = f.aux[8].seen = false;
	line(0, 10);
	line(3, 11);
	line(5, 20);
	line(7, 30);
	line(8, 31);
	line(9, 40);
	line(10, 41);
	line(11, 42);
	rewrite();
	EXPECT(out);
	assert_int_equal(f.prog.subprog_cnt, 3);
	assert_int_equal(f.subprogs[1].start, 5);
	assert_int_equal(f.subprogs[2].start, 7);
	assert_int_equal(f.subprogs[2].func_type_id, 103);
	assert_int_equal(f.prog.func_info_cnt, 3);
	assert_int_equal(f.func_info[2].insn_off, 7);
	assert_int_equal(f.func_info[2].type_id, 103);
	/* Lines of removed code make way for the line of what follows. */
	assert_int_equal(f.prog.line_info_cnt, 5);
	assert_int_equal(f.line_info[3].insn_off, 7);
	assert_int_equal(f.line_info[3].line_col, 40);
	assert_int_equal(f.line_info[4].insn_off, 8);
	assert_int_equal(f.line_info[4].line_col, 42);
	finish();
}

/* ---- references and modes ---- */

static void test_map_address(void **state)
{
	const struct bpf_insn insns[] = { IMM64(1, BPF_PSEUDO_MAP_FD, 7), IMM64_HI(0),
					  IMM64(2, BPF_PSEUDO_MAP_VALUE, 7), IMM64_HI(16),
					  IMM64(3, 0, 99), IMM64_HI(0),
					  MOV_K(0, 0), EXIT() };
	const uint64_t map = 0x123456789abcdef0ull, value = 0xfedcba9876543210ull;
	const struct bpf_insn out[] = { IMM64(1, BPF_PSEUDO_MAP_FD, map), IMM64_HI(map),
					IMM64(2, BPF_PSEUDO_MAP_VALUE, value), IMM64_HI(value),
					IMM64(3, 0, 99), IMM64_HI(0),
					MOV_K(0, 0), EXIT() };

	START(insns);
	f.aux[0].map_imm = map;
	f.aux[2].map_imm = value;
	rewrite();
	EXPECT(out);
	finish();
}

static void test_tail_call_and_probe(void **state)
{
	const struct bpf_insn insns[] = { LDX(BPF_W, 1, 1, 4),
					  BPFU_INSN(BPF_LDX | BPF_MEMSX | BPF_H, 2, 1, 2, 0),
					  LDX(BPF_W, 1, 1, 4), CALL(BPF_FUNC_tail_call), EXIT() };
	const struct bpf_insn out[] = { BPFU_INSN(BPF_LDX | BPFU_PROBE_MEM | BPF_W, 1, 1, 4, 0),
					BPFU_INSN(BPF_LDX | BPFU_PROBE_MEMSX | BPF_H, 2, 1, 2, 0),
					LDX(BPF_W, 1, 1, 4),
					BPFU_INSN(BPF_JMP | BPFU_TAIL_CALL, 0, 0, 0, 0), EXIT() };

	START(insns);
	f.aux[0].probe_mem = f.aux[1].probe_mem = true;
	rewrite();
	EXPECT(out);
	finish();
}

static int convert_demo(const struct bpf_insn *insn, struct bpf_insn *buf,
			const struct bpfu_prog *prog, uint32_t *target)
{
	if (insn->off == 16)
		return 0;
	buf[0] = LDX(BPF_DW, insn->dst_reg, insn->src_reg, 64);
	buf[1] = LDX(BPF_W, insn->dst_reg, insn->dst_reg, insn->off);
	*target = 4;
	return 2;
}

static const struct bpfu_prog_type demo_type = { .name = "demo", .convert_ctx_access = convert_demo };

static void test_ctx_access(void **state)
{
	const struct bpf_insn insns[] = {
		LDX(BPF_W, 0, 1, 8),                               /* whole field */
		LDX(BPF_B, 2, 1, 9),                               /* its second byte */
		BPFU_INSN(BPF_LDX | BPF_MEMSX | BPF_H, 3, 1, 8, 0), /* its lower half */
		LDX(BPF_W, 4, 1, 16),                              /* not converted */
		LDX(BPF_W, 5, 1, 8),                               /* not a context access */
		EXIT(),
	};
	const struct bpf_insn out[] = {
		LDX(BPF_DW, 0, 1, 64), LDX(BPF_W, 0, 0, 8),
		LDX(BPF_DW, 2, 1, 64), LDX(BPF_W, 2, 2, 8),
		BPFU_INSN(BPF_ALU64 | BPF_RSH | BPF_K, 2, 0, 0, 8),
		BPFU_INSN(BPF_ALU64 | BPF_AND | BPF_K, 2, 0, 0, 0xff),
		LDX(BPF_DW, 3, 1, 64), LDX(BPF_W, 3, 3, 8),
		BPFU_INSN(BPF_ALU64 | BPF_AND | BPF_K, 3, 0, 0, 0xffff),
		BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_X, 3, 3, 16, 0),
		LDX(BPF_W, 4, 1, 16),
		LDX(BPF_W, 5, 1, 8),
		EXIT(),
	};

	START(insns);
	f.prog.type_ops = &demo_type;
	for (int i = 0; i < 4; i++) {
		f.aux[i].ctx_access = true;
		f.aux[i].ctx_field_size = 4;
	}
	f.aux[1].ctx_narrow = f.aux[2].ctx_narrow = true;
	rewrite();
	EXPECT(out);
	finish();
}

static void test_skb_queue_mapping(void **state)
{
	const int16_t off = offsetof(struct __sk_buff, queue_mapping);
	const int16_t index_off = offsetof(struct __sk_buff, tc_index);
	const struct bpf_insn insns[] = {
		BPFU_INSN(BPF_STX | BPF_MEM | BPF_W, 1, 2, off, 0),
		BPFU_INSN(BPF_ST | BPF_MEM | BPF_W, 1, 0, off, 0xffff),
		BPFU_INSN(BPF_ST | BPF_MEM | BPF_W, 1, 0, off, 7),
		BPFU_INSN(BPF_STX | BPF_MEM | BPF_W, 1, 3, index_off, 0),
		MOV_K(0, 0), EXIT(),
	};
	const struct bpf_insn out[] = {
		BPFU_INSN(BPF_JMP | BPF_JGE | BPF_K, 2, 0, 1, 0xffff),
		BPFU_INSN(BPF_STX | BPF_MEM | BPF_H, 1, 2, off, 0),
		JA(0),
		BPFU_INSN(BPF_ST | BPF_MEM | BPF_H, 1, 0, off, 7),
		BPFU_INSN(BPF_STX | BPF_MEM | BPF_H, 1, 3, index_off, 0),
		MOV_K(0, 0), EXIT(),
	};

	START(insns);
	f.prog.type = BPF_PROG_TYPE_SCHED_CLS;
	f.prog.type_ops = bpfu_prog_type_of(f.prog.type);
	for (int i = 0; i < 4; i++)
		f.aux[i].ctx_access = true;
	rewrite();
	EXPECT(out);
	finish();
}

/* ---- size ---- */

/* Jumps over so much inlined code that 16 bits do not reach: over and back. */
static void test_long_jumps(void **state)
{
	const uint32_t calls = 20000, cnt = calls + 8;
	struct bpf_insn *insns = calloc(cnt, sizeof(*insns));
	uint32_t n = 0;

	assert_non_null(insns);
	insns[n++] = MOV_K(6, 0);
	insns[n++] = MOV_K(0, 0);
	insns[n++] = JEQ_K(6, 1, (int16_t)(calls + 2));   /* to the exit */
	for (uint32_t i = 0; i < calls; i++)
		insns[n++] = CALL(BPF_FUNC_get_smp_processor_id);
	insns[n++] = ADD_K(6, 1);
	insns[n++] = JA((int16_t)-(int32_t)(calls + 3));  /* back to the test */
	insns[n++] = ADD_K(6, 41);
	insns[n++] = MOV_X(0, 6);
	insns[n++] = EXIT();
	assert_int_equal(n, cnt);
	start(insns, cnt);
	rewrite();
	assert_int_equal(f.prog.insn_cnt, cnt + 3 * calls + 2);
	assert_int_equal(run(), 42);
	finish();
	free(insns);
}

static void test_million(void **state)
{
	const uint32_t cnt = BPFU_MAX_INSNS;
	struct bpf_insn *insns = calloc(cnt, sizeof(*insns));

	assert_non_null(insns);
	for (uint32_t i = 0; i < cnt; i++)
		insns[i] = i % 4 == 0 ? CALL(BPF_FUNC_get_smp_processor_id) :
			   i % 4 == 1 ? JEQ_K(0, -1, 1) :
					ADD_K(0, 1);
	insns[cnt - 2] = MOV_K(0, 7);
	insns[cnt - 1] = EXIT();
	start(insns, cnt);
	for (uint32_t i = 2; i < cnt - 2; i += 8)
		f.aux[i].seen = false;
	rewrite();
	assert_int_equal(run(), 7);
	finish();
	free(insns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_to_do),
		cmocka_unit_test(test_unseen),
		cmocka_unit_test(test_second_slot),
		cmocka_unit_test(test_dead_callback),
		cmocka_unit_test(test_branch_always),
		cmocka_unit_test(test_branch_always_other_side_live),
		cmocka_unit_test(test_branch_never),
		cmocka_unit_test(test_branch_never_other_side_live),
		cmocka_unit_test(test_may_goto_stays),
		cmocka_unit_test(test_jump_chain),
		cmocka_unit_test(test_backward_jump),
		cmocka_unit_test(test_subprograms),
		cmocka_unit_test(test_map_address),
		cmocka_unit_test(test_tail_call_and_probe),
		cmocka_unit_test(test_ctx_access),
		cmocka_unit_test(test_skb_queue_mapping),
		cmocka_unit_test(test_long_jumps),
		cmocka_unit_test(test_million),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
