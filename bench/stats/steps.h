/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * When a series of runs changed its level. Runs of other days scatter more than rounds of one run, and
 * their scatter has no known shape: so the stretch is sought whose ranks differ most from the others', and
 * its ends are steps if they differ more than those of the same values in random order do, in 99 of 100
 * orders. All parts are searched again in the same way.
 */
#ifndef BPFLAB_STEPS_H
#define BPFLAB_STEPS_H

#include <stddef.h>

struct step {
	size_t at;     /* index of the first value on the new level */
	double before, after; /* medians of the two stretches */
	double p;
};

#define STEPS_LEAST 4 /* values on either side */
#define STEPS_ALPHA 0.01
#define STEPS_MOST 500 /* the newest that are searched */

/* Steps of @x in @steps, in ascending order; at most @max. Returns how many, or -ENOMEM. */
int steps_find(const double *x, size_t n, struct step *steps, size_t max);

#endif
