/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * insn.def as C: a name and a number for every opcode byte and every atomic operation, and the row
 * behind it. A switch over enum bpfu_op without default makes the compiler check that no opcode is
 * forgotten.
 */
#ifndef BPFU_INSN_OPCODE_H
#define BPFU_INSN_OPCODE_H

#include <stddef.h>
#include <stdint.h>

#include "insn/insn.def"
#include "insn/insn.h"

enum bpfu_op {
#define _(name, code, form, sym) BPFU_OP_##name = (code),
	BPFU_INSN_DEF(_) BPFU_INSN_INTERNAL_DEF(_)
#undef _
};

enum bpfu_atomic_op {
#define _(name, imm, shape, sym) BPFU_ATOMIC_##name = (imm),
	BPFU_ATOMIC_DEF(_)
#undef _
};

/* Which fields an opcode uses. */
enum bpfu_form {
	BPFU_FORM_NONE, /* not an opcode */
	BPFU_FORM_ALU_K,
	BPFU_FORM_ALU_X,
	BPFU_FORM_SHIFT_K,
	BPFU_FORM_DIV_K, /* off 1: signed */
	BPFU_FORM_DIV_X,
	BPFU_FORM_MOV_K,
	BPFU_FORM_MOV_X, /* off 8, 16, 32: sign extension */
	BPFU_FORM_NEG,
	BPFU_FORM_END,
	BPFU_FORM_JMP_K,
	BPFU_FORM_JMP_X,
	BPFU_FORM_JA,
	BPFU_FORM_MAY_GOTO,
	BPFU_FORM_CALL,
	BPFU_FORM_EXIT,
	BPFU_FORM_LDX,
	BPFU_FORM_ST,
	BPFU_FORM_STX,
	BPFU_FORM_ATOMIC,
	BPFU_FORM_LD_IMM64,
	BPFU_FORM_LD_ABS,
	BPFU_FORM_LD_IND,
	BPFU_FORM_TAIL_CALL,
	BPFU_FORM_NOSPEC,
};

/* How an atomic operation is printed and what it writes besides memory. */
enum bpfu_atomic_shape {
	BPFU_ATOMIC_SHAPE_LOCK,    /* nothing */
	BPFU_ATOMIC_SHAPE_FETCH,   /* src gets the old value */
	BPFU_ATOMIC_SHAPE_CMPXCHG, /* r0 gets the old value */
	BPFU_ATOMIC_SHAPE_LOAD,    /* dst = memory at src + off */
	BPFU_ATOMIC_SHAPE_STORE,   /* memory at dst + off = src */
};

struct bpfu_opcode {
	const char *name; /* "ADD64_K" */
	const char *sym;  /* "+=" */
	enum bpfu_form form;
	bool internal;    /* only rewrite/ makes it */
};

struct bpfu_atomic {
	const char *name; /* "FETCH_ADD" */
	const char *sym;  /* "fetch_add" */
	int32_t imm;
	enum bpfu_atomic_shape shape;
};

/* The row of @code, internal ones included; NULL if there is no such opcode. */
const struct bpfu_opcode *bpfu_opcode_of(uint8_t code);

/* The row of the atomic operation @imm; NULL if there is no such operation. */
const struct bpfu_atomic *bpfu_atomic_of(int32_t imm);

#endif
