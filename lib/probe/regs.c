// SPDX-License-Identifier: BSD-2-Clause
/* Registers of a signal's context as a program sees them; see regs.h. */
#include "probe/regs.h"

#if defined(__x86_64__)

#define USER_CS 0x33
#define USER_SS 0x2b

/* Which of the context's each word is. */
static const int greg_of[BPFU_REG_CNT] = {
	[BPFU_REG_R15] = REG_R15, [BPFU_REG_R14] = REG_R14, [BPFU_REG_R13] = REG_R13,
	[BPFU_REG_R12] = REG_R12, [BPFU_REG_BP] = REG_RBP,  [BPFU_REG_BX] = REG_RBX,
	[BPFU_REG_R11] = REG_R11, [BPFU_REG_R10] = REG_R10, [BPFU_REG_R9] = REG_R9,
	[BPFU_REG_R8] = REG_R8,	  [BPFU_REG_RAX] = REG_RAX,  [BPFU_REG_CX] = REG_RCX,
	[BPFU_REG_DX] = REG_RDX,  [BPFU_REG_SI] = REG_RSI,  [BPFU_REG_DI] = REG_RDI,
	[BPFU_REG_PC] = REG_RIP,  [BPFU_REG_FLAGS] = REG_EFL, [BPFU_REG_SP] = REG_RSP,
};

void bpfu_regs_of(struct bpfu_regs *regs, const ucontext_t *uc)
{
	for (int i = 0; i < BPFU_REG_CNT; i++)
		regs->word[i] = (uint64_t)uc->uc_mcontext.gregs[greg_of[i]];
	regs->word[BPFU_REG_ORIG_AX] = ~0ull;
	regs->word[BPFU_REG_CS] = USER_CS;
	regs->word[BPFU_REG_SS] = USER_SS;
}

void bpfu_regs_put(const struct bpfu_regs *regs, ucontext_t *uc)
{
	uc->uc_mcontext.gregs[REG_RIP] = (greg_t)regs->word[BPFU_REG_PC];
	uc->uc_mcontext.gregs[REG_RSP] = (greg_t)regs->word[BPFU_REG_SP];
}

#elif defined(__aarch64__)

/* Not memcpy(), which the compiler would make of a plain loop: it may have a breakpoint, too. */
static void copy(uint64_t *dst, const void *src)
{
	for (int i = 0; i < 31; i++) {
		dst[i] = ((const uint64_t *)src)[i];
		__asm__ volatile("" ::: "memory");
	}
}

void bpfu_regs_of(struct bpfu_regs *regs, const ucontext_t *uc)
{
	copy(regs->word, uc->uc_mcontext.regs);
	regs->word[BPFU_REG_SP] = uc->uc_mcontext.sp;
	regs->word[BPFU_REG_PC] = uc->uc_mcontext.pc;
	regs->word[BPFU_REG_PSTATE] = uc->uc_mcontext.pstate;
}

void bpfu_regs_put(const struct bpfu_regs *regs, ucontext_t *uc)
{
	copy((uint64_t *)uc->uc_mcontext.regs, regs->word);
	uc->uc_mcontext.pc = regs->word[BPFU_REG_PC];
}

#endif
