/* SPDX-License-Identifier: BSD-2-Clause */
/* Instruction constructors for tests that write programs in C. */
#ifndef TEST_VERIFIER_INSNS_H
#define TEST_VERIFIER_INSNS_H

#include <linux/bpf.h>

#define INSN(c, d, s, o, i)                                                                        \
	((struct bpf_insn){ .code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i) })

#define ALU64_K(op, d, i) INSN(BPF_ALU64 | (op) | BPF_K, d, 0, 0, i)
#define ALU64_X(op, d, s) INSN(BPF_ALU64 | (op) | BPF_X, d, s, 0, 0)
#define ALU32_K(op, d, i) INSN(BPF_ALU | (op) | BPF_K, d, 0, 0, i)
#define ALU32_X(op, d, s) INSN(BPF_ALU | (op) | BPF_X, d, s, 0, 0)
#define MOV_K(d, i) ALU64_K(BPF_MOV, d, i)
#define MOV_X(d, s) ALU64_X(BPF_MOV, d, s)
#define LDX(size, d, s, o) INSN(BPF_LDX | BPF_MEM | (size), d, s, o, 0)
#define STX(size, d, s, o) INSN(BPF_STX | BPF_MEM | (size), d, s, o, 0)
#define ST(size, d, o, i) INSN(BPF_ST | BPF_MEM | (size), d, 0, o, i)
#define LOAD_ACQUIRE 0x100 /* imm of BPF_ATOMIC; newer than some linux/bpf.h */
#define STORE_RELEASE 0x110
#define JMP_K(op, d, i, o) INSN(BPF_JMP | (op) | BPF_K, d, 0, o, i)
#define JMP_X(op, d, s, o) INSN(BPF_JMP | (op) | BPF_X, d, s, o, 0)
#define JA(o) INSN(BPF_JMP | BPF_JA, 0, 0, o, 0)
#define CALL(id) INSN(BPF_JMP | BPF_CALL, 0, 0, 0, id)
#define CALL_SUB(rel) INSN(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, rel)
#define EXIT() INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)
#define LD64(d, src, lo, hi) INSN(BPF_LD | BPF_IMM | BPF_DW, d, src, 0, lo), INSN(0, 0, 0, 0, hi)

#endif
