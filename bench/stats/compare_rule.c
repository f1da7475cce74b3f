// SPDX-License-Identifier: BSD-2-Clause
/* The stopping rule of a comparison; the chances are sequential.c's. */
#include "stats/compare_rule.h"

#include <math.h>
#include <string.h>

void compare_rule_init(struct compare_rule *rule, uint32_t quads, size_t rows, double margin)
{
	*rule = (struct compare_rule){ .rows = rows, .margin = log1p(margin) };
	if (quads) {
		rule->looks[rule->nr_looks++] = quads;
		rule->alpha = COMPARE_ALPHA;
		rule->alpha_suite = COMPARE_ALPHA / (double)rows;
		return;
	}
	memcpy(rule->looks, sequential_looks, sizeof(sequential_looks));
	rule->nr_looks = SEQUENTIAL_NR_LOOKS;
	rule->alpha = SEQUENTIAL_ALPHA;
	rule->alpha_suite = rows <= 1 ? SEQUENTIAL_ALPHA :
			    sequential_alpha(sequential_looks, SEQUENTIAL_NR_LOOKS,
					     COMPARE_ALPHA / (double)rows);
}

bool compare_rule_decided(const struct compare_rule *rule, const struct effect *suite,
			  const struct effect *own)
{
	if (effect_excludes_zero(suite))
		return true;
	return own->has_ci && own->inner.lo >= -rule->margin && own->inner.hi <= rule->margin;
}

double compare_rule_p(const struct compare_rule *rule, const uint32_t *done, size_t nr_done, double p)
{
	uint32_t looks[SEQUENTIAL_NR_LOOKS], last = 0;
	size_t nr = 0;

	if (rule->nr_looks == 1)
		return p;
	for (; nr < nr_done; nr++)
		last = looks[nr] = done[nr];
	for (size_t i = 0; i < rule->nr_looks && nr < rule->nr_looks; i++)
		if (rule->looks[i] > last)
			looks[nr++] = rule->looks[i];
	return fmax(p, sequential_level(looks, nr, p));
}
