// SPDX-License-Identifier: BSD-2-Clause
/*
 * Groups that begin with a load, or end in a store (see fuse.c):
 *
 *      t = *(u64 *)(p + 8); d += t                     add d, [p + 8]
 *      t = *(u8 *)(p + 8); if t == 6 goto              cmp byte [p + 8], 6; je
 *      t = *(u32 *)p; t += d; *(u32 *)p = t            add [p], d
 *      t = *(u32 *)p; t = be32 t                       movbe t, [p]
 *
 * Narrow loads are zero-extended, so a comparison in the narrow width is an unsigned one.
 */
#include "jit/x86_64/lower.h"

/* ALU operation that exists with a memory operand; -1 for others. */
static int alu_of(const struct bpf_insn *insn)
{
	switch (BPF_OP(insn->code)) {
	case BPF_ADD:
		return X86_ADD;
	case BPF_SUB:
		return X86_SUB;
	case BPF_OR:
		return X86_OR;
	case BPF_AND:
		return X86_AND;
	case BPF_XOR:
		return X86_XOR;
	default:
		return -1;
	}
}

static bool is_alu(const struct bpf_insn *insn)
{
	return BPF_CLASS(insn->code) == BPF_ALU64 || BPF_CLASS(insn->code) == BPF_ALU;
}

/* An immediate of 16 bits behind an operand-size prefix stalls decoders. */
static bool imm_is_cheap(unsigned size, int32_t imm)
{
	return size != 2 || x86_is_imm8(imm);
}

/* load: t = [m]; load[1]: d op= t */
static bool load_op(struct x86_jit *j, const struct bpf_insn *load, unsigned size)
{
	const struct bpf_insn *op = &load[1];
	unsigned t = load->dst_reg, d = op->dst_reg;
	bool w = BPF_CLASS(op->code) == BPF_ALU64;
	struct x86_mem mem;
	uint8_t dst;
	int alu;

	if (!is_alu(op) || BPF_SRC(op->code) != BPF_X || op->src_reg != t || d == t || op->off ||
	    size < (w ? 8 : 4) || !bpfu_x86_dead_after(j, t, 1))
		return false;
	alu = alu_of(op);
	if (alu < 0 && BPF_OP(op->code) != BPF_MUL)
		return false;

	bpfu_x86_group(j, 1);
	dst = bpfu_x86_settle(j, d);
	mem = bpfu_x86_addr(j, load->src_reg, load->off);
	bpfu_x86_clobber(j, dst);
	if (alu < 0)
		x86_imul_rm(j->cb, w, dst, mem);
	else
		x86_alu_rm(j->cb, (enum x86_alu)alu, w ? 8 : 4, dst, mem);
	x86_flags_lost(j);
	return true;
}

static enum x86_cc unsigned_cc(enum x86_cc cc)
{
	switch (cc) {
	case X86_CC_L:
		return X86_CC_B;
	case X86_CC_GE:
		return X86_CC_AE;
	case X86_CC_LE:
		return X86_CC_BE;
	case X86_CC_G:
		return X86_CC_A;
	default:
		return cc;
	}
}

/* Can the comparison of a loaded value with a constant be done in memory? Width in *@size. */
static bool cmp_imm_fits(const struct bpf_insn *jmp, unsigned *size, enum x86_cc *cc)
{
	bool w = BPF_CLASS(jmp->code) == BPF_JMP;

	if (*size == 8) {
		*size = w ? 8 : 4;
		return true;
	}
	if (*size == 4 && !w)
		return true;
	/* Zero-extended: not negative, and only comparable with what fits. */
	if (jmp->imm < 0 || (*size < 4 && jmp->imm >> (8 * *size)) || !imm_is_cheap(*size, jmp->imm))
		return false;
	*cc = unsigned_cc(*cc);
	return true;
}

/* load: t = [m]; load[1]: branch on a comparison of t with a constant */
static bool load_cmp_imm(struct x86_jit *j, const struct bpf_insn *load, unsigned size)
{
	const struct bpf_insn *jmp = &load[1];
	unsigned t = load->dst_reg;
	enum x86_cc cc = (enum x86_cc)bpfu_x86_cc(BPF_OP(jmp->code));
	struct x86_mem mem;

	if (jmp->dst_reg != t || !cmp_imm_fits(jmp, &size, &cc))
		return false;
	if (BPF_OP(jmp->code) == BPF_JSET && size == 2)
		return false;

	bpfu_x86_group(j, 1);
	bpfu_x86_before_branch(j, j->idx + 1);
	mem = bpfu_x86_addr(j, load->src_reg, load->off);
	if (BPF_OP(jmp->code) == BPF_JSET)
		x86_test_mi(j->cb, size, mem, jmp->imm);
	else
		x86_alu_mi(j->cb, X86_CMP, size, mem, jmp->imm);
	j->deferred &= (uint16_t)~(1u << t);
	bpfu_x86_branch(j, j->idx + 1, cc);
	return true;
}

/* load: t = [m]; load[1]: branch on a comparison of t and another register */
static bool load_cmp_reg(struct x86_jit *j, const struct bpf_insn *load, unsigned size)
{
	const struct bpf_insn *jmp = &load[1];
	unsigned t = load->dst_reg, other = jmp->dst_reg == t ? jmp->src_reg : jmp->dst_reg;
	enum x86_cc cc = (enum x86_cc)bpfu_x86_cc(BPF_OP(jmp->code));
	bool w = BPF_CLASS(jmp->code) == BPF_JMP;
	struct x86_mem mem;
	uint8_t reg;

	if (other == t || (jmp->dst_reg != t && jmp->src_reg != t) || BPF_OP(jmp->code) == BPF_JSET ||
	    size < (w ? 8 : 4))
		return false;

	bpfu_x86_group(j, 1);
	bpfu_x86_before_branch(j, j->idx + 1);
	reg = bpfu_x86_settle(j, other);
	mem = bpfu_x86_addr(j, load->src_reg, load->off);
	if (jmp->dst_reg == t)
		x86_alu_mr(j->cb, X86_CMP, w ? 8 : 4, mem, reg);
	else
		x86_alu_rm(j->cb, X86_CMP, w ? 8 : 4, reg, mem);
	j->deferred &= (uint16_t)~(1u << t);
	bpfu_x86_branch(j, j->idx + 1, cc);
	return true;
}

static bool load_cmp(struct x86_jit *j, const struct bpf_insn *load, unsigned size)
{
	const struct bpf_insn *jmp = &load[1];

	if (!bpfu_facts_is_jump(jmp) || bpfu_x86_cc(BPF_OP(jmp->code)) < 0 || !jmp->off ||
	    !bpfu_x86_dead_after(j, load->dst_reg, 1))
		return false;
	if (BPF_SRC(jmp->code) == BPF_X)
		return load_cmp_reg(j, load, size);
	return load_cmp_imm(j, load, size);
}

/* load: t = [m]; load[1]: t op= x; load[2]: [m] = t */
static bool read_modify_write(struct x86_jit *j, const struct bpf_insn *load, unsigned size)
{
	const struct bpf_insn *op = &load[1], *store = &load[2];
	unsigned t = load->dst_reg, p = load->src_reg;
	int alu = is_alu(op) ? alu_of(op) : -1;
	int32_t imm = op->imm;
	struct x86_mem mem;
	bool is_imm;
	uint8_t reg = X86_NONE;

	if (alu < 0 || op->dst_reg != t || op->off || p == t ||
	    store->code != (BPF_STX | BPF_MEM | BPF_SIZE(load->code)) || store->src_reg != t ||
	    store->dst_reg != p || store->off != load->off || !bpfu_x86_straight(j, 2) ||
	    !bpfu_x86_dead_after(j, t, 2))
		return false;
	/* ALU32 clears what a 64-bit store would write. */
	if (size == 8 && BPF_CLASS(op->code) != BPF_ALU64)
		return false;
	is_imm = BPF_SRC(op->code) == BPF_K;
	if (is_imm ? !imm_is_cheap(size, imm) : op->src_reg == t)
		return false;

	bpfu_x86_group(j, 2);
	if (!is_imm) {
		is_imm = bpfu_x86_const(j, op->src_reg, size == 8, &imm) &&
			 imm_is_cheap(size, imm);
		if (!is_imm)
			reg = bpfu_x86_settle(j, op->src_reg);
	}
	mem = bpfu_x86_addr(j, p, load->off);
	if (is_imm)
		x86_alu_mi(j->cb, (enum x86_alu)alu, size, mem, imm);
	else
		x86_alu_mr(j->cb, (enum x86_alu)alu, size, mem, reg);
	j->deferred &= (uint16_t)~(1u << t);
	x86_flags_lost(j);
	return true;
}

/* A byte swap of 32 or 64 bits in place; the number of bytes, or 0. */
static unsigned swap_size(const struct bpf_insn *insn)
{
	bool swap = insn->code == (BPF_ALU | BPF_END | BPF_TO_BE) ||
		    insn->code == (BPF_ALU64 | BPF_END | BPF_TO_LE);

	return swap && (insn->imm == 32 || insn->imm == 64) ? (unsigned)insn->imm / 8 : 0;
}

static bool load_swap(struct x86_jit *j, const struct bpf_insn *load, unsigned size)
{
	struct x86_mem mem;

	if (swap_size(&load[1]) != size || load[1].dst_reg != load->dst_reg ||
	    !x86_has(j, X86_CPU_MOVBE))
		return false;
	bpfu_x86_group(j, 1);
	mem = bpfu_x86_addr(j, load->src_reg, load->off);
	x86_movbe_rm(j->cb, size, x86_dst(j, load->dst_reg), mem);
	return true;
}

bool bpfu_x86_fuse_load(struct x86_jit *j, const struct bpf_insn *insn)
{
	unsigned size = x86_access_size(insn);

	return bpfu_x86_straight(j, 1) &&
	       (load_op(j, insn, size) || load_cmp(j, insn, size) ||
		read_modify_write(j, insn, size) || load_swap(j, insn, size));
}

bool bpfu_x86_fuse_swap_store(struct x86_jit *j, const struct bpf_insn *insn)
{
	const struct bpf_insn *store = &insn[1];
	unsigned size = swap_size(insn), d = insn->dst_reg;
	struct x86_mem mem;
	uint8_t src;

	if (!size || !x86_has(j, X86_CPU_MOVBE) || !bpfu_x86_straight(j, 1) ||
	    BPF_CLASS(store->code) != BPF_STX || BPF_MODE(store->code) != BPF_MEM ||
	    store->src_reg != d || store->dst_reg == d || x86_access_size(store) != size ||
	    !bpfu_x86_dead_after(j, d, 1))
		return false;
	bpfu_x86_group(j, 1);
	src = bpfu_x86_src(j, d, size == 8);
	mem = bpfu_x86_addr(j, store->dst_reg, store->off);
	x86_movbe_mr(j->cb, size, mem, src);
	j->deferred &= (uint16_t)~(1u << d);
	return true;
}
