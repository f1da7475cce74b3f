/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The generator of random programs for the JIT: state, and pieces to put together. Each piece keeps what
 * the verifier would demand.
 */
#ifndef BPFU_TESTS_UNIT_JIT_GEN_H
#define BPFU_TESTS_UNIT_JIT_GEN_H

#include "test_jit_env.h"

#define STACK 128
#define MAX_INSNS 3000
#define FUNCS 3
#define INPUTS 6

/* What a register holds: a number, or the address r10 - off with lo <= off <= hi. */
struct kind {
	bool ptr;
	int lo, hi;
};

struct gen {
	uint64_t rng;
	struct bpf_insn insns[MAX_INSNS];
	uint32_t n;
	struct kind kind[10];
	uint16_t reserved;           /* loop counters in use */
	int depth;
	int loops;                   /* nesting: keeps run time small */
	bool leaf;                   /* no calls in this function */
	bool straight;               /* no exits but the last one */
	unsigned hot;                /* registers hot … hot + 3 are used most */
	uint32_t call_at[64];        /* calls to patch, and to which function */
	unsigned call_to[64];
	unsigned calls;
	unsigned func;
};

#define ALU_OPS 16
#define JMP_OPS 11
extern const uint8_t alu_ops[ALU_OPS];
extern const uint8_t jmp_ops[JMP_OPS];

/* ---- jit_gen.c: registers, arithmetic, pointers and memory ---- */
uint32_t rnd(struct gen *g, uint32_t n);
void emit(struct gen *g, struct bpf_insn insn);
int32_t rnd_imm(struct gen *g);
void set_scalar(struct gen *g, unsigned r);
bool is_free(const struct gen *g, unsigned r);
unsigned scalar(struct gen *g, bool write);
void gen_alu(struct gen *g);
void gen_unary(struct gen *g);
void point_anew(struct gen *g, unsigned r, int off);
void gen_pointer(struct gen *g);
void gen_mem(struct gen *g);

/* ---- jit_gen_idiom.c ---- */
void gen_idiom(struct gen *g);
void gen_load_idiom(struct gen *g);
void gen_join(struct gen *g);
void gen_choice(struct gen *g);

/* ---- jit_gen_flow.c: @len pieces; r0 = a hash of registers and stack; a whole function ---- */
void gen_block(struct gen *g, uint32_t len);
void gen_result(struct gen *g);
void gen_func(struct gen *g, unsigned func);

#endif
