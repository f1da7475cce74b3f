// SPDX-License-Identifier: BSD-2-Clause
/* Arithmetic, constants and comparisons: every ALU and jump opcode, corner values preferred. */
#include "gen.h"

static const uint8_t binary_ops[] = {
	BPF_ADD, BPF_SUB, BPF_MUL, BPF_DIV, BPF_OR,   BPF_AND,
	BPF_LSH, BPF_RSH, BPF_MOD, BPF_XOR, BPF_ARSH,
};

static void gen_binary(struct gen *g, uint8_t class)
{
	uint8_t op = binary_ops[rng_below(&g->rng, BPFU_ARRAY_SIZE(binary_ops))];
	bool is_div = op == BPF_DIV || op == BPF_MOD;
	int16_t off = is_div && rng_percent(&g->rng, 50); /* 1: signed */
	int dst = scalar_dst(g);

	if (rng_percent(&g->rng, 50)) {
		emit(g, BPFU_INSN(class | op | BPF_X, dst, scalar_src(g), off, 0));
		return;
	}
	if (op == BPF_LSH || op == BPF_RSH || op == BPF_ARSH) {
		int bits = class == BPF_ALU64 ? 64 : 32;

		emit(g, BPFU_INSN(class | op | BPF_K, dst, 0, 0, rng_below(&g->rng, bits)));
	} else {
		int32_t imm = rand_imm(g);

		emit(g, BPFU_INSN(class | op | BPF_K, dst, 0, off, is_div && !imm ? 1 : imm));
	}
}

static void gen_mov(struct gen *g, uint8_t class)
{
	static const int16_t widths[] = { 0, 8, 16, 32 };
	int src = scalar_src(g), dst = pick_dst(g);
	int16_t off = widths[rng_below(&g->rng, class == BPF_ALU64 ? 4 : 3)];

	emit(g, BPFU_INSN(class | BPF_MOV | BPF_X, dst, src, off, 0));
	set_scalar(g, dst);
}

static void gen_unary(struct gen *g, uint8_t class)
{
	int dst = scalar_dst(g);
	int32_t width = 16 << rng_below(&g->rng, 3);

	switch (rng_below(&g->rng, 4)) {
	case 0:
		emit(g, BPFU_INSN(class | BPF_NEG, dst, 0, 0, 0));
		break;
	case 1:
		emit(g, BPFU_INSN(BPF_ALU | BPF_END | BPF_TO_LE, dst, 0, 0, width));
		break;
	case 2:
		emit(g, BPFU_INSN(BPF_ALU | BPF_END | BPF_TO_BE, dst, 0, 0, width));
		break;
	default:
		emit(g, BPFU_INSN(BPF_ALU64 | BPF_END, dst, 0, 0, width));
	}
}

void gen_alu(struct gen *g)
{
	uint8_t class = rng_percent(&g->rng, 60) ? BPF_ALU64 : BPF_ALU;
	uint32_t roll = rng_below(&g->rng, 10);

	if (roll < 6) {
		gen_binary(g, class);
	} else if (roll < 7) {
		gen_unary(g, class);
	} else if (roll < 9) {
		gen_mov(g, class);
	} else {
		int dst = pick_dst(g);

		emit(g, BPFU_INSN(class | BPF_MOV | BPF_K, dst, 0, 0, rand_imm(g)));
		set_scalar(g, dst);
	}
}

void gen_imm64(struct gen *g)
{
	int dst = pick_dst(g);
	int32_t lo = rand_imm(g), hi = rand_imm(g);

	emit(g, BPFU_INSN(BPF_LD | BPF_IMM | BPF_DW, dst, 0, 0, lo));
	emit(g, BPFU_INSN(0, 0, 0, 0, hi));
	set_scalar(g, dst);
}

void gen_cond(struct gen *g, struct bpf_insn *jump)
{
	static const uint8_t ops[] = { BPF_JEQ,	 BPF_JNE,  BPF_JGT,  BPF_JGE,  BPF_JLT, BPF_JLE,
				       BPF_JSGT, BPF_JSGE, BPF_JSLT, BPF_JSLE, BPF_JSET };
	uint8_t op = ops[rng_below(&g->rng, BPFU_ARRAY_SIZE(ops))];
	uint8_t class = rng_percent(&g->rng, 60) ? BPF_JMP : BPF_JMP32;
	int dst = scalar_src(g);

	if (rng_percent(&g->rng, 50))
		*jump = BPFU_INSN(class | op | BPF_K, dst, 0, 0, rand_imm(g));
	else
		*jump = BPFU_INSN(class | op | BPF_X, dst, scalar_src(g), 0, 0);
}
