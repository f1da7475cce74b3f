/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The instruction set (RFC 9669 plus the kernel's v4 additions): constructors, the opcode table and
 * the structural check. insn.def has one row per opcode; the check rejects reserved fields so that
 * the interpreter and the JITs can never disagree about them.
 *
 * Internal-only forms, made by rewrite/ after verification and never accepted from a user:
 *   BPF_ALU64|BPF_MOV|BPF_X with off == BPFU_OFF_PERCPU   dst = src + this CPU's per-CPU offset
 *   BPF_LD|BPF_IMM|BPF_DW keeps its BPF_PSEUDO_* in src_reg; imm:imm holds the resolved 64 bits.
 *     BPF_PSEUDO_FUNC: the low imm is the target subprogram's first instruction, relative to the
 *     next slot (idx + 1, as in a user's program); backends turn it into a callback value (prog.h).
 *   BPF_JMP|BPF_CALL src_reg 0: imm is the helper's id. BPF_PSEUDO_CALL: imm is relative to the
 *     next instruction. BPF_PSEUDO_KFUNC_CALL: imm is the index of a kfunc (helper/helper.h).
 *   BPF_JMP|BPF_TAIL_CALL (0xf0): r1 ctx, r2 prog array map, r3 index (imm: 0).
 *   BPF_LDX|BPF_PROBE_MEM* (modes 0x20, 0x40): load that yields 0 on a fault.
 *   BPF_ST|BPF_NOSPEC (0xc2): speculation barrier, without operands.
 */
#ifndef BPFU_INSN_INSN_H
#define BPFU_INSN_INSN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "util/uapi.h"

#define BPFU_MAX_REG 11            /* r0 … r10 */
#define BPFU_REG_AX 11             /* internal: scratch of blinded code (rewrite/blind.h) */
#define BPFU_STACK_SIZE 512        /* bytes of one frame (MAX_BPF_STACK) */
#define BPFU_MAX_CALL_FRAMES 8     /* nesting of BPF-to-BPF calls */
#define BPFU_MAX_TAIL_CALLS 33     /* MAX_TAIL_CALL_CNT */
#define BPFU_MAX_INSNS 1000000     /* BPF_COMPLEXITY_LIMIT_INSNS, also the longest program */
#define BPFU_MAX_SUBPROGS 256

#define BPFU_OFF_PERCPU (-1)       /* internal: off of the per-CPU MOV */
#define BPFU_TAIL_CALL 0xf0        /* internal: BPF_JMP | BPFU_TAIL_CALL */
#define BPFU_NOSPEC 0xc0           /* internal: BPF_ST | BPFU_NOSPEC: nothing runs ahead of it */
#define BPFU_PROBE_MEM 0x20        /* internal: load mode */
#define BPFU_PROBE_MEMSX 0x40      /* internal: load mode */

#define BPFU_INSN(c, d, s, o, i)                                                                   \
	((struct bpf_insn){ .code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i) })

static inline bool bpfu_insn_is_ld_imm64(const struct bpf_insn *insn)
{
	return insn->code == (BPF_LD | BPF_IMM | BPF_DW);
}

static inline uint64_t bpfu_insn_imm64(const struct bpf_insn *insn)
{
	return (uint64_t)(uint32_t)insn[0].imm | (uint64_t)(uint32_t)insn[1].imm << 32;
}

static inline void bpfu_insn_set_imm64(struct bpf_insn *insn, uint64_t imm)
{
	insn[0].imm = (int32_t)(uint32_t)imm;
	insn[1].imm = (int32_t)(uint32_t)(imm >> 32);
}

static inline bool bpfu_insn_is_pseudo_call(const struct bpf_insn *insn)
{
	return insn->code == (BPF_JMP | BPF_CALL) && insn->src_reg == BPF_PSEUDO_CALL;
}

static inline bool bpfu_insn_is_pseudo_func(const struct bpf_insn *insn)
{
	return bpfu_insn_is_ld_imm64(insn) && insn->src_reg == BPF_PSEUDO_FUNC;
}

/* True if the opcode of @insn is one a user may load (RFC 9669, v4); fields are not looked at. */
bool bpfu_insn_opcode_valid(uint8_t code);

/*
 * Structural check of one instruction of @insns[@idx] (of @cnt): opcode known, reserved fields zero,
 * registers in range, LD_IMM64 complete. Same rules as the kernel's verifier: shift counts and zero
 * divisors given as immediates are refused. Returns 0 or -EINVAL, with the reason (the kernel's
 * phrase, no newline) in @msg.
 */
int bpfu_insn_check(const struct bpf_insn *insns, uint32_t cnt, uint32_t idx, char *msg,
		    size_t msg_size);

/*
 * The part of bpfu_insn_check() that the kernel applies to every instruction before it looks at
 * control flow: opcode known, LDX mode, LD_IMM64 complete. The rest it says only of instructions
 * that its walk reaches.
 */
int bpfu_insn_check_early(const struct bpf_insn *insns, uint32_t cnt, uint32_t idx, char *msg,
			  size_t msg_size);

/*
 * Print one instruction as the kernel's verifier log does, without index or newline, for example
 * "(b7) r0 = 0" or "(85) call bpf_map_lookup_elem#1". LD_IMM64 reads insn[1].
 * @helper_name: maps a helper id to its name, may be NULL. Returns the length as snprintf does.
 */
int bpfu_insn_print(char *buf, size_t size, const struct bpf_insn *insn,
		    const char *(*helper_name)(int32_t id));

#endif
