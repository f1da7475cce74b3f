// SPDX-License-Identifier: BSD-2-Clause
/*
 * Random programs, loaded as the same bytes on both sides: what libbpfu accepts, the kernel must accept.
 * The other direction is counted only (being stricter is safe).
 *
 * Programs start with a map value in r9 and unknown numbers in r6…r8, do arithmetic, compare, spill,
 * call, loop a little, and access the value, the stack and the context at computed offsets. Some have
 * functions, called or passed to bpf_loop(), with a pointer to their caller's stack. The generator
 * remembers roughly what each register holds so that a fair share is acceptable; it makes mistakes on
 * purpose.
 *
 *   BPFU_TEST_SEED=N repeats a run; BPFU_TEST_PROGRAMS=N sets the number of programs.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../unit/verifier_rng.h"
#include "insns.h"
#include "raw_btf.h"
#include "side.h"

#define MAX_INSNS 400
#define VALUE_SIZE 64
#define SLOTS 6
#define FUNCS 4
#define CALLBACKS 2 /* the first ones; the others are called */
#define MAX_REFS 16

/* CALLER: the bytes that a function was given of the stack of its caller. */
enum kind { NONE, NUM, VALUE, FRAME, CALLER };

struct gen {
	struct rng rng;
	struct bpf_insn insn[MAX_INSNS];
	int cnt;
	enum kind reg[11];
	enum kind slot[SLOTS];
	int map_insn[32]; /* LD_IMM64 of the map, to be given each side's descriptor */
	int maps;
	uint32_t flags;
	int in;                 /* function that is generated, -1: main */
	struct {
		int at, func;   /* instruction that names a function */
	} ref[MAX_REFS];
	int refs;
	struct bpf_func_info info[FUNCS + 1];
	uint32_t infos;
};

static void emit(struct gen *g, struct bpf_insn insn)
{
	if (g->cnt < MAX_INSNS)
		g->insn[g->cnt++] = insn;
}

static uint32_t below(struct gen *g, uint32_t n)
{
	return rng_below(&g->rng, n);
}

static bool chance(struct gen *g, uint32_t percent)
{
	return below(g, 100) < percent;
}

static int pick(struct gen *g, enum kind kind)
{
	int first = (int)below(g, 10);

	for (int i = 0; i < 10; i++)
		if (g->reg[(first + i) % 10] == kind)
			return (first + i) % 10;
	return -1;
}

static int pick_dst(struct gen *g)
{
	int r = (int)below(g, 9);

	return r; /* r9 keeps the value */
}

static const uint8_t alu_ops[] = { BPF_ADD, BPF_SUB, BPF_MUL, BPF_OR,  BPF_AND, BPF_LSH, BPF_RSH,
				   BPF_ARSH, BPF_XOR, BPF_NEG, BPF_MOV, BPF_AND, BPF_DIV, BPF_MOD };
static const uint8_t jmp_ops[] = { BPF_JEQ, BPF_JNE, BPF_JGT, BPF_JGE, BPF_JLT, BPF_JLE,
				   BPF_JSGT, BPF_JSGE, BPF_JSLT, BPF_JSLE, BPF_JSET };
static const uint8_t sizes[] = { BPF_B, BPF_H, BPF_W, BPF_DW };

static int32_t small_imm(struct gen *g)
{
	static const int32_t edgy[] = { 0, 1, -1, 7, 8, 31, 63, 64, 65, 255, 1 << 16, INT32_MIN,
					INT32_MAX, -64, 0x7fff, -8 };

	return chance(g, 60) ? (int32_t)below(g, 70) : edgy[below(g, 16)];
}

static void gen_alu(struct gen *g)
{
	uint8_t op = alu_ops[below(g, sizeof(alu_ops))], class = chance(g, 50) ? BPF_ALU64 : BPF_ALU;
	int dst = pick(g, NUM), src = pick(g, NUM);
	int32_t imm = small_imm(g);

	if (dst < 0 || dst == 9)
		return;
	if (op == BPF_NEG) {
		emit(g, INSN(class | BPF_NEG, dst, 0, 0, 0));
	} else if (chance(g, 40) && src >= 0) {
		if (op == BPF_MOV)
			dst = pick_dst(g);
		emit(g, INSN(class | op | BPF_X, dst, src, 0, 0));
		g->reg[dst] = NUM;
	} else {
		if (op == BPF_LSH || op == BPF_RSH || op == BPF_ARSH)
			imm = (int32_t)below(g, class == BPF_ALU ? 32 : 64);
		if ((op == BPF_DIV || op == BPF_MOD) && !imm)
			imm = 3;
		emit(g, INSN(class | op | BPF_K, dst, 0, 0, imm));
	}
}

static void gen_movsx(struct gen *g)
{
	static const int16_t widths[] = { 8, 16, 32 };
	int src = pick(g, NUM), dst = pick_dst(g);
	bool is64 = chance(g, 50);

	if (src < 0)
		return;
	emit(g, INSN((is64 ? BPF_ALU64 : BPF_ALU) | BPF_MOV | BPF_X, dst, src,
		     widths[below(g, is64 ? 3 : 2)], 0));
	g->reg[dst] = NUM;
}

static void gen_copy(struct gen *g)
{
	int src = (int)below(g, 11), dst = pick_dst(g);

	if (g->reg[src] == NONE)
		return;
	emit(g, MOV_X(dst, src));
	g->reg[dst] = g->reg[src];
}

/* A forward jump over @skip instructions that are generated now. */
static void gen_step(struct gen *g, int depth);

static void merge(struct gen *g, const struct gen *before)
{
	for (int r = 0; r < 10; r++)
		if (g->reg[r] != before->reg[r])
			g->reg[r] = NONE;
	for (int s = 0; s < SLOTS; s++)
		if (g->slot[s] != before->slot[s])
			g->slot[s] = NONE;
}

static void gen_branch(struct gen *g, int depth)
{
	uint8_t op = jmp_ops[below(g, sizeof(jmp_ops))];
	uint8_t class = chance(g, 70) ? BPF_JMP : BPF_JMP32;
	int dst = pick(g, NUM), src = pick(g, NUM), at = g->cnt;
	struct gen before;

	if (dst < 0 || depth > 3)
		return;
	if (chance(g, 25) && src >= 0)
		emit(g, INSN(class | op | BPF_X, dst, src, 0, 0));
	else
		emit(g, INSN(class | op | BPF_K, dst, 0, 0, small_imm(g)));
	before = *g;
	for (uint32_t n = 1 + below(g, 4); n; n--)
		gen_step(g, depth + 1);
	if (chance(g, 30)) { /* give up on one side */
		emit(g, MOV_K(0, 0));
		emit(g, EXIT());
		memcpy(g->reg, before.reg, sizeof(g->reg));
		memcpy(g->slot, before.slot, sizeof(g->slot));
	} else {
		merge(g, &before);
	}
	if (at < MAX_INSNS)
		g->insn[at].off = (int16_t)(g->cnt - at - 1);
}

static void gen_stack(struct gen *g)
{
	int slot = (int)below(g, SLOTS), off = -8 * (slot + 1) - 16;
	uint8_t size = chance(g, 60) ? BPF_DW : sizes[below(g, 3)];
	int part = size == BPF_DW || chance(g, 60) ? 0 : (int)below(g, 2) * 4;
	int reg = (int)below(g, 10);

	if (chance(g, 50)) { /* store */
		if (chance(g, 20)) {
			emit(g, ST(size, 10, off + part, small_imm(g)));
			g->slot[slot] = NUM;
			return;
		}
		if (g->reg[reg] == NONE || (g->reg[reg] != NUM && size != BPF_DW))
			return;
		emit(g, STX(size, 10, reg, off + part));
		g->slot[slot] = g->reg[reg];
		return;
	}
	reg = pick_dst(g);
	if (g->slot[slot] == NONE || (g->slot[slot] != NUM && size != BPF_DW))
		return;
	emit(g, LDX(size, reg, 10, off + part));
	g->reg[reg] = size == BPF_DW ? g->slot[slot] : NUM;
}

/* Often bound a number first, then use it as an offset. */
static void gen_access(struct gen *g)
{
	int idx = pick(g, NUM), ptr = pick_dst(g), dst = pick_dst(g);
	uint8_t size = sizes[below(g, 4)];

	if (idx < 0 || ptr == idx)
		return;
	if (chance(g, 50))
		emit(g, INSN((chance(g, 50) ? BPF_ALU64 : BPF_ALU) | BPF_AND | BPF_K, idx, 0, 0,
			     (int32_t)below(g, VALUE_SIZE)));
	emit(g, MOV_X(ptr, 9));
	emit(g, ALU64_X(BPF_ADD, ptr, idx));
	if (chance(g, 60)) {
		emit(g, LDX(size, dst, ptr, (int16_t)below(g, 8)));
		g->reg[ptr] = VALUE;
		g->reg[dst] = NUM;
	} else {
		int src = pick(g, NUM);

		emit(g, STX(size, ptr, src < 0 ? 9 : src, (int16_t)below(g, 8)));
		g->reg[ptr] = VALUE;
	}
}

static void gen_stack_pointer(struct gen *g)
{
	int idx = pick(g, NUM), ptr = pick_dst(g);

	if (idx < 0 || ptr == idx)
		return;
	emit(g, ALU64_K(BPF_AND, idx, (int32_t)below(g, 16)));
	emit(g, MOV_X(ptr, 10));
	emit(g, ALU64_K(BPF_ADD, ptr, -24 - (int32_t)below(g, 40)));
	emit(g, ALU64_X(BPF_ADD, ptr, idx));
	if (chance(g, 50))
		emit(g, ST(BPF_B, ptr, 0, small_imm(g)));
	else
		emit(g, LDX(BPF_B, ptr, ptr, 0));
	g->reg[ptr] = NONE;
}

static void load_map(struct gen *g, int reg)
{
	if (g->maps == 32 || g->cnt + 2 > MAX_INSNS)
		return;
	g->map_insn[g->maps++] = g->cnt;
	emit(g, INSN(BPF_LD | BPF_IMM | BPF_DW, reg, BPF_PSEUDO_MAP_FD, 0, 0));
	emit(g, INSN(0, 0, 0, 0, 0));
}

static void after_call(struct gen *g, enum kind result)
{
	for (int r = 1; r <= 5; r++)
		g->reg[r] = NONE;
	g->reg[0] = result;
}

static void gen_call(struct gen *g)
{
	int key = pick(g, NUM);

	switch (below(g, 3)) {
	case 0:
		emit(g, CALL(BPF_FUNC_get_prandom_u32));
		after_call(g, NUM);
		break;
	case 1: /* a name into the stack */
		emit(g, MOV_X(1, 10));
		emit(g, ALU64_K(BPF_ADD, 1, -8 * (1 + (int32_t)below(g, 8))));
		emit(g, MOV_K(2, 1 + (int32_t)below(g, 20)));
		emit(g, CALL(BPF_FUNC_get_current_comm));
		after_call(g, NUM);
		break;
	default:
		if (key < 0)
			break;
		emit(g, STX(BPF_W, 10, key, -16));
		emit(g, MOV_X(2, 10));
		emit(g, ALU64_K(BPF_ADD, 2, -16));
		load_map(g, 1);
		emit(g, CALL(BPF_FUNC_map_lookup_elem));
		after_call(g, VALUE);
		if (chance(g, 85)) {
			emit(g, JMP_K(BPF_JNE, 0, 0, 2));
			emit(g, MOV_K(0, 0));
			emit(g, EXIT());
		}
		break;
	}
}

static void gen_loop(struct gen *g, int depth)
{
	int counter = 8, start;
	int32_t limit = 1 + (int32_t)below(g, 6);
	struct gen before;

	if (depth)
		return;
	emit(g, MOV_K(counter, 0));
	g->reg[counter] = NUM;
	start = g->cnt;
	before = *g;
	for (uint32_t n = 1 + below(g, 4); n; n--)
		gen_step(g, 4);
	merge(g, &before);
	emit(g, ALU64_K(BPF_ADD, counter, 1));
	if (chance(g, 85))
		emit(g, JMP_K(BPF_JLT, counter, limit, (int16_t)(start - g->cnt - 1)));
	else
		emit(g, JMP_K(BPF_JNE, counter, limit, (int16_t)(start - g->cnt - 1)));
}

static void gen_atomic(struct gen *g)
{
	static const int32_t ops[] = { BPF_ADD, BPF_ADD | BPF_FETCH, BPF_XCHG, BPF_CMPXCHG,
				       BPF_XOR | BPF_FETCH };
	int src = pick(g, NUM);
	int32_t op = ops[below(g, 5)];
	uint8_t size = chance(g, 50) ? BPF_W : BPF_DW;

	if (src < 0 || g->reg[0] != NUM)
		return;
	if (chance(g, 50))
		emit(g, INSN(BPF_STX | BPF_ATOMIC | size, 9, src, (int16_t)(below(g, 9) * 8), op));
	else
		emit(g, INSN(BPF_STX | BPF_ATOMIC | size, 10, src, -24 - 8 * (int16_t)below(g, SLOTS), op));
}

/* ---- functions ---- */

/* *(u64 *)(reg + 0) is the map's value, the rest is for numbers; which bytes it is may depend on a number. */
static void gen_lent_stack(struct gen *g, int reg)
{
	int num = pick(g, NUM);

	for (int off = -64; off < -16; off += 8)
		if (chance(g, 60))
			emit(g, chance(g, 30) ? STX(BPF_DW, 10, 9, off) : ST(BPF_DW, 10, off, (int32_t)below(g, 3)));
	emit(g, STX(BPF_DW, 10, 9, -64));
	emit(g, MOV_X(reg, 10));
	emit(g, ALU64_K(BPF_ADD, reg, -64));
	if (num < 0 || num == reg || chance(g, 50))
		return;
	emit(g, JMP_K(chance(g, 50) ? BPF_JEQ : BPF_JNE, num, small_imm(g), 3));
	emit(g, STX(BPF_DW, 10, 9, -56));
	emit(g, ST(BPF_DW, 10, -48, (int32_t)below(g, 3)));
	emit(g, ALU64_K(BPF_ADD, reg, 8));
}

static void gen_function_call(struct gen *g)
{
	int func = g->in + 1 + (int)below(g, FUNCS);
	bool callback = func < CALLBACKS;

	if (func >= FUNCS || g->refs == MAX_REFS || g->cnt + 30 > MAX_INSNS || g->reg[9] != VALUE)
		return;
	gen_lent_stack(g, callback ? 3 : 2);
	g->ref[g->refs].at = g->cnt + (callback ? 0 : 1);
	g->ref[g->refs++].func = func;
	if (callback) {
		emit(g, INSN(BPF_LD | BPF_IMM | BPF_DW, 2, BPF_PSEUDO_FUNC, 0, 0));
		emit(g, INSN(0, 0, 0, 0, 0));
		/* Never none: Linux 6.18 removes the callback then, and goes on to call it (-EFAULT). */
		emit(g, MOV_K(1, 1 + (int32_t)below(g, 8)));
		emit(g, MOV_K(4, 0));
		emit(g, CALL(BPF_FUNC_loop));
	} else {
		emit(g, MOV_X(1, 9));
		emit(g, CALL_SUB(0));
	}
	for (int r = 0; r <= 5; r++)
		g->reg[r] = NONE;
	g->reg[0] = NUM;
	for (int slot = 0; slot < SLOTS; slot++)
		g->slot[slot] = NUM;
}

/* What the caller lent. */
static void gen_caller(struct gen *g)
{
	int ptr = pick(g, CALLER), num = pick(g, NUM), dst = pick_dst(g);
	int16_t off = (int16_t)(8 * below(g, 6));

	if (ptr < 0)
		return;
	if (chance(g, 30)) { /* what was left there the time before decides */
		emit(g, LDX(BPF_DW, dst, ptr, off | 8));
		emit(g, JMP_K(chance(g, 50) ? BPF_JEQ : BPF_JNE, dst, (int32_t)below(g, 3), 4));
		emit(g, ST(BPF_DW, ptr, off | 8, (int32_t)below(g, 3)));
		emit(g, MOV_K(0, 0));
		emit(g, JA(0));
		emit(g, EXIT());
		g->reg[dst] = NUM;
	} else if (chance(g, 30)) {
		emit(g, LDX(BPF_DW, dst, ptr, off));
		emit(g, LDX(BPF_DW, dst, dst, 0));
		g->reg[dst] = NUM;
	} else if (chance(g, 50)) {
		emit(g, LDX(BPF_DW, dst, ptr, off));
		g->reg[dst] = off ? NUM : VALUE;
	} else if (num >= 0 && chance(g, 60)) {
		emit(g, STX(sizes[below(g, 4)], ptr, num, chance(g, 90) && !off ? 8 : off));
	} else {
		emit(g, ST(BPF_DW, ptr, chance(g, 90) && !off ? 8 : off, (int32_t)below(g, 3)));
	}
}

static void gen_function(struct gen *g, int func)
{
	bool callback = func < CALLBACKS;

	g->in = func;
	memset(g->reg, 0, sizeof(g->reg));
	memset(g->slot, 0, sizeof(g->slot));
	g->reg[10] = FRAME;
	emit(g, MOV_X(7, 2));
	emit(g, callback ? LDX(BPF_DW, 9, 2, 0) : MOV_X(9, 1));
	emit(g, callback ? MOV_X(6, 1) : LDX(BPF_W, 6, 9, 8));
	emit(g, LDX(BPF_DW, 8, 2, 8));
	g->reg[9] = VALUE;
	g->reg[7] = g->reg[2] = CALLER;
	g->reg[6] = g->reg[8] = NUM;
	for (uint32_t n = 2 + below(g, 10); n; n--)
		gen_step(g, 0);
	emit(g, MOV_K(0, 0));
	if (g->reg[6] == NUM && chance(g, 50)) {
		emit(g, MOV_X(0, 6));
		emit(g, ALU64_K(BPF_AND, 0, callback ? 1 : 63));
	}
	emit(g, EXIT());
}

/* Those that something refers to; each may refer to later ones. */
static void gen_functions(struct gen *g)
{
	g->info[0] = (struct bpf_func_info){ 0, T_MAIN };
	g->infos = 1;
	for (int func = 0; func < FUNCS; func++) {
		int start = g->cnt;
		bool used = false;

		for (int i = 0; i < g->refs; i++) {
			if (g->ref[i].func != func)
				continue;
			g->insn[g->ref[i].at].imm = start - g->ref[i].at - 1;
			used = true;
		}
		if (!used)
			continue;
		g->info[g->infos++] = (struct bpf_func_info){ (uint32_t)start, T_STATIC };
		gen_function(g, func);
	}
}

/* Arithmetic that the kernel refuses on pointers, and that it does not. */
static void gen_pointer_alu(struct gen *g)
{
	int ptr = pick(g, VALUE), num = pick(g, NUM);

	if (ptr < 0 || ptr == 9)
		return;
	if (chance(g, 50) && num >= 0)
		emit(g, ALU64_X(chance(g, 70) ? BPF_ADD : BPF_SUB, ptr, num));
	else
		emit(g, ALU64_K(chance(g, 80) ? BPF_ADD : alu_ops[below(g, 9)], ptr,
				(int32_t)below(g, 40) - 20));
	if (chance(g, 40)) {
		int dst = pick_dst(g);

		emit(g, LDX(sizes[below(g, 4)], dst, ptr, 0));
		g->reg[dst] = NUM;
	}
}

static void gen_step(struct gen *g, int depth)
{
	static const uint8_t weight[] = { 30, 5, 12, 16, 18, 16, 4, 6, 3, 3, 4, 5, 30 };
	uint32_t n = below(g, g->in < 0 ? 122 : 152);
	int what = 0;

	while (n >= weight[what])
		n -= weight[what++];
	switch (what) {
	case 0:
		gen_alu(g);
		break;
	case 1:
		gen_movsx(g);
		break;
	case 2:
		gen_copy(g);
		break;
	case 3:
		gen_branch(g, depth);
		break;
	case 4:
		gen_stack(g);
		break;
	case 5:
		gen_access(g);
		break;
	case 6:
		gen_stack_pointer(g);
		break;
	case 7:
		gen_call(g);
		break;
	case 8:
		gen_loop(g, depth);
		break;
	case 9:
		gen_atomic(g);
		break;
	case 10:
		gen_function_call(g);
		break;
	case 11:
		gen_pointer_alu(g);
		break;
	default: /* in functions */
		gen_caller(g);
		break;
	}
}

static void generate(struct gen *g)
{
	g->cnt = g->maps = g->refs = 0;
	g->in = -1;
	g->flags = chance(g, 50) ? BPF_F_TEST_STATE_FREQ : 0;
	memset(g->reg, 0, sizeof(g->reg));
	memset(g->slot, 0, sizeof(g->slot));
	g->reg[10] = FRAME;
	emit(g, LDX(BPF_DW, 6, 1, 0));
	emit(g, ST(BPF_W, 10, -4, 0));
	emit(g, MOV_X(2, 10));
	emit(g, ALU64_K(BPF_ADD, 2, -4));
	load_map(g, 1);
	emit(g, CALL(BPF_FUNC_map_lookup_elem));
	emit(g, JMP_K(BPF_JNE, 0, 0, 2));
	emit(g, MOV_K(0, 0));
	emit(g, EXIT());
	emit(g, MOV_X(9, 0));
	emit(g, LDX(BPF_W, 7, 9, 0));
	emit(g, LDX(BPF_B, 8, 9, 4));
	g->reg[0] = g->reg[9] = VALUE;
	g->reg[6] = g->reg[7] = g->reg[8] = NUM;
	for (uint32_t n = 3 + below(g, 22); n; n--)
		gen_step(g, 0);
	emit(g, MOV_K(0, 0));
	emit(g, EXIT());
	gen_functions(g);
}

static char log_text[1 << 20];

/* What a side is given besides the program. */
struct given {
	int map, btf;
};

static int load(enum side side, struct gen *g, const struct given *given, int log_level)
{
	union bpf_attr attr;

	for (int i = 0; i < g->maps; i++)
		g->insn[g->map_insn[i]].imm = given->map;
	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT;
	attr.insns = (uint64_t)(uintptr_t)g->insn;
	attr.insn_cnt = (uint32_t)g->cnt;
	attr.license = (uint64_t)(uintptr_t)"GPL";
	attr.prog_flags = g->flags;
	attr.prog_btf_fd = (uint32_t)given->btf;
	attr.func_info = (uint64_t)(uintptr_t)g->info;
	attr.func_info_cnt = g->infos;
	attr.func_info_rec_size = sizeof(g->info[0]);
	if (log_level) {
		attr.log_level = (uint32_t)log_level;
		attr.log_buf = (uint64_t)(uintptr_t)log_text;
		attr.log_size = sizeof(log_text);
		log_text[0] = '\0';
	}
	return side_bpf(side, BPF_PROG_LOAD, &attr, sizeof(attr));
}

static int new_map(enum side side)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.map_type = BPF_MAP_TYPE_ARRAY;
	attr.key_size = 4;
	attr.value_size = VALUE_SIZE;
	attr.max_entries = 4;
	return side_bpf(side, BPF_MAP_CREATE, &attr, sizeof(attr));
}

static int new_btf(enum side side)
{
	struct raw_btf btf;
	union bpf_attr attr;

	raw_btf_fill(&btf);
	memset(&attr, 0, sizeof(attr));
	attr.btf = (uint64_t)(uintptr_t)&btf;
	attr.btf_size = sizeof(btf.hdr) + sizeof(btf.types) + sizeof(RAW_BTF_STRINGS);
	return side_bpf(side, BPF_BTF_LOAD, &attr, sizeof(attr));
}

static void report(struct gen *g, const struct given *given, uint64_t seed)
{
	printf("not ok - accepted here, refused by the kernel; BPFU_TEST_SEED=0x%" PRIx64
	       " BPFU_TEST_PROGRAMS=1\n",
	       seed);
	load(SIDE_KERNEL, g, &given[SIDE_KERNEL], 1);
	printf("kernel:\n%s\n", log_text);
	load(SIDE_USER, g, &given[SIDE_USER], 2);
	printf("libbpfu:\n%s\n", log_text);
}

static bool is_first_of(char (*seen)[80], int *cnt, const char *line)
{
	for (int i = 0; i < *cnt; i++)
		if (!strcmp(seen[i], line))
			return false;
	if (*cnt < 64)
		snprintf(seen[(*cnt)++], 80, "%s", line);
	return true;
}

/* Last line of the log before "processed", for the summary of what we refuse alone. */
static void print_reason(uint64_t seed)
{
	static char seen[64][80];
	static int cnt;
	char *end = strstr(log_text, "\nprocessed "), *start, key[80];

	if (!getenv("BPFU_TEST_VERBOSE") || !end)
		return;
	*end = '\0';
	start = strrchr(log_text, '\n');
	start = start ? start + 1 : log_text;
	snprintf(key, sizeof(key), "%.*s", 30, start);
	if (is_first_of(seen, &cnt, key))
		printf("# only we refuse, seed 0x%" PRIx64 ": %s\n", seed, start);
}

int main(void)
{
	const char *env = getenv("BPFU_TEST_PROGRAMS");
	int programs = env ? atoi(env) : 1500, both = 0, kernel_only = 0, neither = 0, bad = 0;
	struct rng master = rng_start("random verdicts");
	struct given given[SIDES];

	side_self_check();
	if (!side_kernel_usable())
		return 77;
	for (enum side side = SIDE_USER; side < SIDES; side++) {
		given[side] = (struct given){ new_map(side), new_btf(side) };
		if (given[side].map < 0 || given[side].btf < 0) {
			fprintf(stderr, "%s: no map or no BTF\n", side_name[side]);
			return 1;
		}
	}
	for (int i = 0; i < programs; i++) {
		struct gen g = { .rng = master };
		int ours, theirs;

		generate(&g);
		ours = load(SIDE_USER, &g, &given[SIDE_USER], 0);
		theirs = load(SIDE_KERNEL, &g, &given[SIDE_KERNEL], 0);
		both += ours >= 0 && theirs >= 0;
		neither += ours < 0 && theirs < 0;
		kernel_only += ours < 0 && theirs >= 0;
		if (ours >= 0 && theirs < 0) {
			report(&g, given, master.state);
			bad++;
		}
		if (ours < 0 && theirs >= 0) {
			load(SIDE_USER, &g, &given[SIDE_USER], 1);
			print_reason(master.state);
		}
		if (ours >= 0)
			close(ours);
		if (theirs >= 0)
			close(theirs);
		rng_u64(&master);
	}
	printf("%d programs: both accept %d (%.0f%%), both refuse %d, only the kernel accepts %d, "
	       "only libbpfu accepts %d\n",
	       programs, both, 100.0 * both / programs, neither, kernel_only, bad);
	return bad || !both;
}
