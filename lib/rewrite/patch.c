// SPDX-License-Identifier: BSD-2-Clause
/* Laying a program out anew (patch.h). */
#include "rewrite/patch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "obj/prog.h"
#include "util/bits.h"
#include "util/log.h"

#define GOTOL (BPF_JMP32 | BPF_JA)
#define LONG_JUMP_CNT 3
#define MAX_NEW_INSNS (64u * BPFU_MAX_INSNS)

int bpfu_patch_init(struct bpfu_patch *patch, struct bpfu_prog *prog)
{
	memset(patch, 0, sizeof(*patch));
	patch->prog = prog;
	patch->rows = calloc(prog->insn_cnt, sizeof(*patch->rows));
	return patch->rows ? 0 : -ENOMEM;
}

void bpfu_patch_release(struct bpfu_patch *patch)
{
	free(patch->rows);
	free(patch->pool);
}

void bpfu_patch_remove(struct bpfu_patch *patch, uint32_t insn_idx)
{
	patch->rows[insn_idx] = (struct bpfu_patch_row){ .replaced = true };
}

int bpfu_patch_replace(struct bpfu_patch *patch, uint32_t insn_idx, const struct bpf_insn *insns,
		       uint32_t cnt)
{
	BPFU_BUG_ON(cnt > UINT16_MAX, "long replacement");
	if (patch->pool_cap - patch->pool_cnt < cnt) {
		uint32_t cap = BPFU_MAX(256u, patch->pool_cap * 2);
		struct bpf_insn *pool = reallocarray(patch->pool, cap, sizeof(*pool));

		if (!pool)
			return -ENOMEM;
		patch->pool = pool;
		patch->pool_cap = cap;
	}
	memcpy(patch->pool + patch->pool_cnt, insns, cnt * sizeof(*insns));
	patch->rows[insn_idx] = (struct bpfu_patch_row){ .first = patch->pool_cnt,
							 .cnt = (uint16_t)cnt,
							 .replaced = true };
	patch->pool_cnt += cnt;
	return 0;
}

int bpfu_patch_replace_jump(struct bpfu_patch *patch, uint32_t insn_idx,
			    const struct bpf_insn *insns, uint32_t cnt)
{
	int err = bpfu_patch_replace(patch, insn_idx, insns, cnt);

	patch->rows[insn_idx].jumps = !err;
	return err;
}

bool bpfu_insn_is_jump(const struct bpf_insn *insn)
{
	uint8_t op = BPF_OP(insn->code);

	if (BPF_CLASS(insn->code) == BPF_JMP32)
		return true;
	return BPF_CLASS(insn->code) == BPF_JMP && op != BPF_CALL && op != BPF_EXIT &&
	       op != BPFU_TAIL_CALL;
}

bool bpfu_insn_is_cond_jump(const struct bpf_insn *insn)
{
	return bpfu_insn_is_jump(insn) && BPF_OP(insn->code) != BPF_JA;
}

int32_t bpfu_insn_jump_off(const struct bpf_insn *insn)
{
	return insn->code == GOTOL ? insn->imm : insn->off;
}

/* ---- layout ---- */

static uint32_t row_cnt(const struct bpfu_patch_row *row)
{
	return (row->replaced ? row->cnt : 1u) + (row->long_jump ? LONG_JUMP_CNT - 1 : 0);
}

/* New index of every old instruction, and of the end. The number of instructions or -E2BIG. */
static int64_t lay_out(const struct bpfu_patch *patch, uint32_t *start)
{
	uint32_t cnt = patch->prog->insn_cnt;
	uint64_t pos = 0;

	for (uint32_t i = 0; i < cnt; i++) {
		start[i] = (uint32_t)pos;
		pos += row_cnt(&patch->rows[i]);
	}
	start[cnt] = (uint32_t)pos;
	return pos > MAX_NEW_INSNS ? -E2BIG : (int64_t)pos;
}

static uint32_t jump_target(const struct bpf_insn *insn, uint32_t insn_idx)
{
	return insn_idx + 1 + (uint32_t)bpfu_insn_jump_off(insn);
}

/* Lengthen jumps that do not reach their target any more; true if there were any. */
static bool lengthen(struct bpfu_patch *patch, const uint32_t *start)
{
	struct bpf_insn *insns = patch->prog->insns;
	bool changed = false;

	for (uint32_t i = 0; i < patch->prog->insn_cnt; i++) {
		struct bpfu_patch_row *row = &patch->rows[i];
		int64_t off;

		if ((row->replaced && !row->jumps) || row->long_jump ||
		    !bpfu_insn_is_jump(&insns[i]) || insns[i].code == GOTOL)
			continue;
		off = (int64_t)start[jump_target(&insns[i], i)] - start[i] - row_cnt(row);
		if (off >= INT16_MIN && off <= INT16_MAX)
			continue;
		if (BPF_OP(insns[i].code) == BPF_JA) {
			insns[i] = BPFU_INSN(GOTOL, 0, 0, 0, insns[i].off);
		} else {
			row->long_jump = true;
			changed = true;
		}
	}
	return changed;
}

/* ---- output ---- */

static void emit_jump(struct bpf_insn *out, const struct bpf_insn *insn, uint32_t pos,
		      uint32_t target, bool long_jump)
{
	int32_t off = (int32_t)(target - pos - 1);

	out[0] = *insn;
	if (long_jump) {
		/* if cond goto +1; goto +1; gotol target */
		out[0].off = 1;
		out[1] = BPFU_INSN(BPF_JMP | BPF_JA, 0, 0, 1, 0);
		out[2] = BPFU_INSN(GOTOL, 0, 0, 0, off - (LONG_JUMP_CNT - 1));
	} else if (insn->code == GOTOL) {
		out->imm = off;
	} else {
		out->off = (int16_t)off;
	}
}

/* An instruction that stays: what it refers to has moved. */
static void emit_kept(struct bpf_insn *out, const struct bpf_insn *insn, uint32_t insn_idx,
		      const uint32_t *start, bool long_jump)
{
	uint32_t pos = start[insn_idx];

	if (bpfu_insn_is_jump(insn)) {
		emit_jump(out, insn, pos, start[jump_target(insn, insn_idx)], long_jump);
		return;
	}
	*out = *insn;
	if (bpfu_insn_is_pseudo_call(insn) || bpfu_insn_is_pseudo_func(insn))
		out->imm = (int32_t)(start[insn_idx + 1 + (uint32_t)insn->imm] - pos - 1);
}

/* A replacement that ends in the jump of the instruction @insn_idx. */
static void emit_jumping(struct bpf_insn *out, const struct bpfu_patch *patch, uint32_t insn_idx,
			 const uint32_t *start)
{
	const struct bpfu_patch_row *row = &patch->rows[insn_idx];
	const struct bpf_insn *insns = &patch->pool[row->first];
	uint32_t last = row->cnt - 1u;

	memcpy(out, insns, last * sizeof(*out));
	/* lengthen() makes a gotol of the old instruction. */
	emit_jump(out + last, bpfu_insn_is_cond_jump(&insns[last]) ? &insns[last] :
		  &patch->prog->insns[insn_idx], start[insn_idx] + last,
		  start[jump_target(&patch->prog->insns[insn_idx], insn_idx)], row->long_jump);
}

static void emit_replacement(struct bpf_insn *out, const struct bpf_insn *pool,
			     const struct bpfu_patch_row *row, uint32_t pos, const uint32_t *start)
{
	for (uint32_t i = 0; i < row->cnt; i++) {
		out[i] = pool[row->first + i];
		if (bpfu_insn_is_pseudo_call(&out[i]) || bpfu_insn_is_pseudo_func(&out[i]))
			out[i].imm = (int32_t)(start[out[i].imm] - (pos + i) - 1);
	}
}

static void emit_all(const struct bpfu_patch *patch, const uint32_t *start, struct bpf_insn *out)
{
	const struct bpf_insn *insns = patch->prog->insns;

	for (uint32_t i = 0; i < patch->prog->insn_cnt; i++) {
		const struct bpfu_patch_row *row = &patch->rows[i];

		if (row->replaced && row->jumps) {
			emit_jumping(out + start[i], patch, i, start);
		} else if (row->replaced) {
			emit_replacement(out + start[i], patch->pool, row, start[i], start);
		} else if (bpfu_insn_is_ld_imm64(&insns[i])) {
			emit_kept(out + start[i], &insns[i], i, start, false);
			out[start[i] + 1] = insns[i + 1];
			i++;
		} else {
			emit_kept(out + start[i], &insns[i], i, start, row->long_jump);
		}
	}
}

/* ---- tables ---- */

static void move_subprogs(struct bpfu_prog *prog, const uint32_t *start)
{
	bool has_info = prog->func_info_cnt == prog->subprog_cnt;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < prog->subprog_cnt; i++) {
		uint32_t end = i + 1 < prog->subprog_cnt ? prog->subprogs[i + 1].start :
							   prog->insn_cnt;
		uint32_t first = start[prog->subprogs[i].start];

		if (first == start[end])
			continue;
		if (kept != i) {
			prog->subprogs[kept] = prog->subprogs[i];
			if (has_info)
				prog->func_info[kept] = prog->func_info[i];
		}
		prog->subprogs[kept].start = first;
		if (has_info)
			prog->func_info[kept].insn_off = first;
		kept++;
	}
	prog->subprog_cnt = kept;
	if (has_info)
		prog->func_info_cnt = kept;
}

/* Of lines that come to lie on one instruction the last counts; those behind the end are dropped. */
static void move_lines(struct bpfu_prog *prog, const uint32_t *start)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < prog->line_info_cnt; i++) {
		uint32_t off = start[prog->line_info[i].insn_off];

		if (off == start[prog->insn_cnt])
			break;
		if (kept && prog->line_info[kept - 1].insn_off == off)
			kept--;
		prog->line_info[kept] = prog->line_info[i];
		prog->line_info[kept++].insn_off = off;
	}
	prog->line_info_cnt = kept;
}

int bpfu_patch_apply_map(struct bpfu_patch *patch, uint32_t **map)
{
	struct bpfu_prog *prog = patch->prog;
	uint32_t *start = malloc(((size_t)prog->insn_cnt + 1) * sizeof(*start));
	struct bpf_insn *out;
	int64_t cnt;
	int err = 0;

	if (!start)
		return -ENOMEM;
	do {
		cnt = lay_out(patch, start);
	} while (cnt > 0 && lengthen(patch, start));
	if (cnt < 0) {
		err = (int)cnt;
		goto free_start;
	}
	out = malloc((size_t)cnt * sizeof(*out));
	if (!out) {
		err = -ENOMEM;
		goto free_start;
	}
	emit_all(patch, start, out);
	move_subprogs(prog, start);
	move_lines(prog, start);
	free(prog->insns);
	prog->insns = out;
	prog->insn_cnt = (uint32_t)cnt;
	*map = start;
	return 0;

free_start:
	free(start);
	return err;
}

int bpfu_patch_apply(struct bpfu_patch *patch)
{
	uint32_t *start;
	int err = bpfu_patch_apply_map(patch, &start);

	if (!err)
		free(start);
	return err;
}
