// SPDX-License-Identifier: BSD-2-Clause
/* Branches, calls, tail calls and exit. */
#include "jit/x86_64/lower.h"

#include <errno.h>
#include <stddef.h>

#include "helper/helper.h"
#include "map/map.h"
#include "obj/prog.h"

#define THREAD_HOPS 8         /* jumps to jumps that are followed */
#define INLINE_EPILOGUE 8     /* bytes up to which each exit gets its own */

/* ---- branches ---- */

/* Where a branch to @target ends up, unconditional jumps followed. */
static uint32_t final_target(const struct x86_jit *j, uint32_t target)
{
	for (int hops = 0; hops < THREAD_HOPS; hops++) {
		const struct bpf_insn *insn = &j->insns[target];

		if (insn->code != (BPF_JMP | BPF_JA) && insn->code != (BPF_JMP32 | BPF_JA))
			break;
		target = bpfu_insn_jump_target(j->insns, target);
	}
	return target;
}

/*
 * clang's loops end in "if (done) goto over; goto top; over:", as BPF's first versions had few
 * conditions. If the branch at @at is one of these, *@far is where the jump behind it goes.
 */
static bool over_a_jump(const struct x86_jit *j, uint32_t at, uint32_t *far)
{
	uint32_t next = at + 1;

	if (bpfu_insn_jump_target(j->insns, at) != at + 2 ||
	    j->ctx->facts.flags[next] & BPFU_FACT_TARGET)
		return false;
	if (j->insns[next].code != (BPF_JMP | BPF_JA) &&
	    j->insns[next].code != (BPF_JMP32 | BPF_JA))
		return false;
	*far = bpfu_insn_jump_target(j->insns, next);
	return true;
}

void bpfu_x86_before_branch(struct x86_jit *j, uint32_t at)
{
	uint32_t far;

	bpfu_x86_flush(j, j->ctx->facts.live_in[bpfu_insn_jump_target(j->insns, at)]);
	if (over_a_jump(j, at, &far))
		bpfu_x86_flush(j, j->ctx->facts.live_in[far]);
}

void bpfu_x86_branch(struct x86_jit *j, uint32_t at, enum x86_cc cc)
{
	uint32_t far;

	if (over_a_jump(j, at, &far)) {
		x86_branch(j, x86_cc_not(cc), final_target(j, far));
		j->skip++;
	} else {
		x86_branch(j, cc, final_target(j, bpfu_insn_jump_target(j->insns, at)));
	}
	x86_flags_lost(j);
}

static int lower_branch(struct x86_jit *j, const struct bpf_insn *insn)
{
	uint32_t target = bpfu_insn_jump_target(j->insns, j->idx);

	if (BPF_OP(insn->code) == BPF_JA) {
		if (target == j->idx + 1)
			return 0;
		bpfu_x86_flush(j, j->ctx->facts.live_in[target]);
		x86_branch(j, X86_JMP, final_target(j, target));
		j->deferred = 0;
		return 0;
	}
	if (insn->code == (BPF_JMP | BPF_JCOND)) { /* may_goto: branch once the limit is used up */
		bpfu_x86_before_branch(j, j->idx);
		x86_alu_mi(j->cb, X86_SUB, 4, x86_mem_bd(X86_RBP, j->may_goto_off), 1);
		bpfu_x86_branch(j, j->idx, X86_CC_S);
		return 0;
	}
	if (bpfu_x86_cc(BPF_OP(insn->code)) < 0)
		return -EINVAL;
	if (target == j->idx + 1)
		return 0;
	bpfu_x86_before_branch(j, j->idx);
	bpfu_x86_branch(j, j->idx, bpfu_x86_compare(j, insn));
	return 0;
}

/* ---- calls ---- */

static int call_function(struct x86_jit *j, const struct bpf_insn *insn)
{
	int f = bpfu_facts_func_at(&j->ctx->facts, j->idx + 1 + (uint32_t)insn->imm);

	if (f < 0)
		return -EINVAL;
	if (j->ctx->facts.funcs[f].tail_reach)
		x86_load(j->cb, 8, X86_RAX, x86_mem_bd(X86_RBP, j->counter_off));
	x86_call_rel32(j->cb, 0);
	bpfu_layout_reloc(j->l, 4, X86_RELOC_REL32, BPFU_RELOC_LABEL,
			  bpfu_jit_direct_label(j->ctx, (uint32_t)f));
	return 0;
}

static int call_helper(struct x86_jit *j, int32_t id)
{
	bpfu_helper_fn fn = bpfu_call_target(id);

	if (!fn)
		return -EINVAL;
	if (j->ctx->target.far_calls) {
		bpfu_x86_mov_imm(j, X86_RAX, (uintptr_t)fn);
		x86_call_r(j->cb, X86_RAX);
		return 0;
	}
	x86_call_rel32(j->cb, 0);
	bpfu_layout_reloc(j->l, 4, X86_RELOC_REL32, BPFU_RELOC_ADDRESS, (uintptr_t)fn);
	return 0;
}

static int lower_call(struct x86_jit *j, const struct bpf_insn *insn)
{
	int err;

	x86_flags_lost(j);
	bpfu_x86_flush(j, bpfu_facts_call_args(&j->ctx->facts, j->insns, j->idx));
	j->deferred &= (uint16_t)~0x3fu; /* the others of r0 … r5 are read by nobody */
	for (unsigned r = BPF_REG_0; r <= BPF_REG_5; r++)
		bpfu_x86_clobber(j, x86_regmap[r]);
	switch (insn->src_reg) {
	case 0:
		err = call_helper(j, insn->imm);
		break;
	case BPF_PSEUDO_CALL:
		err = call_function(j, insn);
		break;
	default:
		err = -EINVAL;
	}
	return err;
}

/*
 * Go on in another program, in place of this frame. rdi is the context, rsi the map, edx the index;
 * whatever is wrong, the program goes on after the call.
 *
 *      if (index >= map->max_entries) goto out;
 *      if (*counter >= 33) goto out;
 *      prog = map->ptrs[index];
 *      if (!prog || !prog->tail_entry) goto out;    // no entry: not compiled
 *      ++*counter;
 *      rax = counter; undo the frame; goto prog->tail_entry
 */
static void lower_tail_call(struct x86_jit *j)
{
	uint32_t out = bpfu_layout_new_label(j->l);
	uint8_t map = bpfu_x86_settle(j, BPF_REG_2), index = bpfu_x86_settle(j, BPF_REG_3);

	bpfu_x86_settle(j, BPF_REG_1); /* where the next program expects it */
	x86_flags_lost(j);
	x86_alu_rm(j->cb, X86_CMP, 4, index,
		   x86_mem_bd(map, offsetof(struct bpfu_map, max_entries)));
	x86_branch(j, X86_CC_AE, out);
	if (j->ctx->prog->options.harden)
		x86_lfence(j->cb); /* the index is used only if it passed */
	x86_load(j->cb, 8, X86_SCRATCH, x86_mem_bd(X86_RBP, j->counter_off));
	x86_alu_mi(j->cb, X86_CMP, 4, x86_mem_bd(X86_SCRATCH, 0), BPFU_MAX_TAIL_CALLS);
	x86_branch(j, X86_CC_AE, out);
	x86_mov_rr(j->cb, false, X86_SCRATCH_AX, index);
	x86_load(j->cb, 8, X86_SCRATCH_AX,
		 x86_mem_bisd(map, X86_SCRATCH_AX, 3, offsetof(struct bpfu_prog_array, ptrs)));
	x86_test_rr(j->cb, true, X86_SCRATCH_AX, X86_SCRATCH_AX);
	x86_branch(j, X86_CC_E, out);
	x86_load(j->cb, 8, X86_SCRATCH_AX,
		 x86_mem_bd(X86_SCRATCH_AX, offsetof(struct bpfu_prog, tail_entry)));
	x86_test_rr(j->cb, true, X86_SCRATCH_AX, X86_SCRATCH_AX);
	x86_branch(j, X86_CC_E, out);
	x86_alu_mi(j->cb, X86_ADD, 4, x86_mem_bd(X86_SCRATCH, 0), 1);
	x86_mov_rr(j->cb, true, X86_RAX, X86_SCRATCH);
	bpfu_x86_epilogue(j, X86_SCRATCH_AX);
	bpfu_layout_set_label(j->l, out);
}

/* The first exit has the epilogue; later ones jump there, unless it is short. */
static void lower_exit(struct x86_jit *j)
{
	uint32_t before = j->cb->len;

	bpfu_x86_settle(j, BPF_REG_0);
	j->deferred = 0;
	if (j->exit_done) {
		x86_branch(j, X86_JMP, j->exit_label);
		return;
	}
	j->exit_label = bpfu_layout_new_label(j->l);
	bpfu_layout_set_label(j->l, j->exit_label);
	bpfu_x86_epilogue(j, X86_NONE);
	j->exit_done = j->cb->len - before > INLINE_EPILOGUE;
}

int bpfu_x86_lower_jmp(struct x86_jit *j, const struct bpf_insn *insn)
{
	switch (insn->code) {
	case BPF_JMP | BPF_CALL:
		return lower_call(j, insn);
	case BPF_JMP | BPF_EXIT:
		lower_exit(j);
		return 0;
	case BPF_JMP | BPFU_TAIL_CALL:
		lower_tail_call(j);
		return 0;
	default:
		return lower_branch(j, insn);
	}
}
