// SPDX-License-Identifier: BSD-2-Clause
/*
 * Ratios of the targets of a run: each to native code, which is the limit, and libbpfu to the kernel.
 * Only runs with a native target have them; others are for `bpflab compare`, which gives a verdict.
 *
 * The points of a run are interleaved, so that what they are divided by was measured in the same state
 * of the machine.
 */
#include "report/report_ratio.h"

#include <math.h>
#include <string.h>

#define MAX_PAIRS 16

struct pair {
	const struct target *target, *base;
};

/* By name, as in results: views do without the targets themselves. */
static bool is_kind(const struct target *t, const char *name)
{
	return !strcmp(t->kind->name, name);
}

static bool is_base(const struct target *t, const struct target *base)
{
	if (is_kind(base, "native"))
		return !is_kind(t, "native");
	return is_kind(base, "host") && is_kind(t, "user");
}

static size_t find_pairs(const struct suite *s, struct pair *pairs)
{
	bool has_native = false;
	size_t nr = 0;

	for (size_t i = 0; i < s->nr_targets; i++)
		has_native |= is_kind(&s->targets[i], "native");
	for (size_t t = 0; has_native && t < s->nr_targets; t++)
		for (size_t b = 0; b < s->nr_targets && nr < MAX_PAIRS; b++)
			if (is_base(&s->targets[t], &s->targets[b]))
				pairs[nr++] = (struct pair){ &s->targets[t], &s->targets[b] };
	return nr;
}

static const struct result *find_result(const struct report *r, const char *label,
					const struct target *t)
{
	for (size_t i = 0; i < r->nr_results; i++)
		if (r->results[i].point->inst.target == t &&
		    !strcmp(r->results[i].point->label, label))
			return &r->results[i];
	return NULL;
}

static double divide(const struct result *res, const struct result *base)
{
	if (!res || !base || !res->est.distinguishable || !base->est.distinguishable)
		return NAN;
	return res->est.value / base->est.value;
}

void report_ratios(const struct report *r, const struct result *res,
		   void (*add)(const struct target *base, double ratio, void *ctx), void *ctx)
{
	struct pair pairs[MAX_PAIRS];
	size_t nr = find_pairs(r->suite, pairs);

	for (size_t i = 0; i < nr; i++)
		if (pairs[i].target == res->point->inst.target)
			add(pairs[i].base,
			    divide(res, find_result(r, res->point->label, pairs[i].base)), ctx);
}

static void print_ratio(FILE *f, double ratio, int width)
{
	if (isnan(ratio))
		fprintf(f, "  %*s", width, "-");
	else
		fprintf(f, "  %*.3f", width, ratio);
}

/* "user / native": what is left of a division sign that takes two bytes. */
static int print_title(FILE *f, const struct pair *p)
{
	return fprintf(f, "  %s / %s", p->target->spec, p->base->spec) - 2;
}

/* Rows are the labels, each once. */
static bool is_first(const struct report *r, size_t idx)
{
	for (size_t i = 0; i < idx; i++)
		if (!strcmp(r->results[i].point->label, r->results[idx].point->label))
			return false;
	return true;
}

void report_ratio_table(FILE *f, const struct report *r)
{
	double log_sum[MAX_PAIRS] = { 0 };
	size_t nr_summed[MAX_PAIRS] = { 0 };
	struct pair pairs[MAX_PAIRS];
	size_t nr = find_pairs(r->suite, pairs), rows = 0;
	int widths[MAX_PAIRS];

	if (!nr || !r->nr_results)
		return;
	fprintf(f, "\n%-20s", "time / time");
	for (size_t k = 0; k < nr; k++)
		widths[k] = print_title(f, &pairs[k]);
	fprintf(f, "\n");
	for (size_t i = 0; i < r->nr_results; i++) {
		const char *label = r->results[i].point->label;

		if (!is_first(r, i))
			continue;
		rows++;
		fprintf(f, "%-20s", label);
		for (size_t k = 0; k < nr; k++) {
			double ratio = divide(find_result(r, label, pairs[k].target),
					      find_result(r, label, pairs[k].base));

			print_ratio(f, ratio, widths[k]);
			if (!isnan(ratio)) {
				log_sum[k] += log(ratio);
				nr_summed[k]++;
			}
		}
		fprintf(f, "\n");
	}
	if (rows < 2)
		return;
	fprintf(f, "%-20s", "geometric mean");
	for (size_t k = 0; k < nr; k++)
		print_ratio(f, nr_summed[k] ? exp(log_sum[k] / (double)nr_summed[k]) : NAN, widths[k]);
	fprintf(f, "\n");
}
