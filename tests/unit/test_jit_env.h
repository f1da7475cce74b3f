/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the JIT tests share: instructions by short names, a program made from an array of them that
 * runs both compiled and interpreted, and a table of helpers of the tests' own.
 */
#ifndef TEST_JIT_ENV_H
#define TEST_JIT_ENV_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "insn/insn.h"
#include "obj/prog.h"

/* clang-format off */
#define ALU64_R(op, d, s)    BPFU_INSN(BPF_ALU64 | (op) | BPF_X, d, s, 0, 0)
#define ALU64_I(op, d, i)    BPFU_INSN(BPF_ALU64 | (op) | BPF_K, d, 0, 0, i)
#define ALU32_R(op, d, s)    BPFU_INSN(BPF_ALU | (op) | BPF_X, d, s, 0, 0)
#define ALU32_I(op, d, i)    BPFU_INSN(BPF_ALU | (op) | BPF_K, d, 0, 0, i)
#define MOV_R(d, s)          ALU64_R(BPF_MOV, d, s)
#define MOV_I(d, i)          ALU64_I(BPF_MOV, d, i)
#define LDX(size, d, s, o)   BPFU_INSN(BPF_LDX | BPF_MEM | (size), d, s, o, 0)
#define STX(size, d, o, s)   BPFU_INSN(BPF_STX | BPF_MEM | (size), d, s, o, 0)
#define ST(size, d, o, i)    BPFU_INSN(BPF_ST | BPF_MEM | (size), d, 0, o, i)
#define ATOMIC(size, d, o, s, i) BPFU_INSN(BPF_STX | BPF_ATOMIC | (size), d, s, o, i)
#define LD64_LO(d, src, v)   BPFU_INSN(BPF_LD | BPF_IMM | BPF_DW, d, src, 0, (int32_t)(uint32_t)(v))
#define LD64_HI(v)           BPFU_INSN(0, 0, 0, 0, (int32_t)(uint32_t)((uint64_t)(v) >> 32))
#define LD64(d, v)           LD64_LO(d, 0, v), LD64_HI(v)
#define JMP_R(op, d, s, o)   BPFU_INSN(BPF_JMP | (op) | BPF_X, d, s, o, 0)
#define JMP_I(op, d, i, o)   BPFU_INSN(BPF_JMP | (op) | BPF_K, d, 0, o, i)
#define JA(o)                BPFU_INSN(BPF_JMP | BPF_JA, 0, 0, o, 0)
#define CALL(id)             BPFU_INSN(BPF_JMP | BPF_CALL, 0, 0, 0, id)
#define CALL_REL(rel)        BPFU_INSN(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, rel)
#define TAIL_CALL()          BPFU_INSN(BPF_JMP | BPFU_TAIL_CALL, 0, 0, 0, 0)
#define EXIT()               BPFU_INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)
/* clang-format on */

#define R0 BPF_REG_0
#define R1 BPF_REG_1
#define R2 BPF_REG_2
#define R3 BPF_REG_3
#define R4 BPF_REG_4
#define R5 BPF_REG_5
#define R6 BPF_REG_6
#define R7 BPF_REG_7
#define R8 BPF_REG_8
#define R9 BPF_REG_9
#define R10 BPF_REG_10

/* One program in two forms that share the instructions and subprograms. */
struct jprog {
	struct bpfu_prog jit;
	struct bpfu_prog interp;
	struct bpfu_subprog *subs;
};

/* What to compile for: the machine we run on, with fewer features, with private stacks. */
enum jvariant { J_HOST, J_PLAIN, J_FAR, J_PRIVATE, J_VARIANTS };

/*
 * Make a program of @cnt instructions (copied), one function with @stack bytes, and compile it.
 * jprog_sub() before jprog_compile() adds functions; jprog_make() does all for the simple case.
 */
void jprog_init(struct jprog *p, const struct bpf_insn *insns, uint32_t cnt, uint32_t stack);
void jprog_sub(struct jprog *p, uint32_t start, uint32_t stack);
int jprog_prepare(struct jprog *p); /* for the interpreter only */
int jprog_compile(struct jprog *p, enum jvariant variant);
void jprog_release(struct jprog *p);

void jprog_make(struct jprog *p, enum jvariant variant, const struct bpf_insn *insns, uint32_t cnt,
		uint32_t stack);

static inline uint64_t jprog_run_jit(struct jprog *p, void *ctx)
{
	return p->jit.func(ctx, &p->jit);
}

static inline uint64_t jprog_run_interp(struct jprog *p, void *ctx)
{
	return p->interp.func(ctx, &p->interp);
}

/* Print the instructions, for failures. */
void jprog_dump(const struct jprog *p);

/* Helpers of the tests: ids. */
enum {
	HELPER_MIX = 1,      /* f(r1 … r5), another number for every order of arguments */
	HELPER_ALIGNED,      /* 1 if the stack is aligned as the C convention asks */
	HELPER_SMASH,        /* clobbers all it may: r1 … r5 and the scratch registers */
	HELPER_LOOP,         /* r1 times: callback r2(i, r3), stops at non-zero; returns the count */
	HELPER_CALLBACK,     /* r1(r2, r3, r4, r5, 0) */
	HELPER_COUNT,        /* adds one to *(u64 *)r1 */
	HELPER_HOOK,         /* jprog_hook(r1, r2) */
	HELPER_CNT
};

extern uint64_t (*jprog_hook)(uint64_t r1, uint64_t r2);

uint64_t helper_mix(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5);

/* Numbers where arithmetic changes its mind. */
extern const uint64_t edge_values[];
extern const unsigned edge_cnt;

static inline uint64_t rng_next(uint64_t *state)
{
	uint64_t x = *state;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	*state = x;
	return x * 0x2545f4914f6cdd1dull;
}

#endif
