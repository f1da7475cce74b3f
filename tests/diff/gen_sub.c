// SPDX-License-Identifier: BSD-2-Clause
/*
 * Subprograms, callbacks and tail calls. A call names a subprogram whose body is generated after
 * the caller's; a subprogram belongs to one depth, so that the stack of every chain is bounded.
 */
#include "gen.h"

#include <string.h>

static int find_sub(struct gen *g, uint32_t depth, bool callback)
{
	uint32_t i = g->p->subprog_cnt;

	/* An old one if it takes no pointers, as the caller may not have such. */
	if (!callback && i > 1 && rng_percent(&g->rng, 30)) {
		uint32_t k = 1 + rng_below(&g->rng, i - 1);

		if (g->subs[k].depth == depth && !g->subs[k].callback)
			return (int)k;
	}
	if (i >= CASE_SUBPROGS || depth >= MAX_FRAME_DEPTH || g->fixup_cnt >= MAX_FIXUPS)
		return -1;
	g->p->subprog_cnt++;
	g->subs[i] = (struct sub){ .depth = depth, .callback = callback };
	return (int)i;
}

static void add_fixup(struct gen *g, uint32_t insn, int sub, bool func)
{
	g->fixups[g->fixup_cnt++] = (struct fixup){ insn, (uint32_t)sub, func };
}

/* One argument: a scalar, or memory that the callee may use. */
static void gen_arg(struct gen *g, int reg, struct reg *arg)
{
	int src = pick_kind(g, rng_percent(&g->rng, 75) ? K_MEM : K_CTX);

	if (src >= 6 && g->st.r[src].class != MEM_PACKET && rng_percent(&g->rng, 40)) {
		*arg = g->st.r[src];
	} else if (rng_percent(&g->rng, 25)) {
		int area = stack_area(g, 16);

		stack_fill(g, area, 16);
		emit(g, BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_X, reg, 10, 0, 0));
		emit(g, BPFU_INSN(BPF_ALU64 | BPF_ADD | BPF_K, reg, 0, 0, area));
		*arg = (struct reg){ K_MEM, MEM_CALLER, 0, 0, 16 };
		g->st.r[reg] = *arg;
		return;
	} else {
		src = scalar_src(g);
		*arg = (struct reg){ .kind = K_SCALAR };
	}
	if (src != reg)
		emit(g, BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_X, reg, src, 0, 0));
	g->st.r[reg] = *arg;
}

/* Arguments of a known subprogram: scalars only, else there is no call. */
static bool repeat_args(struct gen *g, const struct sub *sub)
{
	for (uint32_t i = 0; i < sub->args; i++)
		if (sub->arg[i].kind != K_SCALAR)
			return false;
	for (uint32_t i = 1; i <= sub->args; i++)
		if (g->st.r[i].kind != K_SCALAR) {
			emit(g, BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_K, i, 0, 0, rand_imm(g)));
			set_scalar(g, (int)i);
		}
	return true;
}

static bool can_call(const struct gen *g)
{
	return g->depth + 1 < MAX_FRAME_DEPTH && g->fixup_cnt < MAX_FIXUPS;
}

void gen_subprog_call(struct gen *g)
{
	uint32_t before = g->p->subprog_cnt;
	struct sub *sub;
	uint16_t locked;
	int idx;

	if (!can_call(g))
		return;
	idx = find_sub(g, g->depth + 1, false);
	if (idx < 0)
		return;
	sub = &g->subs[idx];
	if (g->p->subprog_cnt > before) {
		sub->args = rng_below(&g->rng, 6);
		/* what is set up already must survive the set-up of the next argument */
		locked = g->locked;
		for (uint32_t i = 0; i < sub->args; i++) {
			gen_arg(g, (int)i + 1, &sub->arg[i]);
			g->locked |= 1u << (i + 1);
		}
		g->locked = locked;
	} else if (!repeat_args(g, sub)) {
		return;
	}
	add_fixup(g, emit(g, BPFU_INSN(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, 0)), idx, false);
	clobber_call(g);
	forget(g, -1, MEM_ELEM);
}

static void load_func(struct gen *g, int reg, int sub)
{
	add_fixup(g, emit(g, BPFU_INSN(BPF_LD | BPF_IMM | BPF_DW, reg, BPF_PSEUDO_FUNC, 0, 0)), sub,
		  true);
	emit(g, BPFU_INSN(0, 0, 0, 0, 0));
	g->p->needs_btf = true;
}

/* A callback's context: 16 initialised bytes of our stack. */
static void load_cb_ctx(struct gen *g, int reg)
{
	int area = stack_area(g, 16);

	stack_fill(g, area, 16);
	emit(g, BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_X, reg, 10, 0, 0));
	emit(g, BPFU_INSN(BPF_ALU64 | BPF_ADD | BPF_K, reg, 0, 0, area));
	g->st.r[reg].kind = K_NONE;
}

void gen_bpf_loop(struct gen *g)
{
	int idx;

	if (!can_call(g) || g->loops)
		return;
	idx = find_sub(g, g->depth + 1, true);
	if (idx < 0)
		return;
	g->subs[idx].args = 2;
	g->subs[idx].arg[0] = (struct reg){ .kind = K_SCALAR };
	g->subs[idx].arg[1] = (struct reg){ K_MEM, MEM_CALLER, 0, 0, 16 };
	load_cb_ctx(g, 3);
	if (rng_percent(&g->rng, 30)) {
		int src = scalar_src(g);

		if (src != 1)
			emit(g, BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_X, 1, src, 0, 0));
		emit(g, BPFU_INSN(BPF_ALU64 | BPF_AND | BPF_K, 1, 0, 0, 15));
		/* Linux 6.18 loses its way if it finds that a callback never runs. */
		emit(g, BPFU_INSN(BPF_ALU64 | BPF_OR | BPF_K, 1, 0, 0, 1));
		load_cb_ctx(g, 3); /* scalar_src() may have used r3 */
		g->st.r[1].kind = K_NONE;
	} else {
		emit(g, BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_K, 1, 0, 0, rng_range(&g->rng, 1, 20)));
		g->st.r[1].kind = K_NONE;
	}
	load_func(g, 2, idx);
	emit(g, BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_K, 4, 0, 0, rng_percent(&g->rng, 95) ? 0 : 1));
	emit(g, BPFU_INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_loop));
	clobber_call(g);
	forget(g, -1, MEM_ELEM);
}

void gen_for_each(struct gen *g)
{
	uint32_t size = g->maps[SLOT_ARRAY].value_size;
	int idx;

	if (!can_call(g) || g->loops)
		return;
	idx = find_sub(g, g->depth + 1, true);
	if (idx < 0)
		return;
	g->subs[idx].args = 4;
	g->subs[idx].arg[0] = (struct reg){ .kind = K_MAP, .map = SLOT_ARRAY };
	g->subs[idx].arg[1] = (struct reg){ K_MEM, MEM_KEY, SLOT_ARRAY, 0, 4 };
	g->subs[idx].arg[2] = (struct reg){ K_MEM, MEM_ARRAY, SLOT_ARRAY, 0, (uint16_t)size };
	g->subs[idx].arg[3] = (struct reg){ K_MEM, MEM_CALLER, 0, 0, 16 };
	load_cb_ctx(g, 3);
	load_map(g, 1, SLOT_ARRAY);
	load_func(g, 2, idx);
	emit(g, BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_K, 4, 0, 0, 0));
	emit(g, BPFU_INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_for_each_map_elem));
	clobber_call(g);
	forget(g, -1, MEM_ELEM);
}

void gen_tail_call(struct gen *g)
{
	int ctx = pick_kind(g, K_CTX);

	if (!g->maps[SLOT_PROGS].type || ctx < 0 || g->callback || g->loops || g->c->prog_cnt < 2)
		return;
	if (ctx != 1)
		emit(g, BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_X, 1, ctx, 0, 0));
	load_map(g, 2, SLOT_PROGS);
	emit(g, BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_K, 3, 0, 0, rng_range(&g->rng, 0, CASE_PROGS)));
	emit(g, BPFU_INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_tail_call));
	clobber_call(g);
	g->st.r[0].kind = K_NONE;
	forget(g, -1, MEM_ELEM);
	if (g->depth)
		g->p->needs_btf = true;
}

static void gen_body(struct gen *g, const struct sub *sub)
{
	memset(&g->st, 0, sizeof(g->st));
	g->depth = sub->depth;
	g->callback = sub->callback;
	g->locked = 0;
	g->nesting = g->loops = 0;
	g->frame = frame_size(g, 96);
	g->budget = rng_range(&g->rng, 3, sub->callback ? 20 : 40);
	for (uint32_t i = 0; i < sub->args; i++)
		g->st.r[i + 1] = sub->arg[i];
	if (sub->callback)
		g->loops = 1; /* it runs many times: as careful as in a loop */
	while (g->budget > 0)
		gen_block(g, 1);
	gen_exit(g);
}

void gen_subprogs(struct gen *g)
{
	/* Bodies call further subprograms; the list grows while we walk it. */
	for (uint32_t i = 1; i < g->p->subprog_cnt; i++) {
		g->p->subprog_start[i] = g->p->cnt;
		gen_body(g, &g->subs[i]);
	}
	for (uint32_t i = 0; i < g->fixup_cnt; i++) {
		const struct fixup *f = &g->fixups[i];

		g->p->insns[f->insn].imm = (int32_t)(g->p->subprog_start[f->sub] - f->insn - 1);
	}
}
