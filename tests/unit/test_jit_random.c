// SPDX-License-Identifier: BSD-2-Clause
/*
 * Random programs, compiled and interpreted. The generator keeps what the verifier would demand:
 * registers are initialised, pointers are to the program's own stack and in bounds, loops end.
 * It also keeps addresses out of the result, since the two runs have different stacks.
 *
 *   test_jit_random [-n PROGRAMS] [-s SEED]     one program: -n 1 -s SEED as printed by a failure
 */
#include "test_jit_env.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "jit/jit.h"

#define STACK 128
#define MAX_INSNS 3000
#define FUNCS 3
#define INPUTS 6

static unsigned long programs = 2500;
static uint64_t first_seed = 0x1d872b41c0ffee;

/* What a register holds: a number, or the address r10 - off with lo <= off <= hi. */
struct kind {
	bool ptr;
	int lo, hi;
};

struct gen {
	uint64_t rng;
	struct bpf_insn insns[MAX_INSNS];
	uint32_t n;
	struct kind kind[10];
	uint16_t reserved;           /* loop counters in use */
	int depth;
	int loops;                   /* nesting: keeps run time small */
	bool leaf;                   /* no calls in this function */
	unsigned hot;                /* registers hot … hot + 3 are used most */
	uint32_t call_at[64];        /* calls to patch, and to which function */
	unsigned call_to[64];
	unsigned calls;
	unsigned func;
};

static uint32_t rnd(struct gen *g, uint32_t n)
{
	return (uint32_t)(rng_next(&g->rng) >> 33) % n;
}

static void emit(struct gen *g, struct bpf_insn insn)
{
	g->insns[g->n++] = insn;
}

static int32_t rnd_imm(struct gen *g)
{
	switch (rnd(g, 4)) {
	case 0:
		return (int32_t)rnd(g, 16) - 4;
	case 1:
		return (int32_t)(uint32_t)edge_values[rnd(g, edge_cnt)];
	case 2:
		return (int32_t)((1u << rnd(g, 32)) - rnd(g, 2));
	default:
		return (int32_t)rng_next(&g->rng);
	}
}

static void set_scalar(struct gen *g, unsigned r)
{
	g->kind[r].ptr = false;
}

static bool is_free(const struct gen *g, unsigned r)
{
	return !(g->reserved >> r & 1);
}

/* Often one of the same few, so that instructions meet each other's results. */
static unsigned any_reg(struct gen *g)
{
	if (!rnd(g, 12))
		g->hot = rnd(g, 10);
	return rnd(g, 3) ? (g->hot + rnd(g, 4)) % 10 : rnd(g, 10);
}

/* A register that may be written. */
static unsigned any_dst(struct gen *g)
{
	unsigned r;

	do
		r = any_reg(g);
	while (!is_free(g, r));
	return r;
}

/* A register that holds a number; made so if need be. @write: one that may be written. */
static unsigned scalar(struct gen *g, bool write)
{
	for (int tries = 0; tries < 20; tries++) {
		unsigned r = any_reg(g);

		if (!g->kind[r].ptr && (!write || is_free(g, r)))
			return r;
	}
	for (;;) {
		unsigned r = any_dst(g);

		if (g->kind[r].ptr)
			emit(g, MOV_I(r, rnd_imm(g)));
		set_scalar(g, r);
		return r;
	}
}

static const uint8_t alu_ops[] = { BPF_ADD, BPF_SUB, BPF_MUL, BPF_DIV,  BPF_OR,  BPF_AND, BPF_LSH,
				   BPF_RSH, BPF_MOD, BPF_XOR, BPF_ARSH, BPF_MOV, BPF_ADD, BPF_MOV,
				   BPF_MOV, BPF_ADD };

static void gen_alu(struct gen *g)
{
	uint8_t op = alu_ops[rnd(g, BPFU_ARRAY_SIZE(alu_ops))];
	uint8_t class = rnd(g, 2) ? BPF_ALU64 : BPF_ALU;
	bool imm = rnd(g, 2);
	unsigned d = op == BPF_MOV ? any_dst(g) : scalar(g, true);
	int32_t value = imm ? rnd_imm(g) : 0;
	int16_t off = 0;

	if (op == BPF_LSH || op == BPF_RSH || op == BPF_ARSH)
		value &= class == BPF_ALU64 ? 63 : 31;
	if (op == BPF_DIV || op == BPF_MOD)
		off = (int16_t)rnd(g, 2);
	if (op == BPF_MOV && !imm && !rnd(g, 4))
		off = (int16_t)(8 << rnd(g, class == BPF_ALU64 ? 3 : 2));
	if (imm)
		emit(g, BPFU_INSN(class | op | BPF_K, d, 0, off, value));
	else
		emit(g, BPFU_INSN(class | op | BPF_X, d, scalar(g, false), off, 0));
	set_scalar(g, d);
}

static void gen_unary(struct gen *g)
{
	static const uint64_t big[] = { 0x7fee00000000, 0x7fee00000008, 0x7fee10000000,
					0xdeadbeefcafe, 1ull << 63, 0x100000001b3 };
	unsigned d = scalar(g, true);
	int32_t width = 16 << rnd(g, 3);
	uint64_t imm;

	switch (rnd(g, 7)) {
	case 5:
	case 6:
		imm = rnd(g, 4) ? big[rnd(g, BPFU_ARRAY_SIZE(big))] : rng_next(&g->rng);
		emit(g, LD64_LO(d, 0, imm));
		emit(g, LD64_HI(imm));
		break;
	case 0:
		emit(g, BPFU_INSN(BPF_ALU64 | BPF_NEG, d, 0, 0, 0));
		break;
	case 1:
		emit(g, BPFU_INSN(BPF_ALU | BPF_NEG, d, 0, 0, 0));
		break;
	case 2:
		emit(g, BPFU_INSN(BPF_ALU | BPF_END | BPF_TO_LE, d, 0, 0, width));
		break;
	case 3:
		emit(g, BPFU_INSN(BPF_ALU | BPF_END | BPF_TO_BE, d, 0, 0, width));
		break;
	default:
		emit(g, BPFU_INSN(BPF_ALU64 | BPF_END | BPF_TO_LE, d, 0, 0, width));
	}
}

/* ---- pointers ---- */

static void set_ptr(struct gen *g, unsigned r, int lo, int hi)
{
	g->kind[r] = (struct kind){ true, lo, hi };
}

static void point_anew(struct gen *g, unsigned r, int off)
{
	emit(g, MOV_R(r, R10));
	emit(g, ALU64_I(BPF_ADD, r, -off));
	set_ptr(g, r, off, off);
}

/* A pointer register, with what may lie between it and r10 through *@k. Maybe r10 itself. */
static unsigned pointer(struct gen *g, struct kind *k)
{
	for (int tries = 0; tries < 12; tries++) {
		unsigned r = rnd(g, 11);

		if (r == R10) {
			*k = (struct kind){ true, 0, 0 };
			return r;
		}
		if (g->kind[r].ptr) {
			*k = g->kind[r];
			return r;
		}
	}
	for (;;) {
		unsigned r = any_dst(g);

		point_anew(g, r, 8 * (int)(1 + rnd(g, STACK / 8)));
		*k = g->kind[r];
		return r;
	}
}

static void gen_pointer(struct gen *g)
{
	unsigned r = any_dst(g), s = any_dst(g), idx;
	struct kind k;
	int delta;

	switch (rnd(g, 4)) {
	case 0:
		point_anew(g, r, 8 * (int)(1 + rnd(g, STACK / 8)));
		break;
	case 1: /* copy, perhaps moved */
		s = pointer(g, &k);
		r = any_dst(g);
		emit(g, MOV_R(r, s));
		set_ptr(g, r, k.lo, k.hi);
		if (rnd(g, 2))
			break;
		/* fallthrough */
	case 2: /* move */
		if (!g->kind[r].ptr)
			return;
		delta = 8 * ((int)rnd(g, 5) - 2);
		if (g->kind[r].lo - delta < 8 || g->kind[r].hi - delta > STACK)
			return;
		emit(g, rnd(g, 2) ? ALU64_I(BPF_ADD, r, delta) : ALU64_I(BPF_SUB, r, -delta));
		g->kind[r].lo -= delta;
		g->kind[r].hi -= delta;
		break;
	default: /* plus a scaled index: r = s + idx * 8 */
		s = pointer(g, &k);
		if (k.lo < 40 || s == R10)
			return;
		idx = scalar(g, true);
		do
			r = any_dst(g);
		while (r == idx);
		emit(g, ALU64_I(BPF_AND, idx, 3));
		emit(g, rnd(g, 2) ? ALU64_I(BPF_LSH, idx, 3) : ALU64_I(BPF_MUL, idx, 8));
		if (is_free(g, s) && g->kind[s].ptr && rnd(g, 2))
			r = s; /* in place */
		else
			emit(g, MOV_R(r, s));
		emit(g, ALU64_R(BPF_ADD, r, idx));
		set_ptr(g, r, k.lo - 24, k.hi);
		if (rnd(g, 2)) { /* over the index, or the pointer itself */
			s = rnd(g, 2) ? idx : r;
			emit(g, LDX(BPF_DW, s, r, (int16_t)(8 * (int)rnd(g, 2))));
			set_scalar(g, s);
		}
	}
}

/* Offset for an access of @size bytes through a pointer of kind @k: within the frame. */
static int16_t access_off(struct gen *g, struct kind k, int size, bool aligned)
{
	int lo = k.hi - STACK, hi = k.lo - size; /* lo <= off <= hi */
	int off = lo + (int)rnd(g, (uint32_t)(hi - lo + 1));

	if (aligned) {
		off = off & -size;
		if (off < lo)
			off += size;
	}
	return (int16_t)off;
}

static void gen_mem(struct gen *g)
{
	static const uint8_t codes[] = { BPF_B, BPF_H, BPF_W, BPF_DW };
	static const int32_t atomics[] = { BPF_ADD, BPF_OR, BPF_AND, BPF_XOR, BPF_ADD | BPF_FETCH,
					   BPF_OR | BPF_FETCH, BPF_AND | BPF_FETCH,
					   BPF_XOR | BPF_FETCH, BPF_XCHG, BPF_CMPXCHG };
	unsigned z = rnd(g, 4), what = rnd(g, 8), d, p;
	int size = 1 << z;
	struct kind k;
	int32_t op;

	d = scalar(g, true);
	p = pointer(g, &k);
	if (k.lo < 8)
		k.lo = k.hi = 0;
	if (what < 4) {
		uint8_t mode = what == 0 && z < 3 ? BPF_MEMSX : what == 1 ? BPFU_PROBE_MEM : BPF_MEM;

		d = any_dst(g);
		emit(g, BPFU_INSN(BPF_LDX | mode | codes[z], d, p, access_off(g, k, size, false), 0));
		set_scalar(g, d);
	} else if (what < 6) {
		if (g->kind[d].ptr) /* became one as the pointer was made */
			return;
		emit(g, STX(codes[z], p, access_off(g, k, size, false), d));
	} else if (what == 6) {
		emit(g, ST(codes[z], p, access_off(g, k, size, false), rnd_imm(g)));
	} else {
		z = 2 + rnd(g, 2);
		size = 1 << z;
		op = atomics[rnd(g, BPFU_ARRAY_SIZE(atomics))];
		if (g->kind[d].ptr || k.lo % 8 || k.hi % 8)
			return;
		if (op == BPF_CMPXCHG && (g->kind[0].ptr || !is_free(g, 0)))
			return;
		emit(g, ATOMIC(codes[z], p, access_off(g, k, size, true), d, op));
	}
}

static const uint8_t jmp_ops[] = { BPF_JEQ, BPF_JNE, BPF_JGT, BPF_JGE, BPF_JLT, BPF_JLE,
				   BPF_JSGT, BPF_JSGE, BPF_JSLT, BPF_JSLE, BPF_JSET };

/* ---- idioms that a compiler may treat specially ---- */

static void gen_rotate(struct gen *g, uint8_t class, unsigned d, unsigned t, int32_t n)
{
	static const uint8_t ors[] = { BPF_OR, BPF_XOR, BPF_ADD };
	unsigned other = rnd(g, 2) ? d : t, result = rnd(g, 2) ? d : t;
	int32_t right = (class == BPF_ALU ? 32 : 64) - (rnd(g, 8) ? n : 1);

	emit(g, BPFU_INSN(class | BPF_MOV | BPF_X, t, d, 0, 0));
	if (rnd(g, 2)) {
		emit(g, BPFU_INSN(class | BPF_LSH | BPF_K, other, 0, 0, n));
		emit(g, BPFU_INSN(class | BPF_RSH | BPF_K, other == d ? t : d, 0, 0, right));
	} else {
		emit(g, BPFU_INSN(class | BPF_RSH | BPF_K, other, 0, 0, right));
		emit(g, BPFU_INSN(class | BPF_LSH | BPF_K, other == d ? t : d, 0, 0, n));
	}
	emit(g, BPFU_INSN(class | ors[rnd(g, 3)] | BPF_X, result, result == d ? t : d, 0, 0));
	if (rnd(g, 4))
		emit(g, MOV_I(result == d ? t : d, rnd_imm(g)));
}

/* The same with both halves shifted in copies. */
static void gen_rotate_copy(struct gen *g, uint8_t class, unsigned u, unsigned t, unsigned a, int32_t n)
{
	bool left_first = rnd(g, 2);
	int32_t right = (class == BPF_ALU ? 32 : 64) - (rnd(g, 8) ? n : 1);

	emit(g, BPFU_INSN(class | BPF_MOV | BPF_X, t, a, 0, 0));
	emit(g, BPFU_INSN(class | (left_first ? BPF_LSH : BPF_RSH) | BPF_K, t, 0, 0,
			  left_first ? n : right));
	emit(g, BPFU_INSN(class | BPF_MOV | BPF_X, u, rnd(g, 8) ? a : t, 0, 0));
	emit(g, BPFU_INSN(class | (left_first ? BPF_RSH : BPF_LSH) | BPF_K, u, 0, 0,
			  left_first ? right : n));
	emit(g, BPFU_INSN(class | (rnd(g, 2) ? BPF_OR : BPF_ADD) | BPF_X, u, t, 0, 0));
	if (rnd(g, 4))
		emit(g, MOV_I(t, rnd_imm(g)));
}

static void gen_idiom(struct gen *g)
{
	unsigned d = scalar(g, true), s = scalar(g, false), t = scalar(g, true);
	int32_t n = 1 + (int32_t)rnd(g, 31);
	uint8_t class = rnd(g, 2) ? BPF_ALU64 : BPF_ALU;

	if (d == t || g->kind[d].ptr || g->kind[s].ptr || g->kind[t].ptr)
		return;
	switch (rnd(g, 6)) {
	case 5:
		if (d != s && t != s)
			gen_rotate_copy(g, class, d, t, s, n);
		break;
	case 0: /* rotate */
		gen_rotate(g, class, d, t, n);
		break;
	case 1: /* zero- or sign-extend by shifts */
		emit(g, BPFU_INSN(class | BPF_LSH | BPF_K, d, 0, 0, n));
		emit(g, BPFU_INSN(class | (rnd(g, 2) ? BPF_RSH : BPF_ARSH) | BPF_K, d, 0, 0, n));
		break;
	case 2: /* three operands */
		emit(g, BPFU_INSN(class | BPF_MOV | BPF_X, d, s, 0, 0));
		emit(g, BPFU_INSN(class | (rnd(g, 2) ? BPF_ADD : BPF_MUL) | BPF_X, d, t, 0, 0));
		break;
	case 3: /* copy and constant */
		emit(g, BPFU_INSN(class | BPF_MOV | BPF_X, d, s, 0, 0));
		emit(g, BPFU_INSN(class | alu_ops[rnd(g, 2)] | BPF_K, d, 0, 0, rnd_imm(g)));
		break;
	default: /* read, change, write */
		emit(g, BPFU_INSN(BPF_LDX | BPF_MEM | (class == BPF_ALU ? BPF_W : BPF_DW), d, R10,
				  -24, 0));
		emit(g, BPFU_INSN(class | alu_ops[rnd(g, 3)] | BPF_X, d, s, 0, 0));
		emit(g, BPFU_INSN(BPF_STX | BPF_MEM | (class == BPF_ALU ? BPF_W : BPF_DW), R10, d,
				  -24, 0));
	}
}

static int16_t slot(struct gen *g, unsigned size)
{
	return (int16_t)-(int)(size * (1 + rnd(g, STACK / size)));
}

/* A load, what is done with it, and then nobody needs it any more. */
static void gen_load_idiom(struct gen *g)
{
	static const uint8_t codes[] = { BPF_B, BPF_H, BPF_W, BPF_DW };
	unsigned d = scalar(g, true), t = scalar(g, true), s = scalar(g, false), z = rnd(g, 4);
	uint8_t class = rnd(g, 2) ? BPF_ALU64 : BPF_ALU;
	uint8_t jmp = (rnd(g, 2) ? BPF_JMP : BPF_JMP32) | jmp_ops[rnd(g, BPFU_ARRAY_SIZE(jmp_ops))];
	uint8_t op = alu_ops[rnd(g, BPFU_ARRAY_SIZE(alu_ops))];
	int16_t off = slot(g, 1u << z);
	int32_t imm = rnd(g, 2) ? (int32_t)rnd(g, 300) : rnd_imm(g);

	if (d == t || t == s || g->kind[d].ptr || g->kind[s].ptr || g->kind[t].ptr)
		return;
	if (op == BPF_LSH || op == BPF_RSH || op == BPF_ARSH)
		op = BPF_XOR;
	if (rnd(g, 2) && s != d) { /* what is copied must outlive its source */
		unsigned copy = scalar(g, true);

		if (copy != d && copy != t && copy != s && !g->kind[copy].ptr)
			emit(g, MOV_R(copy, d));
	}
	if (g->kind[d].ptr || g->kind[s].ptr || g->kind[t].ptr)
		return;
	emit(g, LDX(codes[z], t, R10, off));
	switch (rnd(g, 5)) {
	case 0:
		emit(g, BPFU_INSN(class | op | BPF_X, d, t, 0, 0));
		break;
	case 1:
		emit(g, BPFU_INSN(jmp | BPF_K, t, 0, 1, imm));
		emit(g, MOV_I(d, rnd_imm(g)));
		break;
	case 2:
		emit(g, rnd(g, 2) ? BPFU_INSN(jmp | BPF_X, t, s, 1, 0) : BPFU_INSN(jmp | BPF_X, s, t, 1, 0));
		emit(g, MOV_I(d, rnd_imm(g)));
		break;
	case 3:
		emit(g, rnd(g, 2) ? BPFU_INSN(class | op | BPF_X, t, s, 0, 0) :
				    BPFU_INSN(class | op | BPF_K, t, 0, 0, imm));
		emit(g, STX(codes[z], R10, off, t));
		break;
	default:
		emit(g, rnd(g, 2) ? BPFU_INSN(BPF_ALU | BPF_END | BPF_TO_BE, t, 0, 0, 16 << rnd(g, 3)) :
				    BPFU_INSN(BPF_ALU64 | BPF_END, t, 0, 0, 16 << rnd(g, 3)));
		emit(g, rnd(g, 2) ? STX(codes[z], R10, slot(g, 1u << z), t) : MOV_R(d, t));
	}
	if (rnd(g, 4))
		emit(g, MOV_I(t, rnd_imm(g)));
}

/*
 * A number put together from its bytes or half words, as a compiler does it that knows of no unaligned
 * access; sometimes not quite: another byte, another shift, or a store in between.
 */
static void gen_join(struct gen *g)
{
	unsigned d = scalar(g, true), t = scalar(g, true), part = 1u << rnd(g, 2);
	unsigned size = part << (1 + rnd(g, 2));
	uint8_t class = size < 8 && rnd(g, 2) ? BPF_ALU : BPF_ALU64, code = part == 1 ? BPF_B : BPF_H;
	static const uint8_t ors[] = { BPF_OR, BPF_XOR, BPF_ADD };
	int16_t off = (int16_t)(-8 - (int)rnd(g, STACK - 8));
	bool backwards = rnd(g, 2);

	if (d == t || g->kind[d].ptr || g->kind[t].ptr)
		return;
	for (unsigned i = 0; i < size / part; i++) {
		unsigned k = backwards ? size / part - 1 - i : i, from = rnd(g, 16) ? k : 0;
		unsigned r = i ? t : d;

		emit(g, LDX(code, r, R10, (int16_t)(off + (int)(from * part))));
		if (k)
			emit(g, BPFU_INSN(class | BPF_LSH | BPF_K, r, 0, 0,
					  (int32_t)(8 * part * (rnd(g, 16) ? k : 1))));
		if (!rnd(g, 16))
			emit(g, STX(BPF_B, R10, off, r));
		if (i)
			emit(g, BPFU_INSN(class | ors[rnd(g, 3)] | BPF_X, d, t, 0, 0));
	}
	if (rnd(g, 4))
		emit(g, MOV_I(t, rnd_imm(g)));
}

/* A choice between two values, or on a bit. */
static void gen_choice(struct gen *g)
{
	unsigned d = scalar(g, true), t = scalar(g, true), s = scalar(g, false);
	uint8_t jmp = (rnd(g, 2) ? BPF_JMP : BPF_JMP32) | jmp_ops[rnd(g, BPFU_ARRAY_SIZE(jmp_ops))];
	uint8_t class = rnd(g, 2) ? BPF_ALU64 : BPF_ALU;
	int32_t bit = (int32_t)rnd(g, 2);

	if (d == t || t == s || g->kind[d].ptr || g->kind[s].ptr || g->kind[t].ptr)
		return;
	switch (rnd(g, 4)) {
	case 3: /* a branch with a 0 that is tested where it goes */
		emit(g, MOV_I(d, rnd(g, 4) ? 0 : rnd_imm(g)));
		emit(g, BPFU_INSN(jmp | BPF_K, rnd(g, 8) ? t : d, 0, 1, rnd_imm(g)));
		emit(g, MOV_R(d, s));
		emit(g, BPFU_INSN((rnd(g, 2) ? BPF_JMP : BPF_JMP32) | (bit ? BPF_JEQ : BPF_JNE), d, 0, 1,
				  rnd(g, 8) ? 0 : 1));
		emit(g, MOV_I(t, rnd_imm(g)));
		break;
	case 0:
		emit(g, BPFU_INSN(class | BPF_MOV | BPF_K, d, 0, 0, bit));
		emit(g, rnd(g, 2) ? BPFU_INSN(jmp | BPF_X, t, s, 1, 0) :
				    BPFU_INSN(jmp | BPF_K, t, 0, 1, rnd_imm(g)));
		emit(g, BPFU_INSN(class | BPF_MOV | BPF_K, d, 0, 0, !bit));
		break;
	case 1:
		emit(g, rnd(g, 2) ? BPFU_INSN(jmp | BPF_X, t, s, 1, 0) :
				    BPFU_INSN(jmp | BPF_K, t, 0, 1, rnd_imm(g)));
		emit(g, BPFU_INSN(class | BPF_MOV | BPF_X, d, s, 0, 0));
		break;
	default:
		emit(g, BPFU_INSN(class | BPF_MOV | BPF_X, t, s, 0, 0));
		emit(g, BPFU_INSN(class | BPF_AND | BPF_K, t, 0, 0,
				  rnd(g, 2) ? 1 << rnd(g, 31) : rnd_imm(g)));
		emit(g, BPFU_INSN((rnd(g, 2) ? BPF_JMP : BPF_JMP32) | (bit ? BPF_JEQ : BPF_JNE), t, 0,
				  2, 0));
		emit(g, MOV_I(d, rnd_imm(g)));
		emit(g, MOV_I(d, rnd_imm(g)));
		if (rnd(g, 4))
			emit(g, MOV_I(t, rnd_imm(g)));
	}
}

/* ---- control flow ---- */

static void gen_block(struct gen *g, uint32_t len);

/* After code that may or may not have run: registers whose kind it changed become numbers. */
static void merge(struct gen *g, const struct kind *before)
{
	for (unsigned r = 0; r < 10; r++) {
		const struct kind *b = &before[r], *a = &g->kind[r];

		if (b->ptr == a->ptr && (!a->ptr || (a->lo == b->lo && a->hi == b->hi)))
			continue;
		emit(g, MOV_I(r, rnd_imm(g)));
		set_scalar(g, r);
	}
}

static struct bpf_insn rnd_cond(struct gen *g)
{
	uint8_t code = (rnd(g, 2) ? BPF_JMP : BPF_JMP32) | jmp_ops[rnd(g, BPFU_ARRAY_SIZE(jmp_ops))];
	unsigned d = scalar(g, false);

	if (rnd(g, 2)) {
		unsigned s = scalar(g, false);

		if (!g->kind[d].ptr)
			return BPFU_INSN(code | BPF_X, d, s, 0, 0);
	}
	return BPFU_INSN(code | BPF_K, g->kind[d].ptr ? scalar(g, false) : d, 0, 0, rnd_imm(g));
}

static void result(struct gen *g);

static void gen_if(struct gen *g)
{
	struct kind before[10];
	struct bpf_insn cond = rnd_cond(g);
	uint32_t at = g->n, over;
	bool inverted = !rnd(g, 4); /* if (c) goto body; goto out; */

	memcpy(before, g->kind, sizeof(before));
	emit(g, cond);
	if (inverted) {
		g->insns[at].off = 1;
		at = g->n;
		emit(g, JA(0));
	}
	gen_block(g, 1 + rnd(g, 8));
	if (!rnd(g, 12)) {
		result(g);
		emit(g, EXIT());
		memcpy(g->kind, before, sizeof(before));
		g->insns[at].off = (int16_t)(g->n - at - 1);
		return;
	}
	if (rnd(g, 3)) {
		g->insns[at].off = (int16_t)(g->n - at - 1);
		merge(g, before);
		return;
	}
	/* else */
	over = g->n;
	emit(g, JA(0));
	g->insns[at].off = (int16_t)(g->n - at - 1);
	{
		struct kind then[10], was[10];

		memcpy(then, g->kind, sizeof(then));
		memcpy(was, before, sizeof(was));
		memcpy(g->kind, before, sizeof(before));
		gen_block(g, 1 + rnd(g, 5));
		g->insns[over].off = (int16_t)(g->n - over - 1);
		merge(g, then);
		/* what the first half changed and the second did not is covered: kinds differ */
	}
}

static void gen_loop(struct gen *g)
{
	struct kind before[10];
	unsigned counter = scalar(g, true);
	uint32_t top;

	if (g->loops >= 2)
		return;
	emit(g, MOV_I(counter, (int32_t)(1 + rnd(g, 5))));
	g->reserved |= 1u << counter;
	g->loops++;
	memcpy(before, g->kind, sizeof(before));
	top = g->n;
	gen_block(g, 2 + rnd(g, 8));
	/* Back to what the top expects. */
	for (unsigned r = 0; r < 10; r++) {
		const struct kind *b = &before[r], *a = &g->kind[r];

		if (b->ptr && (!a->ptr || a->lo != b->lo || a->hi != b->hi)) {
			point_anew(g, r, b->lo);
			*(&g->kind[r]) = *b;
		} else if (!b->ptr && a->ptr) {
			emit(g, MOV_I(r, rnd_imm(g)));
			set_scalar(g, r);
		}
	}
	if (rnd(g, 2)) {
		emit(g, ALU64_I(BPF_ADD, counter, -1));
		emit(g, JMP_I(BPF_JNE, counter, 0, (int16_t)(top - g->n - 1)));
	} else { /* as clang likes it: if (done) skip; goto top */
		emit(g, ALU32_I(BPF_SUB, counter, 1));
		emit(g, JMP_I(BPF_JEQ, counter, 0, 1));
		emit(g, JA((int16_t)(top - g->n - 1)));
	}
	g->loops--;
	g->reserved &= (uint16_t)~(1u << counter);
}

static void gen_call(struct gen *g)
{
	if (g->leaf)
		return;
	for (unsigned r = 0; r <= 5; r++)
		if (!is_free(g, r))
			return;
	for (unsigned r = 1; r <= 5; r++)
		if (g->kind[r].ptr) {
			emit(g, MOV_I(r, rnd_imm(g)));
			set_scalar(g, r);
		}
	if (g->func + 1 < FUNCS && rnd(g, 2) && g->calls < BPFU_ARRAY_SIZE(g->call_at)) {
		g->call_at[g->calls] = g->n;
		g->call_to[g->calls++] = g->func + 1 + rnd(g, FUNCS - g->func - 1);
		emit(g, CALL_REL(0));
	} else {
		emit(g, CALL(HELPER_MIX));
	}
	set_scalar(g, 0);
	for (unsigned r = 1; r <= 5; r++) {
		if (rnd(g, 4))
			emit(g, MOV_I(r, rnd_imm(g)));
		else
			emit(g, MOV_R(r, R0));
		set_scalar(g, r);
	}
}

static void gen_block(struct gen *g, uint32_t len)
{
	g->depth++;
	while (len-- && g->n < MAX_INSNS - 600) {
		switch (rnd(g, 17)) {
		case 0:
		case 1:
			if (g->depth < 5)
				gen_if(g);
			break;
		case 2:
			if (g->depth < 4)
				gen_loop(g);
			break;
		case 3:
			gen_call(g);
			break;
		case 4:
			gen_unary(g);
			break;
		case 5:
		case 6:
			gen_pointer(g);
			break;
		case 16:
			gen_join(g);
			break;
		case 7:
		case 8:
		case 9:
			gen_mem(g);
			break;
		case 10:
			switch (rnd(g, 3)) {
			case 0:
				gen_idiom(g);
				break;
			case 1:
				gen_load_idiom(g);
				break;
			default:
				gen_choice(g);
			}
			break;
		default:
			gen_alu(g);
		}
	}
	g->depth--;
}

/* r0 = a hash of all numbers in registers and of the stack */
static void result(struct gen *g)
{
	unsigned t = R0;

	if (g->kind[0].ptr)
		emit(g, MOV_I(R0, 1));
	for (unsigned r = 1; r < 10; r++) {
		if (g->kind[r].ptr)
			continue;
		emit(g, ALU64_I(BPF_MUL, R0, 31));
		emit(g, ALU64_R(BPF_XOR, R0, r));
		t = r;
	}
	if (t == R0)
		t = R1;
	for (int off = 8; off <= STACK; off += 8) {
		emit(g, LDX(BPF_DW, t, R10, (int16_t)-off));
		emit(g, ALU64_I(BPF_MUL, R0, 37));
		emit(g, ALU64_R(BPF_ADD, R0, t));
	}
}

static void gen_func(struct gen *g, unsigned func)
{
	bool uses_stack = true;

	g->func = func;
	g->reserved = 0;
	g->leaf = !rnd(g, 3);
	memset(g->kind, 0, sizeof(g->kind));
	if (!func) {
		for (unsigned r = 0; r < 10; r++)
			if (r != 1)
				emit(g, LDX(BPF_DW, r, R1, (int16_t)(8 * r)));
		emit(g, LDX(BPF_DW, R1, R1, 8));
	} else {
		emit(g, MOV_I(R0, rnd_imm(g)));
		for (unsigned r = 6; r < 10; r++)
			emit(g, rnd(g, 2) ? MOV_R(r, r - 5) : MOV_I(r, rnd_imm(g)));
	}
	for (int off = 8; uses_stack && off <= STACK; off += 8)
		emit(g, rnd(g, 2) ? ST(BPF_DW, R10, (int16_t)-off, rnd_imm(g)) :
				    STX(BPF_DW, R10, (int16_t)-off, rnd(g, 10)));
	gen_block(g, 5 + rnd(g, 40));
	result(g);
	emit(g, EXIT());
}

static void one_program(uint64_t seed)
{
	static struct gen g;
	uint32_t starts[FUNCS];
	struct jprog p;
	uint64_t in[10];

	memset(&g, 0, sizeof(g));
	g.rng = seed;
	for (unsigned f = 0; f < FUNCS; f++) {
		starts[f] = g.n;
		gen_func(&g, f);
	}
	for (unsigned i = 0; i < g.calls; i++)
		g.insns[g.call_at[i]].imm = (int32_t)(starts[g.call_to[i]] - g.call_at[i] - 1);
	jprog_init(&p, g.insns, g.n, STACK);
	for (unsigned f = 1; f < FUNCS; f++)
		jprog_sub(&p, starts[f], STACK);
	if (jprog_compile(&p, (enum jvariant)(seed >> 20 & 3) % J_VARIANTS))
		fail_msg("compile, -n 1 -s %#llx", (unsigned long long)seed);
	for (int i = 0; i < INPUTS; i++) {
		uint64_t a, b;

		for (int r = 0; r < 10; r++)
			in[r] = i & 1 ? rng_next(&g.rng) : edge_values[rnd(&g, edge_cnt)];
		a = jprog_run_interp(&p, in);
		b = jprog_run_jit(&p, in);
		if (a != b) {
			jprog_dump(&p);
			fail_msg("interp %#llx, jit %#llx; replay with -n 1 -s %#llx",
				 (unsigned long long)a, (unsigned long long)b,
				 (unsigned long long)seed);
		}
	}
	jprog_release(&p);
}

static void test_random(void **state)
{
	uint64_t seed = first_seed;

	printf("%lu programs, seed %#llx\n", programs, (unsigned long long)seed);
	for (unsigned long i = 0; i < programs; i++) {
		one_program(seed);
		rng_next(&seed);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_random) };
	int opt;

	while ((opt = getopt(argc, argv, "n:s:")) != -1) {
		if (opt == 'n')
			programs = strtoul(optarg, NULL, 0);
		else if (opt == 's')
			first_seed = strtoull(optarg, NULL, 0);
		else
			return 2;
	}
	if (!bpfu_jit_available()) {
		puts("SKIP: no JIT for this machine");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
