/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where values come from, and which of them matter.
 *
 * To stop exploring a path because an equal one was found safe before, "equal" should ignore what
 * safety did not depend on: the exact value of a counter that is only stored, say. So each scalar
 * carries a node; the node of a result names the nodes of its operands. When a decision is based on
 * a value (an offset added to a pointer, the size given to a helper, a branch that was not followed
 * because its condition is known), its node is marked, and with it all nodes it descends from. A scalar
 * in a stored state whose node is not marked has influenced nothing: any scalar may stand for it.
 *
 *   r6 = 5          node 1
 *   r7 = r6         node 1              stored state A: r6 -> 1, r7 -> 1
 *   r7 &= 3         node 3 (2)          (after A the current state has children: r6 -> 4, r7 -> 2)
 *   r1 += r7        marks 3, 2, 1       so in A r7 is compared; r6 too as they were one value
 *
 * At each checkpoint all values of the current state get child nodes, so that what happens to a value
 * after the checkpoint does not mark the value in states stored on other paths.
 *
 * The contents of a stack slot have a node as well: it is marked when they are read, and unmarked
 * slots of a stored state are dead.
 *
 * The branch of a comparison refines a register by the other one: its node then descends from both.
 */
#ifndef BPFU_VERIFIER_LINEAGE_H
#define BPFU_VERIFIER_LINEAGE_H

#include <stdbool.h>
#include <stdint.h>

struct bpfu_lineage {
	struct bpfu_lineage_node {
		uint32_t parent[2];
	} *node;
	uint8_t *marked;       /* a bit per node */
	uint32_t cnt, cap;
	uint32_t *todo;        /* of a mark in progress */
	uint32_t todo_cap;
	bool nomem;            /* sticky; the verifier gives up with -ENOMEM */
};

void bpfu_lineage_init(struct bpfu_lineage *l);
void bpfu_lineage_release(struct bpfu_lineage *l);

/* A node with up to two parents (0: none). Node 0 stands for nothing and counts as marked. */
uint32_t bpfu_lineage_new(struct bpfu_lineage *l, uint32_t a, uint32_t b);

/* Mark @n and its ancestors. */
void bpfu_lineage_mark(struct bpfu_lineage *l, uint32_t n);

static inline bool bpfu_lineage_is_marked(const struct bpfu_lineage *l, uint32_t n)
{
	return !n || l->marked[n / 8] >> (n % 8) & 1;
}

#endif
