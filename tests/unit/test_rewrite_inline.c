// SPDX-License-Identifier: BSD-2-Clause
/* What is inlined, with the instructions that must come out. */
#include "rewrite_env.h"

#include <errno.h>

#include "percpu/percpu_alloc.h"

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

/* Called for no iteration, the callback is dead, and removed; it stays a call of the helper. */
static void test_loop_callback_gone(void **state)
{
	start_loop(0, -1);
	for (uint32_t i = f.subprogs[1].start; i < f.prog.insn_cnt; i++)
		f.aux[i].seen = false;
	rewrite();
	assert_int_equal(f.prog.subprog_cnt, 1);
	assert_true(calls_helper(BPF_FUNC_loop));
	assert_int_equal(run(), 6000);
	finish();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_processor_id),
		cmocka_unit_test(test_array_lookup),
		cmocka_unit_test(test_array_lookup_not_inlined),
		cmocka_unit_test(test_hash_lookup),
		cmocka_unit_test(test_percpu_array_lookup),
		cmocka_unit_test(test_loop),
		cmocka_unit_test(test_loop_upper_half),
		cmocka_unit_test(test_loop_no_room),
		cmocka_unit_test(test_loop_callback_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
