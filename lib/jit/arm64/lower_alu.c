// SPDX-License-Identifier: BSD-2-Clause
/*
 * ALU and ALU64. A 32-bit operation writes a W register and so zero-extends by itself. Division
 * needs no checks: UDIV and SDIV give 0 for a zero divisor and MIN for MIN / -1, which is what RFC
 * 9669 asks for, and MSUB turns that into the right remainder.
 */
#include "jit/arm64/lower.h"

#include <errno.h>
#include <stddef.h>

#include "percpu/cpu.h"

static void lower_addsub_imm(struct a64_jit *j, bool sub, bool sf, uint8_t dst, uint8_t lhs, int32_t imm)
{
	int64_t value = sub ? -(int64_t)imm : imm;

	if (!sf)
		value = (int32_t)value;
	if (a64_addsub_imm_fits(value)) {
		a64_emit(j, a64_add_i(sf, dst, lhs, (uint32_t)value));
	} else if (a64_addsub_imm_fits(-value)) {
		a64_emit(j, a64_sub_i(sf, dst, lhs, (uint32_t)-value));
	} else {
		bpfu_a64_mov_imm(j, A64_TMP1, sf ? (uint64_t)value : (uint32_t)value);
		a64_emit(j, a64_add(sf, dst, lhs, A64_TMP1));
	}
}

static void lower_logic_imm(struct a64_jit *j, enum a64_logic op, bool sf, uint8_t dst, uint8_t lhs,
			    int32_t imm)
{
	uint32_t fields;

	if (a64_logic_fields(sf, imm, &fields)) {
		a64_emit(j, a64_logic_i(op, sf, dst, lhs, fields));
		return;
	}
	bpfu_a64_mov_insn_imm(j, A64_TMP1, sf, imm);
	a64_emit(j, a64_logic(op, sf, dst, lhs, A64_TMP1));
}

static void lower_divmod(struct a64_jit *j, const struct bpf_insn *insn, bool sf, uint8_t dst,
			 uint8_t lhs, uint8_t src)
{
	bool is_signed = insn->off == 1;
	bool mod = BPF_OP(insn->code) == BPF_MOD;
	uint8_t quotient = mod ? A64_TMP2 : dst;

	a64_emit(j, is_signed ? a64_sdiv(sf, quotient, lhs, src) : a64_udiv(sf, quotient, lhs, src));
	if (mod)
		a64_emit(j, a64_msub(sf, dst, quotient, src, lhs));
}

/* Unsigned division by 2^n without dividing. */
static bool lower_divmod_pow2(struct a64_jit *j, const struct bpf_insn *insn, bool sf, uint8_t dst,
			      uint8_t lhs)
{
	uint64_t imm = sf ? (uint64_t)(int64_t)insn->imm : (uint32_t)insn->imm;
	uint8_t n = (uint8_t)__builtin_ctzll(imm | 1ull << 63);
	uint32_t fields = 0;

	if (insn->off || !imm || imm & (imm - 1))
		return false;
	if (BPF_OP(insn->code) == BPF_DIV) {
		a64_emit(j, n ? a64_lsr_i(sf, dst, lhs, n) : a64_mov(sf, dst, lhs));
	} else if (n) {
		uint64_t mask = imm - 1;

		a64_logical_imm(sf ? mask : mask | mask << 32, &fields);
		a64_emit(j, a64_logic_i(A64_AND, sf, dst, lhs, fields));
	} else {
		a64_emit(j, a64_movz(sf, dst, 0, 0));
	}
	return true;
}

void bpfu_a64_percpu_off(struct a64_jit *j, uint8_t rd, uint8_t tmp)
{
	int64_t off = j->ctx->target.self_tpoff +
		      (int64_t)offsetof(struct bpfu_cpu_self, percpu_off);

	a64_emit(j, a64_mrs_tpidr_el0(rd));
	if (a64_ls_uimm_fits(A64_D, off)) {
		a64_emit(j, a64_ls_uimm(A64_LDR, A64_D, rd, rd, (uint32_t)off));
	} else {
		bpfu_a64_mov_imm(j, tmp, (uint64_t)off);
		a64_emit(j, a64_ls_reg(A64_LDR, A64_D, rd, rd, tmp));
	}
}

static void lower_mov(struct a64_jit *j, const struct bpf_insn *insn, bool sf)
{
	uint8_t dst = a64_dst(insn->dst_reg), src;

	if (insn->src_reg == BPF_REG_10 && sf && !insn->off) {
		a64_mov_fp(j, dst);
		return;
	}
	src = a64_src(j, insn->src_reg, A64_TMP2);
	if (sf && insn->off == BPFU_OFF_PERCPU) {
		/* dst = src + bpfu_cpu_self.percpu_off */
		bpfu_a64_percpu_off(j, A64_TMP1, A64_TMP3);
		a64_emit(j, a64_add(true, dst, src, A64_TMP1));
	} else if (insn->off) {
		a64_emit(j, a64_sxt(sf, dst, src, (uint8_t)insn->off));
	} else if (dst != src || !sf) {
		a64_emit(j, a64_mov(sf, dst, src));
	}
}

static int lower_end(struct a64_jit *j, const struct bpf_insn *insn, uint8_t lhs)
{
	bool swap = BPF_CLASS(insn->code) == BPF_ALU64 || BPF_SRC(insn->code) == BPF_TO_BE;
	uint8_t dst = a64_dst(insn->dst_reg);

	switch (insn->imm) {
	case 16:
		if (swap)
			a64_emit(j, a64_rev16(dst, lhs));
		a64_emit(j, a64_uxt(dst, swap ? dst : lhs, 16));
		return 0;
	case 32:
		a64_emit(j, swap ? a64_rev32(dst, lhs) : a64_mov(false, dst, lhs));
		return 0;
	case 64:
		if (swap)
			a64_emit(j, a64_rev64(dst, lhs));
		else if (dst != lhs)
			a64_emit(j, a64_mov(true, dst, lhs));
		return 0;
	}
	return -EINVAL;
}

static int lower_imm(struct a64_jit *j, const struct bpf_insn *insn, bool sf, uint8_t lhs)
{
	uint8_t dst = a64_dst(insn->dst_reg);
	uint8_t shift = (uint8_t)(insn->imm & (sf ? 63 : 31));

	switch (BPF_OP(insn->code)) {
	case BPF_ADD:
		lower_addsub_imm(j, false, sf, dst, lhs, insn->imm);
		return 0;
	case BPF_SUB:
		lower_addsub_imm(j, true, sf, dst, lhs, insn->imm);
		return 0;
	case BPF_AND:
		lower_logic_imm(j, A64_AND, sf, dst, lhs, insn->imm);
		return 0;
	case BPF_OR:
		lower_logic_imm(j, A64_ORR, sf, dst, lhs, insn->imm);
		return 0;
	case BPF_XOR:
		lower_logic_imm(j, A64_EOR, sf, dst, lhs, insn->imm);
		return 0;
	case BPF_LSH:
		a64_emit(j, shift ? a64_lsl_i(sf, dst, lhs, shift) : a64_mov(sf, dst, lhs));
		return 0;
	case BPF_RSH:
		a64_emit(j, a64_lsr_i(sf, dst, lhs, shift));
		return 0;
	case BPF_ARSH:
		a64_emit(j, a64_asr_i(sf, dst, lhs, shift));
		return 0;
	case BPF_MOV:
		bpfu_a64_mov_insn_imm(j, dst, sf, insn->imm);
		return 0;
	case BPF_MUL:
		bpfu_a64_mov_insn_imm(j, A64_TMP1, sf, insn->imm);
		a64_emit(j, a64_mul(sf, dst, lhs, A64_TMP1));
		return 0;
	case BPF_DIV:
	case BPF_MOD:
		if (lower_divmod_pow2(j, insn, sf, dst, lhs))
			return 0;
		bpfu_a64_mov_insn_imm(j, A64_TMP1, sf, insn->imm);
		lower_divmod(j, insn, sf, dst, lhs, A64_TMP1);
		return 0;
	}
	return -EINVAL;
}

static bool is_mov_off(int16_t off, bool sf)
{
	return !off || off == 8 || off == 16 || (sf && (off == 32 || off == BPFU_OFF_PERCPU));
}

static int lower_reg(struct a64_jit *j, const struct bpf_insn *insn, bool sf, uint8_t lhs)
{
	uint8_t dst = a64_dst(insn->dst_reg), src;

	if (BPF_OP(insn->code) == BPF_MOV) {
		if (!is_mov_off(insn->off, sf))
			return -EINVAL;
		lower_mov(j, insn, sf);
		return 0;
	}
	src = a64_src(j, insn->src_reg, A64_TMP1);
	switch (BPF_OP(insn->code)) {
	case BPF_ADD:
		a64_emit(j, a64_add(sf, dst, lhs, src));
		return 0;
	case BPF_SUB:
		a64_emit(j, a64_sub(sf, dst, lhs, src));
		return 0;
	case BPF_AND:
		a64_emit(j, a64_logic(A64_AND, sf, dst, lhs, src));
		return 0;
	case BPF_OR:
		a64_emit(j, a64_logic(A64_ORR, sf, dst, lhs, src));
		return 0;
	case BPF_XOR:
		a64_emit(j, a64_logic(A64_EOR, sf, dst, lhs, src));
		return 0;
	case BPF_LSH:
		a64_emit(j, a64_shift_r(A64_LSL, sf, dst, lhs, src));
		return 0;
	case BPF_RSH:
		a64_emit(j, a64_shift_r(A64_LSR, sf, dst, lhs, src));
		return 0;
	case BPF_ARSH:
		a64_emit(j, a64_shift_r(A64_ASR, sf, dst, lhs, src));
		return 0;
	case BPF_MUL:
		a64_emit(j, a64_mul(sf, dst, lhs, src));
		return 0;
	case BPF_DIV:
	case BPF_MOD:
		lower_divmod(j, insn, sf, dst, lhs, src);
		return 0;
	}
	return -EINVAL;
}

int bpfu_a64_lower_alu_of(struct a64_jit *j, const struct bpf_insn *insn, uint8_t lhs)
{
	bool sf = BPF_CLASS(insn->code) == BPF_ALU64;

	if (BPF_OP(insn->code) == BPF_END)
		return lower_end(j, insn, lhs);
	if (BPF_OP(insn->code) == BPF_NEG) {
		a64_emit(j, a64_neg(sf, a64_dst(insn->dst_reg), lhs));
		return 0;
	}
	return BPF_SRC(insn->code) == BPF_X ? lower_reg(j, insn, sf, lhs) : lower_imm(j, insn, sf, lhs);
}

int bpfu_a64_lower_alu(struct a64_jit *j, const struct bpf_insn *insn)
{
	return bpfu_a64_lower_alu_of(j, insn, a64_dst(insn->dst_reg));
}
