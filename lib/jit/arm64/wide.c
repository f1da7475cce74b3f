// SPDX-License-Identifier: BSD-2-Clause
/*
 * Wide loops in front of loops that copy, fill or add up memory (../idiom.h): 32 bytes at a time, or 16
 * of a sum, with v16 and up, which the C convention lets callees change.
 *
 *      if (store - load is 1 … 31) goto head      ; would read what it has written; only copies
 *      x11 = limit - counter - step of the wide loop; if (x11 <= 0) goto head
 * top: ldp, stp
 *      counters += …
 *      if ((x11 -= step) > 0) goto top
 * head:
 *
 * Where the number of iterations is known, x11 counts those of the wide loop.
 */
#include "jit/arm64/lower.h"
#include "jit/idiom.h"

#define LOAD A64_TMP1
#define STORE A64_TMP2
#define COUNT A64_TMP3
#define SPARE A64_TMP4
#define VECTOR 16
#define TIMES_MIN 2 /* of a loop whose iterations are known */

enum { V_DATA = 16, V_DATA2, V_SUM };

struct wide {
	struct bpfu_loop loop;
	uint32_t head;
	uint32_t bytes;       /* at once */
	uint32_t iterations;  /* of the program's loop in one of ours */
	uint32_t times;       /* ours, if known */
};

static uint32_t step(const struct wide *w, const struct bpfu_loop_step *step)
{
	return w->iterations * (uint32_t)step->by;
}

static bool plan(struct wide *w)
{
	int64_t distance;

	w->bytes = w->loop.kind == BPFU_LOOP_SUM ? VECTOR : 2 * VECTOR;
	w->iterations = w->bytes / w->loop.size;
	w->times = w->loop.iterations ? (w->loop.iterations - 1) / w->iterations : 0;
	if (w->loop.iterations && w->times < TIMES_MIN)
		return false;
	if (w->loop.kind == BPFU_LOOP_COPY && bpfu_loop_distance(&w->loop, &distance) && distance > 0 &&
	    distance < w->bytes)
		return false;
	for (unsigned i = 0; i < w->loop.step_cnt; i++)
		if (!a64_addsub_imm_fits(step(w, &w->loop.steps[i])))
			return false;
	return true;
}

static void emit_address(struct a64_jit *j, uint8_t dst, const struct bpfu_loop_addr *addr)
{
	uint8_t base;

	if (addr->base < 0 && !addr->off) {
		a64_emit(j, a64_mov(true, dst, a64_regmap[addr->counter]));
		return;
	}
	if (addr->base < 0) {
		bpfu_a64_mov_imm(j, dst, (uint64_t)addr->off);
		a64_emit(j, a64_add(true, dst, dst, a64_regmap[addr->counter]));
		return;
	}
	base = a64_src(j, (unsigned)addr->base, dst);
	a64_emit(j, a64_add(true, dst, base, a64_regmap[addr->counter]));
	if (a64_addsub_imm_fits(addr->off)) {
		if (addr->off)
			a64_emit(j, a64_add_i(true, dst, dst, (uint32_t)addr->off));
	} else if (addr->off > INT32_MIN && a64_addsub_imm_fits(-addr->off)) {
		a64_emit(j, a64_sub_i(true, dst, dst, (uint32_t)-addr->off));
	} else {
		bpfu_a64_mov_imm(j, SPARE, (uint64_t)addr->off);
		a64_emit(j, a64_add(true, dst, dst, SPARE));
	}
}

static void check_overlap(struct a64_jit *j, const struct wide *w)
{
	int64_t distance;

	if (w->loop.kind != BPFU_LOOP_COPY || bpfu_loop_distance(&w->loop, &distance))
		return;
	a64_emit(j, a64_sub(true, SPARE, STORE, LOAD));
	a64_emit(j, a64_sub_i(true, SPARE, SPARE, 1));
	a64_emit(j, a64_cmp_i(true, SPARE, w->bytes - 1));
	a64_branch(j, A64_LO, w->head);
}

static enum a64_size size_of(unsigned bytes)
{
	return bytes == 1 ? A64_B : bytes == 2 ? A64_H : bytes == 4 ? A64_W : A64_D;
}

static void emit_before(struct a64_jit *j, const struct bpfu_loop *loop)
{
	if (loop->kind == BPFU_LOOP_SUM) {
		a64_emit(j, a64_movi_zero(V_SUM));
	} else if (loop->kind != BPFU_LOOP_FILL) {
		return;
	} else if (loop->value >= 0) {
		a64_emit(j, a64_dup(size_of(loop->size), V_DATA, a64_regmap[loop->value]));
	} else if (!loop->pattern) {
		a64_emit(j, a64_movi_zero(V_DATA));
	} else {
		bpfu_a64_mov_imm(j, SPARE, loop->pattern);
		a64_emit(j, a64_dup(A64_D, V_DATA, SPARE));
	}
}

static void emit_count(struct a64_jit *j, const struct wide *w)
{
	const struct bpfu_loop *loop = &w->loop;
	uint8_t limit = COUNT;

	if (loop->iterations) {
		bpfu_a64_mov_imm(j, COUNT, w->times);
		return;
	}
	if (loop->limit >= 0)
		limit = a64_regmap[loop->limit];
	else
		bpfu_a64_mov_imm(j, COUNT, loop->w ? (uint64_t)loop->limit_imm : (uint32_t)loop->limit_imm);
	a64_emit(j, a64_subs(loop->w, COUNT, limit, a64_regmap[loop->counter.reg]));
	if (loop->cond != BPFU_WHILE_NE)
		a64_branch(j, loop->cond == BPFU_WHILE_SLT ? A64_LE : A64_LS, w->head);
	a64_emit(j, a64_subs_i(loop->w, COUNT, COUNT, step(w, &loop->counter)));
	a64_branch(j, A64_LS, w->head);
}

/* Pairs of narrow parts become wider ones, until these are of 64 bits. */
static void emit_sum(struct a64_jit *j, unsigned size)
{
	for (enum a64_size s = size_of(size); s < A64_W; s++)
		a64_emit(j, a64_uaddlp(s, V_DATA, V_DATA));
	a64_emit(j, size < 8 ? a64_uadalp(A64_W, V_SUM, V_DATA) : a64_add_2d(V_SUM, V_SUM, V_DATA));
}

static void emit_vectors(struct a64_jit *j, const struct wide *w)
{
	switch (w->loop.kind) {
	case BPFU_LOOP_COPY:
		a64_emit(j, a64_ldp_q_post(V_DATA, V_DATA2, LOAD, (int32_t)w->bytes));
		a64_emit(j, a64_stp_q_post(V_DATA, V_DATA2, STORE, (int32_t)w->bytes));
		break;
	case BPFU_LOOP_FILL:
		a64_emit(j, a64_stp_q_post(V_DATA, V_DATA, STORE, (int32_t)w->bytes));
		break;
	case BPFU_LOOP_SUM:
		a64_emit(j, a64_ldr_q_post(V_DATA, LOAD, (int32_t)w->bytes));
		emit_sum(j, w->loop.size);
		break;
	}
}

static void emit_after(struct a64_jit *j, const struct bpfu_loop *loop)
{
	uint8_t sum = a64_regmap[loop->sum];

	if (loop->kind != BPFU_LOOP_SUM)
		return;
	a64_emit(j, a64_addp_d(V_SUM, V_SUM));
	a64_emit(j, a64_fmov_x(SPARE, V_SUM));
	a64_emit(j, a64_add(loop->sum_w, sum, sum, SPARE));
}

void bpfu_a64_wide_loop(struct a64_jit *j, uint32_t head)
{
	const struct bpfu_options *options = &j->ctx->prog->options;
	struct wide w = { .head = head };
	uint32_t top;

	if (!options->loop_idioms || options->harden ||
	    !bpfu_loop_find(&j->ctx->facts, j->insns, head, &w.loop) || !plan(&w))
		return;
	if (w.loop.kind != BPFU_LOOP_FILL)
		emit_address(j, LOAD, &w.loop.load);
	if (w.loop.kind != BPFU_LOOP_SUM)
		emit_address(j, STORE, &w.loop.store);
	check_overlap(j, &w);
	emit_before(j, &w.loop);
	emit_count(j, &w);
	top = bpfu_layout_new_label(j->l);
	bpfu_layout_set_label(j->l, top);
	emit_vectors(j, &w);
	for (unsigned i = 0; i < w.loop.step_cnt; i++) {
		uint8_t reg = a64_regmap[w.loop.steps[i].reg];

		a64_emit(j, a64_add_i(w.loop.steps[i].w, reg, reg, step(&w, &w.loop.steps[i])));
	}
	if (w.loop.iterations)
		a64_emit(j, a64_subs_i(true, COUNT, COUNT, 1));
	else
		a64_emit(j, a64_subs_i(w.loop.w, COUNT, COUNT, step(&w, &w.loop.counter)));
	a64_branch(j, w.loop.iterations ? A64_NE : A64_HI, top);
	emit_after(j, &w.loop);
}
