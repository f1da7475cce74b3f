// SPDX-License-Identifier: BSD-2-Clause
/* Which instructions have a constant, and what they become; see blind.h. */
#include "rewrite/blind.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "obj/prog.h"
#include "rewrite/patch.h"
#include "util/random.h"

#define AX BPFU_REG_AX
#define LONGEST 5

struct blinder {
	struct bpfu_patch patch;
	uint32_t pool[128]; /* random numbers, fetched in one go */
	uint32_t left;
};

static uint32_t next_random(struct blinder *b)
{
	if (!b->left) {
		bpfu_random_fill(b->pool, sizeof(b->pool));
		b->left = sizeof(b->pool) / sizeof(b->pool[0]);
	}
	return b->pool[--b->left];
}

/* reg = imm in two steps; @class: BPF_ALU64 (sign-extended) or BPF_ALU (upper half zero) */
static uint32_t put_const(struct blinder *b, struct bpf_insn *out, uint8_t class, uint8_t reg,
			  int32_t imm)
{
	int32_t r = (int32_t)next_random(b);

	out[0] = BPFU_INSN(class | BPF_MOV | BPF_K, reg, 0, 0, imm ^ r);
	out[1] = BPFU_INSN(class | BPF_XOR | BPF_K, reg, 0, 0, r);
	return 2;
}

/* The instruction with AX in place of its constant. */
static struct bpf_insn with_ax(const struct bpf_insn *insn)
{
	return BPFU_INSN(insn->code | BPF_X, insn->dst_reg, AX, insn->off, 0);
}

static uint32_t blind_alu(struct blinder *b, const struct bpf_insn *insn, struct bpf_insn *out)
{
	uint8_t class = BPF_CLASS(insn->code);

	if (BPF_SRC(insn->code) != BPF_K)
		return 0;
	switch (BPF_OP(insn->code)) {
	case BPF_MOV:
		return insn->imm ? put_const(b, out, class, insn->dst_reg, insn->imm) : 0;
	case BPF_ADD:
	case BPF_SUB:
	case BPF_MUL:
	case BPF_DIV:
	case BPF_MOD:
	case BPF_AND:
	case BPF_OR:
	case BPF_XOR:
		put_const(b, out, class, AX, insn->imm);
		out[2] = with_ax(insn);
		return 3;
	default: /* shifts, neg, end */
		return 0;
	}
}

/*
 *      r = hi' ^ r1; r ^= r1; r <<= 32; r ^= lo ^ r2; r ^= r2
 *
 * The last two flip all of the upper half if lo is negative; hi' makes up for that.
 */
static uint32_t blind_imm64(struct blinder *b, const struct bpf_insn *insn, struct bpf_insn *out)
{
	int32_t lo = insn[0].imm, hi = insn[1].imm ^ (lo < 0 ? -1 : 0), r = (int32_t)next_random(b);
	uint8_t reg = insn->dst_reg;

	if (bpfu_insn_is_pseudo_func(insn)) /* an address, not a number of the program's */
		return 0;
	put_const(b, out, BPF_ALU64, reg, hi);
	out[2] = BPFU_INSN(BPF_ALU64 | BPF_LSH | BPF_K, reg, 0, 0, 32);
	out[3] = BPFU_INSN(BPF_ALU64 | BPF_XOR | BPF_K, reg, 0, 0, lo ^ r);
	out[4] = BPFU_INSN(BPF_ALU64 | BPF_XOR | BPF_K, reg, 0, 0, r);
	return 5;
}

static uint32_t blind_store(struct blinder *b, const struct bpf_insn *insn, struct bpf_insn *out)
{
	if (BPF_MODE(insn->code) != BPF_MEM)
		return 0;
	put_const(b, out, BPF_ALU64, AX, insn->imm);
	out[2] = BPFU_INSN(BPF_STX | BPF_MEM | BPF_SIZE(insn->code), insn->dst_reg, AX, insn->off, 0);
	return 3;
}

static int blind_jump(struct blinder *b, uint32_t insn_idx)
{
	const struct bpf_insn *insn = &b->patch.prog->insns[insn_idx];
	bool is64 = BPF_CLASS(insn->code) == BPF_JMP;
	struct bpf_insn out[LONGEST];

	put_const(b, out, is64 ? BPF_ALU64 : BPF_ALU, AX, insn->imm);
	out[2] = with_ax(insn);
	return bpfu_patch_replace_jump(&b->patch, insn_idx, out, 3);
}

static int blind_insn(struct blinder *b, uint32_t insn_idx)
{
	const struct bpf_insn *insn = &b->patch.prog->insns[insn_idx];
	struct bpf_insn out[LONGEST];
	uint32_t cnt = 0;

	switch (BPF_CLASS(insn->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		cnt = blind_alu(b, insn, out);
		break;
	case BPF_LD:
		cnt = bpfu_insn_is_ld_imm64(insn) ? blind_imm64(b, insn, out) : 0;
		break;
	case BPF_ST:
		cnt = blind_store(b, insn, out);
		break;
	case BPF_JMP:
	case BPF_JMP32:
		if (bpfu_insn_is_cond_jump(insn) && BPF_OP(insn->code) != BPF_JCOND &&
		    BPF_SRC(insn->code) == BPF_K)
			return blind_jump(b, insn_idx);
		break;
	default:
		break;
	}
	if (!cnt)
		return 0;
	if (bpfu_insn_is_ld_imm64(insn))
		bpfu_patch_remove(&b->patch, insn_idx + 1);
	return bpfu_patch_replace(&b->patch, insn_idx, out, cnt);
}

static int blind_all(struct blinder *b)
{
	const struct bpfu_prog *prog = b->patch.prog;
	int err = 0;

	for (uint32_t i = 0; i < prog->insn_cnt && !err; i++) {
		bool wide = bpfu_insn_is_ld_imm64(&prog->insns[i]);

		err = blind_insn(b, i);
		i += wide;
	}
	return err;
}

static void *copy_of(const void *from, size_t size)
{
	void *copy = malloc(size);

	return copy ? memcpy(copy, from, size) : NULL;
}

int bpfu_blind(const struct bpfu_prog *prog, struct bpfu_prog *shadow, uint32_t **start)
{
	struct blinder b = { .left = 0 };
	int err = -ENOMEM;

	memset(shadow, 0, sizeof(*shadow));
	memcpy(shadow->name, prog->name, sizeof(shadow->name));
	shadow->options = prog->options;
	shadow->jit = prog->jit;
	shadow->insns = copy_of(prog->insns, prog->insn_cnt * sizeof(*prog->insns));
	shadow->subprogs = copy_of(prog->subprogs, prog->subprog_cnt * sizeof(*prog->subprogs));
	shadow->insn_cnt = prog->insn_cnt;
	shadow->subprog_cnt = prog->subprog_cnt;
	if (shadow->insns && shadow->subprogs)
		err = bpfu_patch_init(&b.patch, shadow);
	if (!err) {
		err = blind_all(&b);
		if (!err)
			err = bpfu_patch_apply_map(&b.patch, start);
		bpfu_patch_release(&b.patch);
	}
	if (err)
		bpfu_blind_release(shadow, NULL);
	return err;
}

void bpfu_blind_release(struct bpfu_prog *shadow, uint32_t *start)
{
	free(shadow->insns);
	free(shadow->subprogs);
	free(start);
}
