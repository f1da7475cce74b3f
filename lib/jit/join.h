/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Adjacent loads joined. BPF compilers have no unaligned access and build such values from bytes:
 *
 *	r1 = *(u8 *)(r2 + 1)
 *	r3 = *(u8 *)(r2 + 2)
 *	r3 <<= 8
 *	r3 |= r1                  becomes  r3 = *(u16 *)(r2 + 1)
 *
 * The loads and shifts are then dead, if nothing else reads them, and no backend lowers what is dead
 * (bpfu_facts_is_dead()). Both machines access normal memory at any address.
 */
#ifndef BPFU_JIT_JOIN_H
#define BPFU_JIT_JOIN_H

#include "jit/facts.h"

/* Could there be something to join? A look at each instruction, no more. */
bool bpfu_join_worthwhile(const struct bpf_insn *insns, uint32_t insn_cnt);

/* Rewrite @insns in place, without moving any. */
void bpfu_join_loads(struct bpf_insn *insns, uint32_t insn_cnt, const struct bpfu_facts *facts);

#endif
