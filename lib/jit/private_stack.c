// SPDX-License-Identifier: BSD-2-Clause
/* See private_stack.h. */
#include "jit/private_stack.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "obj/prog.h"
#include "percpu/percpu_alloc.h"
#include "util/log.h"

#define GUARD_VALUE 0x5afe57acc5afe57aull
#define FRAME_ALIGN 16
#define MAX_SEGMENTS 4 /* for a run and callbacks within callbacks */

_Static_assert(sizeof(struct bpfu_private_head) - offsetof(struct bpfu_private_head, busy) +
			       BPFU_PRIVATE_GUARD + BPFU_PRIVATE_BIAS ==
		       -BPFU_PRIVATE_BUSY,
	       "busy lies where generated code looks for it");

/* ---- places ---- */

/* True if the frame of some function had to move up, or the reach of one has grown. */
static bool place_callees(struct bpfu_facts *facts, const struct bpf_insn *insns, uint32_t f)
{
	struct bpfu_func_facts *func = &facts->funcs[f];
	bool changed = false;

	for (uint32_t i = func->start; i < func->end; i++) {
		struct bpfu_func_facts *callee;
		uint32_t size;

		if (!bpfu_insn_is_pseudo_call(&insns[i]))
			continue;
		callee = &facts->funcs[bpfu_facts_func_at(facts, i + 1 + (uint32_t)insns[i].imm)];
		size = callee->private_stack ? BPFU_ROUND_UP(callee->stack, FRAME_ALIGN) : 0;
		if (callee->private_top < func->private_top + size) {
			callee->private_top = func->private_top + size;
			changed = true;
		}
		if (callee->private_reach && !func->private_reach)
			changed = func->private_reach = true;
	}
	return changed;
}

/* Above all callers; false if there is no such place, because functions call each other in turn. */
static bool place_frames(struct bpfu_facts *facts, const struct bpf_insn *insns)
{
	uint32_t round = 0;
	bool changed;

	do {
		changed = false;
		for (uint32_t f = 0; f < facts->func_cnt; f++)
			changed |= place_callees(facts, insns, f);
	} while (changed && ++round <= 2 * facts->func_cnt);
	return !changed;
}

void bpfu_private_stack_drop(struct bpfu_private_stack *stack, struct bpfu_facts *facts)
{
	for (uint32_t f = 0; f < facts->func_cnt; f++) {
		facts->funcs[f].private_stack = facts->funcs[f].private_reach = false;
		facts->funcs[f].private_top = 0;
	}
	memset(stack, 0, sizeof(*stack));
}

void bpfu_private_stack_plan(struct bpfu_private_stack *stack, struct bpfu_facts *facts,
			     const struct bpfu_prog *prog)
{
	bool any = false, fits = true;

	memset(stack, 0, sizeof(*stack));
	for (uint32_t f = 0; f < facts->func_cnt; f++) {
		struct bpfu_func_facts *func = &facts->funcs[f];

		func->private_stack = prog->subprogs[f].private_stack && func->stack &&
				      func->used >> BPF_REG_10 & 1 && !func->fp_is_operand;
		func->private_reach = func->private_stack;
		func->private_top =
			func->private_stack ? BPFU_ROUND_UP(func->stack, FRAME_ALIGN) : 0;
		any |= func->private_stack;
		/* The end of a run that goes on in another program would not be seen. */
		fits &= !func->tail_reach;
	}
	if (!any || !fits || !place_frames(facts, prog->insns)) {
		bpfu_private_stack_drop(stack, facts);
		return;
	}
	stack->segments = 1;
	for (uint32_t f = 0; f < facts->func_cnt; f++) {
		const struct bpfu_func_facts *func = &facts->funcs[f];

		stack->size = BPFU_MAX(stack->size, func->private_top);
		stack->segments += func->is_callback && func->private_reach;
	}
	stack->segments = BPFU_MIN(stack->segments, MAX_SEGMENTS);
	stack->stride = stack->size + BPFU_PRIVATE_GUARD;
}

/* ---- memory ---- */

static uint32_t first_segment(void)
{
	return sizeof(struct bpfu_private_head) + BPFU_PRIVATE_GUARD;
}

static uint32_t total_size(const struct bpfu_private_stack *stack)
{
	return first_segment() + stack->segments * stack->stride;
}

/* The guard below segment @n of slot @cpu; that of the number of segments is the last one. */
static uint64_t *guard_of(const struct bpfu_private_stack *stack, uint32_t cpu, uint32_t n)
{
	char *slot = bpfu_percpu_of(stack->mem, cpu);

	return (uint64_t *)(slot + first_segment() - BPFU_PRIVATE_GUARD + (size_t)n * stack->stride);
}

static void init_slot(struct bpfu_private_stack *stack, uint32_t cpu)
{
	struct bpfu_private_head *head = bpfu_percpu_of(stack->mem, cpu);

	head->top = (uintptr_t)head + first_segment() + stack->stride + BPFU_PRIVATE_BIAS;
	head->limit = head->top + (uint64_t)(stack->segments - 1) * stack->stride;
	for (uint32_t n = 0; n <= stack->segments; n++)
		for (uint32_t i = 0; i < BPFU_PRIVATE_GUARD / sizeof(uint64_t); i++)
			guard_of(stack, cpu, n)[i] = GUARD_VALUE;
}

int bpfu_private_stack_alloc(struct bpfu_private_stack *stack)
{
	stack->mem = bpfu_percpu_alloc(total_size(stack));
	if (!stack->mem)
		return -ENOMEM;
	for (uint32_t cpu = 0; cpu < bpfu_possible_cpus(); cpu++)
		init_slot(stack, cpu);
	return 0;
}

/* Written to from the segment below it, or from the one above. */
static const char *guard_damage(const uint64_t *guard)
{
	const uint32_t last = BPFU_PRIVATE_GUARD / sizeof(uint64_t) - 1;

	for (uint32_t i = 0; i <= last; i++)
		if (guard[i] != GUARD_VALUE)
			return i <= last / 2 ? "above its end" : "below its beginning";
	return NULL;
}

static void check_slot(const struct bpfu_private_stack *stack, uint32_t cpu, const char *prog_name)
{
	for (uint32_t n = 0; n <= stack->segments; n++) {
		const char *where = guard_damage(guard_of(stack, cpu, n));

		if (where)
			bpfu_err("prog '%s': private stack of CPU %u was written to %s; please report "
				 "this program",
				 prog_name, cpu, where);
	}
}

void bpfu_private_stack_free(struct bpfu_private_stack *stack, const char *prog_name)
{
	if (!stack->mem)
		return;
	for (uint32_t cpu = 0; cpu < bpfu_possible_cpus(); cpu++)
		check_slot(stack, cpu, prog_name);
	bpfu_percpu_free(stack->mem, total_size(stack));
	stack->mem = NULL;
}
