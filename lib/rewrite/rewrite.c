// SPDX-License-Identifier: BSD-2-Clause
/*
 * The driver: notes for every instruction of a verified program what becomes of it, then lays the
 * program out once. Frames that inlined loops make larger grow only after all calls were looked at,
 * so that several loops of a function share the same 24 bytes.
 */
#include "rewrite/rewrite.h"

#include <errno.h>
#include <stdlib.h>

#include "obj/prog.h"
#include "rewrite/passes.h"
#include "util/log.h"

#define LOOP_FRAME 24 /* r6, r7, r8 */

static int rewrite_insn(struct bpfu_patch *patch, const struct bpfu_insn_aux *aux,
			uint32_t insn_idx, struct bpfu_subprog *subprog, bool *has_loop)
{
	struct bpf_insn *insn = &patch->prog->insns[insn_idx], buf[BPFU_REPLACEMENT_MAX];
	int cnt;

	cnt = bpfu_convert_ctx(patch->prog, insn, &aux[insn_idx], buf);
	if (!cnt) {
		cnt = bpfu_inline_call(patch->prog, subprog, insn, &aux[insn_idx], buf);
		*has_loop |= cnt && insn->imm == BPF_FUNC_loop;
	}
	if (cnt)
		return bpfu_patch_replace(patch, insn_idx, buf, (uint32_t)cnt);
	bpfu_fixup_insn(insn, &aux[insn_idx]);
	return 0;
}

static int rewrite_subprog(struct bpfu_patch *patch, const struct bpfu_insn_aux *aux,
			   uint32_t number)
{
	struct bpfu_prog *prog = patch->prog;
	struct bpfu_subprog *subprog = &prog->subprogs[number];
	uint32_t end = number + 1 < prog->subprog_cnt ? subprog[1].start : prog->insn_cnt;
	bool has_loop = false;
	int err = 0;

	for (uint32_t i = subprog->start; !err && i < end; i++) {
		bool wide = bpfu_insn_is_ld_imm64(&prog->insns[i]);

		if (!bpfu_patch_is_removed(patch, i))
			err = rewrite_insn(patch, aux, i, subprog, &has_loop);
		i += wide;
	}
	if (has_loop)
		subprog->stack_depth += LOOP_FRAME;
	return err;
}

int bpfu_rewrite(struct bpfu_prog *prog, struct bpfu_insn_aux *aux)
{
	struct bpfu_patch patch;
	int err;

	err = bpfu_patch_init(&patch, prog);
	if (err)
		return err;
	err = bpfu_remove_dead_code(&patch, aux);
	for (uint32_t i = 0; !err && i < prog->subprog_cnt; i++)
		err = rewrite_subprog(&patch, aux, i);
	if (!err)
		err = bpfu_patch_apply(&patch);
	bpfu_patch_release(&patch);
	return err;
}
