/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Instructions on vector registers (SSE2), which every x86-64 has; the rest of encode.h. Registers are
 * numbers from 0 to 15.
 */
#ifndef BPFU_JIT_X86_64_ENCODE_VEC_H
#define BPFU_JIT_X86_64_ENCODE_VEC_H

#include "jit/x86_64/encode.h"

/* m128 need not be aligned. */
static inline void x86_movups_load(struct bpfu_codebuf *cb, unsigned xmm, struct x86_mem m)
{
	x86_op_rm(cb, X86_F_0F, 0x10, xmm, m); /* movups xmm, m128 */
}

static inline void x86_movups_store(struct bpfu_codebuf *cb, struct x86_mem m, unsigned xmm)
{
	x86_op_rm(cb, X86_F_0F, 0x11, xmm, m); /* movups m128, xmm */
}

/* Whole vectors, dst = dst op src. The value is the opcode after 66 0F. */
enum x86_vec {
	X86_PUNPCKLBW = 0x60,
	X86_PUNPCKLWD = 0x61,
	X86_PUNPCKLQDQ = 0x6c,
	X86_MOVDQA = 0x6f,
	X86_PCMPEQD = 0x76,
	X86_PADDQ = 0xd4,
	X86_PXOR = 0xef,
	X86_PSADBW = 0xf6, /* of each half the sum of its bytes' differences */
	X86_PSUBQ = 0xfb,
};

static inline void x86_vec_rr(struct bpfu_codebuf *cb, enum x86_vec op, unsigned dst, unsigned src)
{
	x86_op_rr(cb, X86_F_66 | X86_F_0F, (uint8_t)op, dst, src);
}

/* xmm = r, the rest zero (movq, movd) */
static inline void x86_vec_from(struct bpfu_codebuf *cb, bool w, unsigned xmm, uint8_t src)
{
	x86_op_rr(cb, x86_w(w) | X86_F_66 | X86_F_0F, 0x6e, xmm, src);
}

/* r = xmm's lowest part */
static inline void x86_vec_to(struct bpfu_codebuf *cb, bool w, uint8_t dst, unsigned xmm)
{
	x86_op_rr(cb, x86_w(w) | X86_F_66 | X86_F_0F, 0x7e, xmm, dst);
}

/* dst's dwords are those of src that @order names, two bits each */
static inline void x86_pshufd(struct bpfu_codebuf *cb, unsigned dst, unsigned src, uint8_t order)
{
	x86_op_rr_imm(cb, X86_F_66 | X86_F_0F, 0x70, dst, src, order, 1);
}

#define X86_LOW_DWORD 0x00 /* orders for pshufd: four times the lowest */
#define X86_HIGH_HALF 0xee /* the upper half, twice */

/* Shift each part of 16 or 64 bits. */
static inline void x86_psrlw(struct bpfu_codebuf *cb, unsigned xmm, uint8_t count)
{
	x86_op_rr_imm(cb, X86_F_66 | X86_F_0F, 0x71, 2, xmm, count, 1);
}

static inline void x86_psrlq(struct bpfu_codebuf *cb, unsigned xmm, uint8_t count)
{
	x86_op_rr_imm(cb, X86_F_66 | X86_F_0F, 0x73, 2, xmm, count, 1);
}

static inline void x86_psllq(struct bpfu_codebuf *cb, unsigned xmm, uint8_t count)
{
	x86_op_rr_imm(cb, X86_F_66 | X86_F_0F, 0x73, 6, xmm, count, 1);
}

#endif
