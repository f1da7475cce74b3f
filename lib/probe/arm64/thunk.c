// SPDX-License-Identifier: BSD-2-Clause
/*
 * Thunks for arm64 (thunk.h).
 *
 *      higher   | argument 9 …       |   of the caller
 *               | a word of single.c |
 *               | x1 of the return   |
 *               | [n] return value   |
 *               | [n-1] … [0]        | <- x29 + 32 = ctx
 *               | [-1] n             |
 *               | [-2] function      |
 *               | x30                |
 *               | x29                | <- x29, sp
 *               | arguments 9 …      |   copies, during the call
 *
 * The site and the thunk reach each other by a branch, 128 MiB to either side.
 */
#include "helper/func_ctx.h"
#include "probe/arm64/thunk.h"

#define CTX 32

static uint32_t ctx_word(int idx)
{
	return (uint32_t)(CTX + 8 * idx);
}

static uint32_t reg_args(const struct bpfu_thunk *t)
{
	return BPFU_MIN(t->arg_cnt, (uint32_t)BPFU_A64_REG_ARGS);
}

static uint32_t stack_args(const struct bpfu_thunk *t)
{
	return t->arg_cnt - reg_args(t);
}

/* Behind the return value, and behind x1. */
static uint32_t single_slot(const struct bpfu_thunk *t)
{
	return CTX + 8 * (t->arg_cnt + (t->form == BPFU_THUNK_ENTRY ? 0 : 2));
}

static uint32_t frame_size(const struct bpfu_thunk *t)
{
	return BPFU_ROUND_UP(single_slot(t) + 8, 16);
}

static void save_args(struct bpfu_codebuf *cb, const struct bpfu_thunk *t)
{
	for (uint32_t i = 0; i < reg_args(t); i++)
		bpfu_a64_store(cb, (uint8_t)i, ctx_word((int)i));
	for (uint32_t i = 0; i < stack_args(t); i++) {
		bpfu_a64_load(cb, A64_X16, frame_size(t) + 8 * i);
		bpfu_a64_store(cb, A64_X16, ctx_word((int)(i + BPFU_A64_REG_ARGS)));
	}
	bpfu_a64_const(cb, A64_X16, bpfu_u64(t->func));
	bpfu_a64_store(cb, A64_X16, ctx_word(BPFU_FUNC_CTX_IP));
	bpfu_a64_const(cb, A64_X16, t->arg_cnt);
	bpfu_a64_store(cb, A64_X16, ctx_word(BPFU_FUNC_CTX_CNT));
}

static void restore_args(struct bpfu_codebuf *cb, const struct bpfu_thunk *t)
{
	for (uint32_t i = 0; i < reg_args(t); i++)
		bpfu_a64_load(cb, (uint8_t)i, ctx_word((int)i));
}

/* To the function's own code, which needs no landing pad there for a direct branch. */
static void branch(struct bpfu_codebuf *cb, const struct bpfu_thunk *t, uint64_t base, bool is_call)
{
	int64_t rel = (int64_t)(bpfu_u64(t->after) - (base + cb->len));

	if (base && !a64_imm26_fits(rel) && !cb->err)
		cb->err = -ERANGE;
	bpfu_a64_put(cb, is_call ? a64_bl((int32_t)rel) : a64_b((int32_t)rel));
}

static struct bpfu_a64_single single_of(const struct bpfu_thunk *t, bool is_leave)
{
	return (struct bpfu_a64_single){
		.thunk = t,
		.is_leave = is_leave,
		.ctx = CTX,
		.slot = single_slot(t),
	};
}

static void with_exit(struct bpfu_codebuf *cb, const struct bpfu_thunk *t, uint64_t base,
		      struct bpfu_thunk_frame *frame)
{
	struct bpfu_a64_single enter = single_of(t, false), leave = single_of(t, true);
	uint32_t ret = ctx_word((int)t->arg_cnt);

	if (t->form == BPFU_THUNK_BOTH) {
		bpfu_a64_store(cb, A64_ZR, ret);
		bpfu_a64_single(cb, &enter);
		restore_args(cb, t);
	}
	bpfu_a64_push_copies(cb, stack_args(t), frame_size(t));
	branch(cb, t, base, true);
	bpfu_a64_pop_copies(cb, stack_args(t));
	bpfu_a64_store(cb, 0, ret);
	bpfu_a64_store(cb, 1, ret + 8);
	enter.skip = cb->len;
	bpfu_a64_const(cb, A64_X16, t->arg_cnt | BPFU_FUNC_CTX_HAS_RET);
	bpfu_a64_store(cb, A64_X16, ctx_word(BPFU_FUNC_CTX_CNT));
	bpfu_a64_single(cb, &leave);
	bpfu_a64_load(cb, 0, ret);
	bpfu_a64_load(cb, 1, ret + 8);
	bpfu_a64_unframe(cb, frame_size(t), frame);
	bpfu_a64_put(cb, a64_ret());
	frame->again = cb->len;
	if (t->form == BPFU_THUNK_BOTH)
		bpfu_a64_single_rest(cb, &enter);
	bpfu_a64_single_rest(cb, &leave);
}

void bpfu_a64_thunk(struct bpfu_codebuf *cb, const struct bpfu_thunk *t, uint64_t base,
		    struct bpfu_thunk_frame *frame)
{
	struct bpfu_a64_single enter = single_of(t, false);

	if (t->has_regs) {
		bpfu_a64_regs_thunk(cb, t, base, frame);
		return;
	}
	bpfu_a64_frame(cb, frame_size(t));
	frame->size = frame_size(t);
	save_args(cb, t);
	if (t->form != BPFU_THUNK_ENTRY) {
		with_exit(cb, t, base, frame);
		return;
	}
	bpfu_a64_single(cb, &enter);
	restore_args(cb, t);
	bpfu_a64_unframe(cb, frame_size(t), frame);
	branch(cb, t, base, false);
	frame->again = cb->len;
	bpfu_a64_single_rest(cb, &enter);
}
