// SPDX-License-Identifier: BSD-2-Clause
/*
 * Recognising loops; see idiom.h. The body, straight code from the head to the branch back, is walked
 * once with what each register holds in terms of the registers at the head. Whatever is not understood
 * ends the search.
 */
#include "jit/idiom.h"

#include <string.h>

#define BODY_MAX 24    /* instructions */
#define STEP_MAX 4096  /* of a counter */
#define NO_REG BPFU_LOOP_NO_REG

enum term_kind {
	TERM_NONE,
	TERM_SUM,    /* a + b + off */
	TERM_LOADED, /* what has been loaded */
	TERM_MASKED, /* (a + off) & mask */
	TERM_ADDED,  /* a + what has been loaded */
};

struct term {
	uint8_t kind;
	int8_t a, b;   /* registers as they were at the head, or NO_REG */
	bool low;      /* only the low half of SUM is that: the upper one is zero */
	int64_t off;
	uint32_t mask;
};

struct walk {
	const struct bpfu_facts *facts;
	const struct bpf_insn *insns;
	uint32_t head;
	struct term regs[BPFU_MAX_REG];
	uint16_t written;
	bool has_load, has_store, sign, added_w;
	unsigned load_size, store_size;
	struct term load, store, value;
};

static const struct term none = { .kind = TERM_NONE, .a = NO_REG, .b = NO_REG };

static struct term number(int64_t value)
{
	return (struct term){ .kind = TERM_SUM, .a = NO_REG, .b = NO_REG, .off = value };
}

static bool is_number(const struct term *t)
{
	return t->kind == TERM_SUM && t->a == NO_REG && t->b == NO_REG;
}

/* One register, as it was at the head, plus a number. */
static bool is_register(const struct term *t)
{
	return t->kind == TERM_SUM && t->a != NO_REG && t->b == NO_REG;
}

/* What ALU32 leaves of @t. */
static struct term low_half(struct term t, unsigned load_size)
{
	switch (t.kind) {
	case TERM_SUM:
		if (is_number(&t))
			return number((uint32_t)t.off);
		t.low = true;
		return t;
	case TERM_LOADED:
		return load_size < 8 ? t : none;
	case TERM_MASKED:
		return t;
	default:
		return none;
	}
}

static struct term add(const struct term *d, const struct term *s, unsigned reg)
{
	struct term t = *d;

	if (is_register(d) && d->a == (int8_t)reg && !d->off && !d->low && s->kind == TERM_LOADED) {
		t.kind = TERM_ADDED;
		return t;
	}
	if (d->kind != TERM_SUM || s->kind != TERM_SUM || s->b != NO_REG || (d->b != NO_REG && s->a != NO_REG))
		return none;
	if (t.a == NO_REG)
		t.a = s->a;
	else if (s->a != NO_REG)
		t.b = s->a;
	t.off = (int64_t)((uint64_t)t.off + (uint64_t)s->off);
	t.low |= s->low;
	return t;
}

static struct term evaluate(const struct walk *w, const struct bpf_insn *insn)
{
	const struct term *d = &w->regs[insn->dst_reg], *s = &w->regs[insn->src_reg];
	struct term imm = number(insn->imm), t = none;

	if (insn->off)
		return none;
	if (BPF_SRC(insn->code) == BPF_K)
		s = &imm;
	switch (BPF_OP(insn->code)) {
	case BPF_MOV:
		return *s;
	case BPF_SUB:
		if (!is_number(s))
			return none;
		imm.off = (int64_t)(0 - (uint64_t)s->off);
		return add(d, &imm, insn->dst_reg);
	case BPF_ADD:
		return add(d, s, insn->dst_reg);
	case BPF_AND:
		if (d->kind == TERM_LOADED && !w->sign && w->load_size < 8 && is_number(s) &&
		    s->off == (1ll << 8 * w->load_size) - 1)
			return *d;
		if (!is_register(d) || !is_number(s) || s->off <= 0 || s->off > INT32_MAX)
			return none;
		t = *d;
		t.kind = TERM_MASKED;
		t.mask = (uint32_t)s->off;
		return t;
	default:
		return none;
	}
}

static unsigned access_size(uint8_t code)
{
	static const uint8_t sizes[] = { [BPF_W >> 3] = 4, [BPF_H >> 3] = 2, [BPF_B >> 3] = 1,
					 [BPF_DW >> 3] = 8 };

	return sizes[BPF_SIZE(code) >> 3];
}

/* The address that @insn accesses by way of register @r. */
static bool address(const struct walk *w, const struct bpf_insn *insn, unsigned r, struct term *addr)
{
	*addr = w->regs[r];
	addr->off = (int64_t)((uint64_t)addr->off + (uint64_t)(int64_t)insn->off);
	return addr->kind == TERM_SUM && !addr->low;
}

static bool visit_load(struct walk *w, const struct bpf_insn *insn)
{
	unsigned mode = BPF_MODE(insn->code);

	if (w->has_load || w->has_store || (mode != BPF_MEM && mode != BPF_MEMSX) ||
	    !address(w, insn, insn->src_reg, &w->load))
		return false;
	w->has_load = true;
	w->sign = mode == BPF_MEMSX;
	w->load_size = access_size(insn->code);
	w->regs[insn->dst_reg] = none;
	w->regs[insn->dst_reg].kind = TERM_LOADED;
	return true;
}

static bool visit_store(struct walk *w, const struct bpf_insn *insn)
{
	if (w->has_store || BPF_MODE(insn->code) != BPF_MEM || !address(w, insn, insn->dst_reg, &w->store))
		return false;
	w->has_store = true;
	w->store_size = access_size(insn->code);
	w->value = BPF_CLASS(insn->code) == BPF_ST ? number(insn->imm) : w->regs[insn->src_reg];
	return true;
}

static bool visit(struct walk *w, const struct bpf_insn *insn)
{
	struct term *d = &w->regs[insn->dst_reg];
	struct term t;

	switch (BPF_CLASS(insn->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		t = evaluate(w, insn);
		if (t.kind == TERM_ADDED)
			w->added_w = BPF_CLASS(insn->code) == BPF_ALU64;
		else if (BPF_CLASS(insn->code) == BPF_ALU)
			t = low_half(t, w->load_size);
		else if (t.low && BPF_OP(insn->code) != BPF_MOV)
			t = none; /* the sum carries into the upper half */
		*d = t;
		break;
	case BPF_LD:
		if (!bpfu_insn_is_ld_imm64(insn) || bpfu_insn_is_pseudo_func(insn))
			return false;
		*d = number((int64_t)bpfu_insn_imm64(insn));
		break;
	case BPF_LDX:
		if (!visit_load(w, insn))
			return false;
		break;
	case BPF_ST:
	case BPF_STX:
		return visit_store(w, insn);
	default:
		return false;
	}
	w->written |= (uint16_t)(1u << insn->dst_reg);
	return true;
}

/* ---- what the registers are after one iteration ---- */

static const struct bpfu_loop_step *step_of(const struct bpfu_loop *loop, int reg)
{
	for (unsigned i = 0; i < loop->step_cnt; i++)
		if (loop->steps[i].reg == reg)
			return &loop->steps[i];
	return NULL;
}

static bool find_registers(const struct walk *w, struct bpfu_loop *loop, int *sum)
{
	uint16_t live = w->facts->live_in[w->head];

	*sum = NO_REG;
	for (int r = 0; r < BPF_REG_10; r++) {
		const struct term *t = &w->regs[r];

		if (!(w->written >> r & 1))
			continue;
		if (!(live >> r & 1)) {
			/* What only itself reads is dead, and may share a register with another. */
			loop->spare |= (uint16_t)(1u << r);
		} else if (is_register(t) && t->a == r && t->off > 0 && t->off <= STEP_MAX) {
			if (loop->step_cnt == BPFU_LOOP_STEPS)
				return false;
			loop->steps[loop->step_cnt++] =
				(struct bpfu_loop_step){ (uint8_t)r, !t->low, (int32_t)t->off };
		} else if (t->kind == TERM_ADDED && t->a == r && *sum == NO_REG) {
			*sum = r;
		} else {
			return false; /* carried along in some other way */
		}
	}
	return true;
}

static bool find_address(const struct walk *w, const struct bpfu_loop *loop, const struct term *t,
			 struct bpfu_loop_addr *addr)
{
	const struct bpfu_loop_step *step = step_of(loop, t->a);
	int other = t->b;

	if (!step) {
		step = step_of(loop, t->b);
		other = t->a;
	}
	if (!step || other == step->reg || step->by != (int32_t)loop->size ||
	    (other != NO_REG && w->written >> other & 1))
		return false;
	/* One of 32 bits may wrap, or have an upper half in the first iteration. */
	if (!step->w && !(loop->iterations && step->reg == loop->counter.reg))
		return false;
	*addr = (struct bpfu_loop_addr){ (int8_t)other, (int8_t)step->reg, t->off };
	return true;
}

/* ---- how often ---- */

/* The number in @reg where the loop is entered from above. */
static bool number_before(const struct walk *w, unsigned reg, uint64_t *value)
{
	for (uint32_t i = w->head; i-- > 0;) {
		const struct bpf_insn *insn = &w->insns[i];

		if (w->facts->flags[i] & BPFU_FACT_SECOND)
			continue;
		if (bpfu_insn_def(insn) >> reg & 1) {
			unsigned class = BPF_CLASS(insn->code);

			if ((class != BPF_ALU && class != BPF_ALU64) || BPF_OP(insn->code) != BPF_MOV ||
			    BPF_SRC(insn->code) != BPF_K)
				return false;
			*value = class == BPF_ALU ? (uint32_t)insn->imm : (uint64_t)(int64_t)insn->imm;
			return true;
		}
		if (w->facts->flags[i] & BPFU_FACT_TARGET || bpfu_facts_is_jump(insn))
			return false;
	}
	return false;
}

/* The condition to go on for that of a branch back, or with @exits of one out of the loop. */
static bool find_condition(unsigned op, bool exits, bool swapped, enum bpfu_loop_while *cond)
{
	static const struct {
		uint8_t op, swapped, exit, exit_swapped;
		enum bpfu_loop_while cond;
	} rows[] = {
		{ BPF_JNE, BPF_JNE, BPF_JEQ, BPF_JEQ, BPFU_WHILE_NE },
		{ BPF_JLT, BPF_JGT, BPF_JGE, BPF_JLE, BPFU_WHILE_LT },
		{ BPF_JLE, BPF_JGE, BPF_JGT, BPF_JLT, BPFU_WHILE_LT }, /* one less than there may be */
		{ BPF_JSLT, BPF_JSGT, BPF_JSGE, BPF_JSLE, BPFU_WHILE_SLT },
		{ BPF_JSLE, BPF_JSGE, BPF_JSGT, BPF_JSLT, BPFU_WHILE_SLT },
	};

	for (unsigned i = 0; i < BPFU_ARRAY_SIZE(rows); i++) {
		unsigned row_op = exits ? (swapped ? rows[i].exit_swapped : rows[i].exit) :
					  (swapped ? rows[i].swapped : rows[i].op);

		if (row_op == op) {
			*cond = rows[i].cond;
			return true;
		}
	}
	return false;
}

static bool is_counter(const struct bpfu_loop *loop, const struct term *t)
{
	const struct bpfu_loop_step *step = is_register(t) ? step_of(loop, t->a) : NULL;

	return step && t->off == step->by;
}

/* Does not change in the loop, and has a register. */
static bool find_limit(const struct walk *w, const struct term *t, struct bpfu_loop *loop)
{
	loop->limit = NO_REG;
	loop->limit_imm = t->off;
	if (is_number(t))
		return true;
	if (!is_register(t) || t->off || (t->low && loop->w) || t->a == BPF_REG_10 ||
	    w->written >> t->a & 1)
		return false;
	loop->limit = t->a;
	return true;
}

/* With the counter known at the start: iterations, if that is more than one. */
static void count_iterations(const struct walk *w, struct bpfu_loop *loop)
{
	uint64_t start, limit = (uint64_t)loop->limit_imm, by = (uint64_t)loop->counter.by, left;
	bool below;

	if (loop->limit != NO_REG || !number_before(w, loop->counter.reg, &start))
		return;
	if (!loop->w) {
		bool sign = loop->cond == BPFU_WHILE_SLT;

		/* The counter must be as wide as the comparison, or fit in it. */
		if (start != (uint32_t)start)
			return;
		limit = sign ? (uint64_t)(int64_t)(int32_t)limit : (uint32_t)limit;
	}
	below = loop->cond == BPFU_WHILE_SLT ? (int64_t)start < (int64_t)limit : start < limit;
	left = limit - start;
	/* Of what is known, backends make immediate operands. */
	if (!below || limit > INT32_MAX || (loop->cond == BPFU_WHILE_NE && left % by) ||
	    (loop->cond == BPFU_WHILE_SLT && (int64_t)start < 0))
		return;
	loop->iterations = (uint32_t)((left + by - 1) / by);
	loop->start = start;
}

/* The branch back at @at, which with @exits is one out of the loop. */
static bool find_bound(const struct walk *w, uint32_t at, bool exits, struct bpfu_loop *loop)
{
	const struct bpf_insn *jmp = &w->insns[at];
	struct term imm = number(jmp->imm);
	const struct term *d = &w->regs[jmp->dst_reg];
	const struct term *s = BPF_SRC(jmp->code) == BPF_X ? &w->regs[jmp->src_reg] : &imm;
	bool swapped = !is_counter(loop, d);

	loop->w = BPF_CLASS(jmp->code) == BPF_JMP;
	if (swapped) {
		const struct term *t = d;

		d = s;
		s = t;
	}
	if (!is_counter(loop, d) || (d->low && loop->w) || !find_limit(w, s, loop) ||
	    !find_condition(BPF_OP(jmp->code), exits, swapped, &loop->cond))
		return false;
	loop->counter = *step_of(loop, d->a);
	count_iterations(w, loop);
	return true;
}

/* ---- what it stores ---- */

static uint64_t repeat(uint64_t value, unsigned size)
{
	for (; size < 8; size *= 2) {
		value &= (1ull << 8 * size) - 1;
		value |= value << 8 * size;
	}
	return value;
}

/* (counter + off) & mask: the same 8 bytes again and again, if they are known and a multiple of the mask. */
static bool find_masked(const struct walk *w, const struct term *t, struct bpfu_loop *loop)
{
	const struct bpfu_loop_step *step = step_of(loop, t->a);
	uint32_t cnt = 8 / loop->size, period = 1;
	uint64_t start, value;

	if (!step || !number_before(w, step->reg, &start))
		return false;
	while (period && period <= t->mask)
		period *= 2;
	if (!period || (uint64_t)cnt * (uint64_t)step->by % period)
		return false;
	loop->pattern = 0;
	for (uint32_t i = 0; i < cnt; i++) {
		value = (start + (uint64_t)t->off + (uint64_t)i * (uint64_t)step->by) & t->mask;
		if (loop->size < 8)
			value &= (1ull << 8 * loop->size) - 1;
		loop->pattern |= value << 8 * loop->size * i;
	}
	return true;
}

static bool find_fill(const struct walk *w, struct bpfu_loop *loop)
{
	const struct term *t = &w->value;

	loop->kind = BPFU_LOOP_FILL;
	loop->value = NO_REG;
	if (is_number(t)) {
		loop->pattern = repeat((uint64_t)t->off, loop->size);
		return true;
	}
	if (t->kind == TERM_MASKED)
		return find_masked(w, t, loop);
	if (!is_register(t) || t->off || (t->low && loop->size == 8) || t->a == BPF_REG_10 ||
	    w->written >> t->a & 1)
		return false;
	loop->value = t->a;
	return true;
}

static bool find_kind(const struct walk *w, int sum, struct bpfu_loop *loop)
{
	if (sum != NO_REG) {
		loop->kind = BPFU_LOOP_SUM;
		loop->sum = (uint8_t)sum;
		loop->sum_w = w->added_w;
		return !w->has_store && w->has_load && !w->sign &&
		       find_address(w, loop, &w->load, &loop->load);
	}
	if (!w->has_store || !find_address(w, loop, &w->store, &loop->store))
		return false;
	if (!w->has_load)
		return find_fill(w, loop);
	loop->kind = BPFU_LOOP_COPY;
	return w->value.kind == TERM_LOADED && w->load_size == w->store_size &&
	       find_address(w, loop, &w->load, &loop->load);
}

bool bpfu_loop_distance(const struct bpfu_loop *loop, int64_t *distance)
{
	*distance = (int64_t)((uint64_t)loop->store.off - (uint64_t)loop->load.off);
	return loop->store.base == loop->load.base && loop->store.counter == loop->load.counter;
}

static bool is_always(const struct bpf_insn *insn)
{
	return insn->code == (BPF_JMP | BPF_JA) || insn->code == (BPF_JMP32 | BPF_JA);
}

/* The branch that decides: the one back, or one over that. 0 if there is none. */
static uint32_t deciding_branch(const struct bpf_insn *insns, uint32_t head, uint32_t last, bool *exits)
{
	*exits = is_always(&insns[last]);
	if (!*exits)
		return last;
	if (last == head || !bpfu_facts_is_jump(&insns[last - 1]) ||
	    bpfu_insn_jump_target(insns, last - 1) != last + 1)
		return 0;
	return last - 1;
}

/* Straight code that accesses memory; most loops end here. */
static bool may_be_idiom(const struct bpfu_facts *facts, const struct bpf_insn *insns, uint32_t head,
			 uint32_t branch)
{
	bool memory = false;

	for (uint32_t i = head; i < branch; i++) {
		unsigned class = BPF_CLASS(insns[i].code);

		if (class == BPF_JMP || class == BPF_JMP32 ||
		    (i > head && facts->flags[i] & BPFU_FACT_TARGET))
			return false;
		memory |= class == BPF_LDX || class == BPF_ST || class == BPF_STX;
	}
	return memory && !(facts->flags[branch] & BPFU_FACT_TARGET);
}

static void start(struct walk *w, const struct bpfu_facts *facts, const struct bpf_insn *insns,
		  uint32_t head)
{
	memset(w, 0, sizeof(*w));
	w->facts = facts;
	w->insns = insns;
	w->head = head;
	for (int r = 0; r < BPFU_MAX_REG; r++)
		w->regs[r] = (struct term){ .kind = TERM_SUM, .a = (int8_t)r, .b = NO_REG };
}

bool bpfu_loop_find(const struct bpfu_facts *facts, const struct bpf_insn *insns, uint32_t head,
		    struct bpfu_loop *loop)
{
	struct walk w;
	uint32_t last = facts->back_from[head], branch;
	bool exits;
	int sum;

	/* It has to be entered from above. (A function starts after another's jump or exit.) */
	if (last - head > BODY_MAX || !head || is_always(&insns[head - 1]) ||
	    insns[head - 1].code == (BPF_JMP | BPF_EXIT))
		return false;
	branch = deciding_branch(insns, head, last, &exits);
	if (!branch || !may_be_idiom(facts, insns, head, branch) ||
	    (exits && facts->flags[last] & BPFU_FACT_TARGET))
		return false;
	start(&w, facts, insns, head);
	for (uint32_t i = head; i < branch; i++)
		if (!(facts->flags[i] & BPFU_FACT_SECOND) && !visit(&w, &insns[i]))
			return false;
	memset(loop, 0, sizeof(*loop));
	loop->size = w.has_store ? w.store_size : w.load_size;
	return find_registers(&w, loop, &sum) && find_bound(&w, branch, exits, loop) &&
	       find_kind(&w, sum, loop);
}
