/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a backend needs to know about a program before it lowers it: functions and what they use,
 * branch targets, and which registers are live after each instruction. The same for all machines.
 */
#ifndef BPFU_JIT_FACTS_H
#define BPFU_JIT_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "insn/insn.h"
#include "util/bits.h"

struct bpfu_patches;
struct bpfu_prog;

#define BPFU_JIT_REGS (BPFU_REG_AX + 1) /* r0 … r10, and what blinding computes constants in */

enum bpfu_fact {
	BPFU_FACT_TARGET = 1u << 0,   /* some branch goes here, or a function starts */
	BPFU_FACT_LOOP = 1u << 1,     /* a branch backwards goes here */
	BPFU_FACT_SECOND = 1u << 2,   /* second half of LD_IMM64: not an instruction */
	BPFU_FACT_INNER = 1u << 3,    /* a loop with none inside */
};

enum bpfu_solved { BPFU_UNSOLVED, BPFU_SOLVING, BPFU_SOLVED };

struct bpfu_func_facts {
	uint32_t start;               /* instructions [start, end) */
	uint32_t end;
	uint32_t stack;               /* bytes of the BPF frame */
	uint16_t used;                /* registers that occur, bit per register */
	uint16_t patch_args;          /* registers that what is attached to it reads */
	bool has_call;                /* helpers or functions */
	bool has_tail_call;
	bool tail_reach;              /* it or a function it calls makes tail calls */
	bool address_taken;
	bool is_callback;             /* its address is taken, and read */
	bool has_may_goto;
	bool has_loop;                /* a branch backwards */
	bool has_div;
	bool has_atomic;
	bool fp_is_operand;           /* r10 is more than an address and the source of a move */
	uint8_t solved;               /* enum bpfu_solved: its liveness */

	/* private_stack.c */
	bool private_stack;           /* the frame lies in a segment of the program */
	bool private_reach;           /* that of it or of a function it calls */
	uint32_t private_top;         /* r10, relative to the segment */
};

struct bpfu_facts {
	struct bpfu_func_facts *funcs;
	uint32_t func_cnt;
	uint32_t reg_cnt;             /* registers that may occur */
	uint8_t *flags;               /* per instruction, enum bpfu_fact */
	uint16_t *live_in;            /* per instruction: registers that it or later ones read */
	uint16_t *zext_in;            /* at branch targets: registers whose upper half is zero */
	uint32_t *back_from;          /* at BPFU_FACT_LOOP: the last branch that goes back there */
	bool has_callbacks;           /* addresses of functions are taken */
	void *mem;
};

/*
 * Functions, targets and loops. @reg_cnt: BPFU_MAX_REG, or BPFU_JIT_REGS for blinded code. Also checks
 * what the backends rely on (functions in order, branches within their function and not into LD_IMM64,
 * registers in range): 0, -ENOMEM or -EINVAL.
 */
int bpfu_facts_init(struct bpfu_facts *facts, const struct bpfu_prog *prog, uint32_t reg_cnt);
void bpfu_facts_release(struct bpfu_facts *facts);

/* What @patches attaches to functions reads their arguments, and may make tail calls. Before solving. */
void bpfu_facts_patch(struct bpfu_facts *facts, const struct bpf_insn *insns,
		      const struct bpfu_patches *patches);

/*
 * What the registers do; zext_in only if @zext. Once, after bpfu_facts_init(); @insns may differ from the program's in that
 * some were replaced by others that do not call, and that branches go elsewhere, to what is marked as a
 * target (and a loop).
 */
void bpfu_facts_solve(struct bpfu_facts *facts, const struct bpf_insn *insns, bool zext);

/* Target of a branch at @idx; for other instructions meaningless. */
uint32_t bpfu_insn_jump_target(const struct bpf_insn *insns, uint32_t idx);

/* The function that starts at @idx, -1 if none does. */
int bpfu_facts_func_at(const struct bpfu_facts *facts, uint32_t idx);

/*
 * What an opcode does to the registers: which fields it reads and writes, what is special about it,
 * and what becomes of the upper half of dst. One row per opcode.
 */
enum bpfu_regs_row {
	BPFU_USE_DST = 1u << 0,
	BPFU_USE_SRC = 1u << 1,
	BPFU_DEF_DST = 1u << 2,
	BPFU_IS_CALL = 1u << 3,
	BPFU_IS_EXIT = 1u << 4,
	BPFU_IS_TAIL_CALL = 1u << 5,
	BPFU_IS_ATOMIC = 1u << 6,
	BPFU_IS_SPECIAL = BPFU_IS_CALL | BPFU_IS_EXIT | BPFU_IS_TAIL_CALL | BPFU_IS_ATOMIC,
	BPFU_ZEXT_SET = 1u << 7,     /* dst's upper half becomes zero */
	BPFU_ZEXT_CLEAR = 1u << 8,   /* nothing is known of it */
	BPFU_ZEXT_OTHER = 1u << 9,   /* it depends */
	BPFU_IS_PURE = 1u << 10,     /* nothing but writing registers. (A PROBE_MEM load may fault.) */
	BPFU_IS_JUMP = 1u << 11,     /* a branch with a displacement: conditional, ja or gotol */
	BPFU_IS_DIV = 1u << 12,      /* or a remainder */
	BPFU_IS_LD = 1u << 13,       /* LD_IMM64 */
	BPFU_SRC_OPERAND = 1u << 14, /* src, if read, is more than an address */
};

extern const uint16_t bpfu_regs_rows[256];

/* Registers that are read and written; calls write r0 to r5. For BPFU_IS_SPECIAL. */
void bpfu_insn_special_use_def(const struct bpf_insn *insn, uint16_t *use, uint16_t *def);

static inline void bpfu_insn_use_def(const struct bpf_insn *insn, uint16_t *use, uint16_t *def)
{
	unsigned row = bpfu_regs_rows[insn->code];

	*use = (uint16_t)((row & 1) << insn->dst_reg | (row >> 1 & 1) << insn->src_reg);
	*def = (uint16_t)((row >> 2 & 1) << insn->dst_reg);
	if (bpfu_unlikely(row & BPFU_IS_SPECIAL))
		bpfu_insn_special_use_def(insn, use, def);
}

static inline uint16_t bpfu_insn_def(const struct bpf_insn *insn)
{
	uint16_t use, def;

	bpfu_insn_use_def(insn, &use, &def);
	return def;
}

/* Registers whose upper half is zero after @insn, given those before. */
uint16_t bpfu_insn_zext_other(const struct bpf_insn *insn, uint16_t zext);

static inline uint16_t bpfu_insn_zext(const struct bpf_insn *insn, uint16_t zext)
{
	unsigned row = bpfu_regs_rows[insn->code];

	if (row & BPFU_ZEXT_OTHER)
		return bpfu_insn_zext_other(insn, zext);
	zext |= (uint16_t)((row >> 7 & 1) << insn->dst_reg);
	return zext & (uint16_t)~((row >> 8 & 1) << insn->dst_reg);
}

static inline bool bpfu_insn_is_pure(const struct bpf_insn *insn)
{
	return bpfu_regs_rows[insn->code] & BPFU_IS_PURE;
}

static inline bool bpfu_facts_is_jump(const struct bpf_insn *insn)
{
	return bpfu_regs_rows[insn->code] & BPFU_IS_JUMP;
}

/*
 * Registers that the call at @idx reads: as many as the helper has arguments, or what the function called
 * reads of them. A callback is always passed r1 and r2: without the moves to them the shortest loop of
 * calls, an inlined bpf_loop() with nothing to do, takes 40 % longer (AMD EPYC). After bpfu_facts_solve().
 */
uint16_t bpfu_facts_call_args(const struct bpfu_facts *facts, const struct bpf_insn *insns,
			      uint32_t idx);

/* Registers that are read after instruction @idx, bit per register. */
uint16_t bpfu_facts_live_out_jump(const struct bpfu_facts *facts, const struct bpf_insn *insns,
				  uint32_t idx);

static inline uint16_t bpfu_facts_live_out(const struct bpfu_facts *facts,
					   const struct bpf_insn *insns, uint32_t idx)
{
	unsigned row = bpfu_regs_rows[insns[idx].code];

	if (row & (BPFU_IS_JUMP | BPFU_IS_EXIT))
		return bpfu_facts_live_out_jump(facts, insns, idx);
	return facts->live_in[idx + 1 + bpfu_insn_is_ld_imm64(&insns[idx])];
}

/*
 * Nobody reads what @insn at @idx computes. It must not be lowered: what it reads is not kept for it,
 * as liveness does not count its reads.
 */
static inline bool bpfu_facts_is_dead(const struct bpfu_facts *facts, const struct bpf_insn *insns,
				      uint32_t idx)
{
	return bpfu_insn_is_pure(&insns[idx]) &&
	       !(bpfu_facts_live_out(facts, insns, idx) & bpfu_insn_def(&insns[idx]));
}

#endif
