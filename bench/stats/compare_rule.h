/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * When a comparison may stop, and at which level each of its intervals is.
 *
 * By default there are looks after 40, 80, 160 and 320 quads; a row stops at the first at which its
 * interval shows a difference, or lies within the margin. With a fixed number of quads there is one
 * look, at 5 %. With several rows a difference has to hold among all of them: the level at which one
 * stops is that of its share of 5 %.
 */
#ifndef BPFLAB_COMPARE_RULE_H
#define BPFLAB_COMPARE_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stats/effect.h"
#include "stats/sequential.h"

#define COMPARE_ALPHA 0.05         /* of all looks, of all rows */
#define COMPARE_CONTROL_ALPHA 0.01 /* of all controls */
#define COMPARE_MARGIN 0.015        /* below which a difference does not matter, by default */

struct compare_rule {
	uint32_t looks[SEQUENTIAL_NR_LOOKS];
	size_t nr_looks;
	double alpha;       /* of one look at one row, as if it were alone */
	double alpha_suite; /* … as one of @rows */
	size_t rows;
	double margin;      /* ln(1 + M) */
};

/* @quads: how many, or 0 for the looks above. @margin: a share, 0.015 for 1.5 %. */
void compare_rule_init(struct compare_rule *rule, uint32_t quads, size_t rows, double margin);

/*
 * True if a row need not go on: it shows a difference at the level of the suite (@suite), or at its own
 * level (@own) that there is none beyond the margin.
 */
bool compare_rule_decided(const struct compare_rule *rule, const struct effect *suite,
			  const struct effect *own);

/*
 * The chance of a p-value of @p at any of the looks, if there is no difference. @done: how many quads
 * there were at those looks that took place, for there may have been more than planned. Negative:
 * -ENOMEM.
 */
double compare_rule_p(const struct compare_rule *rule, const uint32_t *done, size_t nr_done, double p);

#endif
