/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What happens to a verified program before a backend sees it (design: an optimisation is written
 * once, on BPF instructions). In order: dead code removed, map and BTF references resolved, context
 * accesses converted, helpers inlined, tail calls lowered. Keeps subprogs, func_info and line_info
 * of the program current.
 */
#ifndef BPFU_REWRITE_REWRITE_H
#define BPFU_REWRITE_REWRITE_H

struct bpfu_insn_aux;
struct bpfu_prog;

/* @aux: from bpfu_verify(); still owned by the caller. 0 or -ENOMEM/-E2BIG. */
int bpfu_rewrite(struct bpfu_prog *prog, struct bpfu_insn_aux *aux);

#endif
