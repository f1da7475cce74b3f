// SPDX-License-Identifier: BSD-2-Clause
/*
 * Control flow as a graph: jumps stay inside their function, no instruction is out of reach, and where
 * exploration compares states. Loops are allowed; whether they end is for the exploration to find out.
 */
#include <errno.h>
#include <stdlib.h>

#include "helper/helper.h"
#include "verifier/env.h"

/* Target of a jump, relative to the next instruction. */
static int32_t jump_off(const struct bpf_insn *insn)
{
	return insn->code == (BPF_JMP32 | BPF_JA) ? insn->imm : insn->off;
}

static bool is_jump(const struct bpf_insn *insn)
{
	uint8_t class = BPF_CLASS(insn->code), op = BPF_OP(insn->code);

	return (class == BPF_JMP || class == BPF_JMP32) && op != BPF_CALL && op != BPF_EXIT;
}

static bool is_goto(const struct bpf_insn *insn)
{
	return is_jump(insn) && BPF_OP(insn->code) == BPF_JA;
}

int bpfu_vrf_check_jumps(struct bpfu_env *env)
{
	for (uint32_t i = 0; i < env->insn_cnt; i++) {
		const struct bpf_insn *insn = &env->insns[i];
		uint32_t sub = env->subprog_of[i];

		if (is_jump(insn)) {
			int64_t to = (int64_t)i + jump_off(insn) + 1;

			if (to < 0 || to >= env->insn_cnt || env->subprog_of[to] != sub) {
				bpfu_vrf_log(env, "jump out of range from insn %u to %lld\n", i,
					     (long long)to);
				return -EINVAL;
			}
		}
		/* The last instruction of a function must not run into the next one. */
		if (i + 1 == env->insn_cnt || env->subprog_of[i + 1] != sub) {
			if (insn->code != (BPF_JMP | BPF_EXIT) && !is_goto(insn)) {
				bpfu_vrf_log(env, "last insn is not an exit or jmp\n");
				return -EINVAL;
			}
		}
	}
	return 0;
}

struct walk {
	uint32_t *todo;
	uint32_t cnt;
	bool *reached;
};

static void visit(struct walk *w, uint32_t insn_idx)
{
	if (w->reached[insn_idx])
		return;
	w->reached[insn_idx] = true;
	w->todo[w->cnt++] = insn_idx;
}

static bool calls_back(const struct bpf_insn *insn)
{
	const struct bpfu_helper *helper;

	if (insn->code != (BPF_JMP | BPF_CALL) || insn->src_reg)
		return false;
	helper = bpfu_helper_by_id(insn->imm);
	for (int i = 0; helper && i < 5; i++)
		if (helper->arg[i] == BPFU_ARG_PTR_TO_FUNC)
			return true;
	return false;
}

static void walk_call(struct bpfu_env *env, struct walk *w, uint32_t i)
{
	const struct bpf_insn *insn = &env->insns[i];

	if (bpfu_insn_is_pseudo_call(insn)) {
		visit(w, i + insn->imm + 1);
		env->vinsn[i].prune_point = true;
		env->vinsn[i + 1].prune_point = true;
	} else if (calls_back(insn)) {
		/* Nor is the body explored again for a call that is as one before. */
		env->vinsn[i].prune_point = true;
		env->vinsn[i].force_checkpoint = true;
		/* Each way out of the callback continues here: merge them. */
		env->vinsn[i + 1].prune_point = true;
		env->vinsn[i + 1].force_checkpoint = true;
	} else {
		/* Little is left alive: a good place to find paths equal. */
		env->vinsn[i + 1].prune_point = true;
	}
	visit(w, i + 1);
}

static void walk_one(struct bpfu_env *env, struct walk *w, uint32_t i)
{
	const struct bpf_insn *insn = &env->insns[i];
	uint8_t op = BPF_OP(insn->code);

	if (is_jump(insn)) {
		uint32_t to = i + jump_off(insn) + 1;

		env->vinsn[to].prune_point = true;
		visit(w, to);
		if (op != BPF_JA) {
			env->vinsn[i].prune_point = true;
			visit(w, i + 1);
		}
	} else if (insn->code == (BPF_JMP | BPF_CALL)) {
		walk_call(env, w, i);
	} else if (bpfu_insn_is_ld_imm64(insn)) {
		if (bpfu_insn_is_pseudo_func(insn))
			visit(w, i + insn->imm + 1);
		visit(w, i + 2);
	} else if (insn->code != (BPF_JMP | BPF_EXIT)) {
		visit(w, i + 1);
	}
}

/* Everything must be reached, except second slots, which must not. */
static int check_reached(struct bpfu_env *env, const bool *reached)
{
	for (uint32_t i = 0; i < env->insn_cnt; i++) {
		if (!reached[i]) {
			bpfu_vrf_log(env, "unreachable insn %u\n", i);
			return -EINVAL;
		}
		if (!bpfu_insn_is_ld_imm64(&env->insns[i]))
			continue;
		if (reached[++i]) {
			bpfu_vrf_log(env, "jump into the middle of ldimm64 insn %u\n", i - 1);
			return -EINVAL;
		}
	}
	return 0;
}

int bpfu_vrf_check_cfg(struct bpfu_env *env)
{
	struct walk w = { 0 };
	int err = -ENOMEM;

	w.todo = calloc(env->insn_cnt, sizeof(*w.todo));
	w.reached = calloc(env->insn_cnt, sizeof(*w.reached));
	if (w.todo && w.reached) {
		visit(&w, 0);
		while (w.cnt)
			walk_one(env, &w, w.todo[--w.cnt]);
		err = check_reached(env, w.reached);
	}
	free(w.todo);
	free(w.reached);
	return err;
}
