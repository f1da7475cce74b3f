// SPDX-License-Identifier: BSD-2-Clause
/*
 * Facts about a program; see facts.h.
 *
 * Liveness is the textbook backward analysis, swept over each function from its end to its start
 * until nothing changes. A sweep settles everything but loops; each level of nesting may take
 * another. Programs that have not settled after LIVE_SWEEPS are given "everything is live", which
 * is always right and only costs quality.
 */
#include "jit/facts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "obj/prog.h"

#define LIVE_SWEEPS 12
#define ALL_REGS ((1u << BPFU_MAX_REG) - 1)
#define BIT(r) (1u << (r))
#define CALL_ARGS (BIT(1) | BIT(2) | BIT(3) | BIT(4) | BIT(5))
#define CALL_CLOBBERS (BIT(0) | CALL_ARGS)

bool bpfu_insn_is_jump(const struct bpf_insn *insn)
{
	unsigned class = BPF_CLASS(insn->code), op = BPF_OP(insn->code);

	if (class == BPF_JMP32)
		return true;
	return class == BPF_JMP && op != BPF_CALL && op != BPF_EXIT && op != BPFU_TAIL_CALL;
}

uint32_t bpfu_insn_jump_target(const struct bpf_insn *insns, uint32_t idx)
{
	const struct bpf_insn *insn = &insns[idx];

	if (insn->code == (BPF_JMP32 | BPF_JA))
		return idx + 1 + (uint32_t)insn->imm;
	return idx + 1 + (uint32_t)(int32_t)insn->off;
}

/* An atomic: which registers besides base and operand. */
static void atomic_use_def(const struct bpf_insn *insn, uint16_t *use, uint16_t *def)
{
	switch (insn->imm) {
	case BPF_CMPXCHG:
		*use |= BIT(0);
		*def = BIT(0);
		break;
	case BPF_LOAD_ACQ:
		*use = BIT(insn->src_reg);
		*def = BIT(insn->dst_reg);
		break;
	default:
		if (insn->imm & BPF_FETCH && insn->imm != BPF_STORE_REL)
			*def = BIT(insn->src_reg);
	}
}

static void alu_use_def(const struct bpf_insn *insn, uint16_t *use, uint16_t *def)
{
	unsigned op = BPF_OP(insn->code);

	*def = BIT(insn->dst_reg);
	if (op != BPF_MOV)
		*use |= BIT(insn->dst_reg);
	if (BPF_SRC(insn->code) == BPF_X && op != BPF_END && op != BPF_NEG)
		*use |= BIT(insn->src_reg);
}

static void jmp_use_def(const struct bpf_insn *insn, uint16_t *use, uint16_t *def)
{
	bool jmp32 = BPF_CLASS(insn->code) == BPF_JMP32;

	switch (BPF_OP(insn->code)) {
	case BPF_JA:
	case BPF_JCOND:
		return;
	case BPF_CALL:
		if (jmp32)
			break;
		*use = CALL_ARGS;
		*def = CALL_CLOBBERS;
		return;
	case BPF_EXIT:
		if (jmp32)
			break;
		*use = BIT(0);
		return;
	case BPFU_TAIL_CALL:
		if (jmp32)
			break;
		*use = BIT(1) | BIT(2) | BIT(3);
		return;
	}
	*use = BIT(insn->dst_reg);
	if (BPF_SRC(insn->code) == BPF_X)
		*use |= BIT(insn->src_reg);
}

void bpfu_insn_use_def(const struct bpf_insn *insn, uint16_t *use, uint16_t *def)
{
	*use = 0;
	*def = 0;
	switch (BPF_CLASS(insn->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		alu_use_def(insn, use, def);
		break;
	case BPF_LD:
		*def = BIT(insn->dst_reg);
		break;
	case BPF_LDX:
		*use = BIT(insn->src_reg);
		*def = BIT(insn->dst_reg);
		break;
	case BPF_ST:
		*use = BIT(insn->dst_reg);
		break;
	case BPF_STX:
		*use = BIT(insn->dst_reg) | BIT(insn->src_reg);
		if (BPF_MODE(insn->code) == BPF_ATOMIC)
			atomic_use_def(insn, use, def);
		break;
	default:
		jmp_use_def(insn, use, def);
	}
}

int bpfu_facts_func_at(const struct bpfu_facts *facts, uint32_t idx)
{
	uint32_t lo = 0, hi = facts->func_cnt;

	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;

		if (facts->funcs[mid].start == idx)
			return (int)mid;
		if (facts->funcs[mid].start < idx)
			lo = mid + 1;
		else
			hi = mid;
	}
	return -1;
}

static int scan_insn(struct bpfu_facts *facts, struct bpfu_func_facts *func,
		     const struct bpf_insn *insns, uint32_t idx)
{
	const struct bpf_insn *insn = &insns[idx];
	uint16_t use, def;
	uint32_t target;
	int callee;

	if (insn->dst_reg >= BPFU_MAX_REG || insn->src_reg >= BPFU_MAX_REG)
		return -EINVAL;
	bpfu_insn_use_def(insn, &use, &def);
	func->used |= use | def;
	if (def & BIT(BPF_REG_10))
		return -EINVAL;

	if (bpfu_insn_is_ld_imm64(insn)) {
		if (idx + 1 >= func->end)
			return -EINVAL;
		facts->flags[idx + 1] |= BPFU_FACT_SECOND;
		if (!bpfu_insn_is_pseudo_func(insn))
			return 0;
		callee = bpfu_facts_func_at(facts, idx + 1 + (uint32_t)insn->imm);
		if (callee < 0)
			return -EINVAL;
		facts->funcs[callee].is_callback = true;
	} else if (insn->code == (BPF_JMP | BPF_CALL)) {
		func->has_call = true;
		if (insn->src_reg == BPF_PSEUDO_CALL &&
		    bpfu_facts_func_at(facts, idx + 1 + (uint32_t)insn->imm) < 0)
			return -EINVAL;
	} else if (insn->code == (BPF_JMP | BPFU_TAIL_CALL)) {
		func->has_tail_call = func->tail_reach = true;
	} else if (bpfu_insn_is_jump(insn)) {
		target = bpfu_insn_jump_target(insns, idx);
		if (target < func->start || target >= func->end)
			return -EINVAL;
		func->has_may_goto |= insn->code == (BPF_JMP | BPF_JCOND);
		facts->flags[target] |= BPFU_FACT_TARGET;
		if (target <= idx)
			facts->flags[target] |= BPFU_FACT_LOOP;
	}
	return 0;
}

/* A function that does not end in a jump or exit would run into the next one. */
static bool ends_well(const struct bpf_insn *insns, const struct bpfu_func_facts *func,
		      const uint8_t *flags)
{
	uint8_t code = insns[func->end - 1].code;

	return !(flags[func->end - 1] & BPFU_FACT_SECOND) &&
	       (code == (BPF_JMP | BPF_EXIT) || code == (BPF_JMP | BPF_JA) ||
		code == (BPF_JMP32 | BPF_JA));
}

static int scan_func(struct bpfu_facts *facts, uint32_t f, const struct bpf_insn *insns)
{
	struct bpfu_func_facts *func = &facts->funcs[f];

	facts->flags[func->start] |= BPFU_FACT_TARGET;
	for (uint32_t i = func->start; i < func->end; i++) {
		int err;

		if (facts->flags[i] & BPFU_FACT_SECOND)
			continue;
		err = scan_insn(facts, func, insns, i);
		if (err)
			return err;
	}
	for (uint32_t i = func->start; i < func->end; i++)
		if ((facts->flags[i] & (BPFU_FACT_SECOND | BPFU_FACT_TARGET)) ==
		    (BPFU_FACT_SECOND | BPFU_FACT_TARGET))
			return -EINVAL;
	return ends_well(insns, func, facts->flags) ? 0 : -EINVAL;
}

/* Whoever calls a function that makes tail calls has to hand it the counter. */
static void spread_tail_reach(struct bpfu_facts *facts, const struct bpf_insn *insns)
{
	bool changed;

	do {
		changed = false;
		for (uint32_t f = 0; f < facts->func_cnt; f++) {
			struct bpfu_func_facts *func = &facts->funcs[f];

			for (uint32_t i = func->start; i < func->end && !func->tail_reach; i++) {
				int callee;

				if (!bpfu_insn_is_pseudo_call(&insns[i]))
					continue;
				callee = bpfu_facts_func_at(facts, i + 1 + (uint32_t)insns[i].imm);
				if (callee >= 0 && facts->funcs[callee].tail_reach)
					changed = func->tail_reach = true;
			}
		}
	} while (changed);
}

/* One sweep; @in holds what is live before each instruction. True if something changed. */
static bool live_sweep(struct bpfu_facts *facts, const struct bpfu_func_facts *func,
		       const struct bpf_insn *insns, uint16_t *in)
{
	bool changed = false;
	uint16_t next = 0; /* live before the following instruction */

	for (uint32_t i = func->end; i-- > func->start;) {
		const struct bpf_insn *insn = &insns[i];
		uint16_t use, def, out = next;

		if (facts->flags[i] & BPFU_FACT_SECOND)
			continue;
		if (bpfu_insn_is_jump(insn)) {
			uint16_t there = in[bpfu_insn_jump_target(insns, i)];

			out = BPF_OP(insn->code) == BPF_JA ? there : out | there;
		} else if (insn->code == (BPF_JMP | BPF_EXIT)) {
			out = 0;
		}
		bpfu_insn_use_def(insn, &use, &def);
		facts->live[i] = out;
		next = (out & ~def) | use;
		if (next != in[i]) {
			in[i] = next;
			changed = true;
		}
	}
	return changed;
}

static void find_live(struct bpfu_facts *facts, const struct bpf_insn *insns, uint16_t *in)
{
	for (uint32_t f = 0; f < facts->func_cnt; f++) {
		const struct bpfu_func_facts *func = &facts->funcs[f];
		int sweep = 0;

		while (live_sweep(facts, func, insns, in))
			if (++sweep == LIVE_SWEEPS)
				break;
		if (sweep == LIVE_SWEEPS)
			for (uint32_t i = func->start; i < func->end; i++)
				facts->live[i] = ALL_REGS;
	}
}

static int init_funcs(struct bpfu_facts *facts, const struct bpfu_prog *prog)
{
	for (uint32_t f = 0; f < facts->func_cnt; f++) {
		struct bpfu_func_facts *func = &facts->funcs[f];

		func->start = prog->subprogs[f].start;
		func->end = f + 1 < facts->func_cnt ? prog->subprogs[f + 1].start : prog->insn_cnt;
		func->stack = BPFU_ROUND_UP(prog->subprogs[f].stack_depth, 8);
		if (func->end <= func->start || func->end > prog->insn_cnt ||
		    func->stack > BPFU_STACK_SIZE || (!f && func->start))
			return -EINVAL;
	}
	return 0;
}

int bpfu_facts_init(struct bpfu_facts *facts, const struct bpfu_prog *prog)
{
	size_t n = prog->insn_cnt;
	size_t funcs_size = prog->subprog_cnt * sizeof(facts->funcs[0]);
	uint16_t *in;
	bool tail = false;
	int err;

	memset(facts, 0, sizeof(*facts));
	if (!n || !prog->subprog_cnt)
		return -EINVAL;
	/* One block: functions, live, in, flags. */
	facts->mem = calloc(1, funcs_size + n * (2 * sizeof(*in) + 1));
	if (!facts->mem)
		return -ENOMEM;
	facts->func_cnt = prog->subprog_cnt;
	facts->funcs = facts->mem;
	facts->live = (uint16_t *)((char *)facts->mem + funcs_size);
	in = facts->live + n;
	facts->flags = (uint8_t *)(in + n);

	err = init_funcs(facts, prog);
	for (uint32_t f = 0; f < facts->func_cnt && !err; f++) {
		err = scan_func(facts, f, prog->insns);
		tail |= facts->funcs[f].has_tail_call;
	}
	if (err) {
		bpfu_facts_release(facts);
		return err;
	}
	if (tail)
		spread_tail_reach(facts, prog->insns);
	find_live(facts, prog->insns, in);
	return 0;
}

void bpfu_facts_release(struct bpfu_facts *facts)
{
	free(facts->mem);
	facts->mem = NULL;
}
