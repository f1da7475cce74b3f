/* SPDX-License-Identifier: BSD-2-Clause */
/* What the noise of a machine allows: from the quads of A against A. */
#ifndef BPFLAB_NOISE_STATS_H
#define BPFLAB_NOISE_STATS_H

#include <stddef.h>

#include "stats/compare_stats.h"

struct noise_stats {
	double sigma;         /* of a quad's log-ratio */
	double sigma_gross;   /* … without subtracting the null program */
	double acf_quads;     /* correlation of a quad's log-ratio with the next one's */
	double acf_times;     /* … of a quad's time: what pairing takes away */
	double drift;         /* largest distance of a tenth of the run from all of it, a share */
	double quads_per_second;
	size_t quads;
	struct effect effect; /* A against A */
};

/* @seconds: what the quads took. 0, -ENOMEM, or -ENODATA for fewer than 20 quads. */
int noise_stats_compute(const struct quad *quads, size_t n, double seconds, struct noise_stats *st);

/* The smallest difference, as a share, that so many seconds of quads show nine times in ten. */
double noise_smallest_difference(const struct noise_stats *st, double seconds);

/*
 * The correlation of @x with itself @lag later. Values beyond four sigma of the median count as four,
 * or the rare 20 ms of somebody else's would be all there is to see.
 */
double noise_autocorrelation(const double *x, size_t n, size_t lag);

#endif
