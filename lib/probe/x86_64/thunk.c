// SPDX-License-Identifier: BSD-2-Clause
/*
 * Thunks for x86-64 (thunk.h).
 *
 *      higher   | argument 7 …       |   of the caller
 *               | return address     |
 *               | caller's rbp       | <- rbp
 *               | a word of single.c |
 *               | rdx of the return  |
 *               | [n] return value   |
 *               | [n-1] … [0]        | <- rsp + 16 = ctx
 *               | [-1] n             |
 *               | [-2] function      | <- rsp
 *               | arguments 7 …      |   copies, during the call
 */
#include "helper/func_ctx.h"
#include "jit/x86_64/encode.h"
#include "probe/x86_64/thunk.h"

#define REG_ARGS 6

static const uint8_t arg_regs[REG_ARGS] = { X86_RDI, X86_RSI, X86_RDX, X86_RCX, X86_R8, X86_R9 };

static struct x86_mem ctx_word(int idx)
{
	return x86_mem_bd(X86_RSP, 16 + 8 * idx);
}

static void save_args(struct bpfu_codebuf *cb, const struct bpfu_thunk *t)
{
	for (uint32_t i = 0; i < t->arg_cnt && i < REG_ARGS; i++)
		x86_store(cb, 8, ctx_word((int)i), arg_regs[i]);
	for (uint32_t i = REG_ARGS; i < t->arg_cnt; i++) {
		x86_load(cb, 8, X86_RAX, x86_mem_bd(X86_RBP, 16 + 8 * (int32_t)(i - REG_ARGS)));
		x86_store(cb, 8, ctx_word((int)i), X86_RAX);
	}
	x86_movabs(cb, X86_RAX, bpfu_u64(t->func));
	x86_store(cb, 8, ctx_word(-2), X86_RAX);
	x86_store_i(cb, 8, ctx_word(-1), (int32_t)t->arg_cnt);
}

static void restore_args(struct bpfu_codebuf *cb, const struct bpfu_thunk *t)
{
	for (uint32_t i = 0; i < t->arg_cnt && i < REG_ARGS; i++)
		x86_load(cb, 8, arg_regs[i], ctx_word((int)i));
}

/* The site is within reach of the thunk, as the thunk is of the site. */
static int32_t distance(const struct bpfu_codebuf *cb, uint64_t base, const void *to, unsigned len)
{
	return (int32_t)(bpfu_u64(to) - (base + cb->len + len));
}

static void call_function(struct bpfu_codebuf *cb, const struct bpfu_thunk *t, uint64_t base)
{
	uint32_t on_stack = t->arg_cnt > REG_ARGS ? t->arg_cnt - REG_ARGS : 0;
	int32_t room = (int32_t)BPFU_ROUND_UP(8 * on_stack, 16);

	if (on_stack)
		x86_alu_ri(cb, X86_SUB, true, X86_RSP, room);
	for (uint32_t i = 0; i < on_stack; i++) {
		x86_load(cb, 8, X86_RAX, x86_mem_bd(X86_RBP, 16 + 8 * (int32_t)i));
		x86_store(cb, 8, x86_mem_bd(X86_RSP, 8 * (int32_t)i), X86_RAX);
	}
	x86_call_rel32(cb, distance(cb, base, t->after, 5));
	if (on_stack)
		x86_alu_ri(cb, X86_ADD, true, X86_RSP, room);
}

static void jump(struct bpfu_codebuf *cb, int32_t rel)
{
	uint8_t *p = bpfu_codebuf_room(cb);

	bpfu_codebuf_commit(cb, p + x86_put_branch(p, X86_JMP, true, rel));
}

static struct bpfu_x86_single single_of(const struct bpfu_thunk *t, uint64_t base, bool is_leave)
{
	return (struct bpfu_x86_single){
		.thunk = t,
		.base = base,
		.is_leave = is_leave,
		.ctx = ctx_word(0),
		/* Behind the return value, and behind rdx. */
		.slot = ctx_word((int)t->arg_cnt + (t->form == BPFU_THUNK_ENTRY ? 0 : 2)),
	};
}

static void with_exit(struct bpfu_codebuf *cb, const struct bpfu_thunk *t, uint64_t base,
		      struct bpfu_thunk_frame *frame)
{
	struct x86_mem ret = ctx_word((int)t->arg_cnt), ret_high = ctx_word((int)t->arg_cnt + 1);
	struct bpfu_x86_single enter = single_of(t, base, false), leave = single_of(t, base, true);

	if (t->form == BPFU_THUNK_BOTH) {
		x86_store_i(cb, 8, ret, 0);
		bpfu_x86_single(cb, &enter);
		restore_args(cb, t);
	}
	call_function(cb, t, base);
	x86_store(cb, 8, ret, X86_RAX);
	x86_store(cb, 8, ret_high, X86_RDX);
	enter.skip = cb->len;
	x86_store_i(cb, 8, ctx_word(BPFU_FUNC_CTX_CNT), (int32_t)t->arg_cnt | BPFU_FUNC_CTX_HAS_RET);
	bpfu_x86_single(cb, &leave);
	x86_load(cb, 8, X86_RAX, ret);
	x86_load(cb, 8, X86_RDX, ret_high);
	x86_leave(cb);
	frame->left = cb->len;
	x86_ret(cb);
	frame->again = cb->len;
	if (t->form == BPFU_THUNK_BOTH)
		bpfu_x86_single_rest(cb, &enter);
	bpfu_x86_single_rest(cb, &leave);
}

void bpfu_x86_thunk(struct bpfu_codebuf *cb, const struct bpfu_thunk *t, uint64_t base,
		    struct bpfu_thunk_frame *frame)
{
	struct bpfu_x86_single enter = single_of(t, base, false);
	int32_t words;

	if (t->has_regs) {
		bpfu_x86_regs_thunk(cb, t, base, frame);
		return;
	}
	words = 3 + (int32_t)t->arg_cnt + (t->form == BPFU_THUNK_ENTRY ? 0 : 2);

	x86_push(cb, X86_RBP);
	x86_mov_rr(cb, true, X86_RBP, X86_RSP);
	x86_alu_ri(cb, X86_SUB, true, X86_RSP, BPFU_ROUND_UP(8 * words, 16));
	save_args(cb, t);
	if (t->form != BPFU_THUNK_ENTRY) {
		with_exit(cb, t, base, frame);
		return;
	}
	bpfu_x86_single(cb, &enter);
	restore_args(cb, t);
	x86_leave(cb);
	frame->left = cb->len;
	jump(cb, distance(cb, base, t->after, x86_branch_long_len(X86_JMP)));
	frame->again = cb->len;
	bpfu_x86_single_rest(cb, &enter);
}
