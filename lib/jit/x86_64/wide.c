// SPDX-License-Identifier: BSD-2-Clause
/*
 * Wide loops in front of loops that copy, fill or add up memory (../idiom.h): 16 bytes at a time, with
 * the instructions that every x86-64 has. Vector registers are scratch in the C convention, and nothing
 * else here uses them.
 *
 *      if (store - load is 1 … 15) goto head      ; would read what it has written; only copies
 *      r11 = limit - counter - step of the wide loop; if (r11 <= 0) goto head
 * top: 16 bytes
 *      counters += …
 *      if ((r11 -= step) > 0) goto top
 * head:
 *
 * Where the number of iterations is known, the counter is compared with where it has to stop, instead.
 * What an address needs besides, if it is a constant that is not pinned, goes to a register that the loop
 * writes before it reads it.
 */
#include "jit/idiom.h"
#include "jit/x86_64/encode_vec.h"
#include "jit/x86_64/lower.h"

#define VECTOR 16
#define COUNT X86_SCRATCH
#define TIMES_MIN 2 /* of a loop whose iterations are known */

enum { XMM_DATA, XMM_SUM, XMM_HIGH, XMM_ZERO, XMM_TMP };

struct wide {
	struct bpfu_loop loop;
	uint32_t head;
	int32_t iterations;            /* of the program's loop in one of ours */
	uint32_t times;                /* ours, if known */
	struct x86_mem load, store;
	uint8_t load_tmp, store_tmp;   /* to hold what addresses need besides, or X86_NONE */
};

/* A register that the loop leaves free at its head. */
static uint8_t take_spare(struct x86_jit *j, struct wide *w)
{
	for (unsigned r = 0; r < BPF_REG_10; r++)
		if (w->loop.spare >> r & 1 && j->bpf_of[j->map[r]] == (int)r) {
			w->loop.spare &= (uint16_t)~(1u << r);
			return j->map[r];
		}
	return X86_NONE;
}

/* Where @addr begins. False if there is no register for it. */
static bool plan_address(struct x86_jit *j, struct wide *w, const struct bpfu_loop_addr *addr,
			 struct x86_mem *mem, uint8_t *tmp)
{
	uint8_t counter = j->map[addr->counter];
	int64_t off = addr->off;
	struct x86_val pin;

	*tmp = X86_NONE;
	if (addr->base == BPF_REG_10)
		off += j->fp_disp;
	if (off == (int32_t)off && off < INT32_MAX - VECTOR && off > INT32_MIN + VECTOR) {
		*mem = addr->base < 0 ? x86_mem_bd(counter, (int32_t)off) :
					x86_mem_bisd(j->map[addr->base], counter, 0, (int32_t)off);
		return true;
	}
	if (addr->base < 0 && bpfu_x86_pinned(j, (uint64_t)off, &pin)) {
		*mem = x86_mem_bisd(pin.base, counter, 0, pin.disp);
		return true;
	}
	*tmp = take_spare(j, w);
	*mem = x86_mem_bisd(*tmp, counter, 0, 0);
	return *tmp != X86_NONE;
}

static void emit_address(struct x86_jit *j, const struct bpfu_loop_addr *addr, uint8_t tmp)
{
	int64_t off = addr->off + (addr->base == BPF_REG_10 ? j->fp_disp : 0);

	if (tmp == X86_NONE)
		return;
	bpfu_x86_mov_imm(j, tmp, (uint64_t)off);
	if (addr->base >= 0)
		x86_alu_rr(j->cb, X86_ADD, true, tmp, j->map[addr->base]);
}

static bool plan(struct x86_jit *j, struct wide *w)
{
	int64_t distance;

	w->iterations = VECTOR / (int32_t)w->loop.size;
	w->times = w->loop.iterations ? (w->loop.iterations - 1) / (uint32_t)w->iterations : 0;
	if (w->loop.iterations && w->times < TIMES_MIN)
		return false;
	w->load_tmp = w->store_tmp = X86_NONE;
	if (w->loop.kind == BPFU_LOOP_COPY && bpfu_loop_distance(&w->loop, &distance) && distance > 0 &&
	    distance < VECTOR)
		return false;
	if (w->loop.kind != BPFU_LOOP_FILL && !plan_address(j, w, &w->loop.load, &w->load, &w->load_tmp))
		return false;
	return w->loop.kind == BPFU_LOOP_SUM ||
	       plan_address(j, w, &w->loop.store, &w->store, &w->store_tmp);
}

/* To the head if what is stored would be loaded again. Vectors are loaded and stored one by one. */
static void check_overlap(struct x86_jit *j, const struct wide *w)
{
	struct x86_mem to = w->store, from = w->load;
	int64_t distance;

	if (bpfu_loop_distance(&w->loop, &distance))
		return;
	if (to.index == from.index)
		to.index = from.index = X86_NONE;
	to.disp--;
	x86_lea(j->cb, true, COUNT, to);
	x86_alu_rr(j->cb, X86_SUB, true, COUNT, from.base);
	if (from.index != X86_NONE)
		x86_alu_rr(j->cb, X86_SUB, true, COUNT, from.index);
	if (from.disp)
		x86_alu_ri(j->cb, X86_SUB, true, COUNT, from.disp);
	x86_alu_ri(j->cb, X86_CMP, true, COUNT, VECTOR - 1);
	x86_branch(j, X86_CC_B, w->head);
}

/* The vector of 8 bytes that repeat. */
static void emit_pattern(struct x86_jit *j, uint64_t pattern)
{
	bool narrow = (uint32_t)pattern == pattern >> 32;

	if (!pattern) {
		x86_vec_rr(j->cb, X86_PXOR, XMM_DATA, XMM_DATA);
	} else if (pattern == UINT64_MAX) {
		x86_vec_rr(j->cb, X86_PCMPEQD, XMM_DATA, XMM_DATA);
	} else {
		bpfu_x86_mov_imm(j, X86_SCRATCH, narrow ? (uint32_t)pattern : pattern);
		x86_vec_from(j->cb, !narrow, XMM_DATA, X86_SCRATCH);
		if (narrow)
			x86_pshufd(j->cb, XMM_DATA, XMM_DATA, X86_LOW_DWORD);
		else
			x86_vec_rr(j->cb, X86_PUNPCKLQDQ, XMM_DATA, XMM_DATA);
	}
}

/* The vector of a register's low bytes. */
static void emit_repeated(struct x86_jit *j, unsigned size, uint8_t reg)
{
	x86_vec_from(j->cb, size == 8, XMM_DATA, reg);
	if (size == 1)
		x86_vec_rr(j->cb, X86_PUNPCKLBW, XMM_DATA, XMM_DATA);
	if (size <= 2)
		x86_vec_rr(j->cb, X86_PUNPCKLWD, XMM_DATA, XMM_DATA);
	if (size == 8)
		x86_vec_rr(j->cb, X86_PUNPCKLQDQ, XMM_DATA, XMM_DATA);
	else
		x86_pshufd(j->cb, XMM_DATA, XMM_DATA, X86_LOW_DWORD);
}

static void emit_before(struct x86_jit *j, const struct bpfu_loop *loop)
{
	if (loop->kind == BPFU_LOOP_FILL) {
		if (loop->value < 0)
			emit_pattern(j, loop->pattern);
		else
			emit_repeated(j, loop->size, j->map[loop->value]);
	} else if (loop->kind == BPFU_LOOP_SUM) {
		x86_vec_rr(j->cb, X86_PXOR, XMM_SUM, XMM_SUM);
		if (loop->size < 4)
			x86_vec_rr(j->cb, X86_PXOR, XMM_ZERO, XMM_ZERO);
		if (loop->size == 2)
			x86_vec_rr(j->cb, X86_PXOR, XMM_HIGH, XMM_HIGH);
	}
}

/* Sums are of 64 bits, which do not overflow where narrow numbers are added up. */
static void emit_sum(struct x86_jit *j, unsigned size)
{
	if (size == 4) {
		x86_vec_rr(j->cb, X86_MOVDQA, XMM_TMP, XMM_DATA);
		x86_psllq(j->cb, XMM_DATA, 32);
		x86_psrlq(j->cb, XMM_TMP, 32);
		x86_psrlq(j->cb, XMM_DATA, 32);
		x86_vec_rr(j->cb, X86_PADDQ, XMM_SUM, XMM_TMP);
	} else if (size == 2) {
		/* all bytes, and the high ones apart: they are due another 255 times */
		x86_vec_rr(j->cb, X86_MOVDQA, XMM_TMP, XMM_DATA);
		x86_psrlw(j->cb, XMM_TMP, 8);
		x86_vec_rr(j->cb, X86_PSADBW, XMM_TMP, XMM_ZERO);
		x86_vec_rr(j->cb, X86_PADDQ, XMM_HIGH, XMM_TMP);
	}
	if (size <= 2)
		x86_vec_rr(j->cb, X86_PSADBW, XMM_DATA, XMM_ZERO);
	x86_vec_rr(j->cb, X86_PADDQ, XMM_SUM, XMM_DATA);
}

static void emit_vector(struct x86_jit *j, const struct wide *w)
{
	if (w->loop.kind != BPFU_LOOP_FILL)
		x86_movups_load(j->cb, XMM_DATA, w->load);
	if (w->loop.kind == BPFU_LOOP_SUM)
		emit_sum(j, w->loop.size);
	else
		x86_movups_store(j->cb, w->store, XMM_DATA);
}

static void emit_after(struct x86_jit *j, const struct bpfu_loop *loop)
{
	if (loop->kind != BPFU_LOOP_SUM)
		return;
	if (loop->size == 2) {
		x86_vec_rr(j->cb, X86_PSUBQ, XMM_SUM, XMM_HIGH);
		x86_psllq(j->cb, XMM_HIGH, 8);
		x86_vec_rr(j->cb, X86_PADDQ, XMM_SUM, XMM_HIGH);
	}
	x86_pshufd(j->cb, XMM_DATA, XMM_SUM, X86_HIGH_HALF);
	x86_vec_rr(j->cb, X86_PADDQ, XMM_SUM, XMM_DATA);
	x86_vec_to(j->cb, true, X86_SCRATCH, XMM_SUM);
	x86_alu_rr(j->cb, X86_ADD, loop->sum_w, j->map[loop->sum], X86_SCRATCH);
}

/* count = what is left for ours; to the head if that is nothing. */
static void emit_count(struct x86_jit *j, const struct wide *w)
{
	const struct bpfu_loop *loop = &w->loop;
	enum x86_cc not_below = loop->cond == BPFU_WHILE_SLT ? X86_CC_LE : X86_CC_BE;

	if (loop->iterations)
		return;
	if (loop->limit < 0)
		bpfu_x86_mov_imm(j, COUNT, loop->w ? (uint64_t)loop->limit_imm : (uint32_t)loop->limit_imm);
	else
		x86_mov_rr(j->cb, loop->w, COUNT, j->map[loop->limit]);
	x86_alu_rr(j->cb, X86_SUB, loop->w, COUNT, j->map[loop->counter.reg]);
	if (loop->cond != BPFU_WHILE_NE)
		x86_branch(j, not_below, w->head);
	x86_alu_ri(j->cb, X86_SUB, loop->w, COUNT, w->iterations * loop->counter.by);
	x86_branch(j, X86_CC_BE, w->head);
}

static void emit_back(struct x86_jit *j, const struct wide *w, uint32_t top)
{
	const struct bpfu_loop *loop = &w->loop;
	int32_t by = w->iterations * loop->counter.by;

	if (loop->iterations) {
		x86_alu_ri(j->cb, X86_CMP, loop->w, j->map[loop->counter.reg],
			   (int32_t)((uint32_t)loop->start + w->times * (uint32_t)by));
		x86_branch(j, X86_CC_NE, top);
	} else {
		x86_alu_ri(j->cb, X86_SUB, loop->w, COUNT, by);
		x86_branch(j, X86_CC_A, top);
	}
}

bool bpfu_x86_wide_loop(struct x86_jit *j, uint32_t head)
{
	const struct bpfu_options *options = &j->ctx->prog->options;
	struct wide w = { .head = head };
	uint32_t top;

	if (!options->loop_idioms || options->harden ||
	    !bpfu_loop_find(&j->ctx->facts, j->insns, head, &w.loop) || !plan(j, &w))
		return false;
	emit_address(j, &w.loop.load, w.load_tmp);
	emit_address(j, &w.loop.store, w.store_tmp);
	if (w.loop.kind == BPFU_LOOP_COPY)
		check_overlap(j, &w);
	emit_before(j, &w.loop);
	emit_count(j, &w);
	bpfu_layout_align_loop(j->l, BPFU_LOOP_ANYWHERE);
	top = bpfu_layout_new_label(j->l);
	bpfu_layout_set_label(j->l, top);
	emit_vector(j, &w);
	for (unsigned i = 0; i < w.loop.step_cnt; i++)
		bpfu_x86_add_imm(j, w.loop.steps[i].w, j->map[w.loop.steps[i].reg],
				 (int64_t)w.iterations * w.loop.steps[i].by);
	emit_back(j, &w, top);
	emit_after(j, &w.loop);
	x86_flags_lost(j);
	return true;
}
