// SPDX-License-Identifier: BSD-2-Clause
/*
 * Thunks that save all registers, for x86-64 (thunk.h).
 *
 *      higher   | arguments 7 …      |   of the caller
 *               | return address     | <- regs.sp at the entry
 *               | caller's rbp       | <- rbp
 *               | padding            |
 *               | ss … r15           |   struct pt_regs
 *               | call.epoch         |
 *               | function           | <- rbp - 192
 *               | room               |   of the handlers, if they asked for some
 *               | xmm0 … xmm7        |   only of functions without prototype
 *               | arguments 7 …      |   copies, during the call
 *
 * What a function leaves alone by the ABI is saved for programs that read it, but not restored: the
 * handlers leave it alone as well. A lean thunk saves only what it has to restore. Of rflags the ABI promises nothing at an entry; a constant stands
 * for them.
 */
#include "jit/x86_64/encode_vec.h"
#include "probe/x86_64/thunk.h"

#define FRAME 192
#define VECTORS_SIZE 128
#define ANY_ARGS_COPIED 8 /* words that the stack may hold for a function without prototype */

/* Words of struct pt_regs. */
enum { PT_R15, PT_R14, PT_R13, PT_R12, PT_RBP, PT_RBX, PT_R11, PT_R10, PT_R9, PT_R8, PT_RAX, PT_RCX,
       PT_RDX, PT_RSI, PT_RDI, PT_ORIG_RAX, PT_RIP, PT_CS, PT_FLAGS, PT_RSP, PT_SS };

#define USER_CS 0x33
#define USER_SS 0x2b
#define FLAGS 0x202 /* interrupts on, and the bit that is always set */

/* In the order of arguments as far as they are some. */
static const struct {
	uint8_t reg, word;
} saved[] = {
	{ X86_RDI, PT_RDI }, { X86_RSI, PT_RSI }, { X86_RDX, PT_RDX }, { X86_RCX, PT_RCX },
	{ X86_R8, PT_R8 },   { X86_R9, PT_R9 },   { X86_RAX, PT_RAX }, { X86_R10, PT_R10 },
	{ X86_R11, PT_R11 }, { X86_RBX, PT_RBX }, { X86_R12, PT_R12 }, { X86_R13, PT_R13 },
	{ X86_R14, PT_R14 }, { X86_R15, PT_R15 },
};

/* rax is the number of vector registers of a variadic call, r10 the static chain of nested functions. */
#define RESTORED_ANY 8

static uint32_t restored_cnt(uint32_t arg_cnt)
{
	return arg_cnt == BPFU_THUNK_ANY_ARGS ? RESTORED_ANY : BPFU_MIN(arg_cnt, 6);
}

uint64_t bpfu_x86_lean_words(uint32_t arg_cnt, bool has_exit)
{
	uint64_t words = has_exit ? 1ull << PT_RAX : 0;

	for (uint32_t i = 0; i < restored_cnt(arg_cnt); i++)
		words |= 1ull << saved[i].word;
	return words;
}

static struct x86_mem pt_word(int word)
{
	return x86_mem_bd(X86_RBP, -FRAME + 16 + 8 * word);
}

static struct x86_mem vector(const struct bpfu_thunk *t, int idx)
{
	return x86_mem_bd(X86_RBP, -FRAME - (int32_t)t->room - VECTORS_SIZE + 16 * idx);
}

/* [-2] and, if not lean, what is neither argument nor saved by a plain store. Through r11, which is free. */
static void fill_rest(struct bpfu_codebuf *cb, const struct bpfu_thunk *t)
{
	if (!t->lean) {
		x86_load(cb, 8, X86_R11, x86_mem_bd(X86_RBP, 0));
		x86_store(cb, 8, pt_word(PT_RBP), X86_R11);
		x86_lea(cb, true, X86_R11, x86_mem_bd(X86_RBP, 8));
		x86_store(cb, 8, pt_word(PT_RSP), X86_R11);
		x86_store_i(cb, 8, pt_word(PT_ORIG_RAX), -1);
		x86_store_i(cb, 8, pt_word(PT_CS), USER_CS);
		x86_store_i(cb, 8, pt_word(PT_SS), USER_SS);
		x86_store_i(cb, 8, pt_word(PT_FLAGS), FLAGS);
	}
	x86_movabs(cb, X86_R11, bpfu_u64(t->func));
	x86_store(cb, 8, pt_word(-2), X86_R11);
	if (!t->lean)
		x86_store(cb, 8, pt_word(PT_RIP), X86_R11);
}

static void enter(struct bpfu_codebuf *cb, const struct bpfu_thunk *t, bool vectors,
		  struct bpfu_x86_single *single)
{
	uint32_t restored = restored_cnt(t->arg_cnt);

	for (uint32_t i = 0; i < (t->lean ? restored : BPFU_ARRAY_SIZE(saved)); i++)
		x86_store(cb, 8, pt_word(saved[i].word), saved[i].reg);
	for (int i = 0; i < 8 && vectors && t->form != BPFU_THUNK_EXIT; i++)
		x86_movups_store(cb, vector(t, i), i);
	fill_rest(cb, t);
	if (t->form != BPFU_THUNK_ENTRY) { /* what leave compares; the handler may be left out */
		x86_movabs(cb, X86_R11, bpfu_u64(t->epoch));
		x86_load(cb, 8, X86_R11, x86_mem_bd(X86_R11, 0));
		x86_store(cb, 8, single->slot, X86_R11);
	}
	if (t->form != BPFU_THUNK_EXIT) { /* else nothing is run, and nothing needs to be restored */
		bpfu_x86_single(cb, single);
		for (uint32_t i = 0; i < restored; i++)
			x86_load(cb, 8, saved[i].reg, pt_word(saved[i].word));
		for (int i = 0; i < 8 && vectors; i++)
			x86_movups_load(cb, i, vector(t, i));
	}
	x86_movabs(cb, X86_R11, bpfu_u64(t->after_cell));
}

/* r11 has the address of the cell; rax may be the number of vector registers of a variadic call. */
static void call_function(struct bpfu_codebuf *cb, const struct bpfu_thunk *t)
{
	uint32_t on_stack = t->arg_cnt == BPFU_THUNK_ANY_ARGS ? ANY_ARGS_COPIED :
			    t->arg_cnt > 6		      ? t->arg_cnt - 6 :
								0;
	int32_t room = (int32_t)BPFU_ROUND_UP(8 * on_stack, 16);

	x86_load(cb, 8, X86_R11, x86_mem_bd(X86_R11, 0));
	if (on_stack & 1)
		x86_push_i8(cb, 0); /* keeps the stack aligned */
	for (uint32_t i = on_stack; i-- > 0;) /* no register is free */
		x86_push_m(cb, x86_mem_bd(X86_RBP, 16 + 8 * (int32_t)i));
	x86_call_r(cb, X86_R11);
	if (on_stack)
		x86_alu_ri(cb, X86_ADD, true, X86_RSP, room);
}

static void leave(struct bpfu_codebuf *cb, bool vectors, struct bpfu_x86_single *single)
{
	const struct bpfu_thunk *t = single->thunk;

	x86_store(cb, 8, pt_word(PT_RAX), X86_RAX);
	x86_store(cb, 8, pt_word(PT_RDX), X86_RDX);
	for (int i = 0; i < 2 && vectors; i++)
		x86_movups_store(cb, vector(t, i), i);
	bpfu_x86_single(cb, single);
	x86_load(cb, 8, X86_RAX, pt_word(PT_RAX));
	x86_load(cb, 8, X86_RDX, pt_word(PT_RDX));
	for (int i = 0; i < 2 && vectors; i++)
		x86_movups_load(cb, i, vector(t, i));
}

void bpfu_x86_regs_thunk(struct bpfu_codebuf *cb, const struct bpfu_thunk *t, uint64_t base,
			 struct bpfu_thunk_frame *frame)
{
	bool vectors = t->arg_cnt == BPFU_THUNK_ANY_ARGS;
	struct bpfu_x86_single enter_single = {
		.thunk = t, .base = base, .ctx = pt_word(0), .slot = pt_word(-1),
	};
	struct bpfu_x86_single leave_single = enter_single;

	x86_push(cb, X86_RBP);
	x86_mov_rr(cb, true, X86_RBP, X86_RSP);
	x86_alu_ri(cb, X86_SUB, true, X86_RSP, FRAME + (int32_t)t->room + (vectors ? VECTORS_SIZE : 0));
	enter(cb, t, vectors, &enter_single);
	if (t->form == BPFU_THUNK_ENTRY) {
		x86_leave(cb);
		frame->left = cb->len;
		x86_jmp_m(cb, x86_mem_bd(X86_R11, 0));
		frame->again = cb->len;
		bpfu_x86_single_rest(cb, &enter_single);
		return;
	}
	leave_single.is_leave = true;
	call_function(cb, t);
	leave(cb, vectors, &leave_single);
	x86_leave(cb);
	frame->left = cb->len;
	x86_ret(cb);
	frame->again = cb->len;
	if (t->form == BPFU_THUNK_BOTH)
		bpfu_x86_single_rest(cb, &enter_single);
	bpfu_x86_single_rest(cb, &leave_single);
}
