// SPDX-License-Identifier: BSD-2-Clause
/*
 * Dead code: what the verifier never reached goes; a conditional jump that always goes one way
 * becomes a jump or goes too; a jump to the instruction that follows it (once the dead code between
 * is gone) goes as well.
 */
#include <errno.h>
#include <stdlib.h>

#include "obj/prog.h"
#include "rewrite/passes.h"

static void remove_unseen(struct bpfu_patch *patch, const struct bpfu_insn_aux *aux)
{
	const struct bpf_insn *insns = patch->prog->insns;

	for (uint32_t i = 0; i < patch->prog->insn_cnt; i++) {
		bool wide = bpfu_insn_is_ld_imm64(&insns[i]);

		if (!aux[i].seen) {
			bpfu_patch_remove(patch, i);
			if (wide)
				bpfu_patch_remove(patch, i + 1);
		}
		i += wide;
	}
}

/*
 * The address of a function that is never called: the function is removed, so the value, which
 * nothing can use, becomes 0.
 */
static void drop_dead_callbacks(struct bpfu_patch *patch, const struct bpfu_insn_aux *aux)
{
	struct bpf_insn *insns = patch->prog->insns;

	for (uint32_t i = 0; i < patch->prog->insn_cnt; i++) {
		if (!bpfu_insn_is_ld_imm64(&insns[i]))
			continue;
		if (bpfu_insn_is_pseudo_func(&insns[i]) &&
		    !aux[i + 1 + (uint32_t)insns[i].imm].seen) {
			insns[i].src_reg = 0;
			bpfu_insn_set_imm64(&insns[i], 0);
		}
		i++;
	}
}

static void settle_branches(struct bpfu_patch *patch, const struct bpfu_insn_aux *aux)
{
	struct bpf_insn *insns = patch->prog->insns;

	for (uint32_t i = 0; i < patch->prog->insn_cnt; i++) {
		struct bpf_insn *insn = &insns[i];

		if (bpfu_insn_is_ld_imm64(insn)) {
			i++;
			continue;
		}
		if (!aux[i].seen || !bpfu_insn_is_cond_jump(insn) ||
		    insn->code == (BPF_JMP | BPF_JCOND))
			continue;
		if (aux[i].branch_known == 1 || !aux[i + 1].seen)
			*insn = BPFU_INSN(BPF_JMP | BPF_JA, 0, 0, insn->off, 0);
		else if (aux[i].branch_known == 0 || !aux[i + 1 + insn->off].seen)
			bpfu_patch_remove(patch, i);
	}
}

/*
 * From the end backwards, so that the jumps behind are settled when one is looked at: next[i] is the
 * first instruction from i on that stays.
 */
static int remove_empty_jumps(struct bpfu_patch *patch)
{
	const struct bpf_insn *insns = patch->prog->insns;
	uint32_t cnt = patch->prog->insn_cnt;
	uint32_t *next = malloc(((size_t)cnt + 1) * sizeof(*next));

	if (!next)
		return -ENOMEM;
	next[cnt] = cnt;
	for (uint32_t i = cnt; i-- > 0;) {
		int32_t off = bpfu_insn_jump_off(&insns[i]);

		/* The upper half of an LD_IMM64 has code 0, which is no jump. */
		if (bpfu_insn_is_jump(&insns[i]) && BPF_OP(insns[i].code) == BPF_JA && off >= 0 &&
		    next[i + 1] == next[i + 1 + (uint32_t)off])
			bpfu_patch_remove(patch, i);
		next[i] = bpfu_patch_is_removed(patch, i) ? next[i + 1] : i;
	}
	free(next);
	return 0;
}

int bpfu_remove_dead_code(struct bpfu_patch *patch, const struct bpfu_insn_aux *aux)
{
	remove_unseen(patch, aux);
	drop_dead_callbacks(patch, aux);
	settle_branches(patch, aux);
	return remove_empty_jumps(patch);
}
