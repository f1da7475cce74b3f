// SPDX-License-Identifier: BSD-2-Clause
/*
 * Groups of BPF instructions for which A64 has one, or a better few: BPF has two operands per instruction,
 * A64 has three, and addresses of two registers. A group lies within straight code (no branch goes into it);
 * what it computes on the way must not be needed later.
 *
 *      t = a; t >>= 64 - n; a <<= n; a |= t            ror a, a, #64 - n
 *      t = a; t >>= 64 - n; u = a; u <<= n; u |= t     ror u, a, #64 - n
 *      d = a; d += b                                   add d, a, b
 *      d = a; d += b; x = *(u32 *)d                    ldr x, [a, b]
 *      if a == b goto +1; goto far                     b.ne far     (lower_jmp.c)
 *
 * A constant that is pinned (pins.c) is such an a as well.
 */
#include "jit/arm64/lower.h"

#define NO_REG 0xff

/* The instruction after @idx, if it is reached from there only and is going to be lowered; or NULL. */
static const struct bpf_insn *follower(const struct a64_jit *j, uint32_t idx, uint32_t *next)
{
	const struct bpfu_facts *facts = &j->ctx->facts;

	*next = idx + 1 + bpfu_insn_is_ld_imm64(&j->insns[idx]);
	if (*next >= j->func->end || facts->flags[*next] & BPFU_FACT_TARGET ||
	    bpfu_facts_is_dead(facts, j->insns, *next))
		return NULL;
	return &j->insns[*next];
}

static bool dead_after(const struct a64_jit *j, unsigned r, uint32_t idx)
{
	return !(bpfu_facts_live_out(&j->ctx->facts, j->insns, idx) >> r & 1);
}

/* The register of which @insn makes a copy, or NO_REG; *@w: of all of it. */
static uint8_t copied(const struct a64_jit *j, const struct bpf_insn *insn, bool *w)
{
	uint8_t pin;

	*w = true;
	if (bpfu_insn_is_ld_imm64(insn))
		return !bpfu_insn_is_pseudo_func(insn) && bpfu_a64_pinned(j, bpfu_insn_imm64(insn), &pin) ?
			       pin : NO_REG;
	*w = BPF_CLASS(insn->code) == BPF_ALU64;
	if ((!*w && BPF_CLASS(insn->code) != BPF_ALU) || BPF_OP(insn->code) != BPF_MOV ||
	    BPF_SRC(insn->code) != BPF_X || insn->off || insn->src_reg == BPF_REG_10)
		return NO_REG;
	return a64_regmap[insn->src_reg];
}

static bool is_shift(const struct bpf_insn *insn, unsigned class, unsigned op, unsigned r)
{
	return insn->code == (class | op | BPF_K) && insn->dst_reg == r && insn->imm > 0;
}

static bool is_or(const struct bpf_insn *insn, unsigned class)
{
	return insn->code == (class | BPF_OR | BPF_X) || insn->code == (class | BPF_XOR | BPF_X) ||
	       insn->code == (class | BPF_ADD | BPF_X);
}

static bool straight(const struct a64_jit *j, uint32_t n)
{
	if (j->idx + n >= j->func->end)
		return false;
	for (uint32_t i = j->idx + 1; i <= j->idx + n; i++)
		if (j->ctx->facts.flags[i] & (BPFU_FACT_TARGET | BPFU_FACT_SECOND))
			return false;
	return true;
}

/* Two shifts in opposite directions, of @a and @b, whose bits together are the width. */
static bool opposite(const struct bpf_insn *x, const struct bpf_insn *y, unsigned class, int32_t *left)
{
	const struct bpf_insn *l = BPF_OP(x->code) == BPF_LSH ? x : y, *r = l == x ? y : x;

	if (!is_shift(l, class, BPF_LSH, l->dst_reg) || !is_shift(r, class, BPF_RSH, r->dst_reg))
		return false;
	*left = l->imm;
	return l->imm + r->imm == (class == BPF_ALU64 ? 64 : 32);
}

static bool emit_rotate(struct a64_jit *j, bool w, unsigned d, unsigned s, int32_t left, uint32_t n)
{
	a64_emit(j, a64_ror_i(w, a64_regmap[d], a64_regmap[s], (uint8_t)((w ? 64 : 32) - left)));
	j->skip = n;
	return true;
}

/* insn: t = a; then the two shifts, of t and of a or a copy of it, and the two put together */
static bool fuse_rotate(struct a64_jit *j, const struct bpf_insn *insn)
{
	unsigned t = insn->dst_reg, a = insn->src_reg, class, d, s;
	int32_t left;
	bool w;

	if (BPF_OP(insn->code) != BPF_MOV || BPF_SRC(insn->code) != BPF_X || insn->off || t == a ||
	    a == BPF_REG_10 || !straight(j, 3))
		return false;
	class = BPF_CLASS(insn[3].code);
	w = class == BPF_ALU64;
	d = insn[3].dst_reg;
	s = insn[3].src_reg;
	if (is_or(&insn[3], class) && (!w || BPF_CLASS(insn->code) == BPF_ALU64) &&
	    opposite(&insn[1], &insn[2], class, &left) &&
	    ((insn[1].dst_reg == t && insn[2].dst_reg == a) ||
	     (insn[1].dst_reg == a && insn[2].dst_reg == t)) &&
	    ((d == a && s == t) || (d == t && s == a)) && dead_after(j, s, j->idx + 3))
		return emit_rotate(j, w, d, a, left, 3);
	if (!straight(j, 4))
		return false;
	class = BPF_CLASS(insn[4].code);
	w = class == BPF_ALU64;
	d = insn[4].dst_reg;
	if (!is_or(&insn[4], class) || d == t || d == a || insn[4].src_reg != t ||
	    (insn[2].code != (BPF_ALU64 | BPF_MOV | BPF_X) &&
	     (w || insn[2].code != (BPF_ALU | BPF_MOV | BPF_X))) ||
	    (w && BPF_CLASS(insn->code) != BPF_ALU64) || insn[2].off || insn[2].dst_reg != d ||
	    insn[2].src_reg != a || insn[1].dst_reg != t || insn[3].dst_reg != d ||
	    !opposite(&insn[1], &insn[3], class, &left) || !dead_after(j, t, j->idx + 4))
		return false;
	return emit_rotate(j, w, d, a, left, 4);
}

static enum a64_size size_of(uint8_t code)
{
	return BPF_SIZE(code) == BPF_B ? A64_B : BPF_SIZE(code) == BPF_H ? A64_H :
	       BPF_SIZE(code) == BPF_W ? A64_W : A64_D;
}

/* d = base + index at @add; then an access of what d points to, after which nobody needs d. */
static bool fuse_access(struct a64_jit *j, uint32_t at, uint8_t base)
{
	const struct bpf_insn *add = &j->insns[at], *insn;
	unsigned d = add->dst_reg;
	uint8_t index;
	bool sign;
	uint32_t next;

	if (add->code != (BPF_ALU64 | BPF_ADD | BPF_X) || add->src_reg == BPF_REG_10 || add->src_reg == d)
		return false;
	insn = follower(j, at, &next);
	if (!insn || insn->off)
		return false;
	index = a64_regmap[add->src_reg];
	sign = insn->code == (BPF_LDX | BPF_MEMSX | BPF_SIZE(insn->code));
	if (sign || insn->code == (BPF_LDX | BPF_MEM | BPF_SIZE(insn->code))) {
		if (insn->src_reg != d || (insn->dst_reg != d && !dead_after(j, d, next)) ||
		    (sign && BPF_SIZE(insn->code) == BPF_DW))
			return false;
		a64_emit(j, a64_ls_reg(sign ? A64_LDRS : A64_LDR, size_of(insn->code),
				       a64_dst(insn->dst_reg), base, index));
	} else if (insn->code == (BPF_STX | BPF_MEM | BPF_SIZE(insn->code))) {
		if (insn->dst_reg != d || insn->src_reg == d || insn->src_reg == BPF_REG_10 ||
		    !dead_after(j, d, next))
			return false;
		a64_emit(j, a64_ls_reg(A64_STR, size_of(insn->code), a64_regmap[insn->src_reg], base, index));
	} else {
		return false;
	}
	j->skip = next - j->idx;
	return true;
}

/* insn: d = a; then d op= b */
static bool fuse_copy(struct a64_jit *j, const struct bpf_insn *insn)
{
	const struct bpf_insn *op;
	unsigned d = insn->dst_reg;
	uint32_t next;
	bool w;
	uint8_t a = copied(j, insn, &w);

	if (a == NO_REG || a == a64_regmap[d])
		return false;
	op = follower(j, j->idx, &next);
	if (!op || op->dst_reg != d || (BPF_CLASS(op->code) != BPF_ALU64 && BPF_CLASS(op->code) != BPF_ALU) ||
	    (!w && (BPF_CLASS(op->code) == BPF_ALU64 || BPF_OP(op->code) == BPF_END)) ||
	    BPF_OP(op->code) == BPF_MOV ||
	    (BPF_SRC(op->code) == BPF_X && op->src_reg == d && BPF_OP(op->code) != BPF_NEG &&
	     BPF_OP(op->code) != BPF_END))
		return false;
	if (w && fuse_access(j, next, a))
		return true;
	if (bpfu_a64_lower_alu_of(j, op, a))
		return false; /* and nothing has been emitted */
	j->skip = next - j->idx;
	return true;
}

bool bpfu_a64_fuse(struct a64_jit *j, const struct bpf_insn *insn)
{
	switch (BPF_CLASS(insn->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		return fuse_rotate(j, insn) || fuse_copy(j, insn) ||
		       (insn->dst_reg != BPF_REG_10 && fuse_access(j, j->idx, a64_regmap[insn->dst_reg]));
	case BPF_LD:
		return bpfu_insn_is_ld_imm64(insn) && fuse_copy(j, insn);
	default:
		return false;
	}
}
