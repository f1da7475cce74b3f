// SPDX-License-Identifier: BSD-2-Clause
/* Map operations and other helper calls whose results are the same everywhere. */
#include "gen.h"

static void emit_call(struct gen *g, int32_t helper)
{
	emit(g, BPFU_INSN(BPF_JMP | BPF_CALL, 0, 0, 0, helper));
	clobber_call(g);
}

static void mov_reg(struct gen *g, int dst, int src)
{
	emit(g, BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0, 0));
}

static void mov_imm(struct gen *g, int dst, int32_t imm)
{
	emit(g, BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_K, dst, 0, 0, imm));
}

static void stack_addr(struct gen *g, int dst, int off)
{
	mov_reg(g, dst, 10);
	emit(g, BPFU_INSN(BPF_ALU64 | BPF_ADD | BPF_K, dst, 0, 0, off));
}

void load_map(struct gen *g, int reg, enum map_slot slot)
{
	emit(g, BPFU_INSN(BPF_LD | BPF_IMM | BPF_DW, reg, BPF_PSEUDO_MAP_FD, 0, slot));
	emit(g, BPFU_INSN(0, 0, 0, 0, 0));
	g->c->maps_used |= 1u << slot;
}

static bool is_array(enum map_slot slot)
{
	return slot == SLOT_OUT || slot == SLOT_ARRAY || slot == SLOT_PERCPU_ARRAY;
}

static enum map_slot pick_keyed(struct gen *g)
{
	static const uint8_t keyed[] = { SLOT_ARRAY,	SLOT_ARRAY,	   SLOT_HASH,
					 SLOT_HASH,	SLOT_PERCPU_ARRAY, SLOT_PERCPU_HASH,
					 SLOT_LRU_HASH, SLOT_LPM,	   SLOT_OUT };
	enum map_slot slot;

	do
		slot = keyed[rng_below(&g->rng, BPFU_ARRAY_SIZE(keyed))];
	while (!g->maps[slot].type);
	return slot;
}

static void store_key(struct gen *g, int off, int32_t value)
{
	uint8_t store = BPF_MEM | BPF_W;
	int reg;

	if (rng_percent(&g->rng, 50)) {
		emit(g, BPFU_INSN(BPF_ST | store, 10, 0, (int16_t)off, value));
		return;
	}
	reg = scalar_dst(g);
	if (rng_percent(&g->rng, 50))
		emit(g, BPFU_INSN(BPF_ALU64 | BPF_AND | BPF_K, reg, 0, 0, 7));
	else
		mov_imm(g, reg, value);
	emit(g, BPFU_INSN(BPF_STX | store, 10, reg, (int16_t)off, 0));
}

/* A key for @slot on the stack; keys come from a small domain, so that some are found. */
static int gen_key(struct gen *g, enum map_slot slot)
{
	int off = stack_area(g, 8);
	int32_t key = rng_range(&g->rng, 0, is_array(slot) ? (int)g->maps[slot].max_entries : 11);

	if (slot == SLOT_LPM) {
		emit(g, BPFU_INSN(BPF_ST | BPF_MEM | BPF_W, 10, 0, (int16_t)off,
				  rng_range(&g->rng, 0, 34)));
		stack_mark(g, off, 8);
		store_key(g, off + 4, key);
		return off;
	}
	if (g->maps[slot].key_size == 8)
		emit(g, BPFU_INSN(BPF_ST | BPF_MEM | BPF_DW, 10, 0, (int16_t)off, 0));
	else /* the half that is no part of the key must not stay half a pointer */
		emit(g, BPFU_INSN(BPF_ST | BPF_MEM | BPF_W, 10, 0, (int16_t)(off + 4), 1));
	stack_mark(g, off, 8);
	store_key(g, off, key);
	return off;
}

/* r0 is a pointer or NULL; a block (or the rest of the function) goes on with it. */
static void with_value(struct gen *g, enum map_slot slot, uint32_t size, int class)
{
	struct reg value = { K_MEM, (uint8_t) class, (uint8_t)slot, 0, (uint16_t)size };
	struct state before;
	uint32_t skip;

	g->st.r[0].kind = K_NONE;
	before = g->st;
	if (rng_percent(&g->rng, 25)) {
		skip = emit(g, BPFU_INSN(BPF_JMP | BPF_JNE | BPF_K, 0, 0, 0, 0));
		gen_exit(g);
		jump_here(g, skip);
		g->st = before;
		g->st.r[0] = value;
		return;
	}
	skip = emit(g, BPFU_INSN(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 0, 0));
	g->st.r[0] = value;
	if (rng_percent(&g->rng, 60)) {
		int keep = rng_range(&g->rng, 6, 9);

		if (!(g->locked & 1u << keep)) {
			mov_reg(g, keep, 0);
			g->st.r[keep] = value;
		}
	}
	gen_mem(g);
	gen_block(g, rng_range(&g->rng, 1, 4));
	jump_here(g, skip);
	merge(&g->st, &before);
}

void gen_lookup(struct gen *g)
{
	enum map_slot slot = pick_keyed(g);
	int key = gen_key(g, slot);
	bool stays = is_array(slot);

	load_map(g, 1, slot);
	stack_addr(g, 2, key);
	emit_call(g, BPF_FUNC_map_lookup_elem);
	with_value(g, slot, g->maps[slot].value_size, stays ? MEM_ARRAY : MEM_ELEM);
}

void gen_map_in_map(struct gen *g)
{
	struct state before;
	int outer, inner;
	uint32_t skip;

	if (!g->maps[SLOT_OF_MAPS].type)
		return;
	outer = gen_key(g, SLOT_ARRAY);
	inner = stack_area(g, 8);

	emit(g, BPFU_INSN(BPF_ST | BPF_MEM | BPF_DW, 10, 0, (int16_t)inner, rng_below(&g->rng, 3)));
	stack_mark(g, inner, 8);
	load_map(g, 1, SLOT_OF_MAPS);
	stack_addr(g, 2, outer);
	emit_call(g, BPF_FUNC_map_lookup_elem);
	g->st.r[0].kind = K_NONE;
	before = g->st;
	skip = emit(g, BPFU_INSN(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 0, 0));
	mov_reg(g, 1, 0);
	stack_addr(g, 2, inner);
	emit_call(g, BPF_FUNC_map_lookup_elem);
	with_value(g, SLOT_OF_MAPS, g->maps[SLOT_INNER].value_size, MEM_ARRAY);
	jump_here(g, skip);
	merge(&g->st, &before);
}

/* @size readable bytes: an address goes to @reg. False if there is no such area. */
static bool gen_source(struct gen *g, int reg, uint32_t size)
{
	int base = pick_kind(g, K_MEM);
	int off;

	if (base >= 6 && g->st.r[base].size >= size && g->st.r[base].class != MEM_PACKET &&
	    g->st.r[base].class != MEM_CTX && rng_percent(&g->rng, 60)) {
		mov_reg(g, reg, base);
		if (g->st.r[base].off)
			emit(g,
			     BPFU_INSN(BPF_ALU64 | BPF_ADD | BPF_K, reg, 0, 0, -g->st.r[base].off));
		return true;
	}
	off = stack_area(g, size);
	if (!off)
		return false;
	stack_fill(g, off, size);
	stack_addr(g, reg, off);
	return true;
}

/* Elements may have moved: no pointer into @slot is used any more. */
static void map_changed(struct gen *g, enum map_slot slot)
{
	if (!is_array(slot))
		forget(g, slot, MEM_ELEM);
}

void gen_update(struct gen *g)
{
	enum map_slot slot = pick_keyed(g);
	int key = gen_key(g, slot);

	/* The value last but one: filling it may take any register but the fixed ones. */
	if (!gen_source(g, 3, g->maps[slot].value_size))
		return;
	g->st.r[3].kind = K_NONE;
	load_map(g, 1, slot);
	stack_addr(g, 2, key);
	mov_imm(g, 4, rng_range(&g->rng, 0, 3));
	emit_call(g, BPF_FUNC_map_update_elem);
	map_changed(g, slot);
}

void gen_delete(struct gen *g)
{
	enum map_slot slot = pick_keyed(g);
	int key = gen_key(g, slot);

	load_map(g, 1, slot);
	stack_addr(g, 2, key);
	emit_call(g, BPF_FUNC_map_delete_elem);
	map_changed(g, slot);
}

void gen_queue(struct gen *g)
{
	enum map_slot slot = rng_percent(&g->rng, 50) ? SLOT_QUEUE : SLOT_STACK;
	uint32_t size = g->maps[slot].value_size;
	int off;

	if (!g->maps[slot].type)
		return;

	if (rng_percent(&g->rng, 50)) {
		if (!gen_source(g, 2, size))
			return;
		load_map(g, 1, slot);
		mov_imm(g, 3, rng_percent(&g->rng, 60) ? 0 : BPF_EXIST);
		emit_call(g, BPF_FUNC_map_push_elem);
		return;
	}
	off = stack_area(g, size);
	if (!off)
		return;
	load_map(g, 1, slot);
	stack_addr(g, 2, off);
	emit_call(g, rng_percent(&g->rng, 50) ? BPF_FUNC_map_pop_elem : BPF_FUNC_map_peek_elem);
	stack_mark(g, off, size);
	for (uint32_t i = size; i % 8; i++)
		g->st.init[BPFU_STACK_SIZE + off + (int)i] = false;
}

/* Helpers whose results differ by nature: called, the result masked. */
void gen_masked_helper(struct gen *g)
{
	static const int32_t ids[] = {
		BPF_FUNC_ktime_get_ns,	   BPF_FUNC_get_prandom_u32, BPF_FUNC_get_smp_processor_id,
		BPF_FUNC_get_numa_node_id, BPF_FUNC_jiffies64,	     BPF_FUNC_get_current_pid_tgid
	};
	uint32_t which = rng_below(&g->rng, BPFU_ARRAY_SIZE(ids));
	int spill = -(int)g->frame - 8, kept = rng_range(&g->rng, 1, 5);
	bool keep = which == 2 && g->st.r[kept].kind == K_SCALAR && rng_percent(&g->rng, 50);

	/* What compilers make of a helper that may keep r1-r5: spill and fill around it. */
	if (keep)
		emit(g, BPFU_INSN(BPF_STX | BPF_MEM | BPF_DW, 10, kept, (int16_t)spill, 0));
	emit_call(g, ids[which]);
	if (keep) {
		emit(g, BPFU_INSN(BPF_LDX | BPF_MEM | BPF_DW, kept, 10, (int16_t)spill, 0));
		set_scalar(g, kept);
	}
	emit(g, BPFU_INSN(BPF_ALU64 | BPF_AND | BPF_K, 0, 0, 0, 0));
}

static void gen_strtol(struct gen *g)
{
	uint32_t size = rng_range(&g->rng, 1, 24);
	int text = stack_area(g, 24), res = stack_area(g, 8);
	static const int32_t chars[] = { 0x37313420, 0x2d202032, 0x39787830,
					 0x00333231, 0x66667830, 0x35343332 };

	for (int i = 0; i < 24; i += 4)
		emit(g, BPFU_INSN(BPF_ST | BPF_MEM | BPF_W, 10, 0, (int16_t)(text + i),
				  chars[rng_below(&g->rng, BPFU_ARRAY_SIZE(chars))]));
	stack_mark(g, text, 24);
	emit(g, BPFU_INSN(BPF_ST | BPF_MEM | BPF_DW, 10, 0, (int16_t)res, 77));
	stack_mark(g, res, 8);
	stack_addr(g, 1, text);
	mov_imm(g, 2, (int32_t)size);
	mov_imm(g, 3, rng_percent(&g->rng, 50) ? 0 : 2 * rng_range(&g->rng, 3, 8));
	stack_addr(g, 4, res);
	emit_call(g, rng_percent(&g->rng, 50) ? BPF_FUNC_strtol : BPF_FUNC_strtoul);
}

static void gen_csum_diff(struct gen *g)
{
	uint32_t from = 4 * rng_below(&g->rng, 5);
	int area = stack_area(g, 16);

	stack_fill(g, area, 16);
	stack_addr(g, 1, area);
	mov_imm(g, 2, (int32_t)from);
	stack_addr(g, 3, area);
	mov_imm(g, 4, 4 * rng_range(&g->rng, 0, 4));
	mov_imm(g, 5, rand_imm(g));
	emit_call(g, BPF_FUNC_csum_diff);
}

static void gen_probe_read(struct gen *g)
{
	uint32_t size = 8 * rng_range(&g->rng, 1, 3);
	int area = stack_area(g, size);

	if (!gen_source(g, 3, size))
		return;
	stack_addr(g, 1, area);
	mov_imm(g, 2, (int32_t)size);
	emit_call(g, BPF_FUNC_probe_read_kernel);
	stack_mark(g, area, size);
}

void gen_mem_helper(struct gen *g)
{
	bool is_net = g->c->type == BPF_PROG_TYPE_XDP || g->c->type == BPF_PROG_TYPE_SCHED_CLS;

	switch (rng_below(&g->rng, 3)) {
	case 0:
		gen_strtol(g);
		break;
	case 1:
		if (is_net)
			gen_csum_diff(g);
		break;
	default:
		gen_probe_read(g);
	}
}
