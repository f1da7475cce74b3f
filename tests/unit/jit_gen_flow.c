// SPDX-License-Identifier: BSD-2-Clause
/* Control flow of random programs: branches, loops, calls, and functions made of them. */
#include "jit_gen.h"

#include <string.h>

/* After code that may or may not have run: registers whose kind it changed become numbers. */
static void merge(struct gen *g, const struct kind *before)
{
	for (unsigned r = 0; r < 10; r++) {
		const struct kind *b = &before[r], *a = &g->kind[r];

		if (b->ptr == a->ptr && (!a->ptr || (a->lo == b->lo && a->hi == b->hi)))
			continue;
		emit(g, MOV_I(r, rnd_imm(g)));
		set_scalar(g, r);
	}
}

static struct bpf_insn rnd_cond(struct gen *g)
{
	uint8_t code = (rnd(g, 2) ? BPF_JMP : BPF_JMP32) | jmp_ops[rnd(g, BPFU_ARRAY_SIZE(jmp_ops))];
	unsigned d = scalar(g, false);

	if (rnd(g, 2)) {
		unsigned s = scalar(g, false);

		if (!g->kind[d].ptr)
			return BPFU_INSN(code | BPF_X, d, s, 0, 0);
	}
	return BPFU_INSN(code | BPF_K, g->kind[d].ptr ? scalar(g, false) : d, 0, 0, rnd_imm(g));
}

static void gen_if(struct gen *g)
{
	struct kind before[10];
	struct bpf_insn cond = rnd_cond(g);
	uint32_t at = g->n, over;
	bool inverted = !rnd(g, 4); /* if (c) goto body; goto out; */

	memcpy(before, g->kind, sizeof(before));
	emit(g, cond);
	if (inverted) {
		g->insns[at].off = 1;
		at = g->n;
		emit(g, JA(0));
	}
	gen_block(g, 1 + rnd(g, 8));
	if (!g->straight && !rnd(g, 12)) {
		gen_result(g);
		emit(g, EXIT());
		memcpy(g->kind, before, sizeof(before));
		g->insns[at].off = (int16_t)(g->n - at - 1);
		return;
	}
	if (rnd(g, 3)) {
		g->insns[at].off = (int16_t)(g->n - at - 1);
		merge(g, before);
		return;
	}
	/* else */
	over = g->n;
	emit(g, JA(0));
	g->insns[at].off = (int16_t)(g->n - at - 1);
	{
		struct kind then[10], was[10];

		memcpy(then, g->kind, sizeof(then));
		memcpy(was, before, sizeof(was));
		memcpy(g->kind, before, sizeof(before));
		gen_block(g, 1 + rnd(g, 5));
		g->insns[over].off = (int16_t)(g->n - over - 1);
		merge(g, then);
		/* what the first half changed and the second did not is covered: kinds differ */
	}
}

static void gen_loop(struct gen *g)
{
	struct kind before[10];
	unsigned counter = scalar(g, true);
	uint32_t top;

	if (g->loops >= 2)
		return;
	emit(g, MOV_I(counter, (int32_t)(1 + rnd(g, 5))));
	g->reserved |= 1u << counter;
	g->loops++;
	memcpy(before, g->kind, sizeof(before));
	top = g->n;
	gen_block(g, 2 + rnd(g, 8));
	/* Back to what the top expects. */
	for (unsigned r = 0; r < 10; r++) {
		const struct kind *b = &before[r], *a = &g->kind[r];

		if (b->ptr && (!a->ptr || a->lo != b->lo || a->hi != b->hi)) {
			point_anew(g, r, b->lo);
			*(&g->kind[r]) = *b;
		} else if (!b->ptr && a->ptr) {
			emit(g, MOV_I(r, rnd_imm(g)));
			set_scalar(g, r);
		}
	}
	if (rnd(g, 2)) {
		emit(g, ALU64_I(BPF_ADD, counter, -1));
		emit(g, JMP_I(BPF_JNE, counter, 0, (int16_t)(top - g->n - 1)));
	} else { /* as clang likes it: if (done) skip; goto top */
		emit(g, ALU32_I(BPF_SUB, counter, 1));
		emit(g, JMP_I(BPF_JEQ, counter, 0, 1));
		emit(g, JA((int16_t)(top - g->n - 1)));
	}
	g->loops--;
	g->reserved &= (uint16_t)~(1u << counter);
}

static void gen_call(struct gen *g)
{
	if (g->leaf)
		return;
	for (unsigned r = 0; r <= 5; r++)
		if (!is_free(g, r))
			return;
	for (unsigned r = 1; r <= 5; r++)
		if (g->kind[r].ptr) {
			emit(g, MOV_I(r, rnd_imm(g)));
			set_scalar(g, r);
		}
	if (g->func + 1 < FUNCS && rnd(g, 2) && g->calls < BPFU_ARRAY_SIZE(g->call_at)) {
		g->call_at[g->calls] = g->n;
		g->call_to[g->calls++] = g->func + 1 + rnd(g, FUNCS - g->func - 1);
		emit(g, CALL_REL(0));
	} else {
		emit(g, CALL(HELPER_MIX));
	}
	set_scalar(g, 0);
	for (unsigned r = 1; r <= 5; r++) {
		if (rnd(g, 4))
			emit(g, MOV_I(r, rnd_imm(g)));
		else
			emit(g, MOV_R(r, R0));
		set_scalar(g, r);
	}
}

void gen_block(struct gen *g, uint32_t len)
{
	g->depth++;
	while (len-- && g->n < MAX_INSNS - 600) {
		switch (rnd(g, 17)) {
		case 0:
		case 1:
			if (g->depth < 5)
				gen_if(g);
			break;
		case 2:
			if (g->depth < 4)
				gen_loop(g);
			break;
		case 3:
			gen_call(g);
			break;
		case 4:
			gen_unary(g);
			break;
		case 5:
		case 6:
			gen_pointer(g);
			break;
		case 16:
			gen_join(g);
			break;
		case 7:
		case 8:
		case 9:
			gen_mem(g);
			break;
		case 10:
			switch (rnd(g, 3)) {
			case 0:
				gen_idiom(g);
				break;
			case 1:
				gen_load_idiom(g);
				break;
			default:
				gen_choice(g);
			}
			break;
		default:
			gen_alu(g);
		}
	}
	g->depth--;
}

/* r0 = a hash of all numbers in registers and of the stack */
void gen_result(struct gen *g)
{
	unsigned t = R0;

	if (g->kind[0].ptr)
		emit(g, MOV_I(R0, 1));
	for (unsigned r = 1; r < 10; r++) {
		if (g->kind[r].ptr)
			continue;
		emit(g, ALU64_I(BPF_MUL, R0, 31));
		emit(g, ALU64_R(BPF_XOR, R0, r));
		t = r;
	}
	if (t == R0)
		t = R1;
	for (int off = 8; off <= STACK; off += 8) {
		emit(g, LDX(BPF_DW, t, R10, (int16_t)-off));
		emit(g, ALU64_I(BPF_MUL, R0, 37));
		emit(g, ALU64_R(BPF_ADD, R0, t));
	}
}

void gen_func(struct gen *g, unsigned func)
{
	bool uses_stack = true;

	g->func = func;
	g->reserved = 0;
	g->leaf = !rnd(g, 3);
	memset(g->kind, 0, sizeof(g->kind));
	if (!func) {
		for (unsigned r = 0; r < 10; r++)
			if (r != 1)
				emit(g, LDX(BPF_DW, r, R1, (int16_t)(8 * r)));
		emit(g, LDX(BPF_DW, R1, R1, 8));
	} else {
		emit(g, MOV_I(R0, rnd_imm(g)));
		for (unsigned r = 6; r < 10; r++)
			emit(g, rnd(g, 2) ? MOV_R(r, r - 5) : MOV_I(r, rnd_imm(g)));
	}
	for (int off = 8; uses_stack && off <= STACK; off += 8)
		emit(g, rnd(g, 2) ? ST(BPF_DW, R10, (int16_t)-off, rnd_imm(g)) :
				    STX(BPF_DW, R10, (int16_t)-off, rnd(g, 10)));
	gen_block(g, 5 + rnd(g, 40));
	gen_result(g);
	emit(g, EXIT());
}
