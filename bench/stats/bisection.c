// SPDX-License-Identifier: BSD-2-Clause
/*
 * The middle of those in question is next. What cannot be judged comes in clusters: beside a kernel that does
 * not boot there is another. So after a skip it is not the neighbour's turn, but that of one a quarter away,
 * then an eighth, as van der Corput's sequence has them.
 */
#include "stats/bisection.h"

void bisection_init(struct bisection *b, enum bisect_state *states, size_t nr)
{
	*b = (struct bisection){ .states = states, .nr = nr, .good = 0, .bad = nr - 1 };
	for (size_t i = 0; i < nr; i++)
		states[i] = BISECT_UNKNOWN;
	states[0] = BISECT_GOOD;
	states[nr - 1] = BISECT_BAD;
}

size_t bisection_left(const struct bisection *b)
{
	size_t left = 0;

	for (size_t i = b->good + 1; i < b->bad; i++)
		left += b->states[i] == BISECT_UNKNOWN;
	return left;
}

unsigned int bisection_steps(const struct bisection *b)
{
	unsigned int steps = 0;

	for (size_t left = bisection_left(b); left; left /= 2)
		steps++;
	return steps;
}

/* The bits of @i behind the point in reverse order: 1/2, 1/4, 3/4, 1/8, … of @left. */
static size_t spread(size_t i, size_t left)
{
	double at = 0, share = 0.5;

	for (; i; i /= 2, share /= 2)
		at += i % 2 ? share : 0;
	return (size_t)(at * (double)left);
}

size_t bisection_next(const struct bisection *b)
{
	size_t left = bisection_left(b), which = spread(b->skips + 1, left);

	for (size_t i = b->good + 1; i < b->bad; i++)
		if (b->states[i] == BISECT_UNKNOWN && !which--)
			return i;
	return b->nr;
}

void bisection_tell(struct bisection *b, size_t idx, enum bisect_state state)
{
	b->states[idx] = state;
	b->skips = state == BISECT_SKIPPED ? b->skips + 1 : 0;
	if (state == BISECT_GOOD)
		b->good = idx;
	else if (state == BISECT_BAD)
		b->bad = idx;
}
