// SPDX-License-Identifier: BSD-2-Clause
#include "jit_gen.h"

const uint8_t jmp_ops[JMP_OPS] = { BPF_JEQ, BPF_JNE, BPF_JGT, BPF_JGE, BPF_JLT, BPF_JLE,
				   BPF_JSGT, BPF_JSGE, BPF_JSLT, BPF_JSLE, BPF_JSET };

uint32_t rnd(struct gen *g, uint32_t n)
{
	return (uint32_t)(rng_next(&g->rng) >> 33) % n;
}

void emit(struct gen *g, struct bpf_insn insn)
{
	g->insns[g->n++] = insn;
}

int32_t rnd_imm(struct gen *g)
{
	switch (rnd(g, 4)) {
	case 0:
		return (int32_t)rnd(g, 16) - 4;
	case 1:
		return (int32_t)(uint32_t)edge_values[rnd(g, edge_cnt)];
	case 2:
		return (int32_t)((1u << rnd(g, 32)) - rnd(g, 2));
	default:
		return (int32_t)rng_next(&g->rng);
	}
}

void set_scalar(struct gen *g, unsigned r)
{
	g->kind[r].ptr = false;
}

bool is_free(const struct gen *g, unsigned r)
{
	return !(g->reserved >> r & 1);
}

/* Often one of the same few, so that instructions meet each other's results. */
static unsigned any_reg(struct gen *g)
{
	if (!rnd(g, 12))
		g->hot = rnd(g, 10);
	return rnd(g, 3) ? (g->hot + rnd(g, 4)) % 10 : rnd(g, 10);
}

/* A register that may be written. */
static unsigned any_dst(struct gen *g)
{
	unsigned r;

	do
		r = any_reg(g);
	while (!is_free(g, r));
	return r;
}

/* A register that holds a number; made so if need be. @write: one that may be written. */
unsigned scalar(struct gen *g, bool write)
{
	for (int tries = 0; tries < 20; tries++) {
		unsigned r = any_reg(g);

		if (!g->kind[r].ptr && (!write || is_free(g, r)))
			return r;
	}
	for (;;) {
		unsigned r = any_dst(g);

		if (g->kind[r].ptr)
			emit(g, MOV_I(r, rnd_imm(g)));
		set_scalar(g, r);
		return r;
	}
}

const uint8_t alu_ops[ALU_OPS] = { BPF_ADD, BPF_SUB, BPF_MUL, BPF_DIV,  BPF_OR,  BPF_AND, BPF_LSH,
				   BPF_RSH, BPF_MOD, BPF_XOR, BPF_ARSH, BPF_MOV, BPF_ADD, BPF_MOV,
				   BPF_MOV, BPF_ADD };

void gen_alu(struct gen *g)
{
	uint8_t op = alu_ops[rnd(g, BPFU_ARRAY_SIZE(alu_ops))];
	uint8_t class = rnd(g, 2) ? BPF_ALU64 : BPF_ALU;
	bool imm = rnd(g, 2);
	unsigned d = op == BPF_MOV ? any_dst(g) : scalar(g, true);
	int32_t value = imm ? rnd_imm(g) : 0;
	int16_t off = 0;

	if (op == BPF_LSH || op == BPF_RSH || op == BPF_ARSH)
		value &= class == BPF_ALU64 ? 63 : 31;
	if (op == BPF_DIV || op == BPF_MOD)
		off = (int16_t)rnd(g, 2);
	if (op == BPF_MOV && !imm && !rnd(g, 4))
		off = (int16_t)(8 << rnd(g, class == BPF_ALU64 ? 3 : 2));
	if (imm)
		emit(g, BPFU_INSN(class | op | BPF_K, d, 0, off, value));
	else
		emit(g, BPFU_INSN(class | op | BPF_X, d, scalar(g, false), off, 0));
	set_scalar(g, d);
}

void gen_unary(struct gen *g)
{
	static const uint64_t big[] = { 0x7fee00000000, 0x7fee00000008, 0x7fee10000000,
					0xdeadbeefcafe, 1ull << 63, 0x100000001b3 };
	unsigned d = scalar(g, true);
	int32_t width = 16 << rnd(g, 3);
	uint64_t imm;

	switch (rnd(g, 7)) {
	case 5:
	case 6:
		imm = rnd(g, 4) ? big[rnd(g, BPFU_ARRAY_SIZE(big))] : rng_next(&g->rng);
		emit(g, LD64_LO(d, 0, imm));
		emit(g, LD64_HI(imm));
		break;
	case 0:
		emit(g, BPFU_INSN(BPF_ALU64 | BPF_NEG, d, 0, 0, 0));
		break;
	case 1:
		emit(g, BPFU_INSN(BPF_ALU | BPF_NEG, d, 0, 0, 0));
		break;
	case 2:
		emit(g, BPFU_INSN(BPF_ALU | BPF_END | BPF_TO_LE, d, 0, 0, width));
		break;
	case 3:
		emit(g, BPFU_INSN(BPF_ALU | BPF_END | BPF_TO_BE, d, 0, 0, width));
		break;
	default:
		emit(g, BPFU_INSN(BPF_ALU64 | BPF_END | BPF_TO_LE, d, 0, 0, width));
	}
}

/* ---- pointers ---- */

static void set_ptr(struct gen *g, unsigned r, int lo, int hi)
{
	g->kind[r] = (struct kind){ true, lo, hi };
}

void point_anew(struct gen *g, unsigned r, int off)
{
	emit(g, MOV_R(r, R10));
	emit(g, ALU64_I(BPF_ADD, r, -off));
	set_ptr(g, r, off, off);
}

/* A pointer register, with what may lie between it and r10 through *@k. Maybe r10 itself. */
static unsigned pointer(struct gen *g, struct kind *k)
{
	for (int tries = 0; tries < 12; tries++) {
		unsigned r = rnd(g, 11);

		if (r == R10) {
			*k = (struct kind){ true, 0, 0 };
			return r;
		}
		if (g->kind[r].ptr) {
			*k = g->kind[r];
			return r;
		}
	}
	for (;;) {
		unsigned r = any_dst(g);

		point_anew(g, r, 8 * (int)(1 + rnd(g, STACK / 8)));
		*k = g->kind[r];
		return r;
	}
}

void gen_pointer(struct gen *g)
{
	unsigned r = any_dst(g), s = any_dst(g), idx;
	struct kind k;
	int delta;

	switch (rnd(g, 4)) {
	case 0:
		point_anew(g, r, 8 * (int)(1 + rnd(g, STACK / 8)));
		break;
	case 1: /* copy, perhaps moved */
		s = pointer(g, &k);
		r = any_dst(g);
		emit(g, MOV_R(r, s));
		set_ptr(g, r, k.lo, k.hi);
		if (rnd(g, 2))
			break;
		/* fallthrough */
	case 2: /* move */
		if (!g->kind[r].ptr)
			return;
		delta = 8 * ((int)rnd(g, 5) - 2);
		if (g->kind[r].lo - delta < 8 || g->kind[r].hi - delta > STACK)
			return;
		emit(g, rnd(g, 2) ? ALU64_I(BPF_ADD, r, delta) : ALU64_I(BPF_SUB, r, -delta));
		g->kind[r].lo -= delta;
		g->kind[r].hi -= delta;
		break;
	default: /* plus a scaled index: r = s + idx * 8 */
		s = pointer(g, &k);
		if (k.lo < 40 || s == R10)
			return;
		idx = scalar(g, true);
		do
			r = any_dst(g);
		while (r == idx);
		emit(g, ALU64_I(BPF_AND, idx, 3));
		emit(g, rnd(g, 2) ? ALU64_I(BPF_LSH, idx, 3) : ALU64_I(BPF_MUL, idx, 8));
		if (is_free(g, s) && g->kind[s].ptr && rnd(g, 2))
			r = s; /* in place */
		else
			emit(g, MOV_R(r, s));
		emit(g, ALU64_R(BPF_ADD, r, idx));
		set_ptr(g, r, k.lo - 24, k.hi);
		if (rnd(g, 2)) { /* over the index, or the pointer itself */
			s = rnd(g, 2) ? idx : r;
			emit(g, LDX(BPF_DW, s, r, (int16_t)(8 * (int)rnd(g, 2))));
			set_scalar(g, s);
		}
	}
}

/* Offset for an access of @size bytes through a pointer of kind @k: within the frame. */
static int16_t access_off(struct gen *g, struct kind k, int size, bool aligned)
{
	int lo = k.hi - STACK, hi = k.lo - size; /* lo <= off <= hi */
	int off = lo + (int)rnd(g, (uint32_t)(hi - lo + 1));

	if (aligned) {
		off = off & -size;
		if (off < lo)
			off += size;
	}
	return (int16_t)off;
}

void gen_mem(struct gen *g)
{
	static const uint8_t codes[] = { BPF_B, BPF_H, BPF_W, BPF_DW };
	static const int32_t atomics[] = { BPF_ADD, BPF_OR, BPF_AND, BPF_XOR, BPF_ADD | BPF_FETCH,
					   BPF_OR | BPF_FETCH, BPF_AND | BPF_FETCH,
					   BPF_XOR | BPF_FETCH, BPF_XCHG, BPF_CMPXCHG };
	unsigned z = rnd(g, 4), what = rnd(g, 8), d, p;
	int size = 1 << z;
	struct kind k;
	int32_t op;

	d = scalar(g, true);
	p = pointer(g, &k);
	if (k.lo < 8)
		k.lo = k.hi = 0;
	if (what < 4) {
		uint8_t mode = what == 0 && z < 3 ? BPF_MEMSX : what == 1 ? BPFU_PROBE_MEM : BPF_MEM;

		d = any_dst(g);
		emit(g, BPFU_INSN(BPF_LDX | mode | codes[z], d, p, access_off(g, k, size, false), 0));
		set_scalar(g, d);
	} else if (what < 6) {
		if (g->kind[d].ptr) /* became one as the pointer was made */
			return;
		emit(g, STX(codes[z], p, access_off(g, k, size, false), d));
	} else if (what == 6) {
		emit(g, ST(codes[z], p, access_off(g, k, size, false), rnd_imm(g)));
	} else {
		z = 2 + rnd(g, 2);
		size = 1 << z;
		op = atomics[rnd(g, BPFU_ARRAY_SIZE(atomics))];
		if (g->kind[d].ptr || k.lo % 8 || k.hi % 8)
			return;
		if (op == BPF_CMPXCHG && (g->kind[0].ptr || !is_free(g, 0)))
			return;
		emit(g, ATOMIC(codes[z], p, access_off(g, k, size, true), d, op));
	}
}
