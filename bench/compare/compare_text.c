// SPDX-License-Identifier: BSD-2-Clause
/*
 * Words for differences. "x % faster" is x % less time, "x % slower" x % more; where that is no longer
 * a figure one can picture, "n times faster" is 1/n of the time.
 */
#include "compare/compare_text.h"

#include <math.h>
#include <stdio.h>

#include "stats/quads.h"

#define TIMES M_LN2 /* from a factor of two on, factors are given */
#define BEYOND (QUAD_BEYOND - 1e-6) /* read back from a file */

static int decimals(double x)
{
	x = fabs(x);
	return x >= 99.95 ? 0 : x < 1 ? 2 : 1;
}

void compare_text_change(char *buf, size_t size, double log_ratio)
{
	double percent = 100 * expm1(log_ratio);

	if (isnan(log_ratio))
		snprintf(buf, size, "-");
	else if (log_ratio >= BEYOND)
		snprintf(buf, size, "infx");
	else if (log_ratio >= TIMES)
		snprintf(buf, size, "%.*fx", log_ratio > log(100) ? 0 : 2, exp(log_ratio));
	else
		snprintf(buf, size, "%+.*f %%", decimals(percent), percent);
}

/* Without the blank and the sign of percent, for inside the brackets. */
static void bare_change(char *buf, size_t size, double log_ratio, bool times)
{
	double percent = 100 * expm1(log_ratio);

	if (log_ratio >= BEYOND)
		snprintf(buf, size, times ? "inf" : "+inf");
	else if (times)
		snprintf(buf, size, "%.*f", log_ratio > log(100) ? 0 : 2, exp(log_ratio));
	else
		snprintf(buf, size, "%+.*f", decimals(percent), percent);
}

void compare_text_effect(char *buf, size_t size, const struct effect *effect)
{
	char change[32], lo[32], hi[32];
	bool times = effect->log_ratio >= TIMES;

	compare_text_change(change, sizeof(change), effect->log_ratio);
	if (!effect->n || !effect->has_ci) {
		snprintf(buf, size, "%s", change);
		return;
	}
	bare_change(lo, sizeof(lo), effect->ci.lo, times);
	bare_change(hi, sizeof(hi), effect->ci.hi, times);
	snprintf(buf, size, "%s [%s, %s]", change, lo, hi);
}

/* What is left of one side alone has no ratio (QUAD_BEYOND). */
static double ratio_of(double log_ratio)
{
	return log_ratio >= BEYOND ? INFINITY : exp(log_ratio);
}

/* "41 %, 95 % interval 40–42 %" or "20 times": how much less or more, with the least first. */
static void difference(char *buf, size_t size, const struct effect *effect, const char *word)
{
	double sign = effect->log_ratio < 0 ? -1 : 1;
	double near = sign * (sign < 0 ? effect->ci.hi : effect->ci.lo);
	double far = sign * (sign < 0 ? effect->ci.lo : effect->ci.hi);
	double middle = sign * effect->log_ratio;

	if (middle >= TIMES) {
		int digits = middle > log(20) ? 0 : 1;

		snprintf(buf, size, "%.*f times %s on B, 95 %% interval %.*f\u2013%.*f times", digits,
			 ratio_of(middle), word, digits, ratio_of(near), digits, ratio_of(far));
		return;
	}
	/* "faster" is a share of A's time, "slower" as well: 100 (1 - r) and 100 (r - 1) */
	middle = 100 * fabs(expm1(sign * middle));
	near = 100 * sign * expm1(sign * near);
	far = 100 * sign * (ratio_of(sign * far) - 1);
	snprintf(buf, size, "%.*f %% %s on B, 95 %% interval %.*f\u2013%.*f %%", decimals(middle), middle,
		 word, decimals(middle), near, decimals(middle), far);
}

void compare_text_sentence(char *buf, size_t size, const struct compare_sentence *s)
{
	double margin = 100 * expm1(s->margin);
	char text[192];

	switch (s->verdict) {
	case VERDICT_SLOWER:
	case VERDICT_FASTER:
		difference(text, sizeof(text), s->effect, verdict_name(s->verdict));
		snprintf(buf, size, "%s is %s", s->bench, text);
		break;
	case VERDICT_TRIVIAL:
		compare_text_effect(text, sizeof(text), s->effect);
		snprintf(buf, size, "%s differs on B, but by less than %.2g %%: %s", s->bench, margin, text);
		break;
	case VERDICT_SAME:
		compare_text_effect(text, sizeof(text), s->effect);
		snprintf(buf, size, "%s costs the same on B, within %.2g %%: %s", s->bench, margin, text);
		break;
	case VERDICT_UNTRUSTED:
		snprintf(buf, size, "%s: no verdict can be trusted", s->bench);
		break;
	default:
		compare_text_effect(text, sizeof(text), s->effect);
		snprintf(buf, size, "%s: cannot tell A and B apart, nor call them the same, from %zu %s: %s",
			 s->bench, s->effect->n, s->unit, text);
	}
}
