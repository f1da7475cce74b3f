// SPDX-License-Identifier: BSD-2-Clause
/*
 * Thunks for x86-64 (thunk.h).
 *
 *      higher   | argument 7 …       |   of the caller
 *               | return address     |
 *               | caller's rbp       | <- rbp
 *               | rdx of the return  |
 *               | [n] return value   |
 *               | [n-1] … [0]        | <- rsp + 16 = ctx
 *               | [-1] n             |
 *               | [-2] function      | <- rsp
 *               | arguments 7 …      |   copies, during the call
 */
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

/* Through rax: the length must not depend on the distance. */
static void call_handler(struct bpfu_codebuf *cb, const void *fn, const void *arg)
{
	x86_movabs(cb, X86_RDI, bpfu_u64(arg));
	x86_lea(cb, true, X86_RSI, ctx_word(0));
	x86_movabs(cb, X86_RAX, bpfu_u64(fn));
	x86_call_r(cb, X86_RAX);
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

static void jump(struct bpfu_codebuf *cb, unsigned cc, int32_t rel)
{
	uint8_t *p = bpfu_codebuf_room(cb);

	bpfu_codebuf_commit(cb, p + x86_put_branch(p, cc, true, rel));
}

static void with_exit(struct bpfu_codebuf *cb, const struct bpfu_thunk *t, uint64_t base)
{
	struct x86_mem ret = ctx_word((int)t->arg_cnt), ret_high = ctx_word((int)t->arg_cnt + 1);
	uint32_t branch;

	x86_store_i(cb, 8, ret, 0);
	call_handler(cb, t->enter, t->arg);
	x86_test_rr(cb, true, X86_RAX, X86_RAX);
	branch = cb->len;
	jump(cb, X86_CC_NE, 0);
	restore_args(cb, t);
	call_function(cb, t, base);
	x86_store(cb, 8, ret, X86_RAX);
	x86_store(cb, 8, ret_high, X86_RDX);
	if (!cb->err)
		x86_put_branch(cb->data + branch, X86_CC_NE, true,
			       (int32_t)(cb->len - branch - x86_branch_long_len(X86_CC_NE)));
	call_handler(cb, t->leave, t->arg);
	x86_load(cb, 8, X86_RAX, ret);
	x86_load(cb, 8, X86_RDX, ret_high);
	x86_leave(cb);
	x86_ret(cb);
}

void bpfu_x86_thunk(struct bpfu_codebuf *cb, const struct bpfu_thunk *t, uint64_t base)
{
	int32_t words;

	if (t->has_regs) {
		bpfu_x86_regs_thunk(cb, t);
		return;
	}
	words = 2 + (int32_t)t->arg_cnt + (t->has_exit ? 2 : 0);

	x86_push(cb, X86_RBP);
	x86_mov_rr(cb, true, X86_RBP, X86_RSP);
	x86_alu_ri(cb, X86_SUB, true, X86_RSP, BPFU_ROUND_UP(8 * words, 16));
	save_args(cb, t);
	if (t->has_exit) {
		with_exit(cb, t, base);
		return;
	}
	call_handler(cb, t->enter, t->arg);
	restore_args(cb, t);
	x86_leave(cb);
	jump(cb, X86_JMP, distance(cb, base, t->after, x86_branch_long_len(X86_JMP)));
}
