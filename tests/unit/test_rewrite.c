// SPDX-License-Identifier: BSD-2-Clause
/* Each transformation of rewrite/ on a small program, with the instructions that must come out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <errno.h>

#include "helper/helper.h"
#include "interp/interp.h"
#include "map/map.h"
#include "obj/prog.h"
#include "percpu/percpu_alloc.h"
#include "prog_type/prog_type.h"
#include "rewrite/patch.h"
#include "rewrite/rewrite.h"
#include "util/bits.h"
#include "verifier/verifier.h"

#define MOV_K(d, i) BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_K, d, 0, 0, i)
#define MOV_X(d, s) BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_X, d, s, 0, 0)
#define MOV_PERCPU(d, s) BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_X, d, s, BPFU_OFF_PERCPU, 0)
#define ADD_K(d, i) BPFU_INSN(BPF_ALU64 | BPF_ADD | BPF_K, d, 0, 0, i)
#define JEQ_K(d, i, o) BPFU_INSN(BPF_JMP | BPF_JEQ | BPF_K, d, 0, o, i)
#define JA(o) BPFU_INSN(BPF_JMP | BPF_JA, 0, 0, o, 0)
#define GOTOL(o) BPFU_INSN(BPF_JMP32 | BPF_JA, 0, 0, 0, o)
#define CALL(id) BPFU_INSN(BPF_JMP | BPF_CALL, 0, 0, 0, id)
#define CALL_REL(rel) BPFU_INSN(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, rel)
#define FUNC(d, rel) BPFU_INSN(BPF_LD | BPF_IMM | BPF_DW, d, BPF_PSEUDO_FUNC, 0, rel)
#define LDX(size, d, s, o) BPFU_INSN(BPF_LDX | BPF_MEM | (size), d, s, o, 0)
#define EXIT() BPFU_INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)
#define IMM64(d, src, v) BPFU_INSN(BPF_LD | BPF_IMM | BPF_DW, d, src, 0, (int32_t)(uint32_t)(v))
#define IMM64_HI(v) BPFU_INSN(0, 0, 0, 0, (int32_t)(uint32_t)((uint64_t)(v) >> 32))

#define MAX_SUBPROGS 8
#define MAX_INFO 32

struct fixture {
	struct bpfu_prog prog;
	struct bpfu_subprog subprogs[MAX_SUBPROGS];
	struct bpf_func_info func_info[MAX_INFO];
	struct bpf_line_info line_info[MAX_INFO];
	struct bpfu_map *maps[1];
	struct bpfu_insn_aux *aux;
};

static struct fixture f;

/* Everything seen, nothing known. */
static void start(const struct bpf_insn *insns, uint32_t cnt)
{
	memset(&f, 0, sizeof(f));
	f.prog.insns = malloc(cnt * sizeof(*insns));
	f.aux = calloc(cnt, sizeof(*f.aux));
	assert_non_null(f.prog.insns);
	assert_non_null(f.aux);
	memcpy(f.prog.insns, insns, cnt * sizeof(*insns));
	f.prog.insn_cnt = f.prog.orig_insn_cnt = cnt;
	f.prog.subprogs = f.subprogs;
	f.prog.subprog_cnt = 1;
	f.prog.func_info = f.func_info;
	f.prog.line_info = f.line_info;
	f.prog.used_maps = f.maps;
	f.prog.type = BPF_PROG_TYPE_RAW_TRACEPOINT;
	f.prog.type_ops = bpfu_prog_type_of(f.prog.type);
	f.prog.options = (struct bpfu_options){ true, true, true, true };
	for (uint32_t i = 0; i < cnt; i++) {
		f.aux[i].seen = true;
		f.aux[i].branch_known = -1;
	}
}

static void finish(void)
{
	free(f.prog.insns);
	free(f.aux);
}

static void subprog(uint32_t at, uint32_t number)
{
	f.subprogs[number].start = at;
	f.subprogs[number].func_type_id = 100 + number;
	f.prog.subprog_cnt = number + 1;
	f.func_info[number] = (struct bpf_func_info){ .insn_off = at, .type_id = 100 + number };
	f.prog.func_info_cnt = number + 1;
}

static void line(uint32_t at, uint32_t number)
{
	f.line_info[f.prog.line_info_cnt++] =
		(struct bpf_line_info){ .insn_off = at, .line_col = number };
}

static void rewrite(void)
{
	assert_int_equal(bpfu_rewrite(&f.prog, f.aux), 0);
}

static void expect(const struct bpf_insn *insns, uint32_t cnt)
{
	for (uint32_t i = 0; i < BPFU_MIN(cnt, f.prog.insn_cnt); i++) {
		char ours[128], theirs[128];

		bpfu_insn_print(ours, sizeof(ours), &f.prog.insns[i], bpfu_helper_name);
		bpfu_insn_print(theirs, sizeof(theirs), &insns[i], bpfu_helper_name);
		if (memcmp(&f.prog.insns[i], &insns[i], sizeof(*insns)))
			fail_msg("instruction %u is %s, not %s", i, ours, theirs);
		i += bpfu_insn_is_ld_imm64(&insns[i]);
	}
	assert_int_equal(f.prog.insn_cnt, cnt);
}

#define START(insns) start(insns, BPFU_ARRAY_SIZE(insns))
#define EXPECT(insns) expect(insns, BPFU_ARRAY_SIZE(insns))

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

/* ---- inlining ---- */

static void test_processor_id(void **state)
{
	const uint64_t addr = bpfu_u64(bpfu_percpu_cpu_number());
	const struct bpf_insn insns[] = { CALL(BPF_FUNC_get_smp_processor_id), EXIT() };
	const struct bpf_insn out[] = { IMM64(0, 0, addr), IMM64_HI(addr), MOV_PERCPU(0, 0),
					LDX(BPF_W, 0, 0, 0), EXIT() };

	START(insns);
	rewrite();
	EXPECT(out);
	finish();

	START(insns);
	f.prog.options.inline_helpers = false;
	rewrite();
	EXPECT(insns);
	finish();

	START(insns);
	f.prog.options.inline_percpu = false;
	rewrite();
	EXPECT(insns);
	finish();
}

static struct bpfu_array array = {
	.map = { .type = BPF_MAP_TYPE_ARRAY, .max_entries = 5, .key_size = 4, .value_size = 24 },
	.elem_size = 24,
	.index_mask = 7,
	.values = (char *)0x7000deadbeefull,
};

static void start_lookup(const struct bpf_insn *insns, uint32_t cnt, struct bpfu_map *map)
{
	start(insns, cnt);
	f.maps[0] = map;
	f.prog.used_map_cnt = 1;
	f.aux[0].map = map;
}

static void test_array_lookup(void **state)
{
	const struct bpf_insn insns[] = { CALL(BPF_FUNC_map_lookup_elem), EXIT() };
	const uint64_t values = bpfu_u64(array.values);
	const struct bpf_insn out[] = {
		LDX(BPF_W, 1, 2, 0), MOV_K(0, 0),
		BPFU_INSN(BPF_JMP32 | BPF_JGE | BPF_K, 1, 0, 5, 5),
		BPFU_INSN(BPF_ALU | BPF_AND | BPF_K, 1, 0, 0, 7),
		BPFU_INSN(BPF_ALU64 | BPF_MUL | BPF_K, 1, 0, 0, 24),
		IMM64(0, 0, values), IMM64_HI(values),
		BPFU_INSN(BPF_ALU64 | BPF_ADD | BPF_X, 0, 1, 0, 0), EXIT(),
	};
	const struct bpf_insn constant[] = { IMM64(0, 0, values + 48), IMM64_HI(values), EXIT() };

	start_lookup(insns, 2, &array.map);
	rewrite();
	EXPECT(out);
	finish();

	start_lookup(insns, 2, &array.map);
	f.aux[0].is_const_map_key = true;
	f.aux[0].const_key = 2;
	rewrite();
	EXPECT(constant);
	finish();

	start_lookup(insns, 2, &array.map);
	f.aux[0].is_const_map_key = true;
	f.aux[0].const_key = 5; /* out of bounds */
	rewrite();
	EXPECT(out);
	finish();

	start_lookup(insns, 2, &array.map);
	f.prog.options.inline_percpu = false; /* an ordinary array does not need it */
	rewrite();
	EXPECT(out);
	finish();
}

static void test_array_lookup_not_inlined(void **state)
{
	const struct bpf_insn insns[] = { CALL(BPF_FUNC_map_lookup_elem), EXIT() };
	struct bpfu_map prog_array = { .type = BPF_MAP_TYPE_PROG_ARRAY };

	start_lookup(insns, 2, &array.map);
	f.prog.options.inline_helpers = false;
	rewrite();
	EXPECT(insns);
	finish();

	start_lookup(insns, 2, &array.map);
	f.aux[0].map_ptr_poison = true;
	rewrite();
	EXPECT(insns);
	finish();

	/* A map that the program does not hold stands for others (inner maps). */
	start_lookup(insns, 2, &array.map);
	f.prog.used_map_cnt = 0;
	rewrite();
	EXPECT(insns);
	finish();

	start_lookup(insns, 2, &prog_array);
	rewrite();
	EXPECT(insns);
	finish();
}

static void test_hash_lookup(void **state)
{
	static const struct {
		uint32_t key_size;
		int32_t search;
	} rows[] = {
		{ 4, BPFU_CALL_HASH_SLOT_4 }, { 8, BPFU_CALL_HASH_SLOT_8 },
		{ 5, BPFU_CALL_HASH_SLOT }, { 16, BPFU_CALL_HASH_SLOT },
	};
	const struct bpf_insn insns[] = { CALL(BPF_FUNC_map_lookup_elem), EXIT() };

	for (size_t i = 0; i < BPFU_ARRAY_SIZE(rows); i++) {
		struct bpfu_map hash = { .type = BPF_MAP_TYPE_HASH, .key_size = rows[i].key_size };
		struct bpfu_map percpu = { .type = BPF_MAP_TYPE_PERCPU_HASH,
					   .key_size = rows[i].key_size };
		const struct bpf_insn out[] = { CALL(rows[i].search), EXIT() };
		const struct bpf_insn percpu_out[] = {
			CALL(rows[i].search), BPFU_INSN(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 2, 0),
			LDX(BPF_DW, 0, 0, 0), MOV_PERCPU(0, 0), EXIT(),
		};

		start_lookup(insns, 2, &hash);
		rewrite();
		EXPECT(out);
		finish();
		start_lookup(insns, 2, &percpu);
		rewrite();
		EXPECT(percpu_out);
		finish();
		start_lookup(insns, 2, &percpu);
		f.prog.options.inline_percpu = false;
		rewrite();
		EXPECT(insns);
		finish();
	}
}

static void test_percpu_array_lookup(void **state)
{
	const struct bpf_insn insns[] = { CALL(BPF_FUNC_map_lookup_elem), EXIT() };
	struct bpfu_percpu_array *percpu = calloc(1, sizeof(*percpu) + 2 * sizeof(void *));
	uint64_t pptrs = bpfu_u64(percpu->pptrs), elem = 0x123456788ull;

	assert_non_null(percpu);
	percpu->map.type = BPF_MAP_TYPE_PERCPU_ARRAY;
	percpu->map.max_entries = 2;
	percpu->index_mask = 1;
	percpu->pptrs[1] = bpfu_ptr(elem);
	const struct bpf_insn out[] = {
		LDX(BPF_W, 1, 2, 0), MOV_K(0, 0),
		BPFU_INSN(BPF_JMP32 | BPF_JGE | BPF_K, 1, 0, 7, 2),
		BPFU_INSN(BPF_ALU | BPF_AND | BPF_K, 1, 0, 0, 1),
		BPFU_INSN(BPF_ALU64 | BPF_LSH | BPF_K, 1, 0, 0, 3),
		IMM64(0, 0, pptrs), IMM64_HI(pptrs),
		BPFU_INSN(BPF_ALU64 | BPF_ADD | BPF_X, 0, 1, 0, 0),
		LDX(BPF_DW, 0, 0, 0), MOV_PERCPU(0, 0), EXIT(),
	};
	const struct bpf_insn constant[] = { IMM64(0, 0, elem), IMM64_HI(elem), MOV_PERCPU(0, 0),
					     EXIT() };

	start_lookup(insns, 2, &percpu->map);
	rewrite();
	EXPECT(out);
	finish();

	start_lookup(insns, 2, &percpu->map);
	f.aux[0].is_const_map_key = true;
	f.aux[0].const_key = 1;
	rewrite();
	EXPECT(constant);
	finish();

	start_lookup(insns, 2, &percpu->map);
	f.prog.options.inline_percpu = false;
	rewrite();
	EXPECT(insns);
	finish();
	free(percpu);
}

/* ---- bpf_loop ---- */

/* main: r6 = r7 = r8 = 1000 …; r0 = bpf_loop(nr, cb, NULL, 0) + r6 + r7 + r8. cb: return idx == stop. */
static void start_loop(int32_t nr, int32_t stop)
{
	const struct bpf_insn insns[] = {
		MOV_K(6, 1000),      MOV_K(7, 2000), MOV_K(8, 3000),
		IMM64(1, 0, nr),     IMM64_HI(0),    FUNC(2, 8), IMM64_HI(0), MOV_K(3, 0),
		MOV_K(4, 0),         CALL(BPF_FUNC_loop),
		BPFU_INSN(BPF_ALU64 | BPF_ADD | BPF_X, 0, 6, 0, 0),
		BPFU_INSN(BPF_ALU64 | BPF_ADD | BPF_X, 0, 7, 0, 0),
		BPFU_INSN(BPF_ALU64 | BPF_ADD | BPF_X, 0, 8, 0, 0),
		EXIT(),
		MOV_K(0, 0),         JEQ_K(1, stop, 1), EXIT(), MOV_K(0, 1), EXIT(),
	};

	START(insns);
	subprog(0, 0);
	subprog(14, 1);
	f.subprogs[0].stack_depth = 16;
	f.subprogs[1].is_cb = true;
	f.prog.has_callbacks = true;
	f.aux[9].loop_inline = true;
	f.aux[9].callback_subprog = 1;
}

static uint64_t run(void)
{
	uint64_t ret;

	assert_int_equal(bpfu_interp_prepare(&f.prog), 0);
	ret = bpfu_prog_run(&f.prog, NULL);
	bpfu_interp_release(&f.prog);
	return ret;
}

static bool calls_helper(int32_t id)
{
	for (uint32_t i = 0; i < f.prog.insn_cnt; i++)
		if (f.prog.insns[i].code == (BPF_JMP | BPF_CALL) && !f.prog.insns[i].src_reg &&
		    f.prog.insns[i].imm == id)
			return true;
	return false;
}

static void test_loop(void **state)
{
	static const struct {
		int32_t nr, stop;
		int64_t ret;
	} rows[] = {
		{ 0, -1, 0 },	      { 1, -1, 1 },	  { 10, -1, 10 },
		{ 10, 0, 1 },	      { 10, 3, 4 },	  { 10, 9, 10 },
		{ 8388608, 5, 6 },    { 8388609, 5, -E2BIG }, { -1, 5, -E2BIG },
		{ INT32_MIN, 5, -E2BIG },
	};

	for (size_t i = 0; i < BPFU_ARRAY_SIZE(rows); i++) {
		for (int on = 0; on < 2; on++) {
			start_loop(rows[i].nr, rows[i].stop);
			f.prog.options.inline_loop = on;
			rewrite();
			assert_int_equal(calls_helper(BPF_FUNC_loop), !on);
			assert_int_equal(f.subprogs[0].stack_depth, on ? 40 : 16);
			assert_int_equal((int64_t)run(), rows[i].ret + 6000);
			finish();
		}
	}
}

/* bpf_loop()'s nr_loops has 32 bits: what is above does not count. */
static void test_loop_upper_half(void **state)
{
	for (int on = 0; on < 2; on++) {
		start_loop(4, -1);
		f.prog.insns[4].imm = 1;
		f.prog.options.inline_loop = on;
		rewrite();
		assert_int_equal(run(), 6004);
		finish();
	}
}

static void test_loop_no_room(void **state)
{
	start_loop(4, -1);
	f.subprogs[0].stack_depth = 496;
	rewrite();
	assert_true(calls_helper(BPF_FUNC_loop));
	assert_int_equal(f.subprogs[0].stack_depth, 496);
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
		cmocka_unit_test(test_processor_id),
		cmocka_unit_test(test_array_lookup),
		cmocka_unit_test(test_array_lookup_not_inlined),
		cmocka_unit_test(test_hash_lookup),
		cmocka_unit_test(test_percpu_array_lookup),
		cmocka_unit_test(test_loop),
		cmocka_unit_test(test_loop_upper_half),
		cmocka_unit_test(test_loop_no_room),
		cmocka_unit_test(test_long_jumps),
		cmocka_unit_test(test_million),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
