// SPDX-License-Identifier: BSD-2-Clause
/* The order of a quad, and the ratios of its times. */
#include "stats/quads.h"

#include <math.h>

struct rng quad_rng(uint64_t seed, uint32_t row, uint32_t number)
{
	/* States that differ by a few bits would make sequences that overlap: mix after each part. */
	struct rng r = { seed };

	r.state = rng_next(&r) ^ row;
	r.state = rng_next(&r) ^ number;
	r.state = rng_next(&r);
	return r;
}

size_t quad_plan(uint64_t seed, uint32_t row, uint32_t number, bool control,
		 struct quad_slot slots[QUAD_MAX_SLOTS])
{
	uint32_t order[QUAD_NR_ARMS * 2] = { 0, 1, 2, 3, 4, 5 };
	size_t nr = control ? 6 : 4;
	struct rng rng = quad_rng(seed, row, number);

	/* units: A, A0, B, B0, C, C0 */
	rng_shuffle(&rng, order, nr);
	for (size_t i = 0; i < nr; i++) {
		struct quad_slot slot = { .arm = order[i] / 2, .null = order[i] % 2 };

		slots[i] = slot;
		slot.half = 1;
		slots[2 * nr - 1 - i] = slot;
	}
	return 2 * nr;
}

double quad_time(const struct quad *q, enum quad_arm arm, bool null)
{
	return sqrt(q->ns[arm][null][0] * q->ns[arm][null][1]);
}

double quad_net_time(const struct quad *q, enum quad_arm arm)
{
	return quad_time(q, arm, false) - quad_time(q, arm, true);
}

double quad_gross(const struct quad *q, enum quad_arm arm)
{
	return log(quad_time(q, arm, false) / quad_time(q, QUAD_A, false));
}

double quad_floor(const struct quad *q, enum quad_arm arm)
{
	return log(fmin(q->ns[arm][0][0], q->ns[arm][0][1]) /
		   fmin(q->ns[QUAD_A][0][0], q->ns[QUAD_A][0][1]));
}

double quad_net(const struct quad *q, enum quad_arm arm)
{
	double x = quad_net_time(q, arm), base = quad_net_time(q, QUAD_A);

	if (x > 0 && base > 0)
		return fmax(-QUAD_BEYOND, fmin(QUAD_BEYOND, log(x / base)));
	return x > 0 ? QUAD_BEYOND : base > 0 ? -QUAD_BEYOND : 0;
}
