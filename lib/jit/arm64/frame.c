// SPDX-License-Identifier: BSD-2-Clause
/*
 * Frames: which registers a function saves, its prologue and epilogue, and constants. README.md has
 * the picture.
 */
#include "jit/arm64/lower.h"

#include <stddef.h>

#include "percpu/cpu.h"

#define MAY_GOTO_LIMIT (8 << 20) /* BPF_MAX_LOOPS: per call of a function */

static void plan_frame(struct a64_jit *j)
{
	const struct bpfu_func_facts *func = j->func;

	j->save_cnt = 0;
	for (unsigned r = BPF_REG_6; r <= BPF_REG_9; r++)
		if (func->used >> r & 1)
			j->save[j->save_cnt++] = a64_regmap[r];
	bpfu_a64_plan_pins(j);
	if (j->save_cnt % 2)
		j->save[j->save_cnt++] = A64_ZR;
	j->stack = func->used >> BPF_REG_10 & 1 && !func->private_stack ?
			   BPFU_ROUND_UP(func->stack, 16) :
			   0;
	if (func->has_may_goto)
		j->stack += 16; /* the counter, at sp */
	j->fp_base = func->private_stack ? A64_SEGMENT : A64_SP;
	j->fp_disp = func->private_stack ? (int32_t)func->private_top - BPFU_PRIVATE_BIAS :
					   (int32_t)j->stack;
	j->frame = j->stack || func->has_call || func->tail_reach || j->main_segment;
}

/* ---- what unwinders are told (cfi.h) ---- */

static void cfa(struct a64_jit *j, uint8_t reg, uint32_t off)
{
	bpfu_layout_cfi(j->l, BPFU_CFI_CFA, reg, (int32_t)off);
}

static void saved(struct a64_jit *j, uint8_t reg, uint32_t below)
{
	if (reg != A64_ZR)
		bpfu_layout_cfi(j->l, BPFU_CFI_SAVED, reg, (int32_t)below);
}

static void is_same(struct a64_jit *j, uint8_t reg)
{
	if (reg != A64_ZR)
		bpfu_layout_cfi(j->l, BPFU_CFI_SAME, reg, 0);
}

static void push_frame(struct a64_jit *j, uint32_t size)
{
	a64_emit(j, a64_stp_pre(A64_FP, A64_LR, A64_SP, -(int32_t)size));
	cfa(j, A64_SP, size);
	saved(j, A64_FP, size);
	saved(j, A64_LR, size - 8);
	a64_emit(j, a64_add_i(true, A64_FP, A64_SP, 0));
	cfa(j, A64_FP, size);
}

static void pop_frame(struct a64_jit *j, uint32_t size)
{
	a64_emit(j, a64_ldp_post(A64_FP, A64_LR, A64_SP, (int32_t)size));
	cfa(j, A64_SP, 0);
	is_same(j, A64_FP);
	is_same(j, A64_LR);
}

static uint32_t frame_size(const struct a64_jit *j)
{
	return j->main_segment ? 32 : j->frame ? 16 : 0;
}

/*
 * native: save x29, x30, x26; put a zero counter on the stack and its address into x26, which every
 * function within reach of tail calls expects; call direct; restore; return.
 */
static void counter_stub(struct a64_jit *j, uint32_t f)
{
	push_frame(j, 32);
	a64_emit(j, a64_stp(A64_TCC, A64_ZR, A64_SP, 16));
	saved(j, A64_TCC, 16);
	a64_emit(j, a64_add_i(true, A64_TCC, A64_SP, 24));
	a64_emit(j, a64_bl(0));
	bpfu_layout_reloc(j->l, 4, A64_RELOC_CALL, BPFU_RELOC_LABEL,
			  bpfu_jit_direct_label(j->ctx, f));
	a64_emit(j, a64_ls_uimm(A64_LDR, A64_D, A64_TCC, A64_SP, 16));
	is_same(j, A64_TCC);
	pop_frame(j, 32);
	a64_emit(j, a64_ret());
}

static void call_direct(struct a64_jit *j, uint32_t f)
{
	a64_emit(j, a64_bl(0));
	bpfu_layout_reloc(j->l, 4, A64_RELOC_CALL, BPFU_RELOC_LABEL,
			  bpfu_jit_direct_label(j->ctx, f));
}

/* Of the prologue of main, with its own x25 saved already: see the one of x86-64. */
static void take_main_segment(struct a64_jit *j)
{
	j->segment_busy = bpfu_layout_new_label(j->l);
	j->segment_taken = bpfu_layout_new_label(j->l);
	bpfu_a64_mov_imm(j, A64_TMP2, bpfu_private_stack_main(&j->ctx->private_stack));
	bpfu_a64_percpu_off(j, A64_TMP1, A64_TMP3);
	a64_emit(j, a64_add(true, A64_SEGMENT, A64_TMP1, A64_TMP2));
	a64_emit(j, a64_ls_simm9(A64_LDR, A64_W, A64_TMP1, A64_SEGMENT, BPFU_PRIVATE_BUSY));
	a64_branch_cb(j, true, false, A64_TMP1, j->segment_busy);
	bpfu_layout_set_label(j->l, j->segment_taken);
	a64_emit(j, a64_movz(false, A64_TMP1, 1, 0));
	a64_emit(j, a64_ls_simm9(A64_STR, A64_W, A64_TMP1, A64_SEGMENT, BPFU_PRIVATE_BUSY));
}

static void sub_sp(struct a64_jit *j, uint32_t size)
{
	if (size >> 12)
		a64_emit(j, a64_sub_i(true, A64_SP, A64_SP, size & ~4095u));
	if (size & 4095)
		a64_emit(j, a64_sub_i(true, A64_SP, A64_SP, size & 4095));
}

/* The thread's stack instead, busy and all, so that the epilogue need not tell them apart. */
void bpfu_a64_finish(struct a64_jit *j)
{
	if (!j->main_segment)
		return;
	bpfu_layout_set_label(j->l, j->segment_busy);
	sub_sp(j, bpfu_private_stack_spare(&j->ctx->private_stack));
	a64_emit(j, a64_add_i(true, A64_SEGMENT, A64_SP, BPFU_PRIVATE_SPARE_BASE));
	a64_branch(j, A64_AL, j->segment_taken);
}

/*
 * native: head = this slot's part of the private stack       ; where C enters a callback and frames
 *         if (head->top >= head->limit) goto full            ; of it or of its callees are there
 *         x25 = head->top; head->top = x25 + stride
 *         call direct
 *         head->top = x25
 *         return
 * full:   make room for a segment on the thread's stack; call direct; return
 *
 * x29, x30, x25 and head lie on the thread's stack meanwhile.
 */
static void segment_stub(struct a64_jit *j, uint32_t f)
{
	const struct bpfu_private_stack *stack = &j->ctx->private_stack;
	uint32_t full = bpfu_layout_new_label(j->l);

	push_frame(j, 32);
	bpfu_a64_mov_imm(j, A64_TMP2, (uintptr_t)stack->mem);
	bpfu_a64_percpu_off(j, A64_TMP1, A64_TMP3);
	a64_emit(j, a64_add(true, A64_TMP1, A64_TMP1, A64_TMP2));
	a64_emit(j, a64_stp(A64_SEGMENT, A64_TMP1, A64_SP, 16));
	saved(j, A64_SEGMENT, 16);
	a64_emit(j, a64_ls_uimm(A64_LDR, A64_D, A64_SEGMENT, A64_TMP1,
				offsetof(struct bpfu_private_head, top)));
	a64_emit(j, a64_ls_uimm(A64_LDR, A64_D, A64_TMP2, A64_TMP1,
				offsetof(struct bpfu_private_head, limit)));
	a64_emit(j, a64_cmp(true, A64_SEGMENT, A64_TMP2));
	a64_branch(j, A64_HS, full);
	bpfu_a64_mov_imm(j, A64_TMP2, stack->stride);
	a64_emit(j, a64_add(true, A64_TMP2, A64_TMP2, A64_SEGMENT));
	a64_emit(j, a64_ls_uimm(A64_STR, A64_D, A64_TMP2, A64_TMP1,
				offsetof(struct bpfu_private_head, top)));
	call_direct(j, f);
	a64_emit(j, a64_ls_uimm(A64_LDR, A64_D, A64_TMP1, A64_SP, 24));
	a64_emit(j, a64_ls_uimm(A64_STR, A64_D, A64_SEGMENT, A64_TMP1,
				offsetof(struct bpfu_private_head, top)));
	bpfu_layout_cfi(j->l, BPFU_CFI_REMEMBER, 0, 0);
	a64_emit(j, a64_ls_uimm(A64_LDR, A64_D, A64_SEGMENT, A64_SP, 16));
	is_same(j, A64_SEGMENT);
	pop_frame(j, 32);
	a64_emit(j, a64_ret());

	bpfu_layout_set_label(j->l, full);
	bpfu_layout_cfi(j->l, BPFU_CFI_AGAIN, 0, 0);
	sub_sp(j, stack->size);
	a64_emit(j, a64_add_i(true, A64_SEGMENT, A64_SP, BPFU_PRIVATE_BIAS));
	call_direct(j, f);
	a64_emit(j, a64_add_i(true, A64_SP, A64_FP, 0));
	a64_emit(j, a64_ls_uimm(A64_LDR, A64_D, A64_SEGMENT, A64_SP, 16));
	is_same(j, A64_SEGMENT);
	pop_frame(j, 32);
	a64_emit(j, a64_ret());
}

void bpfu_a64_prologue(struct a64_jit *j, uint32_t f)
{
	j->func = &j->ctx->facts.funcs[f];
	j->main_segment = !f && bpfu_jit_takes_segment(j->ctx, f);
	plan_frame(j);

	bpfu_layout_func(j->l);
	bpfu_layout_set_label(j->l, bpfu_jit_native_label(j->ctx, f));
	if (j->func->tail_reach && (!f || j->func->is_callback))
		counter_stub(j, f);
	else if (f && bpfu_jit_takes_segment(j->ctx, f))
		segment_stub(j, f);
	bpfu_layout_set_label(j->l, bpfu_jit_direct_label(j->ctx, f));
	if (bpfu_jit_patch(j->ctx, f))
		bpfu_a64_patch(j, f);
	bpfu_layout_set_label(j->l, bpfu_jit_body_label(j->ctx, f));

	bpfu_layout_cfi(j->l, BPFU_CFI_START, 0, 0);
	if (j->frame)
		push_frame(j, frame_size(j));
	if (j->main_segment) {
		a64_emit(j, a64_ls_uimm(A64_STR, A64_D, A64_SEGMENT, A64_SP, 16));
		saved(j, A64_SEGMENT, 16);
		take_main_segment(j);
	}
	for (unsigned i = 0; i < j->save_cnt; i += 2) {
		uint32_t end = frame_size(j) + 8 * (i + 2);

		a64_emit(j, a64_stp_pre(j->save[i], j->save[i + 1], A64_SP, -16));
		if (!j->frame)
			cfa(j, A64_SP, end);
		saved(j, j->save[i], end);
		saved(j, j->save[i + 1], end - 8);
	}
	if (j->stack)
		a64_emit(j, a64_sub_i(true, A64_SP, A64_SP, j->stack));
	if (j->func->has_may_goto) {
		bpfu_a64_mov_imm(j, A64_TMP1, MAY_GOTO_LIMIT);
		a64_emit(j, a64_ls_uimm(A64_STR, A64_W, A64_TMP1, A64_SP, 0));
	}
	bpfu_a64_load_pins(j);
}

/* Undo the prologue, all but the return. */
static void undo(struct a64_jit *j)
{
	if (j->stack)
		a64_emit(j, a64_add_i(true, A64_SP, A64_SP, j->stack));
	for (unsigned i = j->save_cnt; i > 0; i -= 2) {
		a64_emit(j, a64_ldp_post(j->save[i - 2], j->save[i - 1], A64_SP, 16));
		if (!j->frame)
			cfa(j, A64_SP, 8 * (i - 2));
		is_same(j, j->save[i - 2]);
		is_same(j, j->save[i - 1]);
	}
	if (j->main_segment) {
		a64_emit(j, a64_ls_simm9(A64_STR, A64_W, A64_ZR, A64_SEGMENT, BPFU_PRIVATE_BUSY));
		a64_emit(j, a64_add_i(true, A64_SP, A64_FP, 0)); /* it may have been a spare one */
		a64_emit(j, a64_ls_uimm(A64_LDR, A64_D, A64_SEGMENT, A64_SP, 16));
		is_same(j, A64_SEGMENT);
	}
	if (j->frame)
		pop_frame(j, frame_size(j));
}

void bpfu_a64_epilogue(struct a64_jit *j, uint8_t target)
{
	bpfu_layout_cfi(j->l, BPFU_CFI_REMEMBER, 0, 0);
	undo(j);
	a64_emit(j, target == A64_ZR ? a64_ret() : a64_br(target));
	bpfu_layout_cfi(j->l, BPFU_CFI_AGAIN, 0, 0);
}

/*
 * Sixteen bits at a time: MOVZ or MOVN for the first, whichever leaves fewer MOVK; a single ORR
 * where the pattern is a logical immediate.
 */
void bpfu_a64_mov_imm(struct a64_jit *j, uint8_t dst, uint64_t imm)
{
	bool sf = imm >> 32;
	unsigned zeros = 0, ones = 0, halves = sf ? 4 : 2;
	bool inverted, first = true;
	uint32_t fields;

	for (unsigned i = 0; i < halves; i++) {
		uint16_t half = (uint16_t)(imm >> (16 * i));

		zeros += half == 0;
		ones += half == UINT16_MAX;
	}
	if (halves - BPFU_MAX(zeros, ones) > 1 &&
	    a64_logical_imm(sf ? imm : imm | imm << 32, &fields)) {
		a64_emit(j, a64_logic_i(A64_ORR, sf, dst, A64_ZR, fields));
		return;
	}

	inverted = ones > zeros;
	for (unsigned i = 0; i < halves; i++) {
		uint16_t half = (uint16_t)(imm >> (16 * i));

		if (half == (inverted ? UINT16_MAX : 0))
			continue;
		if (!first)
			a64_emit(j, a64_movk(sf, dst, half, (uint8_t)i));
		else if (inverted)
			a64_emit(j, a64_movn(sf, dst, (uint16_t)~half, (uint8_t)i));
		else
			a64_emit(j, a64_movz(sf, dst, half, (uint8_t)i));
		first = false;
	}
	if (first)
		a64_emit(j, inverted ? a64_movn(sf, dst, 0, 0) : a64_movz(sf, dst, 0, 0));
}
