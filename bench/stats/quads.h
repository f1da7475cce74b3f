/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A quad: each arm of a comparison twice, in an order that is drawn at random and then run backwards.
 *
 *	A   B0  C   B   A0  C0 | C0  A0  B   C   B0  A         A, B and the control C, and
 *	---------- time ------------------------------->       their null programs A0, B0, C0
 *
 * With A and B alone that is ABBA or BAAB. A linear drift of the machine cancels, since every arm has
 * the same mean position; and as each arrangement is as likely as the one with two arms exchanged, the
 * sign of a quad's ratio is a fair coin if the arms do not differ, whatever the noise.
 *
 * The orders depend on the seed, the row and the number of the quad and on nothing else, so that a seed
 * replays them though rows end at different times.
 */
#ifndef BPFLAB_QUADS_H
#define BPFLAB_QUADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stats/rng.h"

enum quad_arm { QUAD_A, QUAD_B, QUAD_CONTROL, QUAD_NR_ARMS };

struct quad_slot {
	enum quad_arm arm;
	bool null;
	unsigned int half;
};

#define QUAD_MAX_SLOTS (QUAD_NR_ARMS * 2 * 2)

struct quad {
	uint32_t number;  /* of the round it was measured in */
	uint32_t load;    /* which load of the programs ran */
	bool disturbed;   /* a batch was preempted or moved to another CPU */
	double ns[QUAD_NR_ARMS][2][2]; /* [arm][null program][half] */
};

/* The generator of everything random about quad @number of row @row. */
struct rng quad_rng(uint64_t seed, uint32_t row, uint32_t number);

/* The batches of a quad in their order; returns how many. Without @control there are 8. */
size_t quad_plan(uint64_t seed, uint32_t row, uint32_t number, bool control,
		 struct quad_slot slots[QUAD_MAX_SLOTS]);

/* Geometric mean of an arm's two times. */
double quad_time(const struct quad *q, enum quad_arm arm, bool null);
/* What is left of it without the null program. */
double quad_net_time(const struct quad *q, enum quad_arm arm);

/* ln(@arm / A), with nothing subtracted. */
double quad_gross(const struct quad *q, enum quad_arm arm);
/* The same of the lesser of the two times of each. */
double quad_floor(const struct quad *q, enum quad_arm arm);
/*
 * The same without the null programs. Where noise leaves nothing of one of them the result is
 * +-QUAD_BEYOND, and 0 where nothing is left of both: it counts on its side, and no further.
 */
double quad_net(const struct quad *q, enum quad_arm arm);
#define QUAD_BEYOND 20.0

#endif
