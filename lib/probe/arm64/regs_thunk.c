// SPDX-License-Identifier: BSD-2-Clause
/*
 * Thunks that save all registers, for arm64 (thunk.h).
 *
 *      higher   | arguments 9 …      |   of the caller    <- regs.sp at the entry
 *               | q0 … q7            |   only of functions without prototype
 *               | x0 … x30 sp pc     |
 *               |            pstate  |   struct user_pt_regs
 *               | call.epoch         |
 *               | function           |
 *               | x30                |
 *               | x29                | <- x29
 *               | room               |   of the handlers, if they asked for some
 *               | arguments 9 …      |   copies, during the call
 *
 * What a function leaves alone by the ABI is saved for programs that read it, but not restored: the
 * handlers leave it alone as well. A lean thunk saves only what it has to restore. Of the flags the
 * ABI promises nothing at an entry; 0 stands for them.
 *
 * Where the body goes on may change, so it is reached through a register. If the text demands landing
 * pads (BTI), the place behind a function's first instructions has none: a return gets there all the
 * same, at the price of a mispredicted one.
 */
#include "probe/arm64/thunk.h"
#include "probe/regs.h"

#define FUNC 16
#define CALL 24
#define REGS 32
#define VECTORS (REGS + 8 * 34)
#define FRAME VECTORS
#define FRAME_ANY (VECTORS + 8 * 16)
#define ANY_ARGS_COPIED 8 /* words that the stack may hold for a function without prototype */

enum { PT_X8 = 8, PT_X18 = 18, PT_X29 = 29, PT_LR = 30, PT_SP = 31, PT_PC = 32, PT_PSTATE = 33 };

static bool is_any(const struct bpfu_thunk *t)
{
	return t->arg_cnt == BPFU_THUNK_ANY_ARGS;
}

static uint32_t word(uint32_t idx)
{
	return REGS + 8 * idx;
}

static uint32_t frame_size(const struct bpfu_thunk *t)
{
	return is_any(t) ? FRAME_ANY : FRAME;
}

/* x8 is where a large result goes, x18 the static chain of nested functions. */
uint64_t bpfu_a64_lean_words(uint32_t arg_cnt, bool has_exit)
{
	uint64_t words = has_exit ? 1 : 0;

	if (arg_cnt == BPFU_THUNK_ANY_ARGS)
		return words | 0x1ff | 1ull << PT_X18;
	return words | ((1ull << BPFU_MIN(arg_cnt, (uint32_t)BPFU_A64_REG_ARGS)) - 1);
}

static void vectors(struct bpfu_codebuf *cb, bool store)
{
	for (uint8_t i = 0; i < 8; i += 2)
		bpfu_a64_put(cb, store ? a64_stp_q(i, i + 1, A64_FP, VECTORS + 16 * i) :
					 a64_ldp_q(i, i + 1, A64_FP, VECTORS + 16 * i));
}

static void each_word(struct bpfu_codebuf *cb, uint64_t words, bool store)
{
	for (uint8_t i = 0; i < PT_X29; i++) {
		if (!(words >> i & 1))
			continue;
		if (store)
			bpfu_a64_store(cb, i, word(i));
		else
			bpfu_a64_load(cb, i, word(i));
	}
}

/* Through x17, which no function expects anything in. */
static void fill_rest(struct bpfu_codebuf *cb, const struct bpfu_thunk *t)
{
	if (!t->lean) {
		bpfu_a64_load(cb, A64_X17, 0);
		bpfu_a64_store(cb, A64_X17, word(PT_X29));
		bpfu_a64_store(cb, A64_LR, word(PT_LR));
		bpfu_a64_put(cb, a64_add_i(true, A64_X17, A64_FP, frame_size(t)));
		bpfu_a64_store(cb, A64_X17, word(PT_SP));
		bpfu_a64_store(cb, A64_ZR, word(PT_PSTATE));
	}
	bpfu_a64_const(cb, A64_X17, bpfu_u64(t->func));
	bpfu_a64_store(cb, A64_X17, FUNC);
	if (!t->lean)
		bpfu_a64_store(cb, A64_X17, word(PT_PC));
}

static void enter(struct bpfu_codebuf *cb, const struct bpfu_thunk *t, struct bpfu_a64_single *single)
{
	uint64_t restored = bpfu_a64_lean_words(t->arg_cnt, false);

	each_word(cb, t->lean ? restored : ~0ull, true);
	fill_rest(cb, t);
	if (t->form != BPFU_THUNK_ENTRY) { /* what leave compares; the handler may be left out */
		bpfu_a64_const(cb, A64_X17, bpfu_u64(t->epoch));
		bpfu_a64_put(cb, a64_ls_uimm(A64_LDR, A64_D, A64_X17, A64_X17, 0));
		bpfu_a64_store(cb, A64_X17, CALL);
	}
	if (t->form == BPFU_THUNK_EXIT) /* nothing is run, and nothing needs to be restored */
		return;
	if (is_any(t))
		vectors(cb, true);
	bpfu_a64_single(cb, single);
	each_word(cb, restored, false);
	if (is_any(t))
		vectors(cb, false);
}

/* Load where the body goes on; true if only a return gets there. */
static bool load_after(struct bpfu_codebuf *cb, const struct bpfu_thunk *t)
{
	bpfu_a64_const(cb, A64_X16, bpfu_u64(t->after_cell));
	bpfu_a64_put(cb, a64_ls_uimm(A64_LDR, A64_D, A64_X16, A64_X16, 0));
	return bpfu_u64(t->after) - bpfu_u64(t->func) > sizeof(uint32_t);
}

static void call_function(struct bpfu_codebuf *cb, const struct bpfu_thunk *t)
{
	uint32_t on_stack = is_any(t) ? ANY_ARGS_COPIED :
			    t->arg_cnt > BPFU_A64_REG_ARGS ? t->arg_cnt - BPFU_A64_REG_ARGS : 0;

	bpfu_a64_push_copies(cb, on_stack, frame_size(t));
	if (load_after(cb, t)) {
		bpfu_a64_put(cb, a64_adr(A64_LR, 8));
		bpfu_a64_put(cb, a64_ret_to(A64_X16));
	} else {
		bpfu_a64_put(cb, a64_blr(A64_X16));
	}
	bpfu_a64_pop_copies(cb, on_stack);
}

static void leave(struct bpfu_codebuf *cb, const struct bpfu_thunk *t, struct bpfu_a64_single *single)
{
	bpfu_a64_store(cb, 0, word(0));
	bpfu_a64_store(cb, 1, word(1));
	if (is_any(t))
		vectors(cb, true);
	bpfu_a64_single(cb, single);
	bpfu_a64_load(cb, 0, word(0));
	bpfu_a64_load(cb, 1, word(1));
	if (is_any(t))
		vectors(cb, false);
}

static void drop_room(struct bpfu_codebuf *cb, const struct bpfu_thunk *t)
{
	if (t->room)
		bpfu_a64_put(cb, a64_add_i(true, A64_SP, A64_SP, t->room));
}

void bpfu_a64_regs_thunk(struct bpfu_codebuf *cb, const struct bpfu_thunk *t, uint64_t base,
			 struct bpfu_thunk_frame *frame)
{
	struct bpfu_a64_single enter_single = { .thunk = t, .ctx = REGS, .slot = CALL };
	struct bpfu_a64_single leave_single = enter_single;
	bool guarded;

	leave_single.is_leave = true;
	bpfu_a64_frame(cb, frame_size(t));
	frame->size = frame_size(t);
	if (t->room)
		bpfu_a64_put(cb, a64_sub_i(true, A64_SP, A64_SP, t->room));
	enter(cb, t, &enter_single);
	if (t->form == BPFU_THUNK_ENTRY) {
		guarded = load_after(cb, t);
		drop_room(cb, t);
		bpfu_a64_unframe(cb, frame_size(t), frame);
		bpfu_a64_put(cb, guarded ? a64_ret_to(A64_X16) : a64_br(A64_X16));
	} else {
		call_function(cb, t);
		leave(cb, t, &leave_single);
		drop_room(cb, t);
		bpfu_a64_unframe(cb, frame_size(t), frame);
		bpfu_a64_put(cb, a64_ret());
	}
	frame->again = cb->len;
	if (t->form != BPFU_THUNK_EXIT)
		bpfu_a64_single_rest(cb, &enter_single);
	if (t->form != BPFU_THUNK_ENTRY)
		bpfu_a64_single_rest(cb, &leave_single);
}
