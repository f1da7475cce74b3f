/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A small assembler for tests. A statement a line, written as the kernel's disassembler prints it:
 *
 *     loop:  r1 += -1              w0 s/= w2           r0 = (s8)r1        r0 = be16 r0
 *            r1 = 0x123456789 ll   r1 = *(u32 *)(r10 -8)                  *(u8 *)(r10 -1) = 7
 *            lock *(u64 *)(r1 +0) += r2                r2 = atomic64_fetch_add((u64 *)(r1 +0), r2)
 *            if w1 s> 0x7 goto loop                    goto pc+1          gotol loop
 *            call bpf_loop#181     call function       r2 = &function     exit
 *
 * "ll" marks the two-slot load; "&label" is a callback (BPF_PSEUDO_FUNC). Jump targets are labels or
 * pc+N. A leading index "12:" and opcode "(b7)" are skipped, so the kernel's listings can be pasted;
 * the opcode (18) counts as "ll". ".insn code dst src off imm" is any instruction. Comments begin
 * with // or, as first character of a line, with #.
 */
#ifndef TESTS_INSN_ASM_H
#define TESTS_INSN_ASM_H

#include <stddef.h>
#include <stdint.h>

#include "util/uapi.h"

/* Number of instructions written to @insns (at most @max), or -1 with a line in @err. */
int asm_parse(const char *text, struct bpf_insn *insns, uint32_t max, char *err, size_t err_size);

#endif
