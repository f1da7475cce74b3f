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

#endif
