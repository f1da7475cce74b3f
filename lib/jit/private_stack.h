/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Private stacks: the BPF stacks of a program's functions in per-CPU memory of the program instead
 * of the thread's stack. The verifier says for which functions (bpfu_subprog.private_stack); here
 * are the places of their frames and the memory. README.md tells how a run gets hold of it.
 *
 * Where the frames of functions lie relative to each other is known when the program is compiled:
 * a function lies above all functions that may have called it. The frames of one activation (a run,
 * or a callback that a helper calls) are a segment. The first one is main's; it is in use while busy
 * is set. The others are handed out to callbacks like a stack. So two activations on a slot never
 * have the same segment; one that finds none has it on the thread's stack.
 *
 *   per slot   | top | limit | … | busy | guard | segment | guard | segment | guard |
 *
 *   segment    | frame of the main function | of what it calls | of what that calls … |
 *                                  ^ r10                  ^ r10
 *
 * Only the thread that owns the slot uses them, and whatever interrupts it has finished before it
 * goes on: no atomic operations are needed. In the child of a fork() the segments of runs that other
 * threads had under way stay taken; runs on those slots use the thread's stack.
 */
#ifndef BPFU_JIT_PRIVATE_STACK_H
#define BPFU_JIT_PRIVATE_STACK_H

#include <stdbool.h>
#include <stdint.h>

#include "jit/facts.h"

struct bpfu_prog;

/* At the beginning of a slot's memory; generated code knows the offsets. */
struct bpfu_private_head {
	uint64_t top;   /* of the next segment for a callback, plus BPFU_PRIVATE_BIAS */
	uint64_t limit; /* what top is when no segment is left */
	uint64_t unused[5];
	uint64_t busy;  /* main's segment is in use; reached by BPFU_PRIVATE_BUSY */
};

/* Code points this far into a segment: one byte of displacement then reaches 256 bytes. */
#define BPFU_PRIVATE_BIAS 128

/* Bytes around segments that nobody writes. */
#define BPFU_PRIVATE_GUARD 64

/* busy, relative to what code has for main's segment. */
#define BPFU_PRIVATE_BUSY (-(BPFU_PRIVATE_BIAS + BPFU_PRIVATE_GUARD + 8))

struct bpfu_private_stack {
	void *mem;             /* per-CPU pointer; NULL: no function has a private stack */
	uint32_t size;         /* bytes of a segment */
	uint32_t stride;       /* from one segment to the next */
	uint32_t segments;
};

/* Memory that stands for the program's in code that is not to be run here. */
#define BPFU_PRIVATE_NOWHERE ((void *)0x100000000000)

/* What code has for main's segment, on the first slot. */
static inline uint64_t bpfu_private_stack_main(const struct bpfu_private_stack *stack)
{
	return (uintptr_t)stack->mem + sizeof(struct bpfu_private_head) + BPFU_PRIVATE_GUARD +
	       BPFU_PRIVATE_BIAS;
}

/*
 * Bytes of thread's stack that stand in for main's segment, from busy on; a multiple of 16. Code
 * points BPFU_PRIVATE_SPARE_BASE into them.
 */
#define BPFU_PRIVATE_SPARE_BASE (16 + BPFU_PRIVATE_GUARD + BPFU_PRIVATE_BIAS)

static inline uint32_t bpfu_private_stack_spare(const struct bpfu_private_stack *stack)
{
	return 16 + BPFU_PRIVATE_GUARD + stack->size;
}

/*
 * Which functions get a private stack, and where: fills the private_* fields of @facts, and the
 * sizes in @stack. size is 0 if none gets one.
 */
void bpfu_private_stack_plan(struct bpfu_private_stack *stack, struct bpfu_facts *facts,
			     const struct bpfu_prog *prog);

/* Take it back: all functions use the thread's stack. */
void bpfu_private_stack_drop(struct bpfu_private_stack *stack, struct bpfu_facts *facts);

/* Get the memory, with its guards. 0 or -ENOMEM. */
int bpfu_private_stack_alloc(struct bpfu_private_stack *stack);

/*
 * Free it, when no run uses it any more. Guards that were overwritten are reported with the name of
 * the program.
 */
void bpfu_private_stack_free(struct bpfu_private_stack *stack, const char *prog_name);

#endif
