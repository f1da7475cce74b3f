/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a comparison of one row comes to. M is the margin, below which a difference does not matter.
 *
 *	slower, faster  the interval excludes 0, and the difference is M or more, or may be
 *	trivial         it differs, but within +-M
 *	same            the interval of the two one-sided tests lies within +-M
 *	inconclusive    none of these: not "no change", but too few quads to tell
 *	untrusted       the control, A against A, differed
 */
#ifndef BPFLAB_VERDICT_H
#define BPFLAB_VERDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stats/effect.h"

enum verdict {
	VERDICT_SLOWER,
	VERDICT_FASTER,
	VERDICT_TRIVIAL,
	VERDICT_SAME,
	VERDICT_INCONCLUSIVE,
	VERDICT_UNTRUSTED,
	NR_VERDICTS,
};

/*
 * @margin in ln. @significant: whether the difference also holds among all rows of the suite; without
 * it there is no difference, whatever the interval of the row alone says.
 */
enum verdict verdict_decide(const struct effect *effect, double margin, bool significant);

const char *verdict_name(enum verdict v);

/* Slower or faster. */
bool verdict_is_difference(enum verdict v);

/* How many quads would settle an inconclusive effect, about. */
uint64_t verdict_quads_needed(const struct effect *effect, double margin);

/* Quads for a difference of @share (0.03: 3 %) to be found nine times in ten; sigma as in effect. */
double verdict_quads_planned(double sigma, double share);
/* The other way round: the smallest share that so many quads find nine times in ten. */
double verdict_smallest_difference(double sigma, double quads);

#endif
