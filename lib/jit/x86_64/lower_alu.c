// SPDX-License-Identifier: BSD-2-Clause
/*
 * Arithmetic, moves, shifts and byte swaps. ALU32 is x86's 32-bit form, whose result is
 * zero-extended by the processor, so nothing is masked. Division is in lower_div.c.
 */
#include "jit/x86_64/lower.h"

#include <errno.h>
#include <stddef.h>

#include "percpu/cpu.h"

void bpfu_x86_mov_imm(struct x86_jit *j, uint8_t dst, uint64_t imm)
{
	if (!imm) {
		x86_alu_rr(j->cb, X86_XOR, false, dst, dst);
		x86_flags_lost(j);
	} else if (imm == (uint32_t)imm) {
		x86_mov_ri32(j->cb, dst, (uint32_t)imm);
	} else if (x86_is_imm32((int64_t)imm)) {
		x86_mov_ris32(j->cb, dst, (int32_t)imm);
	} else {
		x86_movabs(j->cb, dst, imm);
	}
}

void bpfu_x86_add_imm(struct x86_jit *j, bool w, uint8_t dst, int64_t imm)
{
	if (imm == 1)
		x86_inc_r(j->cb, w, dst);
	else if (imm == -1)
		x86_dec_r(j->cb, w, dst);
	else if (imm == 128) /* -128 has a one-byte form, 128 has not */
		x86_alu_ri(j->cb, X86_SUB, w, dst, -128);
	else if (imm == -(int64_t)INT32_MIN)
		x86_alu_ri(j->cb, X86_SUB, w, dst, INT32_MIN);
	else
		x86_alu_ri(j->cb, X86_ADD, w, dst, (int32_t)imm);
}

/* Make the upper half of r zero. */
static void truncate(struct x86_jit *j, unsigned r)
{
	if (!x86_is_zext(j, r))
		bpfu_x86_defer_trunc(j, r);
}

/* dst += fs:[percpu_off] */
static void lower_percpu(struct x86_jit *j, const struct bpf_insn *insn)
{
	int32_t off = (int32_t)(j->ctx->target.self_tpoff +
				(int64_t)offsetof(struct bpfu_cpu_self, percpu_off));
	uint8_t src = bpfu_x86_src(j, insn->src_reg, true);
	uint8_t dst = x86_dst(j, insn->dst_reg);

	if (dst != src)
		x86_mov_rr(j->cb, true, dst, src);
	x86_alu_rm(j->cb, X86_ADD, 8, dst, x86_mem_fs(off));
	x86_flags_lost(j);
}

static int lower_mov(struct x86_jit *j, const struct bpf_insn *insn, bool w)
{
	unsigned d = insn->dst_reg, s = insn->src_reg;
	struct x86_val v;
	uint8_t src;

	if (BPF_SRC(insn->code) == BPF_K) {
		v = (struct x86_val){ X86_NONE, X86_NONE, 0, !w, insn->imm };
		bpfu_x86_defer(j, d, v);
		return 0;
	}
	switch (insn->off) {
	case 0:
		v = bpfu_x86_value(j, s);
		v.zx |= !w && !x86_is_zext(j, s);
		bpfu_x86_defer(j, d, v);
		return 0;
	case BPFU_OFF_PERCPU:
		if (!w)
			return -EINVAL;
		lower_percpu(j, insn);
		return 0;
	case 8:
	case 16:
		src = bpfu_x86_src(j, s, false);
		x86_movsx_rr(j->cb, w, (unsigned)insn->off / 8, x86_dst(j, d), src);
		return 0;
	case 32:
		if (!w)
			return -EINVAL;
		src = bpfu_x86_src(j, s, false);
		x86_movsx_rr(j->cb, true, 4, x86_dst(j, d), src);
		return 0;
	default:
		return -EINVAL;
	}
}

static void and_imm(struct x86_jit *j, bool w, unsigned d, int32_t imm)
{
	struct x86_val zero = { X86_NONE, X86_NONE, 0, false, 0 };
	uint8_t src, dst;

	if (imm >= 0)
		w = false; /* the upper half becomes zero anyway */
	if (!imm) {
		bpfu_x86_defer(j, d, zero);
	} else if (imm == UINT8_MAX || imm == UINT16_MAX) {
		src = bpfu_x86_src(j, d, false);
		x86_movzx_rr(j->cb, imm == UINT8_MAX ? 1 : 2, x86_dst(j, d), src);
	} else if (imm == -1 && !w) {
		truncate(j, d);
	} else if (imm != -1) {
		dst = x86_dst_rw(j, d);
		x86_alu_ri(j->cb, X86_AND, w, dst, imm);
		x86_flags_set(j, dst, w, true);
	}
}

static void addsub_imm(struct x86_jit *j, bool w, unsigned d, int64_t imm)
{
	uint8_t dst;

	if (imm == (int32_t)imm && bpfu_x86_defer_add_imm(j, d, w, (int32_t)imm))
		return;
	dst = x86_dst_rw(j, d);
	bpfu_x86_add_imm(j, w, dst, imm);
	x86_flags_set(j, dst, w, false);
}

/* add, sub, or, and, xor */
static void lower_simple(struct x86_jit *j, const struct bpf_insn *insn, bool w, enum x86_alu op)
{
	unsigned d = insn->dst_reg;
	int32_t imm = insn->imm;
	uint8_t src, dst;

	if (BPF_SRC(insn->code) == BPF_X) {
		if (op == X86_ADD && bpfu_x86_defer_add(j, d, insn->src_reg, w))
			return;
		src = bpfu_x86_src(j, insn->src_reg, w);
		dst = x86_dst_rw(j, d);
		x86_alu_rr(j->cb, op, w, dst, src);
	} else if (op == X86_AND) {
		and_imm(j, w, d, imm);
		return;
	} else if (!imm) { /* nothing changes but, in ALU32, the upper half */
		if (!w)
			truncate(j, d);
		return;
	} else if (op == X86_ADD || op == X86_SUB) {
		addsub_imm(j, w, d, op == X86_ADD ? (int64_t)imm : -(int64_t)imm);
		return;
	} else {
		dst = x86_dst_rw(j, d);
		x86_alu_ri(j->cb, op, w, dst, imm);
	}
	x86_flags_set(j, dst, w, op != X86_ADD && op != X86_SUB);
}

static void shift_imm(struct x86_jit *j, bool w, enum x86_shift op, unsigned d, uint8_t count)
{
	uint8_t dst;

	if (!count) {
		if (!w)
			truncate(j, d);
		return;
	}
	if (op == X86_SHL && bpfu_x86_defer_scale(j, d, w, count, false))
		return;
	dst = x86_dst_rw(j, d);
	x86_shift_ri(j->cb, op, w, dst, count);
	x86_flags_set(j, dst, w, false);
}

static void mul_imm(struct x86_jit *j, bool w, unsigned d, int32_t imm)
{
	struct x86_val zero = { X86_NONE, X86_NONE, 0, false, 0 };
	uint32_t abs = (uint32_t)imm;
	uint8_t src;

	if (!imm) {
		bpfu_x86_defer(j, d, zero);
	} else if (imm > 0 && !(abs & (abs - 1))) {
		shift_imm(j, w, X86_SHL, d, (uint8_t)__builtin_ctz(abs));
	} else if (imm == -1) {
		x86_unary_r(j->cb, X86_NEG, w, x86_dst_rw(j, d));
	} else if ((imm == 3 || imm == 5 || imm == 9) &&
		   bpfu_x86_defer_scale(j, d, w, (unsigned)__builtin_ctz(abs - 1), true)) {
		return;
	} else {
		src = bpfu_x86_src(j, d, w);
		x86_imul_rri(j->cb, w, x86_dst(j, d), src, imm);
	}
}

/* Without BMI2 the count has to be in cl. */
static void shift_cl(struct x86_jit *j, bool w, enum x86_shift op, uint8_t dst, uint8_t src)
{
	bool keep = x86_reg_busy(j, X86_RCX) && dst != X86_RCX;

	if (src == X86_RCX) {
		x86_shift_r_cl(j->cb, op, w, dst); /* dst may be rcx too: the count is read first */
	} else if (dst == X86_RCX) {
		x86_mov_rr(j->cb, true, X86_SCRATCH, dst);
		x86_mov_rr(j->cb, false, X86_RCX, src);
		x86_shift_r_cl(j->cb, op, w, X86_SCRATCH);
		x86_mov_rr(j->cb, true, X86_RCX, X86_SCRATCH);
	} else {
		if (keep)
			x86_mov_rr(j->cb, true, X86_SCRATCH, X86_RCX);
		x86_mov_rr(j->cb, false, X86_RCX, src);
		x86_shift_r_cl(j->cb, op, w, dst);
		if (keep)
			x86_mov_rr(j->cb, true, X86_RCX, X86_SCRATCH);
	}
}

static void lower_shift(struct x86_jit *j, const struct bpf_insn *insn, bool w, enum x86_shift op)
{
	unsigned d = insn->dst_reg;
	uint8_t src, count;

	if (BPF_SRC(insn->code) == BPF_K) {
		shift_imm(j, w, op, d, (uint8_t)((uint32_t)insn->imm & (w ? 63u : 31u)));
		return;
	}
	count = bpfu_x86_src(j, insn->src_reg, false);
	if (x86_has(j, X86_CPU_BMI2)) {
		src = bpfu_x86_src(j, d, w);
		x86_shiftx_rrr(j->cb, op, w, x86_dst(j, d), src, count);
		return;
	}
	x86_dst_rw(j, d);
	bpfu_x86_clobber(j, X86_RCX);
	shift_cl(j, w, op, j->map[d], count);
}

/* le, be (ALU) and bswap (ALU64) of 16, 32 and 64 bits */
static int lower_end(struct x86_jit *j, const struct bpf_insn *insn)
{
	bool swap = BPF_CLASS(insn->code) == BPF_ALU64 || BPF_SRC(insn->code) == BPF_TO_BE;
	unsigned d = insn->dst_reg;
	uint8_t src, dst;

	if (BPF_CLASS(insn->code) == BPF_ALU64 && BPF_SRC(insn->code) != BPF_TO_LE)
		return -EINVAL;
	switch (insn->imm) {
	case 16:
		if (!swap) {
			src = bpfu_x86_src(j, d, false);
			x86_movzx_rr(j->cb, 2, x86_dst(j, d), src);
			return 0;
		}
		dst = x86_dst_rw(j, d);
		x86_bswap(j->cb, false, dst); /* faster than rotating the 16-bit register */
		x86_shift_ri(j->cb, X86_SHR, false, dst, 16);
		return 0;
	case 32:
		if (swap)
			x86_bswap(j->cb, false, x86_dst_rw(j, d));
		else
			truncate(j, d);
		return 0;
	case 64:
		if (swap)
			x86_bswap(j->cb, true, x86_dst_rw(j, d));
		return 0;
	default:
		return -EINVAL;
	}
}

static int lower_op(struct x86_jit *j, const struct bpf_insn *insn, bool w)
{
	unsigned d = insn->dst_reg;
	uint8_t src;

	switch (BPF_OP(insn->code)) {
	case BPF_ADD:
		lower_simple(j, insn, w, X86_ADD);
		return 0;
	case BPF_SUB:
		lower_simple(j, insn, w, X86_SUB);
		return 0;
	case BPF_OR:
		lower_simple(j, insn, w, X86_OR);
		return 0;
	case BPF_AND:
		lower_simple(j, insn, w, X86_AND);
		return 0;
	case BPF_XOR:
		lower_simple(j, insn, w, X86_XOR);
		return 0;
	case BPF_MUL:
		if (BPF_SRC(insn->code) == BPF_K) {
			mul_imm(j, w, d, insn->imm);
			return 0;
		}
		src = bpfu_x86_src(j, insn->src_reg, w);
		x86_imul_rr(j->cb, w, x86_dst_rw(j, d), src);
		return 0;
	case BPF_DIV:
	case BPF_MOD:
		if (insn->off != 0 && insn->off != 1)
			return -EINVAL;
		bpfu_x86_lower_divmod(j, insn);
		return 0;
	case BPF_LSH:
		lower_shift(j, insn, w, X86_SHL);
		return 0;
	case BPF_RSH:
		lower_shift(j, insn, w, X86_SHR);
		return 0;
	case BPF_ARSH:
		lower_shift(j, insn, w, X86_SAR);
		return 0;
	case BPF_NEG:
		x86_unary_r(j->cb, X86_NEG, w, x86_dst_rw(j, d));
		return 0;
	default:
		return -EINVAL;
	}
}

int bpfu_x86_lower_alu(struct x86_jit *j, const struct bpf_insn *insn)
{
	bool w = BPF_CLASS(insn->code) == BPF_ALU64;
	struct bpf_insn with_imm = *insn;

	if (BPF_OP(insn->code) == BPF_MOV)
		return lower_mov(j, insn, w);
	x86_flags_lost(j);
	if (BPF_OP(insn->code) == BPF_END)
		return lower_end(j, insn);
	if (BPF_SRC(insn->code) == BPF_X &&
	    bpfu_x86_const(j, insn->src_reg, w, &with_imm.imm)) {
		with_imm.code = (uint8_t)((insn->code & ~BPF_X) | BPF_K);
		insn = &with_imm;
	}
	return lower_op(j, insn, w);
}
