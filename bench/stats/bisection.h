/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bisection of a row of things of which the first is good and the last is bad, where some cannot be
 * judged. It ends with a good one and a bad one that have nothing but such between them; where good and
 * bad ones alternate, that is one of the places where good turns to bad.
 */
#ifndef BPFLAB_BISECTION_H
#define BPFLAB_BISECTION_H

#include <stddef.h>

enum bisect_state { BISECT_UNKNOWN, BISECT_GOOD, BISECT_BAD, BISECT_SKIPPED };

struct bisection {
	enum bisect_state *states; /* of @nr, the caller's */
	size_t nr;
	size_t good, bad;          /* the last good and the first bad one so far */
	size_t skips;              /* in a row, since one was judged */
};

/* @states are of @nr, at least two; all are unknown but the ends. */
void bisection_init(struct bisection *b, enum bisect_state *states, size_t nr);

/* The one to look at next; @b->nr if there is none any more. */
size_t bisection_next(const struct bisection *b);

/* What @idx, which bisection_next() gave, was found to be. */
void bisection_tell(struct bisection *b, size_t idx, enum bisect_state state);

/* How many are still in question, and how many looks that takes if all can be judged. */
size_t bisection_left(const struct bisection *b);
unsigned int bisection_steps(const struct bisection *b);

#endif
