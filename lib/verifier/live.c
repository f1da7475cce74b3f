// SPDX-License-Identifier: BSD-2-Clause
/*
 * Which registers may still be read before they are written, at every instruction: backward data flow
 * over each function. Two states that differ only in dead registers are equal. Calls read the
 * arguments their prototype has and write r0…r5; exit reads r0 (a callee's r6…r9 are its own).
 */
#include <errno.h>
#include <stdlib.h>

#include "helper/helper.h"
#include "insn/opcode.h"
#include "verifier/env.h"

#define REG(r) (1u << (r))
#define CALLER_SAVED 0x3fu /* r0…r5 */

struct effect {
	uint16_t use, def;
};

static struct effect call_effect(const struct bpfu_env *env, const struct bpf_insn *insn)
{
	struct effect e = { 0x3e, CALLER_SAVED };
	const struct bpfu_helper *helper;

	if (insn->src_reg)
		return e;
	helper = bpfu_helper_by_id(insn->imm);
	if (helper) {
		e.use = 0;
		for (int i = 0; i < 5; i++)
			if (helper->arg[i] != BPFU_ARG_NONE)
				e.use |= REG(i + 1);
	}
	return e;
}

static struct effect atomic_effect(const struct bpf_insn *insn)
{
	struct effect e = { REG(insn->dst_reg) | REG(insn->src_reg), 0 };

	if (insn->imm == BPFU_ATOMIC_LOAD_ACQ)
		return (struct effect){ REG(insn->src_reg), REG(insn->dst_reg) };
	if (insn->imm == BPFU_ATOMIC_STORE_REL)
		return e;
	if (insn->imm == BPF_CMPXCHG) {
		e.use |= REG(BPF_REG_0);
		e.def = REG(BPF_REG_0);
	} else if (insn->imm & BPF_FETCH) {
		e.def = REG(insn->src_reg);
	}
	return e;
}

static struct effect alu_effect(const struct bpf_insn *insn)
{
	struct effect e = { 0, REG(insn->dst_reg) };
	uint8_t op = BPF_OP(insn->code);

	if (op == BPF_END || op == BPF_NEG) {
		e.use = REG(insn->dst_reg);
		return e;
	}
	if (BPF_SRC(insn->code) == BPF_X)
		e.use |= REG(insn->src_reg);
	if (op != BPF_MOV)
		e.use |= REG(insn->dst_reg);
	return e;
}

static struct effect effect_of(const struct bpfu_env *env, const struct bpf_insn *insn)
{
	switch (BPF_CLASS(insn->code)) {
	case BPF_LD:
		if (bpfu_insn_is_ld_imm64(insn))
			return (struct effect){ 0, REG(insn->dst_reg) };
		/* packet loads: r6 and the index in, r0 out, r1…r5 lost */
		return (struct effect){ REG(BPF_REG_6) |
						(BPF_MODE(insn->code) == BPF_IND ?
							 REG(insn->src_reg) :
							 0),
					CALLER_SAVED };
	case BPF_LDX:
		return (struct effect){ REG(insn->src_reg), REG(insn->dst_reg) };
	case BPF_ST:
		return (struct effect){ REG(insn->dst_reg), 0 };
	case BPF_STX:
		if (BPF_MODE(insn->code) == BPF_ATOMIC)
			return atomic_effect(insn);
		return (struct effect){ REG(insn->dst_reg) | REG(insn->src_reg), 0 };
	case BPF_ALU:
	case BPF_ALU64:
		return alu_effect(insn);
	default:
		break;
	}
	switch (BPF_OP(insn->code)) {
	case BPF_CALL:
		return call_effect(env, insn);
	case BPF_EXIT:
		return (struct effect){ REG(BPF_REG_0), 0 };
	case BPF_JA:
	case BPF_JCOND:
		return (struct effect){ 0, 0 };
	default:
		return (struct effect){ REG(insn->dst_reg) | (BPF_SRC(insn->code) == BPF_X ?
								      REG(insn->src_reg) :
								      0),
					0 };
	}
}

/* Target of the jump at @i, or -1 if it does not jump. */
static int64_t jump_target(const struct bpfu_env *env, uint32_t i)
{
	const struct bpf_insn *insn = &env->insns[i];
	uint8_t class = BPF_CLASS(insn->code), op = BPF_OP(insn->code);

	if ((class != BPF_JMP && class != BPF_JMP32) || op == BPF_CALL || op == BPF_EXIT)
		return -1;
	return (int64_t)i + 1 + (class == BPF_JMP32 && op == BPF_JA ? insn->imm : insn->off);
}

static bool falls_through(const struct bpf_insn *insn)
{
	uint8_t class = BPF_CLASS(insn->code), op = BPF_OP(insn->code);

	if (class != BPF_JMP && class != BPF_JMP32)
		return true;
	return op != BPF_EXIT && op != BPF_JA;
}

static bool is_second_slot(const struct bpfu_env *env, uint32_t i)
{
	return i && bpfu_insn_is_ld_imm64(&env->insns[i - 1]);
}

static uint16_t live_after(const struct bpfu_env *env, uint32_t i)
{
	const struct bpf_insn *insn = &env->insns[i];
	int64_t target = jump_target(env, i);
	uint16_t live = 0;

	if (target >= 0)
		live = env->vinsn[target].live;
	if (falls_through(insn))
		live |= env->vinsn[i + (bpfu_insn_is_ld_imm64(insn) ? 2 : 1)].live;
	return live;
}

struct worklist {
	uint32_t *todo;
	uint32_t cnt;
	bool *queued;
	/* Jumps to an instruction (plus one), chained; 0 ends the chain. */
	uint32_t *first, *next;
};

static void enqueue(struct worklist *w, uint32_t i)
{
	if (!w->queued[i]) {
		w->queued[i] = true;
		w->todo[w->cnt++] = i;
	}
}

static void enqueue_predecessors(const struct bpfu_env *env, struct worklist *w, uint32_t i)
{
	uint32_t before = i - 1;

	for (uint32_t p = w->first[i]; p; p = w->next[p - 1])
		enqueue(w, p - 1);
	if (i && is_second_slot(env, before))
		before--;
	if (i && env->subprog_of[before] == env->subprog_of[i] &&
	    falls_through(&env->insns[before]))
		enqueue(w, before);
}

static void solve(struct bpfu_env *env, struct worklist *w)
{
	for (uint32_t i = 0; i < env->insn_cnt; i++) {
		int64_t target = jump_target(env, i);

		if (is_second_slot(env, i))
			continue;
		if (target >= 0) {
			w->next[i] = w->first[target];
			w->first[target] = i + 1;
		}
		enqueue(w, i);
	}
	/* Each instruction can change as often as there are registers: the work is linear. */
	while (w->cnt) {
		uint32_t i = w->todo[--w->cnt];
		struct effect e = effect_of(env, &env->insns[i]);
		uint16_t live = (live_after(env, i) & ~e.def) | e.use;

		w->queued[i] = false;
		if (live == env->vinsn[i].live)
			continue;
		env->vinsn[i].live = live;
		enqueue_predecessors(env, w, i);
	}
}

int bpfu_vrf_liveness(struct bpfu_env *env)
{
	struct worklist w = { .cnt = 0 };
	int err = -ENOMEM;

	w.todo = calloc(env->insn_cnt, sizeof(*w.todo));
	w.queued = calloc(env->insn_cnt, sizeof(*w.queued));
	w.first = calloc(env->insn_cnt, sizeof(*w.first));
	w.next = calloc(env->insn_cnt, sizeof(*w.next));
	if (w.todo && w.queued && w.first && w.next) {
		solve(env, &w);
		bpfu_vrf_log_liveness(env);
		err = 0;
	}
	free(w.todo);
	free(w.queued);
	free(w.first);
	free(w.next);
	return err;
}
