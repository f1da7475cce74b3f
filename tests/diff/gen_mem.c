// SPDX-License-Identifier: BSD-2-Clause
/* Loads, stores, atomics and pointer arithmetic, on the stack and on regions behind pointers. */
#include "gen.h"

static const uint8_t size_codes[] = { BPF_B, BPF_H, BPF_W, BPF_DW };

/* ---- stack ---- */

/* Bytes [off, off + size) of the frame hold scalar data now. */
void stack_mark(struct gen *g, int off, uint32_t size)
{
	for (uint32_t i = 0; i < size; i++) {
		g->st.init[BPFU_STACK_SIZE + off + i] = true;
		g->st.spill[(BPFU_STACK_SIZE + off + i) / 8].kind = K_NONE;
	}
}

static bool stack_is_init(const struct gen *g, int off, uint32_t size)
{
	for (uint32_t i = 0; i < size; i++)
		if (!g->st.init[BPFU_STACK_SIZE + off + i])
			return false;
	return true;
}

static int stack_offset(struct gen *g, uint32_t size)
{
	return -(int)size * rng_range(&g->rng, 1, (int)(g->frame / size));
}

int stack_area(struct gen *g, uint32_t size)
{
	uint32_t rounded = BPFU_ROUND_UP(size, 8);

	if (rounded > g->frame)
		return 0;
	return -(int)rounded - 8 * rng_range(&g->rng, 0, (int)(g->frame - rounded) / 8);
}

/* A slot that is about to be written partly must not keep bytes of a spilled pointer. */
static void unspill(struct gen *g, int off)
{
	struct reg *slot = &g->st.spill[(BPFU_STACK_SIZE + off) / 8];
	int base = off & ~7;

	if (slot->kind == K_NONE)
		return;
	slot->kind = K_NONE;
	for (int i = 0; i < 8; i++)
		g->st.init[BPFU_STACK_SIZE + base + i] = false;
}

static void stack_put(struct gen *g, int off, uint32_t log)
{
	uint8_t mode = BPF_MEM | size_codes[log];

	if (log < 3)
		unspill(g, off);
	if (rng_percent(&g->rng, 50))
		emit(g, BPFU_INSN(BPF_ST | mode, 10, 0, (int16_t)off, rand_imm(g)));
	else
		emit(g, BPFU_INSN(BPF_STX | mode, 10, scalar_src(g), (int16_t)off, 0));
	stack_mark(g, off, 1u << log);
}

void stack_fill(struct gen *g, int off, uint32_t size)
{
	for (uint32_t i = 0; i < size; i += 8)
		stack_put(g, off + (int)i, 3);
}

void gen_stack_store(struct gen *g)
{
	uint32_t log = rng_below(&g->rng, 4);

	stack_put(g, stack_offset(g, 1u << log), log);
}

void gen_stack_load(struct gen *g)
{
	for (int tries = 0; tries < 6; tries++) {
		uint32_t log = rng_below(&g->rng, 4);
		int off = stack_offset(g, 1u << log), dst;

		if (!stack_is_init(g, off, 1u << log))
			continue;
		dst = pick_dst(g);
		emit(g,
		     BPFU_INSN(BPF_LDX |
				       (log < 3 && rng_percent(&g->rng, 30) ? BPF_MEMSX : BPF_MEM) |
				       size_codes[log],
			       dst, 10, (int16_t)off, 0));
		set_scalar(g, dst);
		return;
	}
	gen_stack_store(g);
}

void gen_spill(struct gen *g)
{
	int reg = pick_kind(g, rng_percent(&g->rng, 70) ? K_MEM : K_CTX);
	int off = stack_offset(g, 8);

	if (reg < 0)
		return;
	emit(g, BPFU_INSN(BPF_STX | BPF_MEM | BPF_DW, 10, reg, (int16_t)off, 0));
	for (int i = 0; i < 8; i++)
		g->st.init[BPFU_STACK_SIZE + off + i] = false;
	g->st.spill[(BPFU_STACK_SIZE + off) / 8] = g->st.r[reg];
}

void gen_fill(struct gen *g)
{
	int first = rng_below(&g->rng, BPFU_STACK_SIZE / 8);

	for (int i = 0; i < BPFU_STACK_SIZE / 8; i++) {
		int slot = (first + i) % (BPFU_STACK_SIZE / 8);
		int dst;

		if (g->st.spill[slot].kind == K_NONE)
			continue;
		dst = pick_dst(g);
		emit(g, BPFU_INSN(BPF_LDX | BPF_MEM | BPF_DW, dst, 10,
				  (int16_t)(slot * 8 - BPFU_STACK_SIZE), 0));
		g->st.r[dst] = g->st.spill[slot];
		return;
	}
}

/* ---- regions ---- */

static bool wants_alignment(const struct gen *g, const struct reg *r)
{
	return r->class == MEM_CALLER || r->class == MEM_CTX;
}

/* Pick size and displacement of an access inside the region of @r; false if nothing fits. */
static bool pick_access(struct gen *g, const struct reg *r, uint32_t *log, int *disp)
{
	for (int tries = 0; tries < 4; tries++) {
		uint32_t bytes;
		int at;

		*log = rng_below(&g->rng, 4);
		bytes = 1u << *log;
		if (bytes > r->size)
			continue;
		at = rng_below(&g->rng, r->size - bytes + 1);
		if (wants_alignment(g, r) || rng_percent(&g->rng, 80))
			at -= at % (int)bytes;
		*disp = at - r->off;
		return true;
	}
	return false;
}

static void access_region(struct gen *g, int base, const struct reg *r, int disp, uint32_t log)
{
	uint8_t size = size_codes[log];
	int dst;

	if (r->class == MEM_KEY || rng_percent(&g->rng, 55)) {
		bool sx = log < 3 && r->class != MEM_CTX && rng_percent(&g->rng, 30);

		dst = pick_dst(g);
		emit(g, BPFU_INSN(BPF_LDX | (sx ? BPF_MEMSX : BPF_MEM) | size, dst, base,
				  (int16_t)disp, 0));
		set_scalar(g, dst);
	} else if (rng_percent(&g->rng, 40)) {
		emit(g, BPFU_INSN(BPF_ST | BPF_MEM | size, base, 0, (int16_t)disp, rand_imm(g)));
	} else {
		int src = scalar_src(g);

		/* scalar_src() may have made a scalar of the pointer's register */
		if (g->st.r[base].kind == K_MEM)
			emit(g, BPFU_INSN(BPF_STX | BPF_MEM | size, base, src, (int16_t)disp, 0));
	}
}

void gen_mem(struct gen *g)
{
	int base = pick_kind(g, K_MEM), disp;
	uint32_t log;
	struct reg r;

	if (base < 0)
		return;
	r = g->st.r[base];
	if (pick_access(g, &r, &log, &disp))
		access_region(g, base, &r, disp, log);
}

/* A variable offset, bounded by a mask: ptr2 = ptr + (scalar & mask). */
void gen_mem_var(struct gen *g)
{
	int base = pick_kind(g, K_MEM), idx, ptr;
	uint32_t log, span;
	struct reg r;

	if (base < 0)
		return;
	r = g->st.r[base];
	log = rng_below(&g->rng, 4);
	if (r.class == MEM_CALLER || r.class == MEM_PACKET || r.class == MEM_CTX || r.off != 0 ||
	    r.size < 2u << log)
		return;
	idx = scalar_dst(g);
	ptr = pick_dst(g);
	if (ptr == idx || g->st.r[base].kind != K_MEM || g->locked & 1u << ptr)
		return;
	for (span = 1; span * 2 <= r.size - (1u << log) + 1; span *= 2)
		;
	emit(g, BPFU_INSN((rng_percent(&g->rng, 50) ? BPF_ALU64 : BPF_ALU) | BPF_AND | BPF_K, idx,
			  0, 0, (int32_t)((span - 1) & ~((1u << log) - 1))));
	if (ptr != base)
		emit(g, BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_X, ptr, base, 0, 0));
	emit(g, BPFU_INSN(BPF_ALU64 | BPF_ADD | BPF_X, ptr, idx, 0, 0));
	g->st.r[ptr] = r;
	access_region(g, ptr, &r, 0, log);
	if (g->st.r[ptr].kind == K_MEM)
		g->st.r[ptr].kind = K_NONE;
}

void gen_ptr_copy(struct gen *g)
{
	int src = pick_kind(g, rng_percent(&g->rng, 75) ? K_MEM : K_CTX);
	int dst = pick_dst(g);
	int add;

	if (src < 0)
		return;
	emit(g, BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0, 0));
	g->st.r[dst] = g->st.r[src];
	if (g->st.r[dst].kind != K_MEM || g->st.r[dst].class == MEM_CTX || rng_percent(&g->rng, 50))
		return;
	add = rng_range(&g->rng, 0, g->st.r[dst].size) - g->st.r[dst].off;
	if (g->st.r[dst].class != MEM_CALLER && rng_percent(&g->rng, 30)) /* not from a stack's */
		emit(g, BPFU_INSN(BPF_ALU64 | BPF_SUB | BPF_K, dst, 0, 0, -add));
	else
		emit(g, BPFU_INSN(BPF_ALU64 | BPF_ADD | BPF_K, dst, 0, 0, add));
	g->st.r[dst].off = (int16_t)(g->st.r[dst].off + add);
}

/* The address of an array's value as a constant. */
void gen_map_value(struct gen *g)
{
	enum map_slot slot = g->maps[SLOT_ARRAY].max_entries == 1 && rng_percent(&g->rng, 50) ?
				     SLOT_ARRAY :
				     SLOT_OUT;
	uint32_t size = g->maps[slot].value_size;
	int dst = pick_dst(g);
	int32_t off = rng_percent(&g->rng, 50) ? 0 : 8 * (int32_t)rng_below(&g->rng, size / 8);

	emit(g, BPFU_INSN(BPF_LD | BPF_IMM | BPF_DW, dst, BPF_PSEUDO_MAP_VALUE, 0, slot));
	emit(g, BPFU_INSN(0, 0, 0, 0, off));
	g->c->maps_used |= 1u << slot;
	g->st.r[dst] = (struct reg){ K_MEM, MEM_ARRAY, slot, (int16_t)off, (uint16_t)size };
}

/* ---- atomics ---- */

/* An operand that atomics may address: an aligned place of a map value or of the own stack. */
static bool atomic_place(struct gen *g, uint32_t bytes, int *base, int *disp)
{
	struct reg r;

	*base = pick_kind(g, K_MEM);
	if (*base >= 0 && rng_percent(&g->rng, 70)) {
		r = g->st.r[*base];
		if (r.class == MEM_ARRAY || r.class == MEM_ELEM || r.class == MEM_CALLER) {
			*disp = (int)(bytes * rng_below(&g->rng, r.size / bytes)) - r.off;
			return true;
		}
	}
	*base = 10;
	*disp = stack_offset(g, bytes);
	return stack_is_init(g, *disp, bytes);
}

static void gen_ordered(struct gen *g)
{
	uint32_t log = rng_below(&g->rng, 4);
	uint8_t code = BPF_STX | BPF_ATOMIC | size_codes[log];
	int base, disp, reg;

	if (!atomic_place(g, 1u << log, &base, &disp))
		return;
	if (rng_percent(&g->rng, 50)) {
		reg = pick_dst(g);
		emit(g, BPFU_INSN(code, reg, base, (int16_t)disp, BPF_LOAD_ACQ));
		set_scalar(g, reg);
		return;
	}
	reg = scalar_src(g);
	if (base == 10 || g->st.r[base].kind == K_MEM)
		emit(g, BPFU_INSN(code, base, reg, (int16_t)disp, BPF_STORE_REL));
}

void gen_atomic(struct gen *g)
{
	static const int32_t ops[] = { BPF_ADD,
				       BPF_OR,
				       BPF_AND,
				       BPF_XOR,
				       BPF_ADD | BPF_FETCH,
				       BPF_OR | BPF_FETCH,
				       BPF_AND | BPF_FETCH,
				       BPF_XOR | BPF_FETCH,
				       BPF_XCHG,
				       BPF_CMPXCHG };
	int32_t op = ops[rng_below(&g->rng, BPFU_ARRAY_SIZE(ops))];
	uint8_t size = rng_percent(&g->rng, 50) ? BPF_DW : BPF_W;
	int base, disp, src;

	if (rng_percent(&g->rng, 15)) {
		gen_ordered(g);
		return;
	}
	src = scalar_dst(g);
	if (op == BPF_CMPXCHG && (g->st.r[0].kind != K_SCALAR || g->locked & 1))
		return;
	if (!atomic_place(g, size == BPF_DW ? 8 : 4, &base, &disp))
		return;
	emit(g, BPFU_INSN(BPF_STX | BPF_ATOMIC | size, base, src, (int16_t)disp, op));
}
