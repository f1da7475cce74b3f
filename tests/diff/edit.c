// SPDX-License-Identifier: BSD-2-Clause
/*
 * Deleting instructions. Every relative reference (jump, long jump, call, callback) is turned into
 * the index of its target, moved with it, and turned back; a target that is deleted moves to the
 * next instruction that stays.
 */
#include "edit.h"

#include <string.h>

static bool is_jump(const struct bpf_insn *insn)
{
	uint8_t class = BPF_CLASS(insn->code), op = BPF_OP(insn->code);

	return (class == BPF_JMP || class == BPF_JMP32) && op != BPF_CALL && op != BPF_EXIT;
}

/* Where @insn (at @idx) refers to, or -1. */
static int64_t target_of(const struct bpf_insn *insn, uint32_t idx)
{
	if (insn->code == (BPF_JMP32 | BPF_JA) || bpfu_insn_is_pseudo_call(insn) ||
	    bpfu_insn_is_pseudo_func(insn))
		return (int64_t)idx + 1 + insn->imm;
	if (is_jump(insn))
		return (int64_t)idx + 1 + insn->off;
	return -1;
}

static void set_target(struct bpf_insn *insn, uint32_t idx, int64_t target)
{
	int64_t dist = target - idx - 1;

	if (insn->code == (BPF_JMP32 | BPF_JA) || bpfu_insn_is_pseudo_call(insn) ||
	    bpfu_insn_is_pseudo_func(insn))
		insn->imm = (int32_t)dist;
	else
		insn->off = (int16_t)dist;
}

static bool targets_in_range(const struct case_prog *p)
{
	for (uint32_t i = 0; i < p->cnt; i++) {
		int64_t target = target_of(&p->insns[i], i);

		if (target != -1 && (target < 0 || target >= p->cnt))
			return false;
		i += bpfu_insn_is_ld_imm64(&p->insns[i]);
	}
	return true;
}

/* Delete the instructions marked in @dead; the second half of LD_IMM64 is marked with the first. */
static bool remove_marked(struct case_prog *p, const bool *dead)
{
	static struct bpf_insn out[CASE_INSNS];
	static uint32_t moved[CASE_INSNS + 1];
	uint32_t cnt = 0, subs = 0;

	if (!targets_in_range(p))
		return false;
	for (uint32_t i = 0; i <= p->cnt; i++) {
		moved[i] = cnt;
		if (i < p->cnt && !dead[i])
			cnt++;
	}
	if (!cnt)
		return false;
	for (uint32_t i = 0; i < p->cnt; i++) {
		int64_t target = target_of(&p->insns[i], i);
		bool wide = bpfu_insn_is_ld_imm64(&p->insns[i]);

		if (!dead[i]) {
			out[moved[i]] = p->insns[i];
			if (target != -1)
				set_target(&out[moved[i]], moved[i], moved[target]);
			if (wide)
				out[moved[i] + 1] = p->insns[i + 1];
		}
		i += wide;
	}
	for (uint32_t s = 0; s < p->subprog_cnt; s++) {
		uint32_t start = moved[p->subprog_start[s]];
		uint32_t end = s + 1 < p->subprog_cnt ? moved[p->subprog_start[s + 1]] : cnt;

		if (end > start)
			p->subprog_start[subs++] = start;
	}
	p->subprog_cnt = subs;
	memcpy(p->insns, out, cnt * sizeof(out[0]));
	p->cnt = cnt;
	return true;
}

bool edit_remove(struct case_prog *p, uint32_t from, uint32_t to)
{
	static bool dead[CASE_INSNS];

	memset(dead, 0, sizeof(dead));
	for (uint32_t i = 0; i < p->cnt; i++) {
		bool wide = bpfu_insn_is_ld_imm64(&p->insns[i]) && i + 1 < p->cnt;

		dead[i] = i >= from && i < to;
		if (wide) {
			dead[i + 1] = dead[i];
			i++;
		}
	}
	return remove_marked(p, dead);
}

void edit_drop_unreachable(struct case_prog *p)
{
	static bool dead[CASE_INSNS];
	static uint32_t work[2 * CASE_INSNS + 2];
	uint32_t todo = 0;

	if (!targets_in_range(p))
		return;
	memset(dead, true, sizeof(dead));
	work[todo++] = 0;
	while (todo) {
		uint32_t i = work[--todo];
		const struct bpf_insn *insn = &p->insns[i];
		int64_t target;

		if (i >= p->cnt || !dead[i])
			continue;
		dead[i] = false;
		target = target_of(insn, i);
		if (target != -1)
			work[todo++] = (uint32_t)target;
		if (insn->code == (BPF_JMP | BPF_EXIT) || insn->code == (BPF_JMP | BPF_JA) ||
		    insn->code == (BPF_JMP32 | BPF_JA))
			continue;
		if (bpfu_insn_is_ld_imm64(insn) && i + 1 < p->cnt)
			dead[++i] = false;
		work[todo++] = i + 1;
	}
	remove_marked(p, dead);
}
