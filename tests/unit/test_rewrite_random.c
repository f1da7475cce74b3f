// SPDX-License-Identifier: BSD-2-Clause
/*
 * Random programs, run in the interpreter as they are and rewritten, under all settings of the
 * switches: the results must be the same. The generator plays the verifier: it knows which branches
 * are constant and what can be reached.
 *
 * usage: test_rewrite_random [SEED [PROGRAMS]]
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "helper/helper.h"
#include "interp/interp.h"
#include "map/map.h"
#include "obj/prog.h"
#include "prog_type/prog_type.h"
#include "rewrite/patch.h"
#include "rewrite/rewrite.h"
#include "util/bits.h"
#include "verifier/verifier.h"

#define MAX_INSNS 4096
#define MAX_JUMP 12
#define SUBPROGS 4 /* main, function, callback, never called */
#define CONSTANT 9 /* the register that never changes */
#define CONSTANT_VALUE 1234
#define MAP_ENTRIES 6

static uint64_t seed = 0x5eed;
static int program_cnt = 1500;
static uint64_t rng_state;
static struct bpfu_map *array_map, *percpu_map;

static uint32_t rng(uint32_t below)
{
	rng_state = rng_state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(rng_state >> 33) % below;
}

struct gen {
	struct bpf_insn insns[MAX_INSNS];
	struct bpfu_insn_aux aux[MAX_INSNS];
	bool statement[MAX_INSNS]; /* jumps may go here */
	uint32_t cnt;
	uint32_t start[SUBPROGS];
};

static struct gen g;

static struct bpfu_insn_aux *emit(struct bpf_insn insn)
{
	struct bpfu_insn_aux *aux = &g.aux[g.cnt];

	assert_true(g.cnt < MAX_INSNS);
	memset(aux, 0, sizeof(*aux));
	aux->branch_known = -1;
	g.statement[g.cnt] = false;
	g.insns[g.cnt++] = insn;
	return aux;
}

#define ALU64(op, src) (BPF_ALU64 | (op) | (src))

static void emit_map(uint8_t reg, struct bpfu_map *map)
{
	struct bpf_insn insn[2] = {
		BPFU_INSN(BPF_LD | BPF_IMM | BPF_DW, reg, BPF_PSEUDO_MAP_FD, 0, 0),
		BPFU_INSN(0, 0, 0, 0, 0),
	};

	bpfu_insn_set_imm64(insn, bpfu_u64(map));
	emit(insn[0])->map_imm = bpfu_u64(map);
	emit(insn[1]);
}

static void emit_alu(void)
{
	static const uint8_t ops[] = { BPF_ADD, BPF_SUB, BPF_XOR, BPF_OR, BPF_MUL, BPF_AND };
	uint8_t dst = 6 + rng(3), op = ops[rng(BPFU_ARRAY_SIZE(ops))];
	uint8_t class = rng(2) ? BPF_ALU64 : BPF_ALU;

	if (rng(2))
		emit(BPFU_INSN(class | op | BPF_X, dst, 6 + rng(4), 0, 0));
	else
		emit(BPFU_INSN(class | op | BPF_K, dst, 0, 0, (int32_t)rng(1000) - 500));
}

/* Targets are set later, when it is known where instructions start. */
static void emit_branch(void)
{
	if (rng(6) == 0) {
		emit(BPFU_INSN(BPF_JMP | BPF_JA, 0, 0, 1 + (int16_t)rng(MAX_JUMP), 0));
	} else if (rng(6) == 0) {
		emit(BPFU_INSN(BPF_JMP32 | BPF_JA, 0, 0, 0, 1 + (int32_t)rng(MAX_JUMP)));
	} else if (rng(2)) {
		bool taken = rng(2);

		emit(BPFU_INSN((rng(2) ? BPF_JMP : BPF_JMP32) | BPF_JEQ | BPF_K, CONSTANT, 0,
			       1 + (int16_t)rng(MAX_JUMP), CONSTANT_VALUE + !taken))
			->branch_known = taken;
	} else {
		emit(BPFU_INSN(BPF_JMP | BPF_JSET | BPF_K, 6 + rng(3), 0,
			       1 + (int16_t)rng(MAX_JUMP), 1 << rng(6)));
	}
}

static void emit_lookup(void)
{
	struct bpfu_map *map = rng(2) ? array_map : percpu_map;
	uint32_t key = rng(MAP_ENTRIES + 2);
	struct bpfu_insn_aux *aux;

	emit(BPFU_INSN(BPF_ST | BPF_MEM | BPF_W, 10, 0, -4, (int32_t)key));
	emit_map(1, map);
	emit(BPFU_INSN(ALU64(BPF_MOV, BPF_X), 2, 10, 0, 0));
	emit(BPFU_INSN(ALU64(BPF_ADD, BPF_K), 2, 0, 0, -4));
	aux = emit(BPFU_INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_map_lookup_elem));
	aux->map = map;
	if (rng(2) && key < MAP_ENTRIES) {
		aux->is_const_map_key = true;
		aux->const_key = key;
	}
	emit(BPFU_INSN(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 2, 0));
	emit(BPFU_INSN(BPF_LDX | BPF_MEM | BPF_DW, 1, 0, 0, 0));
	emit(BPFU_INSN(ALU64(BPF_ADD, BPF_X), 7, 1, 0, 0));
}

static void emit_call(void)
{
	struct bpfu_insn_aux *aux;

	switch (rng(3)) {
	case 0:
		emit(BPFU_INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_get_smp_processor_id));
		break;
	case 1:
		emit(BPFU_INSN(ALU64(BPF_MOV, BPF_X), 1, 6 + rng(4), 0, 0));
		/* The target's number for now; link() makes it an offset. */
		emit(BPFU_INSN(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, 1));
		break;
	default:
		emit(BPFU_INSN(ALU64(BPF_MOV, BPF_K), 1, 0, 0,
			       rng(8) ? (int32_t)rng(20) : 8388609));
		emit(BPFU_INSN(BPF_LD | BPF_IMM | BPF_DW, 2, BPF_PSEUDO_FUNC, 0, 2));
		emit(BPFU_INSN(0, 0, 0, 0, 0));
		emit(BPFU_INSN(ALU64(BPF_MOV, BPF_X), 3, 10, 0, 0));
		emit(BPFU_INSN(ALU64(BPF_MOV, BPF_K), 4, 0, 0, 0));
		aux = emit(BPFU_INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_loop));
		aux->loop_inline = rng(4);
		aux->callback_subprog = 2;
		break;
	}
	emit(BPFU_INSN(ALU64(BPF_XOR, BPF_X), 8, 0, 0, 0));
}

/* Jumps were made forward by a random number of instructions: to the statement there. */
static void link_jumps(uint32_t from, uint32_t end)
{
	for (uint32_t i = from; i < end; i++) {
		struct bpf_insn *insn = &g.insns[i];
		uint32_t target;

		if (!g.statement[i] || !bpfu_insn_is_jump(insn))
			continue;
		target = BPFU_MIN(i + 1 + (uint32_t)bpfu_insn_jump_off(insn), end - 4);
		while (target > i + 1 && !g.statement[target])
			target--;
		if (insn->code == (BPF_JMP32 | BPF_JA))
			insn->imm = (int32_t)(target - i - 1);
		else
			insn->off = (int16_t)(target - i - 1);
	}
}

static void emit_end(uint32_t from)
{
	emit(BPFU_INSN(ALU64(BPF_MOV, BPF_X), 0, 6, 0, 0));
	g.statement[g.cnt - 1] = true;
	emit(BPFU_INSN(ALU64(BPF_ADD, BPF_X), 0, 7, 0, 0));
	emit(BPFU_INSN(ALU64(BPF_XOR, BPF_X), 0, 8, 0, 0));
	emit(BPFU_INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0));
	link_jumps(from, g.cnt);
}

static void emit_body(uint32_t length, bool calls)
{
	for (uint32_t i = 0; i < length; i++) {
		uint32_t what = rng(calls ? 10 : 6), at = g.cnt;

		if (what < 4)
			emit_alu();
		else if (what < 6)
			emit_branch();
		else if (what < 8)
			emit_lookup();
		else
			emit_call();
		g.statement[at] = true;
	}
}

static void start_function(uint32_t number)
{
	g.start[number] = g.cnt;
	emit(BPFU_INSN(ALU64(BPF_MOV, BPF_X), 6, 1, 0, 0));
	emit(BPFU_INSN(ALU64(BPF_MOV, BPF_K), 7, 0, 0, (int32_t)rng(100)));
	emit(BPFU_INSN(ALU64(BPF_MOV, BPF_K), 8, 0, 0, (int32_t)rng(100)));
	emit(BPFU_INSN(ALU64(BPF_MOV, BPF_K), CONSTANT, 0, 0, CONSTANT_VALUE));
}

static void link_calls(void)
{
	for (uint32_t i = 0; i < g.cnt; i++) {
		struct bpf_insn *insn = &g.insns[i];

		if (bpfu_insn_is_pseudo_call(insn) || bpfu_insn_is_pseudo_func(insn))
			insn->imm = (int32_t)(g.start[insn->imm] - i - 1);
	}
}

/* What the verifier would have seen, from @at on. */
static void mark_seen(uint32_t at)
{
	while (!g.aux[at].seen) {
		const struct bpf_insn *insn = &g.insns[at];

		g.aux[at].seen = true;
		if (bpfu_insn_is_pseudo_call(insn) || bpfu_insn_is_pseudo_func(insn))
			mark_seen(at + 1 + (uint32_t)insn->imm);
		if (insn->code == (BPF_JMP | BPF_EXIT))
			return;
		if (bpfu_insn_is_ld_imm64(insn)) {
			at += 2;
		} else if (bpfu_insn_is_cond_jump(insn) && g.aux[at].branch_known != 0) {
			mark_seen(at + 1 + (uint32_t)insn->off);
			if (g.aux[at].branch_known == 1)
				return;
			at++;
		} else if (bpfu_insn_is_jump(insn) && !bpfu_insn_is_cond_jump(insn)) {
			at += 1 + (uint32_t)bpfu_insn_jump_off(insn);
		} else {
			at++;
		}
	}
}

static void generate(void)
{
	g.cnt = 0;
	start_function(0);
	g.insns[0] = BPFU_INSN(BPF_LDX | BPF_MEM | BPF_DW, 6, 1, 0, 0);
	emit_body(10 + rng(120), true);
	emit_end(g.start[0]);
	start_function(1);
	emit_body(rng(30), true);
	for (uint32_t i = g.start[1]; i < g.cnt; i++) /* no recursion */
		if (bpfu_insn_is_pseudo_call(&g.insns[i]))
			g.insns[i] = BPFU_INSN(ALU64(BPF_MOV, BPF_K), 0, 0, 0, 5);
	emit_end(g.start[1]);
	start_function(2);
	emit_body(rng(12), false);
	emit(BPFU_INSN(ALU64(BPF_MOV, BPF_X), 6, 6, 0, 0));
	g.statement[g.cnt - 1] = true;
	emit(BPFU_INSN(ALU64(BPF_AND, BPF_K), 6, 0, 0, 1));
	emit(BPFU_INSN(ALU64(BPF_MOV, BPF_X), 0, 6, 0, 0));
	emit(BPFU_INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0));
	link_jumps(g.start[2], g.cnt);
	start_function(3);
	emit_body(rng(10), true);
	emit_end(g.start[3]);
	link_calls();
	mark_seen(0);
}

/* ---- both sides ---- */

static void make_prog(struct bpfu_prog *prog, struct bpfu_subprog *subprogs)
{
	static struct bpfu_map *maps[2];

	memset(prog, 0, sizeof(*prog));
	memset(subprogs, 0, SUBPROGS * sizeof(*subprogs));
	prog->insns = malloc(g.cnt * sizeof(*prog->insns));
	assert_non_null(prog->insns);
	memcpy(prog->insns, g.insns, g.cnt * sizeof(*prog->insns));
	prog->insn_cnt = prog->orig_insn_cnt = g.cnt;
	prog->type = BPF_PROG_TYPE_RAW_TRACEPOINT;
	prog->type_ops = bpfu_prog_type_of(prog->type);
	prog->has_callbacks = true;
	prog->subprogs = subprogs;
	prog->subprog_cnt = SUBPROGS;
	for (int i = 0; i < SUBPROGS; i++) {
		subprogs[i].start = g.start[i];
		subprogs[i].stack_depth = 8;
	}
	subprogs[2].is_cb = true;
	maps[0] = array_map;
	maps[1] = percpu_map;
	prog->used_maps = maps;
	prog->used_map_cnt = 2;
}

static void run_all(struct bpfu_prog *prog, uint64_t *results, int cnt)
{
	assert_int_equal(bpfu_interp_prepare(prog), 0);
	for (int i = 0; i < cnt; i++) {
		uint64_t ctx[12] = { (uint64_t)i * 0x9e3779b97f4a7c15ull };

		results[i] = bpfu_prog_run(prog, ctx);
	}
	bpfu_interp_release(prog);
	free(prog->insns);
}

#define RUNS 8

static void test_programs(void **state)
{
	struct bpfu_subprog subprogs[SUBPROGS];
	struct bpfu_prog prog;
	int shorter = 0;

	printf("# seed 0x%llx, %d programs\n", (unsigned long long)seed, program_cnt);
	for (int n = 0; n < program_cnt; n++) {
		uint64_t plain[RUNS], rewritten[RUNS];

		rng_state = seed + (uint64_t)n * 0x9e3779b97f4a7c15ull;
		rng(2);
		generate();
		make_prog(&prog, subprogs);
		run_all(&prog, plain, RUNS);
		for (uint32_t bits = 0; bits < 8; bits++) {
			make_prog(&prog, subprogs);
			prog.options = (struct bpfu_options){ false, bits & 1, bits & 2, bits & 4 };
			assert_int_equal(bpfu_rewrite(&prog, g.aux), 0);
			shorter += prog.subprog_cnt < SUBPROGS;
			run_all(&prog, rewritten, RUNS);
			for (int i = 0; i < RUNS; i++)
				if (plain[i] != rewritten[i])
					fail_msg("program %d of seed 0x%llx, options %u, input %d", n,
						 (unsigned long long)seed, bits, i);
		}
	}
	assert_int_equal(shorter, 8 * program_cnt); /* the function that nobody calls has gone */
}

static struct bpfu_map *make_map(enum bpf_map_type type)
{
	union bpf_attr attr;
	struct bpfu_map *map = NULL;

	memset(&attr, 0, sizeof(attr));
	attr.map_type = type;
	attr.key_size = 4;
	attr.value_size = 24;
	attr.max_entries = MAP_ENTRIES;
	if (bpfu_map_create(&attr, NULL, &map))
		return NULL;
	return map;
}

static int setup(void **state)
{
	array_map = make_map(BPF_MAP_TYPE_ARRAY);
	percpu_map = make_map(BPF_MAP_TYPE_PERCPU_ARRAY);
	if (!array_map || !percpu_map)
		return -1;
	bpfu_cpu_enter();
	for (uint32_t key = 0; key < MAP_ENTRIES; key++) {
		uint64_t *elem = array_map->ops->lookup(array_map, &key);
		uint64_t *here = percpu_map->ops->lookup(percpu_map, &key);

		*elem = key * 1111 + 1;
		*here = key * 2222 + 2;
	}
	bpfu_cpu_exit();
	return 0;
}

static int teardown(void **state)
{
	bpfu_map_put(array_map);
	bpfu_map_put(percpu_map);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_programs) };

	if (argc > 1)
		seed = strtoull(argv[1], NULL, 0);
	if (argc > 2)
		program_cnt = atoi(argv[2]);
	return cmocka_run_group_tests(tests, setup, teardown);
}
