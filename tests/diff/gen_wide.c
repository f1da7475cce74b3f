// SPDX-License-Identifier: BSD-2-Clause
/*
 * Loops that copy, fill or add up memory, one part at a time, as compilers make them: the JITs take many
 * parts at once (lib/jit/idiom.h). Source and destination may overlap in any way.
 */
#include "gen.h"

static const uint8_t size_codes[] = { BPF_B, BPF_H, BPF_W, BPF_DW };

enum wide_kind { WIDE_COPY, WIDE_FILL, WIDE_SUM, WIDE_KINDS };

struct wide {
	enum wide_kind kind;
	uint32_t log;
	int count;		   /* counter */
	int ptr, value, limit;	   /* temporaries */
	int sum;		   /* or what is stored */
	int32_t bytes;		   /* in all */
	int32_t load_off, store_off; /* into the map's value, or of the stack */
	bool to_stack;
};

/* @cnt different registers that may be overwritten, none of them in @taken. */
static bool pick_regs(struct gen *g, int *regs, int cnt, uint16_t taken)
{
	for (int i = 0; i < cnt; i++) {
		int tries = 0;

		do
			regs[i] = pick_dst(g);
		while (taken >> regs[i] & 1 && ++tries < 30);
		if (tries == 30)
			return false;
		taken |= (uint16_t)(1u << regs[i]);
	}
	return true;
}

/* ptr = base + counter; returns the displacement. */
static int16_t emit_place(struct gen *g, const struct wide *w, bool stack, int32_t off)
{
	int16_t disp = 0;

	if (stack) {
		emit(g, BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_X, w->ptr, 10, 0, 0));
		disp = (int16_t)off;
	} else {
		emit(g, BPFU_INSN(BPF_LD | BPF_IMM | BPF_DW, w->ptr, BPF_PSEUDO_MAP_VALUE, 0, SLOT_OUT));
		emit(g, BPFU_INSN(0, 0, 0, 0, off));
	}
	emit(g, BPFU_INSN(BPF_ALU64 | BPF_ADD | BPF_X, w->ptr, w->count, 0, 0));
	return disp;
}

static void emit_body(struct gen *g, const struct wide *w)
{
	uint8_t size = size_codes[w->log];
	int16_t disp;

	if (w->kind != WIDE_FILL) {
		disp = emit_place(g, w, false, w->load_off);
		emit(g, BPFU_INSN(BPF_LDX | BPF_MEM | size, w->value, w->ptr, disp, 0));
	}
	if (w->kind == WIDE_SUM) {
		emit(g, BPFU_INSN((rng_percent(&g->rng, 50) ? BPF_ALU64 : BPF_ALU) | BPF_ADD | BPF_X,
				  w->sum, w->value, 0, 0));
		return;
	}
	if (w->kind == WIDE_COPY) {
		disp = emit_place(g, w, w->to_stack, w->store_off);
		emit(g, BPFU_INSN(BPF_STX | BPF_MEM | size, w->ptr, w->value, disp, 0));
	} else if (rng_percent(&g->rng, 30)) {
		emit(g, BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_X, w->value, w->count, 0, 0));
		emit(g, BPFU_INSN(BPF_ALU64 | BPF_AND | BPF_K, w->value, 0, 0,
				  (1 << rng_below(&g->rng, 6)) - 1));
		disp = emit_place(g, w, w->to_stack, w->store_off);
		emit(g, BPFU_INSN(BPF_STX | BPF_MEM | size, w->ptr, w->value, disp, 0));
	} else {
		disp = emit_place(g, w, w->to_stack, w->store_off);
		if (rng_percent(&g->rng, 50))
			emit(g, BPFU_INSN(BPF_ST | BPF_MEM | size, w->ptr, 0, disp, rand_imm(g)));
		else
			emit(g, BPFU_INSN(BPF_STX | BPF_MEM | size, w->ptr, w->sum, disp, 0));
	}
}

/* The limit as a number, in a register, or in one that only the verifier has bounds of. */
static void emit_start(struct gen *g, const struct wide *w, int limit_form)
{
	int32_t step = 1 << w->log;

	if (limit_form)
		emit(g, BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_K, w->limit, 0, 0, w->bytes));
	if (limit_form == 2) {
		emit(g, BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_X, w->limit, w->sum, 0, 0));
		emit(g, BPFU_INSN(BPF_ALU64 | BPF_AND | BPF_K, w->limit, 0, 0, 63 & -step));
		emit(g, BPFU_INSN(BPF_ALU64 | BPF_ADD | BPF_K, w->limit, 0, 0, step));
	}
	emit(g, BPFU_INSN((rng_percent(&g->rng, 50) ? BPF_ALU64 : BPF_ALU) | BPF_MOV | BPF_K, w->count, 0, 0,
			  0));
	if (rng_percent(&g->rng, 40)) { /* where it starts is no longer known, but to the verifier */
		emit(g, BPFU_INSN(BPF_JMP | BPF_JEQ | BPF_K, w->sum, 0, 1, rand_imm(g)));
		emit(g, BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_K, w->value, 0, 0, rand_imm(g)));
	}
}

static void emit_back(struct gen *g, const struct wide *w, int limit_form, uint32_t head)
{
	static const uint8_t on[] = { BPF_JNE, BPF_JLT, BPF_JSLT }, out[] = { BPF_JEQ, BPF_JGE, BPF_JSGE };
	uint32_t op = limit_form == 2 ? 1 + rng_below(&g->rng, 2) : rng_below(&g->rng, 3);
	uint8_t class = (rng_percent(&g->rng, 30) ? BPF_JMP32 : BPF_JMP) | (limit_form ? BPF_X : BPF_K);
	int32_t imm = limit_form ? 0 : w->bytes;
	int src = limit_form ? w->limit : 0;

	emit(g, BPFU_INSN(BPF_ALU64 | BPF_ADD | BPF_K, w->count, 0, 0, 1 << w->log));
	if (rng_percent(&g->rng, 50)) {
		emit(g, BPFU_INSN(class | on[op], w->count, src, 0, imm));
	} else {
		emit(g, BPFU_INSN(class | out[op], w->count, src, 1, imm));
		emit(g, BPFU_INSN(BPF_JMP | BPF_JA, 0, 0, 0, 0));
	}
	g->p->insns[g->p->cnt - 1].off = (int16_t)((int32_t)head - (int32_t)g->p->cnt);
}

void gen_wide(struct gen *g)
{
	struct wide w = { .kind = (enum wide_kind)rng_below(&g->rng, WIDE_KINDS),
			  .log = rng_below(&g->rng, 4) };
	int limit_form = rng_below(&g->rng, 3), regs[4], room = OUT_VALUE_SIZE / 2;
	uint32_t head;

	/* What the verifier has to follow for each limit by itself. */
	if (limit_form == 2 && (w.log < 2 || g->loops || g->callback))
		limit_form = 1;
	w.sum = w.kind == WIDE_SUM ? scalar_dst(g) : scalar_src(g);
	if (!pick_regs(g, regs, 4, (uint16_t)(1u << w.sum)))
		return;
	w.count = regs[0];
	w.ptr = regs[1];
	w.value = regs[2];
	w.limit = regs[3];
	w.to_stack = w.kind != WIDE_SUM && limit_form != 2 && rng_percent(&g->rng, 30);
	w.bytes = 8 * rng_range(&g->rng, 1, (g->loops ? 32 : room) / 8);
	w.load_off = (int32_t)rng_below(&g->rng, (uint32_t)(OUT_VALUE_SIZE - room + 1)) & -(1 << w.log);
	w.store_off = (int32_t)rng_below(&g->rng, (uint32_t)(OUT_VALUE_SIZE - room + 1)) & -(1 << w.log);
	if (rng_percent(&g->rng, 50)) /* close together */
		w.store_off = BPFU_MIN(w.load_off + (rng_range(&g->rng, 0, 5) << w.log), OUT_VALUE_SIZE - room);
	if (w.to_stack) {
		w.store_off = stack_area(g, (uint32_t)w.bytes);
		if (!w.store_off)
			return;
	}
	g->c->maps_used |= 1u << SLOT_OUT;
	emit_start(g, &w, limit_form);
	head = g->p->cnt;
	emit_body(g, &w);
	emit_back(g, &w, limit_form, head);
	for (int i = 0; i < 4; i++)
		g->st.r[regs[i]].kind = K_NONE;
	set_scalar(g, w.count);
	if (w.kind != WIDE_FILL)
		set_scalar(g, w.value);
	if (limit_form)
		set_scalar(g, w.limit);
	if (w.to_stack)
		stack_mark(g, w.store_off, (uint32_t)w.bytes);
}
