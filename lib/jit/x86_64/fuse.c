// SPDX-License-Identifier: BSD-2-Clause
/*
 * Groups of BPF instructions for which the processor has one, or a better few. A group lies within
 * straight code (no branch goes into it); what it computes on the way must not be needed later.
 *
 *      t = a; t >>= 32 - n; a <<= n; a |= t            rol a, n
 *      t = a; t >>= 32 - n; u = a; u <<= n; u |= t     rorx u, a, 32 - n
 *      a <<= 32; a >>= 32        (or s>>, 48, 56)      mov / movsx / movzx
 *      a &= imm; if a == 0 goto                        test a, imm; jz
 *      if a == b goto +1; d = x                        cmp a, b; cmovne d, x
 *      d = 1; if a == b goto +1; d = 0                 xor d, d; cmp a, b; sete d
 *
 * Those that begin with a load are in fuse_mem.c.
 */
#include "jit/x86_64/lower.h"

bool bpfu_x86_straight(const struct x86_jit *j, uint32_t n)
{
	if (j->idx + n >= j->func->end)
		return false;
	for (uint32_t i = j->idx + 1; i <= j->idx + n; i++)
		if (j->ctx->facts.flags[i] & (BPFU_FACT_TARGET | BPFU_FACT_SECOND))
			return false;
	return true;
}

bool bpfu_x86_dead_after(const struct x86_jit *j, unsigned r, uint32_t n)
{
	return !(bpfu_facts_live_out(&j->ctx->facts, j->insns, j->idx + n) >> r & 1);
}

void bpfu_x86_group(struct x86_jit *j, uint32_t n)
{
	uint16_t def = 0;

	for (uint32_t i = j->idx; i <= j->idx + n; i++)
		def |= bpfu_insn_def(&j->insns[i]);
	j->skip = n;
	j->wanted = bpfu_facts_live_out(&j->ctx->facts, j->insns, j->idx + n);
	j->live = j->wanted & (uint16_t)~def;
}

static bool is_shift_imm(const struct bpf_insn *insn, unsigned class, unsigned op)
{
	return insn->code == (class | op | BPF_K);
}

static bool is_or(const struct bpf_insn *insn, unsigned class)
{
	return insn->code == (class | BPF_OR | BPF_X) || insn->code == (class | BPF_XOR | BPF_X) ||
	       insn->code == (class | BPF_ADD | BPF_X);
}

static void emit_rotate(struct x86_jit *j, bool w, uint8_t dst, uint8_t src, uint8_t left)
{
	if (dst != src && x86_has(j, X86_CPU_BMI2)) {
		x86_rorx_rri(j->cb, w, dst, src, (uint8_t)((w ? 64 : 32) - left));
		return;
	}
	if (dst != src)
		x86_mov_rr(j->cb, w, dst, src);
	x86_shift_ri(j->cb, X86_ROL, w, dst, left);
}

/* insn: t = a; then the two shifts in either order, and the two halves put together */
static bool fuse_rotate(struct x86_jit *j, const struct bpf_insn *insn)
{
	unsigned t = insn->dst_reg, a = insn->src_reg, class, result;
	const struct bpf_insn *left = &insn[1], *right = &insn[2];
	unsigned width;
	uint8_t dst, src;
	bool w;

	if (t == a || !bpfu_x86_straight(j, 3))
		return false;
	class = BPF_CLASS(insn[3].code);
	w = class == BPF_ALU64;
	width = w ? 64 : 32;
	if (!is_or(&insn[3], class) || (w && BPF_CLASS(insn->code) != BPF_ALU64))
		return false;
	if (!is_shift_imm(left, class, BPF_LSH)) {
		left = &insn[2];
		right = &insn[1];
	}
	if (!is_shift_imm(left, class, BPF_LSH) || !is_shift_imm(right, class, BPF_RSH) ||
	    left->imm <= 0 || right->imm <= 0 || (unsigned)(left->imm + right->imm) != width ||
	    !((left->dst_reg == t && right->dst_reg == a) ||
	      (left->dst_reg == a && right->dst_reg == t)))
		return false;
	result = insn[3].dst_reg;
	if (!((result == a && insn[3].src_reg == t) || (result == t && insn[3].src_reg == a)) ||
	    !bpfu_x86_dead_after(j, insn[3].src_reg, 3))
		return false;

	bpfu_x86_group(j, 3);
	x86_flags_lost(j);
	src = bpfu_x86_src(j, a, w);
	dst = x86_dst(j, result);
	emit_rotate(j, w, dst, src, (uint8_t)left->imm);
	return true;
}

/* insn: t = a, shifted; then u = a, shifted the other way, and u |= t: a stays */
static bool fuse_rotate_copy(struct x86_jit *j, const struct bpf_insn *insn)
{
	unsigned t = insn->dst_reg, a = insn->src_reg, u, class, width;
	const struct bpf_insn *left = &insn[1], *right = &insn[3];
	uint8_t dst, src;
	bool w;

	if (t == a || !bpfu_x86_straight(j, 4))
		return false;
	u = insn[2].dst_reg;
	class = BPF_CLASS(insn[4].code);
	w = class == BPF_ALU64;
	width = w ? 64 : 32;
	if (!is_or(&insn[4], class) || u == t || u == a || insn[4].dst_reg != u ||
	    insn[4].src_reg != t || !bpfu_x86_dead_after(j, t, 4))
		return false;
	if (BPF_OP(insn[2].code) != BPF_MOV || BPF_SRC(insn[2].code) != BPF_X || insn[2].off ||
	    (BPF_CLASS(insn[2].code) != BPF_ALU64 && BPF_CLASS(insn[2].code) != BPF_ALU) ||
	    insn[2].src_reg != a ||
	    (w && (BPF_CLASS(insn->code) != BPF_ALU64 || BPF_CLASS(insn[2].code) != BPF_ALU64)))
		return false;
	if (!is_shift_imm(left, class, BPF_LSH)) {
		left = &insn[3];
		right = &insn[1];
	}
	if (!is_shift_imm(left, class, BPF_LSH) || !is_shift_imm(right, class, BPF_RSH) ||
	    insn[1].dst_reg != t || insn[3].dst_reg != u || left->imm <= 0 || right->imm <= 0 ||
	    (unsigned)(left->imm + right->imm) != width)
		return false;

	bpfu_x86_group(j, 4);
	x86_flags_lost(j);
	src = bpfu_x86_src(j, a, w);
	dst = x86_dst(j, u);
	emit_rotate(j, w, dst, src, (uint8_t)left->imm);
	return true;
}

/* insn: d <<= n; then d >>= n or d s>>= n */
static bool fuse_extend(struct x86_jit *j, const struct bpf_insn *insn)
{
	bool w = BPF_CLASS(insn->code) == BPF_ALU64, sign;
	unsigned d = insn->dst_reg, bits = (w ? 64 : 32) - (unsigned)insn->imm;
	uint8_t src;

	if (!bpfu_x86_straight(j, 1) || insn[1].dst_reg != d || insn[1].imm != insn->imm ||
	    BPF_CLASS(insn[1].code) != BPF_CLASS(insn->code) || BPF_SRC(insn[1].code) != BPF_K ||
	    (bits != 8 && bits != 16 && !(bits == 32 && w)))
		return false;
	sign = BPF_OP(insn[1].code) == BPF_ARSH;
	if (!sign && BPF_OP(insn[1].code) != BPF_RSH)
		return false;

	bpfu_x86_group(j, 1);
	if (!sign && bits == 32) {
		if (!x86_is_zext(j, d))
			bpfu_x86_defer_trunc(j, d);
		return true;
	}
	src = bpfu_x86_src(j, d, false);
	if (sign)
		x86_movsx_rr(j->cb, w, bits / 8, x86_dst(j, d), src);
	else
		x86_movzx_rr(j->cb, bits / 8, x86_dst(j, d), src);
	return true;
}

/* insn: d &= imm; then a branch on d being zero or not */
static bool fuse_test(struct x86_jit *j, const struct bpf_insn *insn)
{
	const struct bpf_insn *jmp = &insn[1];
	unsigned op = BPF_OP(jmp->code);
	struct bpf_insn test;
	bool w;

	if (!insn->imm || !bpfu_x86_straight(j, 1) || !bpfu_facts_is_jump(jmp) ||
	    (op != BPF_JEQ && op != BPF_JNE) || BPF_SRC(jmp->code) != BPF_K || jmp->imm ||
	    jmp->dst_reg != insn->dst_reg || !jmp->off || !bpfu_x86_dead_after(j, insn->dst_reg, 1))
		return false;
	w = BPF_CLASS(insn->code) == BPF_ALU64 && BPF_CLASS(jmp->code) == BPF_JMP;
	test = BPFU_INSN((w ? BPF_JMP : BPF_JMP32) | BPF_JSET | BPF_K, insn->dst_reg, 0, 0, insn->imm);

	bpfu_x86_group(j, 1);
	bpfu_x86_before_branch(j, j->idx + 1);
	bpfu_x86_compare(j, &test);
	bpfu_x86_branch(j, j->idx + 1, op == BPF_JEQ ? X86_CC_E : X86_CC_NE);
	return true;
}

/* d is 0 or 1 beforehand, and the move makes it the other. */
static bool select_bool(struct x86_jit *j, const struct bpf_insn *jmp, uint64_t value)
{
	unsigned d = jmp[1].dst_reg;
	enum x86_cc cc;
	int32_t old;
	uint8_t dst;

	if (value > 1 || !bpfu_x86_const(j, d, true, &old) || old != !value)
		return false;
	dst = x86_dst(j, d);
	x86_alu_rr(j->cb, X86_XOR, false, dst, dst);
	x86_flags_lost(j);
	cc = bpfu_x86_compare(j, jmp);
	x86_setcc(j->cb, old ? cc : x86_cc_not(cc), dst);
	x86_flags_lost(j);
	return true;
}

/* jmp: a branch over one move */
static bool fuse_select(struct x86_jit *j, const struct bpf_insn *jmp)
{
	const struct bpf_insn *mov = &jmp[1];
	unsigned d = mov->dst_reg, s = mov->src_reg;
	bool x = BPF_SRC(mov->code) == BPF_X, w = true;
	uint8_t dst, src = X86_SCRATCH;
	uint64_t value = 0;

	if (jmp->off != 1 || BPF_OP(mov->code) != BPF_MOV || mov->off ||
	    (BPF_CLASS(mov->code) != BPF_ALU64 && BPF_CLASS(mov->code) != BPF_ALU) ||
	    !bpfu_x86_straight(j, 1) || bpfu_x86_dead_after(j, d, 1) || d == jmp->dst_reg ||
	    (BPF_SRC(jmp->code) == BPF_X && d == jmp->src_reg))
		return false;
	if (x && BPF_CLASS(mov->code) == BPF_ALU && !x86_is_zext(j, s)) {
		if (!x86_is_zext(j, d))
			return false; /* cmov would truncate d in any case */
		w = false;
	}

	bpfu_x86_group(j, 1);
	bpfu_x86_settle(j, jmp->dst_reg);
	if (BPF_SRC(jmp->code) == BPF_X)
		bpfu_x86_settle(j, jmp->src_reg);
	if (x) {
		src = bpfu_x86_src(j, s, w);
	} else {
		value = BPF_CLASS(mov->code) == BPF_ALU64 ? (uint64_t)(int64_t)mov->imm :
							    (uint32_t)mov->imm;
		if (select_bool(j, jmp, value))
			return true;
		bpfu_x86_mov_imm(j, src, value);
	}
	dst = x86_dst_rw(j, d);
	x86_cmov_rr(j->cb, x86_cc_not(bpfu_x86_compare(j, jmp)), w, dst, src);
	x86_flags_lost(j);
	return true;
}

static bool fuse_alu(struct x86_jit *j, const struct bpf_insn *insn)
{
	bool x = BPF_SRC(insn->code) == BPF_X;

	switch (BPF_OP(insn->code)) {
	case BPF_MOV:
		return x && !insn->off && (fuse_rotate(j, insn) || fuse_rotate_copy(j, insn));
	case BPF_LSH:
		return !x && fuse_extend(j, insn);
	case BPF_AND:
		return !x && fuse_test(j, insn);
	case BPF_END:
		return bpfu_x86_fuse_swap_store(j, insn);
	default:
		return false;
	}
}

bool bpfu_x86_fuse(struct x86_jit *j, const struct bpf_insn *insn)
{
	switch (BPF_CLASS(insn->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		return fuse_alu(j, insn);
	case BPF_LDX:
		return BPF_MODE(insn->code) == BPF_MEM && bpfu_x86_fuse_load(j, insn);
	case BPF_JMP:
	case BPF_JMP32:
		return bpfu_facts_is_jump(insn) && bpfu_x86_cc(BPF_OP(insn->code)) >= 0 &&
		       fuse_select(j, insn);
	default:
		return false;
	}
}
