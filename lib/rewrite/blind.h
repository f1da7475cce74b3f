/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Constant blinding (option harden). Whoever may load programs could choose their constants so that the
 * image, entered in the middle of an instruction, runs code of his own. So no constant of a program gets
 * into its image:
 *
 *      r2 += 0x3c909090           ax = 0x3c909090 ^ random
 *                                 ax ^= random
 *                                 r2 += ax
 *
 * with another random number each time. This is done on BPF instructions and not in the backends: it
 * is written once, covers every form in which a backend might encode a constant (or what it computes
 * from one: reciprocals of divisors, displacements of folded additions), and any way to lower the
 * instructions with registers stays right. It is the last thing that happens to a program, on a copy
 * of its own, so that nothing folds the constants again and what bpf(2) shows stays as it was.
 *
 * Left alone: counts of shifts (6 bits), offsets of loads and stores (16 bits), distances of branches.
 */
#ifndef BPFU_REWRITE_BLIND_H
#define BPFU_REWRITE_BLIND_H

#include <stdint.h>

struct bpfu_prog;

/*
 * Make *@shadow a blinded copy of @prog of which a JIT needs no more: instructions, functions, options.
 * *@start: per instruction of @prog, and for the end, the index of its first in *@shadow. Both are freed
 * by bpfu_blind_release(). 0, -ENOMEM or -E2BIG.
 */
int bpfu_blind(const struct bpfu_prog *prog, struct bpfu_prog *shadow, uint32_t **start);
void bpfu_blind_release(struct bpfu_prog *shadow, uint32_t *start);

#endif
