// SPDX-License-Identifier: BSD-2-Clause
/*
 * Facts about a program; see facts.h.
 *
 * Liveness is the textbook backward analysis, swept over each function from its end to its start
 * until nothing changes. A sweep settles everything but loops; each level of nesting may take
 * another. Programs that have not settled after MAX_SWEEPS are given "everything is live", which
 * is always right and only costs quality. Reads of an instruction whose result nobody reads do not count,
 * so that whole chains of such are found dead. Which registers have a zero upper half is found in the
 * same way, forwards; the answer that is always right is "none".
 */
#include "jit/facts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "obj/prog.h"

#define MAX_SWEEPS 12
#define ALL_REGS ((1u << BPFU_JIT_REGS) - 1)
#define BIT(r) (1u << (r))
#define CALL_ARGS (BIT(1) | BIT(2) | BIT(3) | BIT(4) | BIT(5))
#define CALL_CLOBBERS (BIT(0) | CALL_ARGS)

uint32_t bpfu_insn_jump_target(const struct bpf_insn *insns, uint32_t idx)
{
	const struct bpf_insn *insn = &insns[idx];

	if (insn->code == (BPF_JMP32 | BPF_JA))
		return idx + 1 + (uint32_t)insn->imm;
	return idx + 1 + (uint32_t)(int32_t)insn->off;
}

/* The rows are made by the preprocessor. Unknown opcodes get some row; the backend refuses them. */
#define IS_X(c) (BPF_SRC(c) == BPF_X)
#define IS_OP(c, op) (BPF_OP(c) == (op))
#define ROW_ALU_REGS(c)                                                                            \
	(BPFU_DEF_DST | (IS_OP(c, BPF_MOV) ? 0 : BPFU_USE_DST) |                                   \
	 (IS_X(c) && !IS_OP(c, BPF_END) && !IS_OP(c, BPF_NEG) ? BPFU_USE_SRC : 0))
#define ROW_ALU_ZEXT(c)                                                                            \
	(IS_OP(c, BPF_END)		 ? BPFU_ZEXT_OTHER :                                       \
	 BPF_CLASS(c) == BPF_ALU	 ? BPFU_ZEXT_SET :                                         \
	 IS_OP(c, BPF_ADD) || IS_OP(c, BPF_SUB) || IS_OP(c, BPF_MUL) || IS_OP(c, BPF_LSH) ||       \
			 IS_OP(c, BPF_NEG) ?                                                       \
					   BPFU_ZEXT_CLEAR :                                       \
					   BPFU_ZEXT_OTHER)
#define ROW_LDX(c)                                                                                 \
	(BPFU_USE_SRC | BPFU_DEF_DST |                                                             \
	 (BPF_SIZE(c) != BPF_DW && (BPF_MODE(c) == BPF_MEM || BPF_MODE(c) == BPFU_PROBE_MEM) ?     \
		  BPFU_ZEXT_SET : BPFU_ZEXT_CLEAR))
#define ROW_JMP(c)                                                                                 \
	(IS_OP(c, BPF_JA) || IS_OP(c, BPF_JCOND) ? 0 : BPFU_USE_DST | (IS_X(c) ? BPFU_USE_SRC : 0))
#define ROW(c)                                                                                     \
	((c) == (BPF_JMP | BPF_CALL)		     ? BPFU_IS_CALL | BPFU_ZEXT_OTHER :            \
	 (c) == (BPF_JMP | BPF_EXIT)		     ? BPFU_IS_EXIT :                              \
	 (c) == (BPF_JMP | BPFU_TAIL_CALL)	     ? BPFU_IS_TAIL_CALL :                         \
	 (c) == (BPF_ST | BPFU_NOSPEC)		     ? 0 :                                         \
	 BPF_CLASS(c) == BPF_JMP || BPF_CLASS(c) == BPF_JMP32 ? ROW_JMP(c) :                       \
	 BPF_CLASS(c) == BPF_ALU || BPF_CLASS(c) == BPF_ALU64 ? ROW_ALU_REGS(c) | ROW_ALU_ZEXT(c) : \
	 BPF_CLASS(c) == BPF_LD			     ? BPFU_DEF_DST | BPFU_ZEXT_OTHER :            \
	 BPF_CLASS(c) == BPF_LDX		     ? ROW_LDX(c) :                                \
	 BPF_CLASS(c) == BPF_ST			     ? BPFU_USE_DST :                              \
	 BPF_MODE(c) == BPF_ATOMIC		     ? BPFU_USE_DST | BPFU_USE_SRC |               \
						       BPFU_IS_ATOMIC | BPFU_ZEXT_OTHER :          \
						       BPFU_USE_DST | BPFU_USE_SRC)
#define ROWS4(c) ROW(c), ROW((c) + 1), ROW((c) + 2), ROW((c) + 3)
#define ROWS16(c) ROWS4(c), ROWS4((c) + 4), ROWS4((c) + 8), ROWS4((c) + 12)
#define ROWS64(c) ROWS16(c), ROWS16((c) + 16), ROWS16((c) + 32), ROWS16((c) + 48)

const uint16_t bpfu_regs_rows[256] = { ROWS64(0), ROWS64(64), ROWS64(128), ROWS64(192) };

void bpfu_insn_special_use_def(const struct bpf_insn *insn, uint16_t *use, uint16_t *def)
{
	unsigned row = bpfu_regs_rows[insn->code];

	if (row & BPFU_IS_CALL) {
		*use = CALL_ARGS;
		*def = CALL_CLOBBERS;
	} else if (row & BPFU_IS_EXIT) {
		*use = BIT(0);
	} else if (row & BPFU_IS_TAIL_CALL) {
		*use = BIT(1) | BIT(2) | BIT(3);
	} else if (insn->imm == BPF_CMPXCHG) {
		*use |= BIT(0);
		*def = BIT(0);
	} else if (insn->imm == BPF_LOAD_ACQ) {
		*use = BIT(insn->src_reg);
		*def = BIT(insn->dst_reg);
	} else if (insn->imm & BPF_FETCH && insn->imm != BPF_STORE_REL) {
		*def = BIT(insn->src_reg);
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

/* Other uses than as the base of an address and in r = r10. */
static bool fp_is_operand(const struct bpf_insn *insn)
{
	bool src = insn->src_reg == BPF_REG_10;

	switch (BPF_CLASS(insn->code)) {
	case BPF_ALU64:
		if (insn->code == (BPF_ALU64 | BPF_MOV | BPF_X) && !insn->off)
			return false;
		return src && BPF_SRC(insn->code) == BPF_X;
	case BPF_ALU:
		return src && BPF_SRC(insn->code) == BPF_X;
	case BPF_STX:
		return src && (BPF_MODE(insn->code) != BPF_ATOMIC || insn->imm != BPF_LOAD_ACQ);
	case BPF_JMP:
	case BPF_JMP32:
		return insn->dst_reg == BPF_REG_10 || (src && BPF_SRC(insn->code) == BPF_X);
	default:
		return false;
	}
}

static int scan_insn(struct bpfu_facts *facts, struct bpfu_func_facts *func,
		     const struct bpf_insn *insns, uint32_t idx)
{
	const struct bpf_insn *insn = &insns[idx];
	uint16_t use, def;
	uint32_t target;
	int callee;

	if (insn->dst_reg >= facts->reg_cnt || insn->src_reg >= facts->reg_cnt)
		return -EINVAL;
	bpfu_insn_use_def(insn, &use, &def);
	func->fp_is_operand |= fp_is_operand(insn);
	if (BPF_CLASS(insn->code) == BPF_ALU || BPF_CLASS(insn->code) == BPF_ALU64)
		func->has_div |= BPF_OP(insn->code) == BPF_DIV || BPF_OP(insn->code) == BPF_MOD;
	else
		func->has_atomic |= (bpfu_regs_rows[insn->code] & BPFU_IS_ATOMIC) != 0;
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
	} else if (insn->code == (BPF_JMP | BPF_CALL)) {
		func->has_call = true;
		if (insn->src_reg == BPF_PSEUDO_CALL &&
		    bpfu_facts_func_at(facts, idx + 1 + (uint32_t)insn->imm) < 0)
			return -EINVAL;
	} else if (insn->code == (BPF_JMP | BPFU_TAIL_CALL)) {
		func->has_tail_call = func->tail_reach = true;
	} else if (bpfu_facts_is_jump(insn)) {
		target = bpfu_insn_jump_target(insns, idx);
		if (target < func->start || target >= func->end)
			return -EINVAL;
		func->has_may_goto |= insn->code == (BPF_JMP | BPF_JCOND);
		facts->flags[target] |= BPFU_FACT_TARGET;
		if (target <= idx) {
			facts->flags[target] |= BPFU_FACT_LOOP;
			func->has_loop = true;
		}
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

/* A branch backwards closes an inner loop if no other begins between its target and itself. */
static void mark_inner_loops(struct bpfu_facts *facts, const struct bpfu_func_facts *func,
			     const struct bpf_insn *insns)
{
	uint32_t last = func->start;

	for (uint32_t i = func->start; i < func->end; i++) {
		if (facts->flags[i] & BPFU_FACT_SECOND)
			continue;
		if (facts->flags[i] & BPFU_FACT_LOOP)
			last = i;
		if (bpfu_facts_is_jump(&insns[i]) && bpfu_insn_jump_target(insns, i) == last &&
		    facts->flags[last] & BPFU_FACT_LOOP)
			facts->flags[last] |= BPFU_FACT_INNER;
	}
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
	if (func->has_loop)
		mark_inner_loops(facts, func, insns);
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

uint16_t bpfu_facts_live_out_jump(const struct bpfu_facts *facts, const struct bpf_insn *insns,
				  uint32_t idx)
{
	const struct bpf_insn *insn = &insns[idx];
	uint16_t there;

	if (bpfu_facts_is_jump(insn)) {
		there = facts->live_in[bpfu_insn_jump_target(insns, idx)];
		return BPF_OP(insn->code) == BPF_JA ? there : facts->live_in[idx + 1] | there;
	}
	return insn->code == (BPF_JMP | BPF_EXIT) ? 0 : facts->live_in[idx + 1];
}

/* One sweep. True if what a branch backwards had read has changed since. */
static bool live_sweep(struct bpfu_facts *facts, const struct bpfu_func_facts *func,
		       const struct bpf_insn *insns)
{
	bool again = false;

	for (uint32_t i = func->end; i-- > func->start;) {
		uint16_t use, def, in;

		if (facts->flags[i] & BPFU_FACT_SECOND)
			continue;
		bpfu_insn_use_def(&insns[i], &use, &def);
		in = bpfu_facts_live_out(facts, insns, i);
		/* What is dead reads nothing. */
		if (in & def || !bpfu_insn_is_pure(&insns[i]))
			in = (in & (uint16_t)~def) | use;
		if (facts->flags[i] & BPFU_FACT_LOOP && in != facts->live_in[i])
			again = true;
		facts->live_in[i] = in;
	}
	return again;
}

/* The registers of what is lowered. */
static uint16_t find_used(const struct bpfu_facts *facts, const struct bpfu_func_facts *func,
			  const struct bpf_insn *insns)
{
	uint16_t used = 0, use, def;

	for (uint32_t i = func->start; i < func->end; i++) {
		if (facts->flags[i] & BPFU_FACT_SECOND || bpfu_facts_is_dead(facts, insns, i))
			continue;
		bpfu_insn_use_def(&insns[i], &use, &def);
		used |= use | def;
	}
	return used;
}

static void find_live(struct bpfu_facts *facts, const struct bpf_insn *insns)
{
	for (uint32_t f = 0; f < facts->func_cnt; f++) {
		struct bpfu_func_facts *func = &facts->funcs[f];
		int sweep = 0;

		while (live_sweep(facts, func, insns))
			if (++sweep == MAX_SWEEPS)
				break;
		if (sweep == MAX_SWEEPS)
			for (uint32_t i = func->start; i < func->end; i++)
				facts->live_in[i] = ALL_REGS;
		func->used = find_used(facts, func, insns);
	}
}

/* The address of the callback of an inlined bpf_loop() is still there, but nobody reads it. */
static void find_callbacks(struct bpfu_facts *facts, const struct bpf_insn *insns)
{
	for (uint32_t i = 0; i < facts->funcs[facts->func_cnt - 1].end; i++) {
		if (facts->flags[i] & BPFU_FACT_SECOND || !bpfu_insn_is_pseudo_func(&insns[i]))
			continue;
		if (facts->live_in[i + 2] & BIT(insns[i].dst_reg))
			facts->funcs[bpfu_facts_func_at(facts, i + 1 + (uint32_t)insns[i].imm)]
				.is_callback = true;
	}
}

/* ---- zero upper halves ---- */

static uint16_t put_bit(uint16_t set, unsigned r, bool value)
{
	return (uint16_t)((set & ~BIT(r)) | (unsigned)value << r);
}

static uint16_t alu64_zext(const struct bpf_insn *insn, uint16_t zext)
{
	unsigned d = insn->dst_reg;
	bool x = BPF_SRC(insn->code) == BPF_X;
	bool dz = zext >> d & 1;
	bool sz = x ? zext >> insn->src_reg & 1 : insn->imm >= 0;

	switch (BPF_OP(insn->code)) {
	case BPF_MOV:
		return put_bit(zext, d, sz && !insn->off);
	case BPF_AND:
		return put_bit(zext, d, dz || sz);
	case BPF_OR:
	case BPF_XOR:
		return put_bit(zext, d, dz && sz);
	case BPF_RSH:
		return put_bit(zext, d, dz || (!x && (insn->imm & 63) >= 32));
	case BPF_ARSH:
		return zext;
	case BPF_DIV:
	case BPF_MOD: /* unsigned: not above the dividend */
		return put_bit(zext, d, dz && !insn->off);
	case BPF_END:
		return put_bit(zext, d, insn->imm != 64);
	default:
		return put_bit(zext, d, false);
	}
}

static uint16_t atomic_zext(const struct bpf_insn *insn, uint16_t zext)
{
	bool narrow = BPF_SIZE(insn->code) != BPF_DW;

	if (insn->imm == BPF_LOAD_ACQ)
		return put_bit(zext, insn->dst_reg, narrow);
	if (insn->imm == BPF_CMPXCHG)
		return put_bit(zext, 0, narrow);
	if (insn->imm & BPF_FETCH)
		return put_bit(zext, insn->src_reg, narrow);
	return zext;
}

uint16_t bpfu_insn_zext_other(const struct bpf_insn *insn, uint16_t zext)
{
	switch (BPF_CLASS(insn->code)) {
	case BPF_ALU: /* le, be */
		if (insn->imm != 64)
			return put_bit(zext, insn->dst_reg, true);
		return BPF_SRC(insn->code) == BPF_TO_LE ? zext :
							  put_bit(zext, insn->dst_reg, false);
	case BPF_ALU64:
		return alu64_zext(insn, zext);
	case BPF_LD:
		return put_bit(zext, insn->dst_reg,
			       bpfu_insn_is_ld_imm64(insn) && !bpfu_insn_is_pseudo_func(insn) &&
			       !insn[1].imm);
	case BPF_STX:
		return atomic_zext(insn, zext);
	default: /* call */
		return zext & (uint16_t)~CALL_CLOBBERS;
	}
}

/* One sweep forwards. True if a place that had been passed already has changed. */
static bool zext_sweep(struct bpfu_facts *facts, const struct bpfu_func_facts *func,
		       const struct bpf_insn *insns)
{
	bool again = false;
	uint16_t zext = 0;

	facts->zext_in[func->start] = 0; /* nothing is known of arguments */
	for (uint32_t i = func->start; i < func->end; i++) {
		const struct bpf_insn *insn = &insns[i];

		if (facts->flags[i] & BPFU_FACT_SECOND)
			continue;
		if (facts->flags[i] & BPFU_FACT_TARGET)
			zext = facts->zext_in[i] &= zext;
		zext = bpfu_insn_zext(insn, zext);
		if (bpfu_facts_is_jump(insn)) {
			uint32_t target = bpfu_insn_jump_target(insns, i);
			uint16_t there = facts->zext_in[target] & zext;

			again |= target <= i && there != facts->zext_in[target];
			facts->zext_in[target] = there;
			if (BPF_OP(insn->code) == BPF_JA)
				zext = ALL_REGS; /* the next place is reached from elsewhere only */
		} else if (insn->code == (BPF_JMP | BPF_EXIT)) {
			zext = ALL_REGS;
		}
	}
	return again;
}

static void find_zext(struct bpfu_facts *facts, const struct bpf_insn *insns)
{
	for (uint32_t f = 0; f < facts->func_cnt; f++) {
		const struct bpfu_func_facts *func = &facts->funcs[f];
		int sweep = 0;

		for (uint32_t i = func->start; i < func->end; i++)
			facts->zext_in[i] = ALL_REGS;
		while (zext_sweep(facts, func, insns))
			if (++sweep == MAX_SWEEPS)
				break;
		if (sweep == MAX_SWEEPS)
			memset(&facts->zext_in[func->start], 0,
			       (func->end - func->start) * sizeof(facts->zext_in[0]));
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

int bpfu_facts_init(struct bpfu_facts *facts, const struct bpfu_prog *prog, uint32_t reg_cnt)
{
	size_t n = prog->insn_cnt;
	size_t funcs_size = prog->subprog_cnt * sizeof(facts->funcs[0]);
	bool tail = false;
	int err;

	memset(facts, 0, sizeof(*facts));
	if (!n || !prog->subprog_cnt)
		return -EINVAL;
	/* One block: functions, live_in with a row for what follows the last one, zext_in, flags. */
	facts->mem = calloc(1, funcs_size + (n + 1) * (2 * sizeof(uint16_t) + 1));
	if (!facts->mem)
		return -ENOMEM;
	facts->func_cnt = prog->subprog_cnt;
	facts->reg_cnt = reg_cnt;
	facts->funcs = facts->mem;
	facts->live_in = (uint16_t *)((char *)facts->mem + funcs_size);
	facts->zext_in = facts->live_in + n + 1;
	facts->flags = (uint8_t *)(facts->zext_in + n + 1);

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
	find_live(facts, prog->insns);
	find_callbacks(facts, prog->insns);
	find_zext(facts, prog->insns);
	return 0;
}

void bpfu_facts_update(struct bpfu_facts *facts, const struct bpf_insn *insns)
{
	const struct bpfu_func_facts *last = &facts->funcs[facts->func_cnt - 1];

	memset(facts->live_in, 0, (last->end + 1) * sizeof(facts->live_in[0]));
	find_live(facts, insns);
	find_zext(facts, insns);
}

void bpfu_facts_release(struct bpfu_facts *facts)
{
	free(facts->mem);
	facts->mem = NULL;
}
