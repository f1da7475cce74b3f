/* SPDX-License-Identifier: BSD-2-Clause */
/* Private to rewrite/: the passes that rewrite.c runs over one verified program. */
#ifndef BPFU_REWRITE_PASSES_H
#define BPFU_REWRITE_PASSES_H

#include "rewrite/patch.h"
#include "verifier/verifier.h"

struct bpfu_prog;
struct bpfu_subprog;

/* Longest replacement of one instruction. */
#define BPFU_REPLACEMENT_MAX 32

/*
 * deadcode.c: remove what no path reaches, settle branches that always go the same way, remove jumps
 * to the next instruction. 0 or -ENOMEM.
 */
int bpfu_remove_dead_code(struct bpfu_patch *patch, const struct bpfu_insn_aux *aux);

/*
 * fixup.c: addresses of maps, faulting loads, tail calls: changed in place. Context accesses, calls that make
 * an object, and calls of helpers that are told more than the program tells them: *@buf gets what replaces
 * the instruction; returns the number, 0 to keep it.
 */
void bpfu_fixup_insn(struct bpf_insn *insn, const struct bpfu_insn_aux *aux);
int bpfu_fixup_call(const struct bpfu_prog *prog, const struct bpf_insn *insn, struct bpf_insn *buf);
int bpfu_convert_ctx(const struct bpfu_prog *prog, const struct bpf_insn *insn,
		     const struct bpfu_insn_aux *aux, struct bpf_insn *buf);

int bpfu_convert_call(const struct bpf_insn *insn, const struct bpfu_insn_aux *aux,
		      struct bpf_insn *buf);

/* inline.c: instructions for the helper call @insn of @subprog in @buf; 0: stays a call. */
int bpfu_inline_call(struct bpfu_prog *prog, struct bpfu_subprog *subprog,
		     const struct bpf_insn *insn, const struct bpfu_insn_aux *aux,
		     struct bpf_insn *buf);

#endif
