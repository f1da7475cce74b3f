// SPDX-License-Identifier: BSD-2-Clause
/* Idioms that a compiler may treat specially, and what is almost one. */
#include "jit_gen.h"

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

void gen_idiom(struct gen *g)
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
void gen_load_idiom(struct gen *g)
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
void gen_join(struct gen *g)
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
void gen_choice(struct gen *g)
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
