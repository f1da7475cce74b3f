/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The figures of one row of a comparison, from its quads.
 *
 * A difference is that of the net times, what is left of each arm without its own null program: arms on
 * two targets may start a program at different costs, and a difference of these is none of the bench.
 * Where noise leaves nothing of the net time in many quads, as the null programs are all but everything,
 * the difference is that of the gross times, and says so; if the null programs differ, too, it says
 * nothing about the bench.
 *
 * All differences are logarithms of the ratio to A.
 */
#ifndef BPFLAB_COMPARE_STATS_H
#define BPFLAB_COMPARE_STATS_H

#include <stdbool.h>
#include <stddef.h>

#include "stats/compare_rule.h"
#include "stats/effect.h"
#include "stats/quads.h"

enum compare_basis { BASIS_NET, BASIS_GROSS };

struct compare_stats {
	enum compare_basis basis;
	struct effect effect; /* on the basis, at the row's own level */
	struct effect suite;  /* … at the level of the suite */
	struct effect gross;
	struct effect net;    /* n is 0 if it cannot be resolved */
	struct effect floor;  /* of the lesser times, gross */
	struct effect null;   /* of the null programs, at 5 % */
	struct effect control; /* on the basis, at COMPARE_CONTROL_ALPHA; n is 0 without a control */
	double null_share[2]; /* of A and B: what the null program is of the time */
	struct {
		double ns;    /* of a batch, on the basis */
		struct interval ci; /* 95 % */
	} cost[2];
	bool shape_differs;   /* the arms' noise is of different shape: the median may not be all */
	double unsteady;      /* how far the first quarter's ratio is off that of the rest; 0: it is not */
};

/*
 * The difference alone, which is what a look needs. The basis is chosen anew from the quads; that does
 * not favour an arm, as the criterion is the same with A and B exchanged. 0 or -ENOMEM.
 */
int compare_stats_look(const struct quad *quads, size_t n, const struct compare_rule *rule,
		       struct compare_stats *out);

/* All of it. @control: the quads have one. */
int compare_stats_compute(const struct quad *quads, size_t n, const struct compare_rule *rule,
			  bool control, struct compare_stats *out);

/* The net ratio that follows from a gross one, if a share @rho of A is overhead, and as much in B. */
double compare_stats_net_ratio(double gross_ratio, double rho);

/*
 * The two-sample Kolmogorov-Smirnov distance of the medians' residuals @a / median(@a), @b / median(@b):
 * 0 for equal shapes, at most 1. NAN if out of memory.
 */
double compare_stats_shape_distance(const double *a, const double *b, size_t n);

#endif
