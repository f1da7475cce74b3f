/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Executing an instruction out of line: a breakpoint has taken its place, so a copy runs elsewhere and
 * goes on behind the original.
 *
 *      at:  int3 …            slot:  the instruction, adapted to where it lies now
 *      at + len:  …  <---------------  jmp
 *
 * x86-64 adapts in the slot whatever depends on its place (relative operands, branches, the return
 * address that a call pushes). arm64 copies what does not depend on it; the rest is done by the
 * handler on the registers of the trap, and has no slot.
 */
#ifndef BPFU_PROBE_OUTLINE_H
#define BPFU_PROBE_OUTLINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BPFU_OUTLINE_MAX 64    /* bytes of a slot */
#define BPFU_OUTLINE_INSN_MAX 16 /* bytes of an instruction */

/*
 * The length of the instruction that @code (of @size bytes at most) begins with, or -EINVAL if there is
 * none, -EOPNOTSUPP if it cannot be executed elsewhere.
 */
int bpfu_x86_outline_len(const uint8_t *code, size_t size);
int bpfu_a64_outline_len(const uint8_t *code, size_t size);

/*
 * Write what the instruction @code of address @at becomes at @slot. The length, 0 if the handler has to
 * do it, -ERANGE if something is out of reach.
 */
int bpfu_x86_outline(uint8_t out[BPFU_OUTLINE_MAX], uint64_t slot, const uint8_t *code, uint64_t at);
int bpfu_a64_outline(uint8_t out[BPFU_OUTLINE_MAX], uint64_t slot, const uint8_t *code, uint64_t at);

/* As above, -EINVAL without an instruction, but any will do: to walk from one to the next. */
int bpfu_x86_insn_len(const uint8_t *code, size_t size);
int bpfu_a64_insn_len(const uint8_t *code, size_t size);

/* x86-64: does the instruction nothing? */
bool bpfu_x86_is_nop(const uint8_t *code, size_t size);

/* arm64: do what @insn of address regs[32] does to the registers (x0 … x30, sp, pc, pstate). */
void bpfu_a64_emulate(uint32_t insn, uint64_t regs[34]);

#if defined(__x86_64__)
#define bpfu_outline_len bpfu_x86_outline_len
#define bpfu_outline bpfu_x86_outline
#define bpfu_insn_len bpfu_x86_insn_len
#elif defined(__aarch64__)
#define bpfu_outline_len bpfu_a64_outline_len
#define bpfu_outline bpfu_a64_outline
#define bpfu_insn_len bpfu_a64_insn_len
#endif

#endif
