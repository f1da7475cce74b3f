// SPDX-License-Identifier: BSD-2-Clause
/*
 * Frames: which registers a function gets and saves, its prologue and epilogue, and the code that
 * is seldom run. README.md has the picture.
 */
#include "jit/x86_64/lower.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "percpu/cpu.h"

#define RED_ZONE 128 /* bytes below rsp that signal handlers leave alone */
#define MAY_GOTO_LIMIT (8 << 20) /* BPF_MAX_LOOPS: per call of a function */

static void assign_regs(struct x86_jit *j)
{
	static const uint8_t spare[] = { 2, 1, 4, 5, 3 }; /* rsi, rdi, rcx, r8, rdx of r1 to r5 */
	const struct bpfu_func_facts *func = j->func;
	bool leaf = !func->has_call && !func->tail_reach;
	size_t next = 0;

	memcpy(j->map, x86_regmap, sizeof(j->map));
	j->save_cnt = 0;
	for (unsigned r = BPF_REG_6; r <= BPF_REG_9; r++) {
		if (!(func->used >> r & 1))
			continue;
		while (next < sizeof(spare) && func->used >> spare[next] & 1)
			next++;
		if (leaf && next < sizeof(spare))
			j->map[r] = x86_regmap[spare[next++]];
		else
			j->save[j->save_cnt++] = j->map[r];
	}
	j->fp_disp = 0;
	if (func->private_stack) {
		j->map[BPF_REG_10] = X86_SEGMENT;
		j->fp_disp = (int32_t)func->private_top - BPFU_PRIVATE_BIAS;
	}
	memset(j->bpf_of, -1, sizeof(j->bpf_of));
	for (unsigned r = 0; r < BPFU_JIT_REGS; r++)
		if (func->used >> r & 1 || r == BPF_REG_10)
			j->bpf_of[j->map[r]] = (int8_t)r;
}

static void plan_frame(struct x86_jit *j)
{
	const struct bpfu_func_facts *func = j->func;
	bool stack = func->used >> BPF_REG_10 & 1 && !func->private_stack;

	j->frame = func->has_call || func->tail_reach || func->has_may_goto || j->main_segment ||
		   (stack && func->fp_is_operand);
	j->locals = stack ? func->stack : 0;
	if (func->tail_reach) {
		j->locals += 8;
		j->counter_off = -(int32_t)j->locals;
	}
	if (func->has_may_goto) {
		j->locals += 8;
		j->may_goto_off = -(int32_t)j->locals;
	}
	if (j->main_segment) {
		j->locals += 8;
		j->segment_off = -(int32_t)j->locals;
	}
	if (func->has_call) {
		/* rsp is a multiple of 16 after rbp has been pushed. */
		if ((j->locals + 8 * j->save_cnt) % 16)
			j->locals += 8;
	} else if (!func->tail_reach && !j->main_segment && (!j->frame || !j->save_cnt) &&
		   j->locals <= RED_ZONE) {
		j->locals = 0;
	}
	if (stack && !j->frame) {
		/* rsp stays where the prologue leaves it. */
		j->map[BPF_REG_10] = X86_RSP;
		j->fp_disp = j->locals ? (int32_t)(j->locals + 8u * j->save_cnt) : 0;
	}
}

/* ---- what unwinders are told (cfi.h) ---- */

static void cfa(struct x86_jit *j, uint8_t reg, int32_t off)
{
	bpfu_layout_cfi(j->l, BPFU_CFI_CFA, reg, off);
}

static void saved(struct x86_jit *j, uint8_t reg, int32_t below)
{
	bpfu_layout_cfi(j->l, BPFU_CFI_SAVED, reg, below);
}

static void is_same(struct x86_jit *j, uint8_t reg)
{
	bpfu_layout_cfi(j->l, BPFU_CFI_SAME, reg, 0);
}

static void push_frame(struct x86_jit *j)
{
	x86_push(j->cb, X86_RBP);
	cfa(j, X86_RSP, 16);
	saved(j, X86_RBP, 16);
	x86_mov_rr(j->cb, true, X86_RBP, X86_RSP);
	cfa(j, X86_RBP, 16);
}

/* rbp is the caller's, and the return address is on top. */
static void frame_left(struct x86_jit *j)
{
	cfa(j, X86_RSP, 8);
	is_same(j, X86_RBP);
}

/* From the CFA down to what rsp is after the prologue but for the registers that are saved. */
static int32_t locals_end(const struct x86_jit *j)
{
	return (j->frame ? 16 : 8) + (int32_t)j->locals;
}

static void call_direct(struct x86_jit *j, uint32_t f)
{
	x86_call_rel32(j->cb, 0);
	bpfu_layout_reloc(j->l, 4, X86_RELOC_REL32, BPFU_RELOC_LABEL,
			  bpfu_jit_direct_label(j->ctx, f));
}

/*
 * native: push rbp; mov rbp, rsp     ; only where tail calls are within reach and C may call:
 *         push 0; push 0             ; the counter, and padding
 *         mov rax, rsp               ; every function within reach gets its address in rax
 *         call direct; leave; ret
 */
static void counter_stub(struct x86_jit *j, uint32_t f)
{
	push_frame(j);
	x86_push_i8(j->cb, 0);
	x86_push_i8(j->cb, 0);
	x86_mov_rr(j->cb, true, X86_RAX, X86_RSP);
	call_direct(j, f);
	x86_leave(j->cb);
	frame_left(j);
	x86_ret(j->cb);
}

static struct x86_mem percpu_off(const struct x86_jit *j)
{
	return x86_mem_fs((int32_t)(j->ctx->target.self_tpoff +
				    (int64_t)offsetof(struct bpfu_cpu_self, percpu_off)));
}

/*
 * In main's prologue:
 *         r12 = main's segment on this slot
 *         if (busy) goto segment_busy
 * taken:  busy = 1
 */
static void take_main_segment(struct x86_jit *j)
{
	struct x86_mem busy = x86_mem_bd(X86_SEGMENT, BPFU_PRIVATE_BUSY);

	j->segment_busy = bpfu_layout_new_label(j->l);
	j->segment_taken = bpfu_layout_new_label(j->l);
	x86_store(j->cb, 8, x86_mem_bd(X86_RBP, j->segment_off), X86_SEGMENT);
	saved(j, X86_SEGMENT, 16 - j->segment_off);
	bpfu_x86_mov_imm(j, X86_SEGMENT, bpfu_private_stack_main(&j->ctx->private_stack));
	x86_alu_rm(j->cb, X86_ADD, 8, X86_SEGMENT, percpu_off(j));
	x86_alu_mi(j->cb, X86_CMP, 4, busy, 0);
	x86_branch(j, X86_CC_NE, j->segment_busy);
	bpfu_layout_set_label(j->l, j->segment_taken);
	x86_store_i(j->cb, 4, busy, 1);
}

/* The thread's stack instead, busy and all, so that the epilogue need not tell them apart. */
static void take_spare_segment(struct x86_jit *j)
{
	bpfu_layout_set_label(j->l, j->segment_busy);
	x86_alu_ri(j->cb, X86_SUB, true, X86_RSP,
		   (int32_t)bpfu_private_stack_spare(&j->ctx->private_stack));
	x86_lea(j->cb, true, X86_SEGMENT, x86_mem_bd(X86_RSP, BPFU_PRIVATE_SPARE_BASE));
	x86_branch(j, X86_JMP, j->segment_taken);
}

/*
 * native: head = this slot's part of the private stack       ; where C enters a callback and frames
 *         if (head->top >= head->limit) goto full            ; of it or of its callees are there
 *         r12 = head->top; head->top = r12 + stride
 *         call direct
 *         head->top = r12
 *         return
 * full:   make room for a segment on the thread's stack; call direct; return
 */
static void segment_stub(struct x86_jit *j, uint32_t f)
{
	const struct bpfu_private_stack *stack = &j->ctx->private_stack;
	uint32_t full = bpfu_layout_new_label(j->l);
	struct x86_mem top = x86_mem_bd(X86_SCRATCH, offsetof(struct bpfu_private_head, top));
	struct x86_mem limit = x86_mem_bd(X86_SCRATCH, offsetof(struct bpfu_private_head, limit));

	push_frame(j);
	x86_push(j->cb, X86_SEGMENT);
	saved(j, X86_SEGMENT, 24);
	bpfu_x86_mov_imm(j, X86_SCRATCH, (uintptr_t)stack->mem);
	x86_alu_rm(j->cb, X86_ADD, 8, X86_SCRATCH, percpu_off(j));
	x86_push(j->cb, X86_SCRATCH);
	x86_load(j->cb, 8, X86_SEGMENT, top);
	x86_alu_rm(j->cb, X86_CMP, 8, X86_SEGMENT, limit);
	x86_branch(j, X86_CC_AE, full);
	x86_lea(j->cb, true, X86_RAX, x86_mem_bd(X86_SEGMENT, (int32_t)stack->stride));
	x86_store(j->cb, 8, top, X86_RAX);
	call_direct(j, f);
	x86_pop(j->cb, X86_SCRATCH);
	x86_store(j->cb, 8, top, X86_SEGMENT);
	bpfu_layout_cfi(j->l, BPFU_CFI_REMEMBER, 0, 0);
	x86_pop(j->cb, X86_SEGMENT);
	is_same(j, X86_SEGMENT);
	x86_pop(j->cb, X86_RBP);
	frame_left(j);
	x86_ret(j->cb);

	bpfu_layout_set_label(j->l, full);
	bpfu_layout_cfi(j->l, BPFU_CFI_AGAIN, 0, 0);
	x86_alu_ri(j->cb, X86_SUB, true, X86_RSP, (int32_t)stack->size);
	x86_lea(j->cb, true, X86_SEGMENT, x86_mem_bd(X86_RSP, BPFU_PRIVATE_BIAS));
	call_direct(j, f);
	x86_load(j->cb, 8, X86_SEGMENT, x86_mem_bd(X86_RBP, -8));
	is_same(j, X86_SEGMENT);
	x86_leave(j->cb);
	frame_left(j);
	x86_ret(j->cb);
}

void bpfu_x86_prologue(struct x86_jit *j, uint32_t f)
{
	bool stub;

	j->func = &j->ctx->facts.funcs[f];
	j->exit_done = false;
	j->main_segment = !f && bpfu_jit_takes_segment(j->ctx, f);
	assign_regs(j);
	bpfu_x86_plan_pins(j);
	plan_frame(j);

	bpfu_layout_func(j->l);
	bpfu_layout_set_label(j->l, bpfu_jit_native_label(j->ctx, f));
	stub = j->func->tail_reach && (!f || j->func->is_callback);
	if (stub)
		counter_stub(j, f);
	else if (f && bpfu_jit_takes_segment(j->ctx, f))
		segment_stub(j, f);
	bpfu_layout_set_label(j->l, bpfu_jit_direct_label(j->ctx, f));
	if (bpfu_jit_patch(j->ctx, f))
		bpfu_x86_patch(j, f);
	bpfu_layout_set_label(j->l, bpfu_jit_body_label(j->ctx, f));
	bpfu_layout_cfi(j->l, BPFU_CFI_START, 0, 0);

	if (j->frame)
		push_frame(j);
	if (j->locals)
		x86_alu_ri(j->cb, X86_SUB, true, X86_RSP, (int32_t)j->locals);
	if (!j->frame)
		cfa(j, X86_RSP, locals_end(j));
	if (j->func->tail_reach)
		x86_store(j->cb, 8, x86_mem_bd(X86_RBP, j->counter_off), X86_RAX);
	if (j->main_segment)
		take_main_segment(j);
	for (unsigned i = 0; i < j->save_cnt; i++) {
		x86_push(j->cb, j->save[i]);
		if (!j->frame)
			cfa(j, X86_RSP, locals_end(j) + 8 * (int32_t)(i + 1));
		saved(j, j->save[i], locals_end(j) + 8 * (int32_t)(i + 1));
	}
	if (j->func->has_may_goto)
		x86_store_i(j->cb, 4, x86_mem_bd(X86_RBP, j->may_goto_off), MAY_GOTO_LIMIT);
	bpfu_x86_load_pins(j);
}

/* Undo the prologue, all but the return. */
static void undo(struct x86_jit *j)
{
	for (unsigned i = j->save_cnt; i-- > 0;) {
		x86_pop(j->cb, j->save[i]);
		is_same(j, j->save[i]);
		if (!j->frame)
			cfa(j, X86_RSP, locals_end(j) + 8 * (int32_t)i);
	}
	if (j->main_segment) {
		x86_store_i(j->cb, 4, x86_mem_bd(X86_SEGMENT, BPFU_PRIVATE_BUSY), 0);
		x86_load(j->cb, 8, X86_SEGMENT, x86_mem_bd(X86_RBP, j->segment_off));
		is_same(j, X86_SEGMENT);
	}
	if (j->locals && j->frame)
		x86_leave(j->cb);
	else if (j->locals)
		x86_alu_ri(j->cb, X86_ADD, true, X86_RSP, (int32_t)j->locals);
	else if (j->frame)
		x86_pop(j->cb, X86_RBP);
	frame_left(j);
}

void bpfu_x86_epilogue(struct x86_jit *j, uint8_t target)
{
	bpfu_layout_cfi(j->l, BPFU_CFI_REMEMBER, 0, 0);
	undo(j);
	if (target == X86_NONE)
		x86_ret(j->cb);
	else
		x86_jmp_r(j->cb, target);
	bpfu_layout_cfi(j->l, BPFU_CFI_AGAIN, 0, 0);
}

uint32_t bpfu_x86_cold(struct x86_jit *j, const struct x86_cold *cold)
{
	if (j->cold_cnt == j->cold_cap) {
		uint32_t cap = j->cold_cap ? j->cold_cap * 2 : 8;
		struct x86_cold *p = realloc(j->cold, cap * sizeof(*p));

		if (!p) {
			j->l->err = -ENOMEM;
			return cold->back;
		}
		j->cold = p;
		j->cold_cap = cap;
	}
	j->cold[j->cold_cnt] = *cold;
	j->cold[j->cold_cnt].entry = bpfu_layout_new_label(j->l);
	return j->cold[j->cold_cnt++].entry;
}

/* src is 0 or -1, and neither has been divided by yet. */
static void cold_signed(struct x86_jit *j, const struct x86_cold *c)
{
	uint32_t zero = bpfu_layout_new_label(j->l);

	x86_test_rr(j->cb, c->w, c->src, c->src);
	x86_branch(j, X86_CC_E, zero);
	if (c->kind == X86_COLD_SDIV)
		x86_unary_r(j->cb, X86_NEG, c->w, c->dst);
	else
		x86_alu_rr(j->cb, X86_XOR, false, c->dst, c->dst);
	x86_branch(j, X86_JMP, c->back);
	bpfu_layout_set_label(j->l, zero);
	if (c->kind == X86_COLD_SDIV)
		x86_alu_rr(j->cb, X86_XOR, false, c->dst, c->dst);
	else if (!c->w)
		x86_mov_rr(j->cb, false, c->dst, c->dst);
}

void bpfu_x86_flush_cold(struct x86_jit *j)
{
	if (j->main_segment)
		take_spare_segment(j);
	for (uint32_t i = 0; i < j->cold_cnt; i++) {
		const struct x86_cold *c = &j->cold[i];

		bpfu_layout_set_label(j->l, c->entry);
		switch ((enum x86_cold_kind)c->kind) {
		case X86_COLD_ZERO:
			x86_alu_rr(j->cb, X86_XOR, false, c->dst, c->dst);
			break;
		case X86_COLD_TRUNC:
			x86_mov_rr(j->cb, false, c->dst, c->dst);
			break;
		case X86_COLD_SDIV:
		case X86_COLD_SMOD:
			cold_signed(j, c);
			break;
		}
		x86_branch(j, X86_JMP, c->back);
	}
	j->cold_cnt = 0;
}
