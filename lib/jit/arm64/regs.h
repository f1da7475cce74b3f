/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The register map of the arm64 backend. r1 to r5 sit where AAPCS64 passes arguments, so that a
 * helper call, a BPF-to-BPF call and a callback need no moves of arguments; only the result moves,
 * from x0 to r0's register.
 *
 *   BPF   arm64  why
 *   r0    x7     x0 is taken by r1; not an argument of any helper, so it survives setting one up
 *   r1    x0     arguments 1 to 5 of the native convention; clobbered by calls on both sides
 *   r2    x1
 *   r3    x2
 *   r4    x3
 *   r5    x4
 *   r6    x19    kept across calls, saved in pairs
 *   r7    x20
 *   r8    x21
 *   r9    x22
 *   r10   -      the frame pointer is sp, or x25, plus a constant; x29 stays that of the native chain
 *   -     x9     scratch: immediates, addresses
 *   -     x10    scratch: second immediate, per-CPU offset
 *   -     x11    scratch: loop value of LL/SC sequences
 *   -     x12    scratch: status of store-exclusive
 *   -     x25    the segment of private stack, plus a constant; kept across calls, and the same for
 *                all functions of a run
 *   -     x26    address of the run's tail-call count, kept across calls
 *   ax    x13    what blinded constants are computed in
 *   -     x5, x6, x8, x14, or where the function calls x23, x24, x27, x28: constants of loops (pins.c)
 *   -     x16    address of far calls (the linker's scratch register, never live across a call)
 *   -     x18    never touched: the platform register
 */
#ifndef BPFU_JIT_ARM64_REGS_H
#define BPFU_JIT_ARM64_REGS_H

#include <stdint.h>

enum a64_reg {
	A64_X0, A64_X1, A64_X2, A64_X3, A64_X4, A64_X5, A64_X6, A64_X7,
	A64_X8, A64_X9, A64_X10, A64_X11, A64_X12, A64_X13, A64_X14, A64_X15,
	A64_X16, A64_X17, A64_X18, A64_X19, A64_X20, A64_X21, A64_X22, A64_X23,
	A64_X24, A64_X25, A64_X26, A64_X27, A64_X28, A64_FP, A64_LR,
	A64_ZR = 31,
	A64_SP = 31, /* in address operands and add/sub immediate */
};

#define A64_TMP1 A64_X9
#define A64_TMP2 A64_X10
#define A64_TMP3 A64_X11
#define A64_TMP4 A64_X12
#define A64_TCC A64_X26 /* address of the tail-call count */
#define A64_SEGMENT A64_X25
#define A64_FAR A64_X16

/* clang-format off */
static const uint8_t a64_regmap[] = {
	A64_X7,                                           /* r0 */
	A64_X0, A64_X1, A64_X2, A64_X3, A64_X4,           /* r1 to r5 */
	A64_X19, A64_X20, A64_X21, A64_X22,               /* r6 to r9 */
	A64_SP,                                           /* r10, see a64_src() */
	A64_X13,                                          /* BPFU_REG_AX */
};
/* clang-format on */

#endif
