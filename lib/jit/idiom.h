/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Loops that copy, fill or add up adjacent memory. A backend puts a loop of its own in front of such a
 * one, which does several iterations at once while more than these are left:
 *
 *      wide:    while (more than n iterations are left) { n of them; counters += n * step; }
 *      head:    the loop as it is, for at least the last iteration
 *
 * That last iteration, an ordinary one, leaves what the program may read afterwards in all registers, so
 * the wide loop only has to keep counters and a sum right. Whoever branches to the head, rather than
 * coming from above, goes past the wide loop.
 */
#ifndef BPFU_JIT_IDIOM_H
#define BPFU_JIT_IDIOM_H

#include <stdbool.h>
#include <stdint.h>

#include "jit/facts.h"

enum bpfu_loop_kind {
	BPFU_LOOP_COPY, /* *store = *load */
	BPFU_LOOP_FILL, /* *store = value */
	BPFU_LOOP_SUM,  /* sum += *load, which is zero-extended */
};

#define BPFU_LOOP_NO_REG (-1)
#define BPFU_LOOP_STEPS 4

/* base + counter + off, where base does not change and the counter is one of steps[]. */
struct bpfu_loop_addr {
	int8_t base; /* BPF register, r10 included, or BPFU_LOOP_NO_REG */
	int8_t counter;
	int64_t off;
};

/* A register that grows by the same number in every iteration. */
struct bpfu_loop_step {
	uint8_t reg;
	bool w;      /* as a 64-bit number */
	int32_t by;
};

enum bpfu_loop_while { BPFU_WHILE_NE, BPFU_WHILE_LT, BPFU_WHILE_SLT };

struct bpfu_loop {
	enum bpfu_loop_kind kind;
	unsigned size;                  /* bytes per iteration: 1, 2, 4 or 8 */
	struct bpfu_loop_addr load;     /* COPY, SUM */
	struct bpfu_loop_addr store;    /* COPY, FILL */
	int8_t value;                   /* FILL: with this register, or */
	uint64_t pattern;               /* … with these 8 bytes, again and again */
	uint8_t sum;                    /* SUM: register */
	bool sum_w;                     /* … and 64-bit sum */

	struct bpfu_loop_step steps[BPFU_LOOP_STEPS];
	unsigned step_cnt;
	uint16_t spare;                 /* registers that the loop writes before it reads them */

	/*
	 * Iterations if they are known, or 0. Otherwise: so many more iterations follow as steps fit below
	 * limit - counter, if the counter is below the limit (NE: always, modulo the width).
	 */
	uint32_t iterations;
	uint64_t start;                 /* of the counter, if iterations are known */
	enum bpfu_loop_while cond;
	bool w;                         /* a comparison of 64 bits */
	struct bpfu_loop_step counter;
	int8_t limit;                   /* register, or */
	int64_t limit_imm;
};

/* Is the loop at @head, which is BPFU_FACT_INNER, one of these? After bpfu_facts_solve(). */
bool bpfu_loop_find(const struct bpfu_facts *facts, const struct bpf_insn *insns, uint32_t head,
		    struct bpfu_loop *loop);

/* The distance from load to store, if it is the same in every run. */
bool bpfu_loop_distance(const struct bpfu_loop *loop, int64_t *distance);

#endif
