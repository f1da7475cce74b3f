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

struct bpfu_prog;

enum bpfu_fact {
	BPFU_FACT_TARGET = 1u << 0,   /* some branch goes here, or a function starts */
	BPFU_FACT_LOOP = 1u << 1,     /* a branch backwards goes here */
	BPFU_FACT_SECOND = 1u << 2,   /* second half of LD_IMM64: not an instruction */
};

struct bpfu_func_facts {
	uint32_t start;               /* instructions [start, end) */
	uint32_t end;
	uint32_t stack;               /* bytes of the BPF frame */
	uint16_t used;                /* registers that occur, bit per register */
	bool has_call;                /* helpers or functions */
	bool has_tail_call;
	bool tail_reach;              /* it or a function it calls makes tail calls */
	bool is_callback;             /* its address is taken */
	bool has_may_goto;
	bool has_loop;                /* a branch backwards */
	bool has_div;
	bool has_atomic;
};

struct bpfu_facts {
	struct bpfu_func_facts *funcs;
	uint32_t func_cnt;
	uint8_t *flags;               /* per instruction, enum bpfu_fact */
	uint16_t *live_in;            /* per instruction: registers that it or later ones read */
	uint16_t *zext_in;            /* at branch targets: registers whose upper half is zero */
	void *mem;
};

/*
 * Find them out. Also checks what the backends rely on (functions in order, branches within their
 * function and not into LD_IMM64, registers in range): 0, -ENOMEM or -EINVAL.
 */
int bpfu_facts_init(struct bpfu_facts *facts, const struct bpfu_prog *prog);
void bpfu_facts_release(struct bpfu_facts *facts);

/* Target of a branch at @idx; for other instructions meaningless. */
uint32_t bpfu_insn_jump_target(const struct bpf_insn *insns, uint32_t idx);

/* A branch with a displacement: conditional, ja or gotol. */
bool bpfu_facts_is_jump(const struct bpf_insn *insn);

/* The function that starts at @idx, -1 if none does. */
int bpfu_facts_func_at(const struct bpfu_facts *facts, uint32_t idx);

/* Registers whose upper half is zero after @insn, given those before. */
uint16_t bpfu_insn_zext(const struct bpf_insn *insn, uint16_t zext);

/* Registers that @insn writes, bit per register; calls write r0 to r5. */
uint16_t bpfu_insn_def(const struct bpf_insn *insn);

/* Registers that are read after instruction @idx, bit per register. */
uint16_t bpfu_facts_live_out(const struct bpfu_facts *facts, const struct bpf_insn *insns,
			     uint32_t idx);

#endif
