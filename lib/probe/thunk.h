/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The code between a function's entry and the programs attached to it, generated per function. A
 * thunk is reached by a jump, so it stands in the function's place: the caller's return address is
 * its own, calls and returns stay paired (return predictors and shadow stacks of the CPU agree), and
 * its frame is a link of the chain of frame pointers like any other.
 *
 *      entry only                 both                              exit only
 *      save arguments             save arguments                    save arguments
 *      enter(arg, ctx)            if (enter(arg, ctx)) goto out     ctx[n] = call behind the site
 *      restore arguments          restore arguments                 leave(arg, ctx)
 *      jump behind the site       ctx[n] = call behind the site     return ctx[n]
 *                                 out: leave(arg, ctx)
 *                                 return ctx[n]
 *
 * Where a single program is to be run the thunk calls it, and not the handler (struct
 * bpfu_thunk_single).
 *
 * The context, as in the kernel:   [-2] address of the function  [-1] n  [0 … n-1] arguments
 *                                  [n] return value
 *
 * Arguments beyond those in registers are copied from the stack, and copied again for the call.
 *
 * With has_regs the context is the registers instead (struct pt_regs of the machine, user_pt_regs on
 * arm64), in front of which lie the function's address and a struct bpfu_call; the body is where
 * *after_cell leads when the thunk gets there.
 */
#ifndef BPFU_PROBE_THUNK_H
#define BPFU_PROBE_THUNK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "jit/codebuf.h"

/* What a thunk with registers keeps of a call in its frame; the handlers' own. */
struct bpfu_call {
	uint64_t epoch; /* attachments up to this one see the return */
};

static inline struct bpfu_call *bpfu_call_of(uint64_t *regs)
{
	return (struct bpfu_call *)(regs - 1);
}

/* The end of a thunk's room, words in front of the registers. */
#if defined(__x86_64__)
#define BPFU_THUNK_ROOM_END 2
#else
#define BPFU_THUNK_ROOM_END 4
#endif

#define BPFU_THUNK_ANY_ARGS UINT32_MAX /* no prototype: also vectors, and some of the stack */

enum bpfu_thunk_form { BPFU_THUNK_ENTRY, BPFU_THUNK_BOTH, BPFU_THUNK_EXIT, BPFU_THUNK_FORMS };

/* What attachments of a function change; the thunk looks there whether it needs the handler. */
struct bpfu_thunk_single {
	const void *list;      /* the word that holds the address of a list, never 0; NULL: always
				* call the handler */
	uint32_t run[2];       /* of enter and leave: where in the list lies the struct bpfu_run of
				* the single program; ->func NULL: call the handler */
	uint32_t since;        /* has_regs: where in the list leave's finds what the call's epoch
				* must not be below (uint64_t) */
	int64_t running_tpoff; /* has_regs: the thread's flag (a byte) that a program runs */
};

struct bpfu_thunk {
	const void *func;  /* [-2] */
	const void *after; /* where the function's own code goes on, as far as nothing else is on it */
	_Atomic(const void *) *after_cell; /* has_regs: where that is found */
	uint32_t arg_cnt;
	enum bpfu_thunk_form form;
	bool has_regs;
	bool lean; /* has_regs: save bpfu_thunk_lean_words() of them only */
	uint32_t room; /* has_regs: bytes of the frame for the handlers, a multiple of 16 */
	const void *arg;
	uint64_t (*enter)(void *arg, uint64_t *ctx); /* nonzero: skip the function */
	uint64_t (*leave)(void *arg, uint64_t *ctx);
	const _Atomic uint64_t *epoch; /* has_regs, with exit: stored in the struct bpfu_call */
	struct bpfu_thunk_single single;
};

/*
 * Words of the registers (bits) that a lean thunk saves, because it has to restore them or has them at
 * hand: the arguments, the return value if @has_exit.
 */
uint64_t bpfu_x86_lean_words(uint32_t arg_cnt, bool has_exit);
uint64_t bpfu_a64_lean_words(uint32_t arg_cnt, bool has_exit);

/* Where the code has a frame: from the end of its first instructions to @left, and from @again on. */
struct bpfu_thunk_frame {
	uint32_t size; /* arm64: of the frame; on x86-64 rbp tells */
	uint32_t left;
	uint32_t again;
};

/* Append the code, which will lie at @base. The length does not depend on @base. */
void bpfu_x86_thunk(struct bpfu_codebuf *cb, const struct bpfu_thunk *thunk, uint64_t base,
		    struct bpfu_thunk_frame *frame);
void bpfu_a64_thunk(struct bpfu_codebuf *cb, const struct bpfu_thunk *thunk, uint64_t base,
		    struct bpfu_thunk_frame *frame);

/* Generate it for this machine, for good. 0, -EOPNOTSUPP, -ENOMEM. */
int bpfu_thunk_make(const struct bpfu_thunk *thunk, const void **out);

#if defined(__x86_64__)
#define bpfu_thunk_emit bpfu_x86_thunk
#define bpfu_thunk_lean_words bpfu_x86_lean_words
#elif defined(__aarch64__)
#define bpfu_thunk_emit bpfu_a64_thunk
#define bpfu_thunk_lean_words bpfu_a64_lean_words
#endif

#endif
