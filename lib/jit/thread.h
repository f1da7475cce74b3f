/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Branches to a test whose outcome they know. An inlined look-up answers 0 for a key out of range, and its
 * caller tests for 0 at once:
 *
 *	r0 = 0
 *	if w1 >= 256 goto test          becomes  if w1 >= 256 goto miss
 *	r0 = …
 *	test: if r0 == 0 goto miss
 */
#ifndef BPFU_JIT_THREAD_H
#define BPFU_JIT_THREAD_H

#include "jit/facts.h"

/* The first branch from @from on that can go further; @insn_cnt if there is none. */
uint32_t bpfu_thread_find(const struct bpf_insn *insns, uint32_t insn_cnt, uint32_t from,
			  const struct bpfu_facts *facts);

/* Have all of them from @first on go there, in place. */
void bpfu_thread_branches(struct bpf_insn *insns, uint32_t insn_cnt, uint32_t first,
			  struct bpfu_facts *facts);

#endif
