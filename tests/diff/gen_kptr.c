// SPDX-License-Identifier: BSD-2-Clause
/*
 * Objects that programs make: put into a map's value and taken out of it, read while they are there,
 * dropped. What each statement makes it gives away, so that nothing is owned between statements; every
 * member is written before an object is shown to others, as nobody promises what is in a new one.
 */
#include "gen.h"

#define OBJECTS_MAX 6

#define A_OFF (int16_t)offsetof(struct case_object, a)
#define B_OFF (int16_t)offsetof(struct case_object, b)
#define C_OFF (int16_t)offsetof(struct case_object, c)
#define P_OFF (int16_t)offsetof(struct case_owner, object)

static void mov_reg(struct gen *g, int dst, int src)
{
	emit(g, BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0, 0));
}

static void mov_imm(struct gen *g, int dst, int32_t imm)
{
	emit(g, BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_K, dst, 0, 0, imm));
}

static void add_imm(struct gen *g, int dst, int32_t imm)
{
	emit(g, BPFU_INSN(BPF_ALU64 | BPF_ADD | BPF_K, dst, 0, 0, imm));
}

static void call(struct gen *g, uint8_t pseudo, int32_t what)
{
	emit(g, BPFU_INSN(BPF_JMP | BPF_CALL, 0, pseudo, 0, what));
	clobber_call(g);
}

static void load_member(struct gen *g, int dst, int object)
{
	static const struct {
		uint8_t code;
		int16_t off;
	} loads[] = {
		{ BPF_LDX | BPF_MEM | BPF_DW, A_OFF },	   { BPF_LDX | BPF_MEM | BPF_W, B_OFF },
		{ BPF_LDX | BPF_MEM | BPF_W, C_OFF },	   { BPF_LDX | BPF_MEM | BPF_H, A_OFF + 2 },
		{ BPF_LDX | BPF_MEMSX | BPF_W, C_OFF },	   { BPF_LDX | BPF_MEM | BPF_B, B_OFF + 3 },
	};
	uint32_t i = rng_below(&g->rng, BPFU_ARRAY_SIZE(loads));

	emit(g, BPFU_INSN(loads[i].code, dst, object, loads[i].off, 0));
}

/* Of the object in r0, which is nobody else's. */
static void write_members(struct gen *g, int scalar)
{
	emit(g, BPFU_INSN(BPF_STX | BPF_MEM | BPF_DW, 0, scalar, A_OFF, 0));
	emit(g, BPFU_INSN(BPF_ST | BPF_MEM | BPF_W, 0, 0, B_OFF, rand_imm(g)));
	emit(g, BPFU_INSN(BPF_STX | BPF_MEM | BPF_W, 0, scalar, C_OFF, 0));
	if (rng_percent(&g->rng, 40))
		emit(g, BPFU_INSN(BPF_STX | BPF_ATOMIC | BPF_DW, 0, scalar, A_OFF, BPF_ADD));
	if (rng_percent(&g->rng, 30))
		emit(g, BPFU_INSN(BPF_ST | BPF_MEM | BPF_H, 0, 0, A_OFF + 4, rand_imm(g)));
}

/* r0, an object or NULL: read it into @scalar and drop it. */
static void take_down(struct gen *g, int scalar)
{
	uint32_t skip = emit(g, BPFU_INSN(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 0, 0));

	load_member(g, scalar, 0);
	mov_reg(g, 1, 0);
	mov_imm(g, 2, 0);
	call(g, BPF_PSEUDO_KFUNC_CALL, KFUNC_OBJ_DROP);
	jump_here(g, skip);
}

static void exchange(struct gen *g, int owner, int scalar)
{
	mov_reg(g, 1, owner);
	add_imm(g, 1, P_OFF);
	call(g, 0, BPF_FUNC_kptr_xchg);
	take_down(g, scalar);
}

static void put(struct gen *g, int owner, int scalar)
{
	uint32_t skip;

	g->objects++;
	mov_imm(g, 1, TYPE_OBJECT);
	mov_imm(g, 2, 0);
	call(g, BPF_PSEUDO_KFUNC_CALL, KFUNC_OBJ_NEW);
	skip = emit(g, BPFU_INSN(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 0, 0));
	write_members(g, scalar);
	if (rng_percent(&g->rng, 20)) {
		load_member(g, scalar, 0);
		mov_reg(g, 1, 0);
		call(g, BPF_PSEUDO_KFUNC_CALL, KFUNC_OBJ_DROP);
	} else {
		mov_reg(g, 2, 0);
		exchange(g, owner, scalar);
	}
	jump_here(g, skip);
}

/* Through the value, without taking it out; a program that may sleep can only read. */
static void peek(struct gen *g, int owner, int scalar)
{
	uint32_t skip;

	emit(g, BPFU_INSN(BPF_LDX | BPF_MEM | BPF_DW, 1, owner, P_OFF, 0));
	skip = emit(g, BPFU_INSN(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, 0, 0));
	load_member(g, scalar, 1);
	if (g->c->type != BPF_PROG_TYPE_SYSCALL && rng_percent(&g->rng, 50))
		emit(g, BPFU_INSN(BPF_STX | BPF_MEM | BPF_W, 1, scalar, C_OFF, 0));
	jump_here(g, skip);
}

/* Two of r6 … r9 that may be overwritten. */
static bool pick_two(struct gen *g, int *a, int *b)
{
	int first = rng_range(&g->rng, 6, 9);

	*a = *b = -1;
	for (int i = 0; i < 4; i++) {
		int reg = 6 + (first + i) % 4;

		if (g->locked & 1u << reg)
			continue;
		*b = *a;
		*a = reg;
	}
	return *b >= 0;
}

static int stack_key(struct gen *g)
{
	int off = stack_area(g, 8);

	emit(g, BPFU_INSN(BPF_ST | BPF_MEM | BPF_DW, 10, 0, (int16_t)off, rng_below(&g->rng, 3)));
	stack_mark(g, off, 8);
	return off;
}

void gen_kptr(struct gen *g)
{
	int owner, scalar, key;
	uint32_t skip;

	/* Loops would make more objects than a kernel has at hand. */
	if (!g->maps[SLOT_KPTR].type || g->loops || g->depth || g->callback ||
	    g->objects >= OBJECTS_MAX || !pick_two(g, &owner, &scalar))
		return;
	key = stack_key(g);
	g->p->needs_btf = true;
	if (g->st.r[scalar].kind != K_SCALAR)
		mov_imm(g, scalar, rand_imm(g));
	set_scalar(g, scalar);
	load_map(g, 1, SLOT_KPTR);
	mov_reg(g, 2, 10);
	add_imm(g, 2, key);
	call(g, 0, BPF_FUNC_map_lookup_elem);
	skip = emit(g, BPFU_INSN(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 0, 0));
	mov_reg(g, owner, 0);
	for (int n = rng_range(&g->rng, 1, 3); n > 0; n--) {
		switch (rng_below(&g->rng, 4)) {
		case 0:
			peek(g, owner, scalar);
			break;
		case 1:
			mov_imm(g, 2, 0);
			exchange(g, owner, scalar);
			break;
		default:
			put(g, owner, scalar);
			break;
		}
	}
	emit(g, BPFU_INSN(BPF_STX | BPF_MEM | BPF_DW, owner, scalar,
			  (int16_t)offsetof(struct case_owner, n), 0));
	jump_here(g, skip);
	g->st.r[owner].kind = K_NONE;
	g->st.r[0].kind = K_NONE;
}
