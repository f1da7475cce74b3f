// SPDX-License-Identifier: BSD-2-Clause
/* Jumps, calls, exit and the tail call. */
#include "jit/arm64/lower.h"

#include <errno.h>
#include <stddef.h>

#include "helper/helper.h"
#include "map/map.h"
#include "obj/prog.h"

static bool cond_of(uint8_t op, enum a64_cond *cond)
{
	switch (op) {
	case BPF_JEQ:
		*cond = A64_EQ;
		return true;
	case BPF_JNE:
	case BPF_JSET:
		*cond = A64_NE;
		return true;
	case BPF_JGT:
		*cond = A64_HI;
		return true;
	case BPF_JGE:
		*cond = A64_HS;
		return true;
	case BPF_JLT:
		*cond = A64_LO;
		return true;
	case BPF_JLE:
		*cond = A64_LS;
		return true;
	case BPF_JSGT:
		*cond = A64_GT;
		return true;
	case BPF_JSGE:
		*cond = A64_GE;
		return true;
	case BPF_JSLT:
		*cond = A64_LT;
		return true;
	case BPF_JSLE:
		*cond = A64_LE;
		return true;
	}
	return false;
}

/* Set the flags from dst and the immediate. */
static void compare_imm(struct a64_jit *j, bool jset, bool sf, uint8_t dst, int32_t imm)
{
	uint32_t fields;

	if (jset) {
		if (a64_logic_fields(sf, imm, &fields)) {
			a64_emit(j, a64_logic_i(A64_ANDS, sf, A64_ZR, dst, fields));
			return;
		}
	} else if (a64_addsub_imm_fits(imm)) {
		a64_emit(j, a64_cmp_i(sf, dst, (uint32_t)imm));
		return;
	} else if (a64_addsub_imm_fits(-(int64_t)imm)) {
		a64_emit(j, a64_cmn_i(sf, dst, (uint32_t)-imm));
		return;
	}
	bpfu_a64_mov_insn_imm(j, A64_TMP2, sf, imm);
	a64_emit(j, jset ? a64_tst(sf, dst, A64_TMP2) : a64_cmp(sf, dst, A64_TMP2));
}

/* clang's loops end in "if (done) goto over; goto top; over:". Where the jump behind @at goes, in *@label. */
static bool over_a_jump(const struct a64_jit *j, uint32_t at, uint32_t *label)
{
	uint32_t next = at + 1;

	if (bpfu_insn_jump_target(j->insns, at) != at + 2 ||
	    j->ctx->facts.flags[next] & BPFU_FACT_TARGET ||
	    (j->insns[next].code != (BPF_JMP | BPF_JA) && j->insns[next].code != (BPF_JMP32 | BPF_JA)))
		return false;
	*label = bpfu_insn_jump_target(j->insns, next);
	return true;
}

static int lower_cond(struct a64_jit *j, const struct bpf_insn *insn, uint32_t label)
{
	bool sf = BPF_CLASS(insn->code) == BPF_JMP;
	uint8_t op = BPF_OP(insn->code), dst, src;
	bool invert = over_a_jump(j, j->idx, &label);
	enum a64_cond cond;

	if (!cond_of(op, &cond))
		return -EINVAL;
	if (invert) {
		cond = a64_cond_not(cond);
		j->skip = 1;
	}
	dst = a64_src(j, insn->dst_reg, A64_TMP1);
	if (BPF_SRC(insn->code) == BPF_X) {
		src = a64_src(j, insn->src_reg, A64_TMP2);
		a64_emit(j, op == BPF_JSET ? a64_tst(sf, dst, src) : a64_cmp(sf, dst, src));
	} else if (!insn->imm && (op == BPF_JEQ || op == BPF_JNE)) {
		a64_branch_cb(j, (op == BPF_JNE) != invert, sf, dst, label);
		return 0;
	} else {
		compare_imm(j, op == BPF_JSET, sf, dst, insn->imm);
	}
	a64_branch(j, cond, label);
	return 0;
}

static int lower_call(struct a64_jit *j, const struct bpf_insn *insn)
{
	bpfu_helper_fn fn;
	uint32_t callee;

	if (insn->src_reg == BPF_PSEUDO_CALL) {
		callee = (uint32_t)bpfu_facts_func_at(&j->ctx->facts,
						      j->idx + 1 + (uint32_t)insn->imm);
		a64_emit(j, a64_bl(0));
		bpfu_layout_reloc(j->l, 4, A64_RELOC_CALL, BPFU_RELOC_LABEL,
				  bpfu_jit_direct_label(j->ctx, callee));
		return 0; /* the callee leaves r0 in its register */
	}
	fn = insn->src_reg ? NULL : bpfu_call_target(insn->imm);
	if (!fn)
		return -EINVAL;
	if (j->ctx->target.far_calls) {
		bpfu_a64_mov_imm(j, A64_FAR, (uint64_t)(uintptr_t)fn);
		a64_emit(j, a64_blr(A64_FAR));
	} else {
		a64_emit(j, a64_bl(0));
		bpfu_layout_reloc(j->l, 4, A64_RELOC_CALL, BPFU_RELOC_ADDRESS,
				  (uint64_t)(uintptr_t)fn);
	}
	a64_emit(j, a64_mov(true, a64_regmap[BPF_REG_0], A64_X0));
	return 0;
}

/*
 * r1: context, r2: prog array, r3: index
 *
 *   if ((u32)r3 >= array->map.max_entries) goto out
 *   if (*counter >= BPFU_MAX_TAIL_CALLS) goto out
 *   prog = array->ptrs[r3]; if (!prog || !prog->tail_entry) goto out
 *   ++*counter
 *   undo this frame; goto *prog->tail_entry
 * out:
 */
static void lower_tail_call(struct a64_jit *j)
{
	uint8_t array = a64_regmap[BPF_REG_2], index = a64_regmap[BPF_REG_3];
	uint32_t out = bpfu_layout_new_label(j->l);
	uint32_t max_entries = offsetof(struct bpfu_prog_array, map.max_entries);

	a64_emit(j, a64_ls_uimm(A64_LDR, A64_W, A64_TMP1, array, max_entries));
	a64_emit(j, a64_cmp(false, index, A64_TMP1));
	a64_branch(j, A64_HS, out);
	if (j->ctx->prog->options.harden)
		bpfu_a64_barrier(j); /* the index is used only if it passed */
	a64_emit(j, a64_ls_uimm(A64_LDR, A64_W, A64_TMP1, A64_TCC, 0));
	a64_emit(j, a64_cmp_i(false, A64_TMP1, BPFU_MAX_TAIL_CALLS));
	a64_branch(j, A64_HS, out);
	a64_emit(j, a64_mov(false, A64_TMP2, index));
	a64_emit(j, a64_with_shift(a64_add(true, A64_TMP2, array, A64_TMP2), A64_LSL, 3));
	a64_emit(j, a64_ls_uimm(A64_LDR, A64_D, A64_TMP2, A64_TMP2,
				offsetof(struct bpfu_prog_array, ptrs)));
	a64_branch_cb(j, false, true, A64_TMP2, out);
	a64_emit(j, a64_ls_uimm(A64_LDR, A64_D, A64_TMP2, A64_TMP2,
				offsetof(struct bpfu_prog, tail_entry)));
	a64_branch_cb(j, false, true, A64_TMP2, out); /* not compiled */
	a64_emit(j, a64_add_i(false, A64_TMP1, A64_TMP1, 1));
	a64_emit(j, a64_ls_uimm(A64_STR, A64_W, A64_TMP1, A64_TCC, 0));
	bpfu_a64_epilogue(j, A64_TMP2);
	bpfu_layout_set_label(j->l, out);
}

/* Branch once the function's limit is used up. */
static void lower_may_goto(struct a64_jit *j, uint32_t label)
{
	a64_emit(j, a64_ls_uimm(A64_LDR, A64_W, A64_TMP1, A64_SP, 0));
	a64_branch_cb(j, false, false, A64_TMP1, label);
	a64_emit(j, a64_sub_i(false, A64_TMP1, A64_TMP1, 1));
	a64_emit(j, a64_ls_uimm(A64_STR, A64_W, A64_TMP1, A64_SP, 0));
}

int bpfu_a64_lower_jmp(struct a64_jit *j, const struct bpf_insn *insn)
{
	bool jmp32 = BPF_CLASS(insn->code) == BPF_JMP32;
	uint32_t target;

	switch (BPF_OP(insn->code)) {
	case BPF_CALL:
		if (jmp32 || BPF_SRC(insn->code) == BPF_X)
			return -EINVAL;
		return lower_call(j, insn);
	case BPF_EXIT:
		if (jmp32)
			return -EINVAL;
		/* C callers expect the result in x0, BPF callers where r0 is. */
		a64_emit(j, a64_mov(true, A64_X0, a64_regmap[BPF_REG_0]));
		bpfu_a64_epilogue(j, A64_ZR);
		return 0;
	case BPFU_TAIL_CALL:
		if (jmp32 || BPF_SRC(insn->code) == BPF_X)
			return -EINVAL;
		lower_tail_call(j);
		return 0;
	}
	target = bpfu_insn_jump_target(j->insns, j->idx);
	if (insn->code == (BPF_JMP | BPF_JCOND)) {
		lower_may_goto(j, target);
		return 0;
	}
	if (BPF_OP(insn->code) != BPF_JA)
		return lower_cond(j, insn, target);
	if (target != j->idx + 1)
		a64_branch(j, A64_AL, target);
	return 0;
}
