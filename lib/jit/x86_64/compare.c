// SPDX-License-Identifier: BSD-2-Clause
/*
 * Comparisons: the condition of a BPF branch, and the shortest instruction that sets the flags for
 * it. test for zero, the low half where the upper one is known to be zero, an operand straight from
 * memory, and nothing at all if the operation before has set the flags already.
 */
#include "jit/x86_64/lower.h"

int bpfu_x86_cc(unsigned op)
{
	switch (op) {
	case BPF_JEQ:
		return X86_CC_E;
	case BPF_JSET:
	case BPF_JNE:
		return X86_CC_NE;
	case BPF_JGT:
		return X86_CC_A;
	case BPF_JGE:
		return X86_CC_AE;
	case BPF_JLT:
		return X86_CC_B;
	case BPF_JLE:
		return X86_CC_BE;
	case BPF_JSGT:
		return X86_CC_G;
	case BPF_JSGE:
		return X86_CC_GE;
	case BPF_JSLT:
		return X86_CC_L;
	case BPF_JSLE:
		return X86_CC_LE;
	default:
		return -1;
	}
}

static void test_imm(struct x86_jit *j, bool w, uint8_t dst, int32_t imm)
{
	if (imm >= 0)
		w = false; /* the upper half does not matter */
	if (imm == (uint8_t)imm && imm != UINT8_MAX)
		x86_test8_ri(j->cb, dst, (uint8_t)imm);
	else if (imm == -1)
		x86_test_rr(j->cb, w, dst, dst);
	else
		x86_test_ri(j->cb, w, dst, imm);
}

/* Do the flags already say how @dst compares with 0? Then under which condition does @cc hold? */
static bool flags_known(const struct x86_jit *j, uint8_t dst, bool w, enum x86_cc *cc)
{
	if (j->flags_reg != dst)
		return false;
	switch (*cc) {
	case X86_CC_E:
	case X86_CC_NE: /* a 32-bit result is zero-extended: zero is zero */
		return j->flags_w == w || w;
	case X86_CC_S:
	case X86_CC_NS:
		return j->flags_w == w;
	case X86_CC_G:
	case X86_CC_LE:
		return j->flags_w == w && j->flags_logic;
	default:
		return false;
	}
}

static enum x86_cc compare_zero(struct x86_jit *j, bool w, uint8_t dst, enum x86_cc cc)
{
	switch (cc) {
	case X86_CC_L: /* fuses with test on more processors */
		cc = X86_CC_S;
		break;
	case X86_CC_GE:
		cc = X86_CC_NS;
		break;
	case X86_CC_A:
		cc = X86_CC_NE;
		break;
	case X86_CC_BE:
		cc = X86_CC_E;
		break;
	default:
		break;
	}
	if (!flags_known(j, dst, w, &cc))
		x86_test_rr(j->cb, w, dst, dst);
	return cc;
}

enum x86_cc bpfu_x86_compare(struct x86_jit *j, const struct bpf_insn *insn)
{
	bool w = BPF_CLASS(insn->code) == BPF_JMP;
	unsigned op = BPF_OP(insn->code);
	enum x86_cc cc = (enum x86_cc)bpfu_x86_cc(op);
	bool is_signed = cc == X86_CC_L || cc == X86_CC_LE || cc == X86_CC_G || cc == X86_CC_GE;
	int32_t imm = insn->imm;
	uint8_t dst, src;

	if (BPF_SRC(insn->code) == BPF_X && !bpfu_x86_const(j, insn->src_reg, w, &imm)) {
		if (w && !is_signed && x86_is_zext(j, insn->dst_reg) && x86_is_zext(j, insn->src_reg))
			w = false;
		dst = bpfu_x86_src(j, insn->dst_reg, w);
		src = bpfu_x86_src(j, insn->src_reg, w);
		if (op == BPF_JSET)
			x86_test_rr(j->cb, w, dst, src);
		else
			x86_alu_rr(j->cb, X86_CMP, w, dst, src);
		return cc;
	}
	/* Of numbers without upper half, compare the lower. */
	if (w && !is_signed && imm >= 0 && x86_is_zext(j, insn->dst_reg))
		w = false;
	dst = bpfu_x86_src(j, insn->dst_reg, w);
	if (op == BPF_JSET) {
		test_imm(j, w, dst, imm);
	} else if (!imm) {
		return compare_zero(j, w, dst, cc);
	} else {
		x86_alu_ri(j->cb, X86_CMP, w, dst, imm);
	}
	return cc;
}
