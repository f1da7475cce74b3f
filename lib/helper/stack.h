/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the stack of a program begins (bpf_get_stack(), bpf_get_stackid()), which depends on its type: the
 * two helpers are told in an argument that programs do not have (rewrite/ puts it there).
 */
#ifndef BPFU_HELPER_STACK_H
#define BPFU_HELPER_STACK_H

#include <asm/ptrace.h>
#include <stddef.h>
#include <stdint.h>

struct bpfu_prog;

enum bpfu_stack_kind {
	BPFU_STACK_LIVE,   /* the program is the first frame */
	BPFU_STACK_FUNC,   /* the program, its trampoline, then the function that the context tells */
	BPFU_STACK_RECORD, /* the function that has fired a tracepoint */
	BPFU_STACK_REGS,   /* what the registers say, which are the context */
};

enum bpfu_stack_kind bpfu_stack_kind_of(const struct bpfu_prog *prog);

/* Words of a kprobe's context that are read. */
#if defined(__x86_64__)
#define BPFU_STACK_REG(name) (offsetof(struct pt_regs, name) / sizeof(uint64_t))
#define BPFU_STACK_PC BPFU_STACK_REG(rip)
#define BPFU_STACK_SP BPFU_STACK_REG(rsp)
#define BPFU_STACK_FP BPFU_STACK_REG(rbp)
#define BPFU_STACK_LR BPFU_STACK_PC /* there is none */
#else
#define BPFU_STACK_PC (offsetof(struct user_pt_regs, pc) / sizeof(uint64_t))
#define BPFU_STACK_SP (offsetof(struct user_pt_regs, sp) / sizeof(uint64_t))
#define BPFU_STACK_FP 29
#define BPFU_STACK_LR 30
#endif

#define BPFU_STACK_CTX_WORDS                                                                       \
	(1ull << BPFU_STACK_PC | 1ull << BPFU_STACK_SP | 1ull << BPFU_STACK_FP | 1ull << BPFU_STACK_LR)

#endif
