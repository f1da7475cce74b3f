// SPDX-License-Identifier: BSD-2-Clause
/*
 * Facts about a program; see facts.h.
 *
 * Liveness is the textbook backward analysis: each function is walked from its end to its start. Where
 * the start of a loop turns out to read more than the branches back to it have assumed, the walk goes
 * back to the last of them, and comes through the loop once more. A function that has taken the work of
 * MAX_SWEEPS walks is given "everything is live", which is always right and only costs quality. Reads of an
 * instruction whose result nobody reads do not count, so that whole chains of such are found dead. A
 * call reads what the function called does, which is solved first. Which registers have a zero upper half is
 * found in the same way, forwards; the answer that is always right is "none".
 */
#include "jit/facts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "helper/helper.h"
#include "obj/patches.h"
#include "obj/prog.h"

#define MAX_SWEEPS 12
#define ALL_REGS ((1u << BPFU_JIT_REGS) - 1)
#define BIT(r) (1u << (r))
#define CALL_ARGS (BIT(1) | BIT(2) | BIT(3) | BIT(4) | BIT(5))
#define CALLBACK_ARGS (BIT(1) | BIT(2))
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
#define ROW_REGS(c)                                                                                    \
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
#define ROW_IS_PURE(c)                                                                             \
	(BPF_CLASS(c) == BPF_ALU || BPF_CLASS(c) == BPF_ALU64 ||                                   \
	 (c) == (BPF_LD | BPF_IMM | BPF_DW) ||                                                     \
	 (BPF_CLASS(c) == BPF_LDX && (BPF_MODE(c) == BPF_MEM || BPF_MODE(c) == BPF_MEMSX)))
#define ROW_IS_JUMP(c)                                                                             \
	(BPF_CLASS(c) == BPF_JMP32 ||                                                              \
	 (BPF_CLASS(c) == BPF_JMP && !(ROW_REGS(c) & BPFU_IS_SPECIAL)))
#define ROW_IS_DIV(c)                                                                              \
	((BPF_CLASS(c) == BPF_ALU || BPF_CLASS(c) == BPF_ALU64) &&                                 \
	 (IS_OP(c, BPF_DIV) || IS_OP(c, BPF_MOD)))
#define ROW(c)                                                                                     \
	(ROW_REGS(c) | (ROW_IS_PURE(c) ? BPFU_IS_PURE : 0) | (ROW_IS_JUMP(c) ? BPFU_IS_JUMP : 0) | \
	 (ROW_IS_DIV(c) ? BPFU_IS_DIV : 0) |                                                       \
	 ((c) == (BPF_LD | BPF_IMM | BPF_DW) ? BPFU_IS_LD : 0) |                                   \
	 (BPF_CLASS(c) != BPF_LDX && ROW_REGS(c) & BPFU_USE_SRC ? BPFU_SRC_OPERAND : 0))
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

/* r10 is read or written: is it more than the base of an address and the source of r = r10? */
static bool fp_is_operand(const struct bpf_insn *insn, unsigned row)
{
	if (row & BPFU_IS_JUMP && insn->dst_reg == BPF_REG_10)
		return true;
	if (!(row & BPFU_SRC_OPERAND) || insn->src_reg != BPF_REG_10)
		return false;
	if (row & BPFU_IS_ATOMIC && insn->imm == BPF_LOAD_ACQ)
		return false;
	return insn->code != (BPF_ALU64 | BPF_MOV | BPF_X) || insn->off;
}

static int scan_ld_imm64(struct bpfu_facts *facts, struct bpfu_func_facts *func,
			 const struct bpf_insn *insns, uint32_t idx)
{
	int callee;

	if (idx + 1 >= func->end)
		return -EINVAL;
	facts->flags[idx + 1] |= BPFU_FACT_SECOND;
	if (!bpfu_insn_is_pseudo_func(&insns[idx]))
		return 0;
	facts->has_callbacks = true;
	callee = bpfu_facts_func_at(facts, idx + 1 + (uint32_t)insns[idx].imm);
	if (callee < 0)
		return -EINVAL;
	facts->funcs[callee].address_taken = true;
	return 0;
}

static int scan_jump(struct bpfu_facts *facts, struct bpfu_func_facts *func,
		     const struct bpf_insn *insns, uint32_t idx)
{
	uint32_t target = bpfu_insn_jump_target(insns, idx);

	if (target < func->start || target >= func->end)
		return -EINVAL;
	func->has_may_goto |= insns[idx].code == (BPF_JMP | BPF_JCOND);
	facts->flags[target] |= BPFU_FACT_TARGET;
	if (target <= idx) {
		facts->flags[target] |= BPFU_FACT_LOOP;
		facts->back_from[target] = idx;
		func->has_loop = true;
	}
	return 0;
}

/* What most instructions are not. */
static int scan_special(struct bpfu_facts *facts, struct bpfu_func_facts *func,
			const struct bpf_insn *insns, uint32_t idx, unsigned row)
{
	const struct bpf_insn *insn = &insns[idx];

	if (row & BPFU_IS_LD)
		return scan_ld_imm64(facts, func, insns, idx);
	if (row & BPFU_IS_JUMP)
		return scan_jump(facts, func, insns, idx);
	if (row & BPFU_IS_TAIL_CALL)
		func->has_tail_call = func->tail_reach = true;
	if (!(row & BPFU_IS_CALL))
		return 0;
	func->has_call = true;
	if (insn->src_reg == BPF_PSEUDO_CALL &&
	    bpfu_facts_func_at(facts, idx + 1 + (uint32_t)insn->imm) < 0)
		return -EINVAL;
	return 0;
}

static int scan_insns(struct bpfu_facts *facts, struct bpfu_func_facts *func,
		      const struct bpf_insn *insns)
{
	unsigned rows = 0;

	for (uint32_t i = func->start; i < func->end; i++) {
		const struct bpf_insn *insn = &insns[i];
		unsigned row = bpfu_regs_rows[insn->code];

		if (facts->flags[i] & BPFU_FACT_SECOND)
			continue;
		if (insn->dst_reg >= facts->reg_cnt || insn->src_reg >= facts->reg_cnt)
			return -EINVAL;
		rows |= row;
		if (bpfu_unlikely((insn->dst_reg == BPF_REG_10 &&
				   row & (BPFU_DEF_DST | BPFU_IS_ATOMIC | BPFU_IS_JUMP)) ||
				  (insn->src_reg == BPF_REG_10 && row & BPFU_SRC_OPERAND))) {
			func->fp_is_operand |= fp_is_operand(insn, row);
			if (bpfu_insn_def(insn) & BIT(BPF_REG_10))
				return -EINVAL;
		}
		if (row & (BPFU_IS_LD | BPFU_IS_JUMP | BPFU_IS_CALL | BPFU_IS_TAIL_CALL)) {
			int err = scan_special(facts, func, insns, i, row);

			if (err)
				return err;
		}
	}
	func->has_div = rows & BPFU_IS_DIV;
	func->has_atomic = rows & BPFU_IS_ATOMIC;
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
	int err;

	facts->flags[func->start] |= BPFU_FACT_TARGET;
	err = scan_insns(facts, func, insns);
	if (err)
		return err;
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

uint16_t bpfu_facts_call_args(const struct bpfu_facts *facts, const struct bpf_insn *insns,
			      uint32_t idx)
{
	const struct bpfu_func_facts *callee;

	if (insns[idx].src_reg != BPF_PSEUDO_CALL)
		return (uint16_t)(((2u << bpfu_call_args(insns[idx].imm)) - 1) & CALL_ARGS);
	callee = &facts->funcs[bpfu_facts_func_at(facts, idx + 1 + (uint32_t)insns[idx].imm)];
	/* Functions that call each other in turn do not get past the verifier. */
	if (callee->solved != BPFU_SOLVED)
		return CALL_ARGS;
	return (facts->live_in[callee->start] & CALL_ARGS) | callee->patch_args |
	       (callee->address_taken ? CALLBACK_ARGS : 0);
}

static void solve_live(struct bpfu_facts *facts, struct bpfu_func_facts *func,
		       const struct bpf_insn *insns);

static uint16_t solve_call(struct bpfu_facts *facts, const struct bpf_insn *insns, uint32_t idx)
{
	if (insns[idx].src_reg == BPF_PSEUDO_CALL) {
		int f = bpfu_facts_func_at(facts, idx + 1 + (uint32_t)insns[idx].imm);

		if (facts->funcs[f].solved == BPFU_UNSOLVED)
			solve_live(facts, &facts->funcs[f], insns);
	}
	return bpfu_facts_call_args(facts, insns, idx);
}

/* What is read before the instruction at @i, if after it @out is. What is dead reads nothing. */
static uint16_t live_before(struct bpfu_facts *facts, const struct bpf_insn *insns, uint32_t i,
			    uint16_t out)
{
	unsigned row = bpfu_regs_rows[insns[i].code];
	uint16_t use, def;

	bpfu_insn_use_def(&insns[i], &use, &def);
	if (row & (BPFU_IS_JUMP | BPFU_IS_EXIT))
		out = bpfu_facts_live_out_jump(facts, insns, i);
	else if (row & BPFU_IS_CALL)
		use = solve_call(facts, insns, i);
	return out & def || !(row & BPFU_IS_PURE) ? (out & (uint16_t)~def) | use : out;
}

/* False: it took too long. */
static bool walk_live(struct bpfu_facts *facts, const struct bpfu_func_facts *func,
		      const struct bpf_insn *insns)
{
	uint64_t work = (uint64_t)MAX_SWEEPS * (func->end - func->start);
	uint16_t live = 0;

	for (uint32_t i = func->end; i-- > func->start;) {
		if (facts->flags[i] & BPFU_FACT_SECOND)
			continue;
		live = live_before(facts, insns, i, live);
		if (facts->flags[i] & BPFU_FACT_LOOP && live != facts->live_in[i]) {
			uint32_t again = facts->back_from[i] + 1;

			if (work < again - i)
				return false;
			work -= again - i;
			facts->live_in[i] = live;
			i = again; /* a branch, which needs no "live" */
			continue;
		}
		facts->live_in[i] = live;
	}
	return true;
}

static void solve_live(struct bpfu_facts *facts, struct bpfu_func_facts *func,
		       const struct bpf_insn *insns)
{
	func->solved = BPFU_SOLVING;
	if (!walk_live(facts, func, insns))
		for (uint32_t i = func->start; i < func->end; i++)
			facts->live_in[i] = ALL_REGS;
	func->solved = BPFU_SOLVED;
}

/* The registers of what is lowered. */
static uint16_t find_used(const struct bpfu_facts *facts, const struct bpfu_func_facts *func,
			  const struct bpf_insn *insns)
{
	uint16_t used = 0, use, def, all = (uint16_t)((1u << facts->reg_cnt) - 1);

	for (uint32_t i = func->start; i < func->end && used != all; i++) {
		if (facts->flags[i] & BPFU_FACT_SECOND || bpfu_facts_is_dead(facts, insns, i))
			continue;
		bpfu_insn_use_def(&insns[i], &use, &def);
		used |= use | def;
	}
	return used;
}

static void find_live(struct bpfu_facts *facts, const struct bpf_insn *insns)
{
	for (uint32_t f = 0; f < facts->func_cnt; f++)
		if (facts->funcs[f].solved == BPFU_UNSOLVED)
			solve_live(facts, &facts->funcs[f], insns);
	for (uint32_t f = 0; f < facts->func_cnt; f++)
		facts->funcs[f].used = find_used(facts, &facts->funcs[f], insns);
}

/* The address of the callback of an inlined bpf_loop() is still there, but nobody reads it. */
static void find_callbacks(struct bpfu_facts *facts, const struct bpf_insn *insns)
{
	for (uint32_t i = 0; facts->has_callbacks && i < facts->funcs[facts->func_cnt - 1].end; i++) {
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

/* What a branch at @i brings to its target. True if that is above and now knows less. */
static bool zext_jump(struct bpfu_facts *facts, const struct bpf_insn *insns, uint32_t i,
		      uint16_t zext)
{
	uint32_t target = bpfu_insn_jump_target(insns, i);
	uint16_t there = facts->zext_in[target];

	facts->zext_in[target] = there & zext;
	return target <= i && (there & ~zext);
}

/* False: it took too long. */
static bool walk_zext(struct bpfu_facts *facts, const struct bpfu_func_facts *func,
		      const struct bpf_insn *insns)
{
	uint64_t work = (uint64_t)MAX_SWEEPS * (func->end - func->start);
	uint16_t zext = 0; /* nothing is known of arguments */

	for (uint32_t i = func->start; i < func->end; i++) {
		const struct bpf_insn *insn = &insns[i];
		unsigned row = bpfu_regs_rows[insn->code];

		if (facts->flags[i] & (BPFU_FACT_SECOND | BPFU_FACT_TARGET)) {
			if (facts->flags[i] & BPFU_FACT_SECOND)
				continue;
			zext = facts->zext_in[i] &= zext;
		}
		if (!(row & (BPFU_IS_JUMP | BPFU_IS_EXIT))) {
			zext = bpfu_insn_zext(insn, zext);
		} else if (row & BPFU_IS_JUMP && zext_jump(facts, insns, i, zext)) {
			uint32_t target = bpfu_insn_jump_target(insns, i);

			if (work < i - target)
				return false;
			work -= i - target;
			zext = ALL_REGS;
			i = target - 1; /* once more through the loop */
		} else if (row & BPFU_IS_EXIT || BPF_OP(insn->code) == BPF_JA) {
			zext = ALL_REGS; /* the next place is reached from elsewhere only */
		}
	}
	return true;
}

static void find_zext(struct bpfu_facts *facts, const struct bpf_insn *insns)
{
	for (uint32_t f = 0; f < facts->func_cnt; f++) {
		const struct bpfu_func_facts *func = &facts->funcs[f];
		size_t size = (func->end - func->start) * sizeof(facts->zext_in[0]);

		memset(&facts->zext_in[func->start], 0xff, size);
		if (!walk_zext(facts, func, insns))
			memset(&facts->zext_in[func->start], 0, size);
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
	/*
	 * One block: functions, back_from, live_in with a row for what follows the last one, zext_in,
	 * flags. Of back_from only the pages with loops are touched.
	 */
	facts->mem = calloc(1, funcs_size + (n + 1) * (sizeof(uint32_t) + 2 * sizeof(uint16_t) + 1));
	if (!facts->mem)
		return -ENOMEM;
	facts->func_cnt = prog->subprog_cnt;
	facts->reg_cnt = reg_cnt;
	facts->funcs = facts->mem;
	facts->back_from = (uint32_t *)((char *)facts->mem + funcs_size);
	facts->live_in = (uint16_t *)(facts->back_from + n + 1);
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
	return 0;
}

void bpfu_facts_patch(struct bpfu_facts *facts, const struct bpf_insn *insns,
		      const struct bpfu_patches *patches)
{
	for (uint32_t f = 0; f < facts->func_cnt; f++) {
		const struct bpfu_func_patch *patch = &patches->func[f];

		if (!bpfu_func_is_patched(patch))
			continue;
		facts->funcs[f].patch_args = (uint16_t)(((2u << patch->arg_cnt) - 1) & CALL_ARGS);
		if (patch->replacement && patch->replacement->subprogs[0].tail_call_reachable)
			facts->funcs[f].tail_reach = true;
	}
	spread_tail_reach(facts, insns);
}

void bpfu_facts_solve(struct bpfu_facts *facts, const struct bpf_insn *insns, bool zext)
{
	find_live(facts, insns);
	find_callbacks(facts, insns);
	if (zext)
		find_zext(facts, insns);
}

void bpfu_facts_release(struct bpfu_facts *facts)
{
	free(facts->mem);
	facts->mem = NULL;
}
