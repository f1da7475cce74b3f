/* SPDX-License-Identifier: BSD-2-Clause */
/* A program as the verifier hands it to rewrite/, and what must come out. */
#ifndef BPFU_TESTS_UNIT_REWRITE_ENV_H
#define BPFU_TESTS_UNIT_REWRITE_ENV_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "helper/helper.h"
#include "map/map.h"
#include "obj/prog.h"
#include "prog_type/prog_type.h"
#include "rewrite/rewrite.h"
#include "util/bits.h"
#include "verifier/verifier.h"

#define MOV_K(d, i) BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_K, d, 0, 0, i)
#define MOV_X(d, s) BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_X, d, s, 0, 0)
#define MOV_PERCPU(d, s) BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_X, d, s, BPFU_OFF_PERCPU, 0)
#define ADD_K(d, i) BPFU_INSN(BPF_ALU64 | BPF_ADD | BPF_K, d, 0, 0, i)
#define JEQ_K(d, i, o) BPFU_INSN(BPF_JMP | BPF_JEQ | BPF_K, d, 0, o, i)
#define JA(o) BPFU_INSN(BPF_JMP | BPF_JA, 0, 0, o, 0)
#define GOTOL(o) BPFU_INSN(BPF_JMP32 | BPF_JA, 0, 0, 0, o)
#define CALL(id) BPFU_INSN(BPF_JMP | BPF_CALL, 0, 0, 0, id)
#define CALL_REL(rel) BPFU_INSN(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, rel)
#define FUNC(d, rel) BPFU_INSN(BPF_LD | BPF_IMM | BPF_DW, d, BPF_PSEUDO_FUNC, 0, rel)
#define LDX(size, d, s, o) BPFU_INSN(BPF_LDX | BPF_MEM | (size), d, s, o, 0)
#define EXIT() BPFU_INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)
#define IMM64(d, src, v) BPFU_INSN(BPF_LD | BPF_IMM | BPF_DW, d, src, 0, (int32_t)(uint32_t)(v))
#define IMM64_HI(v) BPFU_INSN(0, 0, 0, 0, (int32_t)(uint32_t)((uint64_t)(v) >> 32))

#define MAX_SUBPROGS 8
#define MAX_INFO 32

struct fixture {
	struct bpfu_prog prog;
	struct bpfu_subprog subprogs[MAX_SUBPROGS];
	struct bpf_func_info func_info[MAX_INFO];
	struct bpf_line_info line_info[MAX_INFO];
	struct bpfu_map *maps[1];
	struct bpfu_insn_aux *aux;
};

extern struct fixture f; /* the one program at work */

/* A program of which everything is seen and nothing known; finish() frees it. */
void start(const struct bpf_insn *insns, uint32_t cnt);
void finish(void);
/* Function @number begins at @at; a line of information is there. */
void subprog(uint32_t at, uint32_t number);
void line(uint32_t at, uint32_t number);
/* Rewrite it; what comes out is @insns; what it returns, interpreted. */
void rewrite(void);
void expect(const struct bpf_insn *insns, uint32_t cnt);
uint64_t run(void);

#define START(insns) start(insns, BPFU_ARRAY_SIZE(insns))
#define EXPECT(insns) expect(insns, BPFU_ARRAY_SIZE(insns))

#endif
