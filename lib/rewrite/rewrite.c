// SPDX-License-Identifier: BSD-2-Clause
/*
 * The driver: notes for every instruction of a verified program what becomes of it, then lays the
 * program out once. Frames that inlined loops make larger grow only after all calls were looked at,
 * so that several loops of a function share the same 24 bytes.
 */
#include "rewrite/rewrite.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "obj/prog.h"
#include "rewrite/passes.h"
#include "util/log.h"

#define LOOP_FRAME 24 /* r6, r7, r8 */

/* @buf, @cnt instructions that replace @insn_idx, with the barriers that the verifier asked for. */
static int add_barriers(struct bpfu_patch *patch, const struct bpfu_insn_aux *aux,
			uint32_t insn_idx, struct bpf_insn *buf, int cnt)
{
	const struct bpf_insn barrier = BPFU_INSN(BPF_ST | BPFU_NOSPEC, 0, 0, 0, 0);
	const struct bpf_insn *insn = &patch->prog->insns[insn_idx];
	bool jump = !cnt && bpfu_insn_is_jump(insn);

	if (!cnt) {
		buf[cnt++] = *insn;
		if (bpfu_insn_is_pseudo_call(insn) || bpfu_insn_is_pseudo_func(insn))
			buf[0].imm += (int32_t)insn_idx + 1; /* in replacements: the target itself */
		if (bpfu_insn_is_ld_imm64(insn)) {
			buf[cnt++] = insn[1];
			bpfu_patch_remove(patch, insn_idx + 1);
		}
	}
	if (aux->nospec) {
		memmove(buf + 1, buf, (size_t)cnt * sizeof(*buf));
		buf[0] = barrier;
		cnt++;
	}
	if (jump)
		return bpfu_patch_replace_jump(patch, insn_idx, buf, (uint32_t)cnt);
	if (aux->nospec_after)
		buf[cnt++] = barrier;
	return bpfu_patch_replace(patch, insn_idx, buf, (uint32_t)cnt);
}

/* A bpf_loop() that is called for no iteration at all: its callback was never reached, and is gone. */
static bool lost_callback(const struct bpfu_prog *prog, const struct bpfu_insn_aux *aux,
			  uint32_t insn_idx)
{
	const struct bpf_insn *insn = &prog->insns[insn_idx];

	return insn->code == (BPF_JMP | BPF_CALL) && !insn->src_reg && insn->imm == BPF_FUNC_loop &&
	       aux[insn_idx].loop_inline &&
	       !aux[prog->subprogs[aux[insn_idx].callback_subprog].start].seen;
}

static int rewrite_insn(struct bpfu_patch *patch, const struct bpfu_insn_aux *aux,
			uint32_t insn_idx, struct bpfu_subprog *subprog, bool *has_loop)
{
	struct bpf_insn *insn = &patch->prog->insns[insn_idx], buf[BPFU_REPLACEMENT_MAX + 2];
	bool barriers = aux[insn_idx].nospec || aux[insn_idx].nospec_after;
	int cnt;

	cnt = bpfu_convert_ctx(patch->prog, insn, &aux[insn_idx], buf);
	if (!cnt)
		cnt = bpfu_convert_call(insn, &aux[insn_idx], buf);
	if (!cnt)
		cnt = bpfu_fixup_call(patch->prog, insn, buf);
	if (!cnt && !lost_callback(patch->prog, aux, insn_idx)) {
		cnt = bpfu_inline_call(patch->prog, subprog, insn, &aux[insn_idx], buf);
		*has_loop |= cnt && insn->imm == BPF_FUNC_loop;
	}
	if (!cnt)
		bpfu_fixup_insn(insn, &aux[insn_idx]);
	if (barriers)
		return add_barriers(patch, &aux[insn_idx], insn_idx, buf, cnt);
	return cnt ? bpfu_patch_replace(patch, insn_idx, buf, (uint32_t)cnt) : 0;
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
