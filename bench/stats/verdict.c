// SPDX-License-Identifier: BSD-2-Clause
/* From an interval to a word, and how many quads a word needs. */
#include "stats/verdict.h"

#include <math.h>

/*
 * The standard error of a median is 1.2533 sigma / sqrt(n); a difference of z(97.5 %) + z(90 %) of them
 * is found nine times in ten. Noise is not the same all the time: twice as many quads are reckoned with.
 */
#define MEDIAN_ERROR 1.2533
#define FIND_90 (1.959964 + 1.281552)
#define NOISE_CHANGES 2

#define MOST_QUADS 1000000000u

bool verdict_is_difference(enum verdict v)
{
	return v == VERDICT_SLOWER || v == VERDICT_FASTER;
}

static bool is_within(const struct interval *ci, double margin)
{
	return ci->lo >= -margin && ci->hi <= margin;
}

enum verdict verdict_decide(const struct effect *effect, double margin, bool significant)
{
	if (!effect->has_ci)
		return VERDICT_INCONCLUSIVE;
	if (significant && effect_excludes_zero(effect)) {
		if (fabs(effect->log_ratio) < margin && is_within(&effect->ci, margin))
			return VERDICT_TRIVIAL;
		return effect->log_ratio > 0 ? VERDICT_SLOWER : VERDICT_FASTER;
	}
	return is_within(&effect->inner, margin) ? VERDICT_SAME : VERDICT_INCONCLUSIVE;
}

const char *verdict_name(enum verdict v)
{
	static const char *const names[NR_VERDICTS] = {
		[VERDICT_SLOWER] = "slower",
		[VERDICT_FASTER] = "faster",
		[VERDICT_TRIVIAL] = "trivial",
		[VERDICT_SAME] = "same",
		[VERDICT_INCONCLUSIVE] = "inconclusive",
		[VERDICT_UNTRUSTED] = "untrusted",
	};

	return names[v];
}

/* An interval shrinks with the square root of the number: until 0, or the margin, is outside of it. */
uint64_t verdict_quads_needed(const struct effect *effect, double margin)
{
	double off = fabs(effect->log_ratio);
	double need = fmax(off, margin - off), half, n;

	if (!effect->has_ci) /* what there is says nothing of the noise */
		return 0;
	half = fmax(effect->ci.hi - effect->log_ratio, effect->log_ratio - effect->ci.lo);
	n = (double)effect->n * (half / need) * (half / need);
	if (!(n < MOST_QUADS))
		return MOST_QUADS;
	return (uint64_t)fmax((double)effect->n + 1, ceil(n));
}

double verdict_quads_planned(double sigma, double share)
{
	double z = MEDIAN_ERROR * sigma * FIND_90 / log1p(share);

	return ceil(z * z * NOISE_CHANGES);
}

double verdict_smallest_difference(double sigma, double quads)
{
	return expm1(MEDIAN_ERROR * sigma * FIND_90 * sqrt(NOISE_CHANGES) / sqrt(quads));
}
