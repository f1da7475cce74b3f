// SPDX-License-Identifier: BSD-2-Clause
/*
 * The generator's core: emission, what registers hold, blocks and control flow. Statements live in
 * gen_alu.c, gen_mem.c, gen_call.c, gen_sub.c and gen_ctx.c.
 */
#include "gen.h"

#include <string.h>

uint32_t emit(struct gen *g, struct bpf_insn insn)
{
	if (g->p->cnt >= CASE_INSNS) {
		g->overflow = true;
		return CASE_INSNS - 1;
	}
	g->budget--;
	g->p->insns[g->p->cnt] = insn;
	return g->p->cnt++;
}

int32_t rand_imm(struct gen *g)
{
	static const int32_t special[] = {
		0,	   1,	  -1,	  2,	 7,	8,	   31,	      32,
		33,	   63,	  64,	  127,	 128,	255,	   256,	      -128,
		-129,	   32767, -32768, 65535, 65536, INT32_MAX, INT32_MIN, INT32_MIN + 1,
		0x7f7f7f7f
	};

	switch (rng_below(&g->rng, 5)) {
	case 0:
		return (int32_t)rng_next(&g->rng);
	case 1:
		return (int32_t)((1u << rng_below(&g->rng, 32)) +
				 (uint32_t)rng_range(&g->rng, -1, 1));
	case 2:
		return rng_range(&g->rng, -130, 130);
	default:
		return special[rng_below(&g->rng, BPFU_ARRAY_SIZE(special))];
	}
}

void jump_here(struct gen *g, uint32_t from)
{
	struct bpf_insn *insn = &g->p->insns[from];
	int32_t dist = (int32_t)(g->p->cnt - from - 1);

	if (insn->code == (BPF_JMP32 | BPF_JA))
		insn->imm = dist;
	else
		insn->off = (int16_t)dist;
}

/* ---- registers ---- */

int pick_dst(struct gen *g)
{
	int reg;

	do
		reg = rng_below(&g->rng, 10);
	while (g->locked & 1u << reg);
	return reg;
}

int pick_kind(struct gen *g, enum reg_kind kind)
{
	int first = rng_below(&g->rng, 10);

	for (int i = 0; i < 10; i++)
		if (g->st.r[(first + i) % 10].kind == kind)
			return (first + i) % 10;
	return -1;
}

void set_scalar(struct gen *g, int reg)
{
	g->st.r[reg] = (struct reg){ .kind = K_SCALAR };
}

static int new_scalar(struct gen *g)
{
	int reg = pick_dst(g);

	emit(g, BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_K, reg, 0, 0, rand_imm(g)));
	set_scalar(g, reg);
	return reg;
}

int scalar_src(struct gen *g)
{
	int reg = pick_kind(g, K_SCALAR);

	return reg >= 0 ? reg : new_scalar(g);
}

int scalar_dst(struct gen *g)
{
	for (int tries = 0; tries < 8; tries++) {
		int reg = pick_kind(g, K_SCALAR);

		if (reg >= 0 && !(g->locked & 1u << reg))
			return reg;
	}
	return new_scalar(g);
}

void clobber_call(struct gen *g)
{
	set_scalar(g, 0);
	for (int reg = 1; reg <= 5; reg++)
		g->st.r[reg].kind = K_NONE;
}

static bool is_pointer_to(const struct reg *r, int map, int class)
{
	return r->kind == K_MEM && r->class == class && (map < 0 || r->map == map);
}

void forget(struct gen *g, int map, int class)
{
	for (int i = 0; i < 10; i++)
		if (is_pointer_to(&g->st.r[i], map, class))
			g->st.r[i].kind = K_NONE;
	for (int i = 0; i < BPFU_STACK_SIZE / 8; i++)
		if (is_pointer_to(&g->st.spill[i], map, class))
			g->st.spill[i].kind = K_NONE;
}

static bool same_reg(const struct reg *a, const struct reg *b)
{
	if (a->kind != b->kind)
		return false;
	if (a->kind == K_STACK)
		return a->off == b->off;
	if (a->kind == K_MEM)
		return a->class == b->class && a->map == b->map && a->off == b->off &&
		       a->size == b->size;
	return true;
}

void merge(struct state *into, const struct state *other)
{
	for (int i = 0; i < 10; i++)
		if (!same_reg(&into->r[i], &other->r[i]))
			into->r[i].kind = K_NONE;
	for (int i = 0; i < BPFU_STACK_SIZE; i++)
		into->init[i] = into->init[i] && other->init[i];
	for (int i = 0; i < BPFU_STACK_SIZE / 8; i++)
		if (!same_reg(&into->spill[i], &other->spill[i]))
			into->spill[i].kind = K_NONE;
}

/* ---- control flow ---- */

static uint32_t emit_ja(struct gen *g)
{
	if (rng_percent(&g->rng, 30))
		return emit(g, BPFU_INSN(BPF_JMP32 | BPF_JA, 0, 0, 0, 0));
	return emit(g, BPFU_INSN(BPF_JMP | BPF_JA, 0, 0, 0, 0));
}

static void gen_if(struct gen *g)
{
	struct bpf_insn jump;
	struct state before;
	uint32_t skip, end;

	gen_cond(g, &jump);
	skip = emit(g, jump);
	before = g->st;
	gen_block(g, rng_range(&g->rng, 1, 4));
	if (rng_percent(&g->rng, 12)) {
		gen_exit(g);
		jump_here(g, skip);
		g->st = before;
		return;
	}
	if (rng_percent(&g->rng, 50)) {
		struct state then;

		end = emit_ja(g);
		jump_here(g, skip);
		then = g->st;
		g->st = before;
		gen_block(g, rng_range(&g->rng, 1, 4));
		jump_here(g, end);
		merge(&g->st, &then);
	} else {
		jump_here(g, skip);
		merge(&g->st, &before);
	}
}

/*
 * What the head of a loop may rely on must hold again at its end: scalars stay scalars (mended at
 * the end of the body), one or two pointers are locked, other pointers are forgotten.
 */
static uint16_t loop_head(struct gen *g)
{
	uint16_t lock = 0;

	forget(g, -1, MEM_ELEM);
	for (int reg = 0; reg < 10; reg++) {
		struct reg *r = &g->st.r[reg];

		if (r->kind == K_NONE || r->kind == K_SCALAR || g->locked & 1u << reg)
			continue;
		if (reg >= 6 && __builtin_popcount(lock | g->locked) < 3)
			lock |= 1u << reg;
		else
			r->kind = K_NONE;
	}
	for (int i = 0; i < BPFU_STACK_SIZE / 8; i++)
		g->st.spill[i].kind = K_NONE;
	return lock;
}

static void loop_mend(struct gen *g, const struct state *head)
{
	for (int reg = 0; reg < 10; reg++)
		if (head->r[reg].kind == K_SCALAR && g->st.r[reg].kind != K_SCALAR) {
			emit(g, BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_K, reg, 0, 0, rand_imm(g)));
			set_scalar(g, reg);
		}
	for (int i = 0; i < BPFU_STACK_SIZE; i += 8)
		for (int k = 0; k < 8; k++)
			if (head->init[i + k] && !g->st.init[i + k]) {
				stack_fill(g, i - BPFU_STACK_SIZE, 8);
				break;
			}
}

static void loop_back(struct gen *g, int counter, uint32_t head, int count)
{
	static const uint8_t ops[] = { BPF_JLT, BPF_JNE, BPF_JSLT };
	uint8_t op = ops[rng_below(&g->rng, 3)];
	uint8_t class = rng_percent(&g->rng, 30) ? BPF_JMP32 : BPF_JMP;

	emit(g, BPFU_INSN(BPF_ALU64 | BPF_ADD | BPF_K, counter, 0, 0, 1));
	emit(g, BPFU_INSN(class | op | BPF_K, counter, 0, 0, count));
	g->p->insns[g->p->cnt - 1].off = (int16_t)((int32_t)head - (int32_t)g->p->cnt);
}

static void gen_loop(struct gen *g)
{
	int counter = rng_range(&g->rng, 6, 9);
	uint16_t locked = g->locked;
	struct state head;
	uint32_t start;

	if (locked & 1u << counter)
		return;
	g->st.r[counter].kind = K_NONE;
	g->locked |= loop_head(g) | 1u << counter;
	emit(g, BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_K, counter, 0, 0, 0));
	set_scalar(g, counter);
	head = g->st;
	start = g->p->cnt;
	g->loops++;
	gen_block(g, rng_range(&g->rng, 1, 4));
	g->loops--;
	loop_mend(g, &head);
	loop_back(g, counter, start, rng_range(&g->rng, 1, g->loops ? 3 : 6));
	g->locked = locked;
}

/*
 * Leave the function. The main program first writes its scalars to the output map, so that a
 * difference in any register is seen.
 */
static void dump_scalars(struct gen *g)
{
	int base = 0;

	while (base < 9 && g->st.r[base].kind == K_SCALAR)
		base++;
	emit(g, BPFU_INSN(BPF_LD | BPF_IMM | BPF_DW, base, BPF_PSEUDO_MAP_VALUE, 0, SLOT_OUT));
	emit(g, BPFU_INSN(0, 0, 0, 0, 0));
	g->c->maps_used |= 1u << SLOT_OUT;
	g->st.r[base].kind = K_NONE;
	for (int reg = 0; reg < 10; reg++)
		if (g->st.r[reg].kind == K_SCALAR)
			emit(g, BPFU_INSN(BPF_STX | BPF_MEM | BPF_DW, base, reg, (int16_t)(8 * reg),
					  0));
}

void gen_exit(struct gen *g)
{
	struct state before = g->st;
	int src;

	if (g->depth == 0)
		dump_scalars(g);
	src = pick_kind(g, K_SCALAR);
	if (g->callback)
		emit(g, BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, rng_percent(&g->rng, 20)));
	else if (src < 0)
		emit(g, BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, rand_imm(g)));
	else if (src != 0)
		emit(g, BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_X, 0, src, 0, 0));
	emit(g, BPFU_INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0));
	g->st = before;
}

/* ---- statements ---- */

typedef void (*stmt_fn)(struct gen *g);

static const struct {
	stmt_fn fn;
	uint8_t weight;
	bool nests; /* opens a block */
} stmts[] = {
	{ gen_alu, 60, false },		 { gen_imm64, 6, false },
	{ gen_stack_store, 14, false },	 { gen_stack_load, 12, false },
	{ gen_spill, 3, false },	 { gen_fill, 4, false },
	{ gen_mem, 25, false },		 { gen_mem_var, 8, false },
	{ gen_atomic, 10, false },	 { gen_ptr_copy, 4, false },
	{ gen_bytes, 4, false },
	{ gen_map_value, 5, false },	 { gen_lookup, 8, true },
	{ gen_map_in_map, 2, true },	 { gen_update, 4, false },
	{ gen_delete, 2, false },	 { gen_queue, 3, false },
	{ gen_masked_helper, 3, false }, { gen_mem_helper, 3, false },
	{ gen_subprog_call, 4, false },	 { gen_bpf_loop, 2, false },
	{ gen_for_each, 1, false },	 { gen_tail_call, 2, false },
	{ gen_ctx, 8, false },		 { gen_packet, 6, true },
	{ gen_packet_helper, 3, false }, { gen_if, 16, true },
	{ gen_loop, 5, true },		 { gen_wide, 4, false },
	{ gen_kptr, 3, false },
};

static void gen_stmt(struct gen *g)
{
	uint32_t total = 0, roll;
	size_t i;

	for (i = 0; i < BPFU_ARRAY_SIZE(stmts); i++)
		total += stmts[i].weight;
	roll = rng_below(&g->rng, total);
	for (i = 0; roll >= stmts[i].weight; i++)
		roll -= stmts[i].weight;
	if (stmts[i].nests && (g->nesting >= 4 || (stmts[i].fn == gen_loop && g->loops >= 2)))
		return;
	if (stmts[i].nests)
		g->nesting++;
	stmts[i].fn(g);
	if (stmts[i].nests)
		g->nesting--;
}

void gen_block(struct gen *g, int count)
{
	while (count-- > 0 && g->budget > 0)
		gen_stmt(g);
}

/* ---- cases ---- */

static void gen_main(struct gen *g, int budget)
{
	memset(&g->st, 0, sizeof(g->st));
	memset(g->subs, 0, sizeof(g->subs));
	g->fixup_cnt = 0;
	g->depth = 0;
	g->callback = false;
	g->locked = 0;
	g->nesting = g->loops = 0;
	g->frame = frame_size(g, rng_percent(&g->rng, 50) ? 160 : 96);
	g->budget = budget;
	g->p->subprog_cnt = 1;
	g->p->subprog_start[0] = 0;

	g->st.r[1] = (struct reg){ .kind = K_CTX };
	if (g->c->type == BPF_PROG_TYPE_SYSCALL)
		g->st.r[1] = (struct reg){ K_MEM, MEM_CTX, 0, 0, (uint16_t)g->c->input_size };
	if (rng_percent(&g->rng, 80)) {
		int keep = rng_range(&g->rng, 6, 9);

		emit(g, BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_X, keep, 1, 0, 0));
		g->st.r[keep] = g->st.r[1];
		if (rng_percent(&g->rng, 70))
			g->locked = 1u << keep;
	}
	while (g->budget > 0)
		gen_stmt(g);
	gen_exit(g);
	gen_subprogs(g);
}

static bool generate(struct diff_case *c, uint64_t seed, int scale)
{
	static struct gen g;

	memset(&g, 0, sizeof(g));
	memset(c, 0, offsetof(struct diff_case, progs));
	g.rng.state = rng_mix(seed);
	g.c = c;
	c->seed = seed;
	c->shape = rng_below(&g.rng, SHAPES);
	c->type = shape_prog_type(c->shape);
	c->maps_used = 0;
	c->prog_cnt = 1;
	shape_maps(c->shape, g.maps);
	if (g.maps[SLOT_PROGS].type && rng_percent(&g.rng, 20))
		c->prog_cnt = rng_range(&g.rng, 2, CASE_PROGS);
	c->deep_stacks = c->type == BPF_PROG_TYPE_RAW_TRACEPOINT && c->prog_cnt == 1 &&
			 rng_mix(seed ^ 0xdee9) % 100 < 40;
	gen_input(&g);
	for (g.prog_idx = 0; g.prog_idx < c->prog_cnt; g.prog_idx++) {
		g.p = &c->progs[g.prog_idx];
		g.p->cnt = 0;
		g.p->needs_btf = false;
		gen_main(&g, rng_range(&g.rng, 8, 60 + (int)rng_below(&g.rng, 200)) / scale);
	}
	return !g.overflow;
}

/* Three of four are short: they cost a third, and what fails mostly fails in a few instructions. */
void case_generate(struct diff_case *c, uint64_t seed)
{
	for (int scale = rng_mix(seed ^ 0x5ca1e) % 4 ? 4 : 1; !generate(c, seed, scale); scale *= 2)
		;
}

void case_mutate(struct diff_case *c, struct rng *rng)
{
	struct case_prog *p = &c->progs[0];
	struct bpf_insn *insn = &p->insns[rng_below(rng, p->cnt)];
	static const int32_t imms[] = { 0, 1, -1, 8, 64, 4096, INT32_MIN, INT32_MAX };

	switch (rng_below(rng, 8)) {
	case 0:
		insn->dst_reg = rng_below(rng, 12);
		break;
	case 1:
		insn->src_reg = rng_below(rng, 12);
		break;
	case 2:
		insn->off = (int16_t)(insn->off + rng_range(rng, -9, 9));
		break;
	case 3:
		insn->off = (int16_t)rng_range(rng, -520, 520);
		break;
	case 4:
		insn->imm = imms[rng_below(rng, 8)];
		break;
	case 5:
		insn->imm = (int32_t)((uint32_t)insn->imm + (uint32_t)rng_range(rng, -3, 3));
		break;
	case 6:
		insn->code = (uint8_t)(insn->code ^ 1u << rng_below(rng, 8));
		break;
	default:
		*insn = p->insns[rng_below(rng, p->cnt)];
	}
}
