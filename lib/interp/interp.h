/* SPDX-License-Identifier: BSD-2-Clause */
/* The interpreter: the reference that the JITs are held against. Slow, plain, obviously right. */
#ifndef BPFU_INTERP_INTERP_H
#define BPFU_INTERP_INTERP_H

struct bpfu_prog;

/*
 * Make @prog (verified and rewritten) run in the interpreter: sets func and callbacks.
 * 0 or -ENOMEM. bpfu_interp_release() frees what it made.
 */
int bpfu_interp_prepare(struct bpfu_prog *prog);
void bpfu_interp_release(struct bpfu_prog *prog);

/*
 * For tests: what every byte of a function's stack holds at its start; negative (as at first): what
 * was there. A program whose outcome changes with it reads stack that it never wrote, which
 * privileged programs may.
 */
extern int bpfu_interp_stack_fill;

#endif
