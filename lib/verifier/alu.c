// SPDX-License-Identifier: BSD-2-Clause
/*
 * Arithmetic instructions on scalars, and moves. Operations with a pointer among the operands go to
 * pointer.c.
 *
 * Scalars that are copies of each other share an id, so that a comparison of one bounds all
 * (branch.c). "r2 = r1; r2 += 8" keeps the link: r2 is then the id's value plus 8 (w2: the low half).
 */
#include <errno.h>

#include "verifier/env.h"

const char *bpfu_vrf_alu_symbol(uint8_t op)
{
	static const char *const symbol[16] = { "+=",  "-=",  "*=",  "/=", "|=", "&=", "<<=",
						">>=", "neg", "%=", "^=", "=",	"s>>=" };

	return symbol[op >> 4] ? symbol[op >> 4] : "?";
}

static bool fits(const struct bpfu_reg *reg, unsigned int bits)
{
	return bits >= 64 || reg->range.umax < 1ULL << bits;
}

static int alu_unary(struct bpfu_env *env, const struct bpf_insn *insn)
{
	struct bpfu_reg *dst = &bpfu_vrf_regs(env)[insn->dst_reg];
	bool is64 = BPF_CLASS(insn->code) == BPF_ALU64;
	int err = bpfu_vrf_read_reg(env, insn->dst_reg);

	if (err)
		return err;
	if (insn->dst_reg == BPF_REG_10)
		return bpfu_vrf_write_reg(env, insn->dst_reg);
	if (bpfu_reg_is_scalar(dst))
		bpfu_reg_unlink(dst);
	else
		bpfu_vrf_set_unknown(env, dst);
	if (BPF_OP(insn->code) == BPF_NEG)
		bpfu_range_alu(&dst->range, &dst->range, BPF_NEG, is64);
	else if (is64 || BPF_SRC(insn->code) == BPF_TO_BE)
		bpfu_range_bswap(&dst->range, insn->imm / 8);
	else
		bpfu_range_trunc(&dst->range, insn->imm / 8);
	return 0;
}

static int mov_const(struct bpfu_env *env, const struct bpf_insn *insn)
{
	bool is64 = BPF_CLASS(insn->code) == BPF_ALU64;
	int err = bpfu_vrf_write_reg(env, insn->dst_reg);

	if (!err)
		bpfu_vrf_set_const(env, &bpfu_vrf_regs(env)[insn->dst_reg],
				   is64 ? (uint64_t)(int64_t)insn->imm : (uint32_t)insn->imm);
	return err;
}

/* Move of a scalar with sign extension (@size bytes) and/or to 32 bits. */
static void mov_scalar(struct bpfu_env *env, struct bpfu_reg *dst, struct bpfu_reg *src,
		       unsigned int size, bool is64)
{
	bool same; /* the copy is equal to the original */

	if (size < 8)
		same = fits(src, size * 8 - 1);
	else
		same = is64 || fits(src, 32);
	if (same)
		bpfu_vrf_link_scalar(env, src);
	*dst = *src;
	if (!same) {
		bpfu_reg_unlink(dst);
	}
	if (size < 8 && is64)
		bpfu_range_sext(&dst->range, size);
	else if (size < 8)
		bpfu_range_sext32(&dst->range, size);
	else if (!is64)
		bpfu_range_zext32(&dst->range);
}

static int mov_reg(struct bpfu_env *env, const struct bpf_insn *insn)
{
	struct bpfu_reg *dst = &bpfu_vrf_regs(env)[insn->dst_reg];
	struct bpfu_reg *src = &bpfu_vrf_regs(env)[insn->src_reg];
	bool is64 = BPF_CLASS(insn->code) == BPF_ALU64;
	int err = bpfu_vrf_read_reg(env, insn->src_reg);
	struct bpfu_reg copy = *src;

	if (err)
		return err;
	if (bpfu_reg_is_scalar(src)) {
		if (insn->dst_reg == BPF_REG_10)
			return bpfu_vrf_write_reg(env, insn->dst_reg);
		bpfu_vrf_touch_reg(env, insn->dst_reg);
		mov_scalar(env, dst, src, insn->off ? insn->off / 8 : 8, is64);
		return 0;
	}
	err = bpfu_vrf_write_reg(env, insn->dst_reg);
	if (err)
		return err;
	if (is64 && !insn->off)
		*dst = copy;
	else if (!is64) /* part of a pointer is a number */
		bpfu_range_zext32(&dst->range);
	return 0;
}

/* Keep "r += constant" and "r -= constant" linked; anything else ends the link. */
static void update_link(struct bpfu_reg *dst, const struct bpf_insn *insn,
			const struct bpfu_range *src)
{
	uint8_t op = BPF_OP(insn->code);
	bool is64 = BPF_CLASS(insn->code) == BPF_ALU64;
	int64_t delta = is64 ? (int64_t)src->var.value : (int32_t)src->var.value;

	if (op == BPF_SUB)
		delta = -(uint64_t)delta;
	if ((op == BPF_ADD || op == BPF_SUB) && dst->id && !dst->flags &&
	    bpfu_range_is_const(src) && delta == (int32_t)delta) {
		dst->flags |= is64 ? BPFU_REG_ADD_CONST : BPFU_REG_ADD_CONST32;
		dst->off = (int32_t)delta;
		return;
	}
	bpfu_reg_unlink(dst);
}

static int alu_scalars(struct bpfu_env *env, const struct bpf_insn *insn, struct bpfu_reg *dst,
		       const struct bpfu_reg *src)
{
	bool by_reg = BPF_SRC(insn->code) == BPF_X;

	/* A result of one operand and constants stays with the operand's node (lineage.h). */
	if (by_reg && src->node != dst->node)
		dst->node = bpfu_lineage_new(&env->lineage, dst->node, src->node);
	update_link(dst, insn, &src->range);
	bpfu_range_alu(&dst->range, &src->range, BPF_OP(insn->code),
		       BPF_CLASS(insn->code) == BPF_ALU64);
	return 0;
}

/* At least one operand is a pointer. */
static int alu_pointers(struct bpfu_env *env, const struct bpf_insn *insn, struct bpfu_reg *dst,
			const struct bpfu_reg *src)
{
	struct bpfu_reg ptr;

	if (bpfu_reg_is_pointer(dst) && bpfu_reg_is_pointer(src)) {
		/* The distance of two pointers is some number. */
		if (BPF_OP(insn->code) != BPF_SUB) {
			bpfu_vrf_log(env, "R%d pointer %s pointer prohibited\n", insn->dst_reg,
				     bpfu_vrf_alu_symbol(BPF_OP(insn->code)));
			return -EACCES;
		}
		bpfu_vrf_set_unknown(env, dst);
		if (BPF_CLASS(insn->code) == BPF_ALU)
			bpfu_range_zext32(&dst->range);
		return 0;
	}
	if (bpfu_reg_is_pointer(src)) {
		struct bpfu_reg off = *dst;

		ptr = *src;
		return bpfu_vrf_pointer_alu(env, insn, dst, &ptr, &off);
	}
	ptr = *dst;
	return bpfu_vrf_pointer_alu(env, insn, dst, &ptr, src);
}

static int alu_binary(struct bpfu_env *env, const struct bpf_insn *insn)
{
	struct bpfu_reg *dst = &bpfu_vrf_regs(env)[insn->dst_reg];
	struct bpfu_reg src;
	int err = 0;

	if (BPF_SRC(insn->code) == BPF_X)
		err = bpfu_vrf_read_reg(env, insn->src_reg);
	if (!err)
		err = bpfu_vrf_read_reg(env, insn->dst_reg);
	if (!err && insn->dst_reg == BPF_REG_10)
		err = bpfu_vrf_write_reg(env, insn->dst_reg);
	if (err)
		return err;
	if (BPF_SRC(insn->code) == BPF_X) {
		src = bpfu_vrf_regs(env)[insn->src_reg];
	} else {
		bpfu_reg_init(&src, BPFU_REG_SCALAR);
		bpfu_range_set_const(&src.range, (uint64_t)(int64_t)insn->imm);
	}
	if (bpfu_reg_is_pointer(dst) || bpfu_reg_is_pointer(&src))
		return alu_pointers(env, insn, dst, &src);
	return alu_scalars(env, insn, dst, &src);
}

int bpfu_vrf_alu(struct bpfu_env *env, const struct bpf_insn *insn)
{
	switch (BPF_OP(insn->code)) {
	case BPF_END:
	case BPF_NEG:
		return alu_unary(env, insn);
	case BPF_MOV:
		return BPF_SRC(insn->code) == BPF_X ? mov_reg(env, insn) : mov_const(env, insn);
	default:
		return alu_binary(env, insn);
	}
}
