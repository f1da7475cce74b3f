/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The register map of the x86-64 backend. It follows the System V calling convention, so that a
 * helper call, a BPF-to-BPF call and a callback need no moves at all:
 *
 *   BPF   x86    why
 *   r0    rax    return value
 *   r1    rdi    arguments 1 to 5 of the native convention; clobbered by calls on both sides
 *   r2    rsi
 *   r3    rdx    (also the upper half of mul and div, see lower_div.c)
 *   r4    rcx    (also the count of shifts without BMI2)
 *   r5    r8
 *   r6    rbx    kept across calls; the one that needs no REX prefix and no displacement byte
 *   r7    r13    kept across calls; as a base it needs a displacement byte
 *   r8    r14    kept across calls
 *   r9    r15    kept across calls
 *   r10   rbp    frame pointer of frames on the thread's stack (in functions without calls: rsp plus
 *                a constant): the BPF frame lies right below the saved rbp, so the chain that
 *                profilers walk costs nothing extra
 *   ax    r9     what blinded constants are computed in; never live across an instruction of the
 *                program, and so free to hold rdx during div and mul
 *   -     r10    scratch: holds rax during div and cmpxchg loops
 *   -     r11    scratch: second operand, addresses
 *   -     r12    the segment of private stack, plus a constant; r10 is at a fixed distance from it.
 *                Kept across calls, and the same for all functions of a run, so that neither calls
 *                nor functions have anything to save. Unused in other programs: as a base it always
 *                needs an extra byte
 *   -     rsp    stack
 *
 * A function that makes no calls need not save anything: r6 to r9 move to argument registers that
 * the function does not mention (bpfu_x86_regs_assign()).
 */
#ifndef BPFU_JIT_X86_64_REGS_H
#define BPFU_JIT_X86_64_REGS_H

#include <stdint.h>

enum x86_reg {
	X86_RAX,
	X86_RCX,
	X86_RDX,
	X86_RBX,
	X86_RSP,
	X86_RBP,
	X86_RSI,
	X86_RDI,
	X86_R8,
	X86_R9,
	X86_R10,
	X86_R11,
	X86_R12,
	X86_R13,
	X86_R14,
	X86_R15,
	X86_NONE, /* no base or no index */
	X86_RIP,  /* base of RIP-relative operands */
};

#define X86_SCRATCH_DX X86_R9   /* keeps rdx */
#define X86_SCRATCH_AX X86_R10  /* keeps rax */
#define X86_SCRATCH X86_R11
#define X86_SEGMENT X86_R12

/* clang-format off */
static const uint8_t x86_regmap[] = {
	X86_RAX,                                          /* r0 */
	X86_RDI, X86_RSI, X86_RDX, X86_RCX, X86_R8,       /* r1 to r5 */
	X86_RBX, X86_R13, X86_R14, X86_R15,               /* r6 to r9 */
	X86_RBP,                                          /* r10 */
	X86_R9,                                           /* BPFU_REG_AX */
};
/* clang-format on */

#endif
