/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The code between a function's entry and the programs attached to it, generated per function. A
 * thunk is reached by a jump, so it stands in the function's place: the caller's return address is
 * its own, calls and returns stay paired (return predictors and shadow stacks of the CPU agree), and
 * its frame is a link of the chain of frame pointers like any other.
 *
 *      entry only                             with the exit
 *      save arguments                         save arguments
 *      enter(arg, ctx)                        if (enter(arg, ctx)) goto out
 *      restore arguments                      restore arguments
 *      jump behind the site                   ctx[n] = call behind the site
 *                                             out: leave(arg, ctx)
 *                                             return ctx[n]
 *
 * The context, as in the kernel:   [-2] address of the function  [-1] n  [0 … n-1] arguments
 *                                  [n] return value
 *
 * Arguments beyond those in registers are copied from the stack, and copied again for the call.
 */
#ifndef BPFU_PROBE_THUNK_H
#define BPFU_PROBE_THUNK_H

#include <stdbool.h>
#include <stdint.h>

#include "jit/codebuf.h"

struct bpfu_thunk {
	const void *func;  /* [-2] */
	const void *after; /* where the function's own code goes on */
	uint32_t arg_cnt;
	bool has_exit;
	const void *arg;
	uint64_t (*enter)(void *arg, uint64_t *ctx); /* nonzero: skip the function */
	uint64_t (*leave)(void *arg, uint64_t *ctx);
};

/* Append the code, which will lie at @base. The length does not depend on @base. */
void bpfu_x86_thunk(struct bpfu_codebuf *cb, const struct bpfu_thunk *thunk, uint64_t base);
void bpfu_a64_thunk(struct bpfu_codebuf *cb, const struct bpfu_thunk *thunk, uint64_t base);

#if defined(__x86_64__)
#define bpfu_thunk_emit bpfu_x86_thunk
#elif defined(__aarch64__)
#define bpfu_thunk_emit bpfu_a64_thunk
#endif

#endif
