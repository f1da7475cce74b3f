/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The registers that a probe program sees, and the two words in front of them: what generated code and
 * the signal handler build, and every handler of an event works on.
 */
#ifndef BPFU_PROBE_REGS_H
#define BPFU_PROBE_REGS_H

#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

#if defined(__x86_64__)
/* struct pt_regs */
enum bpfu_reg {
	BPFU_REG_R15, BPFU_REG_R14, BPFU_REG_R13, BPFU_REG_R12, BPFU_REG_BP, BPFU_REG_BX,
	BPFU_REG_R11, BPFU_REG_R10, BPFU_REG_R9, BPFU_REG_R8, BPFU_REG_RAX, BPFU_REG_CX, BPFU_REG_DX,
	BPFU_REG_SI, BPFU_REG_DI, BPFU_REG_ORIG_AX, BPFU_REG_PC, BPFU_REG_CS, BPFU_REG_FLAGS,
	BPFU_REG_SP, BPFU_REG_SS, BPFU_REG_CNT,
};
#else
/* struct user_pt_regs: x0 … x30, sp, pc, pstate */
enum bpfu_reg { BPFU_REG_LR = 30, BPFU_REG_SP, BPFU_REG_PC, BPFU_REG_PSTATE, BPFU_REG_CNT };
#endif

struct bpfu_regs {
	uint64_t func_ip;  /* what bpf_get_func_ip() tells */
	uint64_t reserved;
	uint64_t word[BPFU_REG_CNT]; /* the program's context */
};

void bpfu_regs_of(struct bpfu_regs *regs, const ucontext_t *uc);

/* What a probe may have changed: where the thread goes on, and on arm64 x0 … x30. */
void bpfu_regs_put(const struct bpfu_regs *regs, ucontext_t *uc);

#endif
