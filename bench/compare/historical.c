// SPDX-License-Identifier: BSD-2-Clause
/* Reading stored results, pairing their rows, and the prediction interval between runs. */
#include "compare/historical.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "result/record.h"
#include "stats/compare_rule.h"
#include "stats/dist.h"
#include "stats/holm.h"
#include "stats/stats.h"

/* One result of one run. */
struct stored {
	char label[192];   /* bench and parameters */
	char target[256];  /* with its variant */
	char machine[512]; /* what has to be the same for times to be comparable */
	char policy[128];
	char seed[32], time[32];
	double ns;         /* NAN if the run gave no figure that can be compared */
	unsigned int file;
	bool imported;
};

struct stored_list {
	struct stored *items;
	size_t nr;
};

static void read_result(const struct record *r, struct stored *s)
{
	const json_t *env = json_object_get(r->json, "env");

	*s = (struct stored){ .file = r->file, .ns = r->ns, .imported = r->imported };
	snprintf(s->label, sizeof(s->label), "%s", r->label);
	snprintf(s->target, sizeof(s->target), "%s", r->target);
	record_machine(r->json, s->machine, sizeof(s->machine));
	snprintf(s->policy, sizeof(s->policy), "%.100s|%d", record_text(env, "overhead_policy"),
		 json_is_true(json_object_get(r->json, "gross_only")));
	snprintf(s->seed, sizeof(s->seed), "%.31s", record_text(r->json, "seed"));
	snprintf(s->time, sizeof(s->time), "%.31s", record_text(env, "time"));
}

/* A run that a file holds twice is one run; another may have been given the same seed. */
static bool is_known(const struct stored_list *list, const struct stored *s)
{
	for (size_t i = 0; i < list->nr; i++)
		if (list->items[i].file == s->file && s->seed[0] &&
		    !strcmp(list->items[i].seed, s->seed) && !strcmp(list->items[i].time, s->time) &&
		    !strcmp(list->items[i].label, s->label) &&
		    !strcmp(list->items[i].target, s->target))
			return true;
	return false;
}

static int read_files(struct stored_list *list, const char *a, const char *b, struct errline *e)
{
	struct record_list records = { 0 };
	int err = records_read(&records, a, 0, RECORD_RESULT, e);

	if (!err)
		err = records_read(&records, b, 1, RECORD_RESULT, e);
	if (!err) {
		list->items = calloc(records.nr, sizeof(*list->items));
		if (!list->items)
			err = errline_set(e, -ENOMEM, "out of memory");
	}
	for (size_t i = 0; i < records.nr && !err; i++) {
		struct stored *s = &list->items[list->nr];

		read_result(&records.items[i], s);
		list->nr += !is_known(list, s);
	}
	records_release(&records);
	return err;
}

/* -------------------------------------------------------------- statistics */

void historical_effect(const double *a, size_t nr_a, const double *b, size_t nr_b,
		       struct effect *effect)
{
	double sum = 0, df = 0, se, half, inner;

	*effect = (struct effect){ .log_ratio = stats_mean(b, nr_b) - stats_mean(a, nr_a),
				   .ci = { NAN, NAN }, .inner = { NAN, NAN }, .p = 1,
				   .n = nr_a < nr_b ? nr_a : nr_b, .sigma = NAN };
	if (nr_a >= HISTORICAL_MIN_RUNS) {
		sum += pow(stats_stddev(a, nr_a), 2) * (double)(nr_a - 1);
		df += (double)(nr_a - 1);
	}
	if (nr_b >= HISTORICAL_MIN_RUNS) {
		sum += pow(stats_stddev(b, nr_b), 2) * (double)(nr_b - 1);
		df += (double)(nr_b - 1);
	}
	if (df <= 0 || sum <= 0 || !nr_a || !nr_b)
		return;
	effect->sigma = sqrt(sum / df);
	se = effect->sigma * sqrt(1 / (double)nr_a + 1 / (double)nr_b);
	half = dist_t_quantile(1 - COMPARE_ALPHA / 2, df) * se;
	inner = dist_t_quantile(1 - COMPARE_ALPHA, df) * se;
	effect->ci = (struct interval){ effect->log_ratio - half, effect->log_ratio + half };
	effect->inner = (struct interval){ effect->log_ratio - inner, effect->log_ratio + inner };
	effect->has_ci = true;
	effect->p = fmin(1, 2 * dist_t_cdf(-fabs(effect->log_ratio) / se, df));
}

/* -------------------------------------------------------------- pairing */

/* The logarithms of the runs of @row's side @file; *@odd: one that cannot be compared with @first. */
static size_t collect(const struct stored_list *list, const struct historical_row *row,
		      unsigned int file, const struct stored **first, const char **odd, double *x)
{
	size_t n = 0;

	for (size_t i = 0; i < list->nr; i++) {
		const struct stored *s = &list->items[i];

		if (s->file != file || strcmp(s->label, row->label) ||
		    strcmp(s->target, row->side[file].target))
			continue;
		if (!*first)
			*first = s;
		if (s->imported != (*first)->imported)
			*odd = "a figure from a text against a measured one: gross against net, machine unknown";
		else if (s->imported)
			*odd = "figures from texts, without samples: no verdict";
		if (s->imported || (*first)->imported)
			x[n++] = log(s->ns);
		else if (strcmp(s->machine, (*first)->machine))
			*odd = "measured on different machines";
		else if (strcmp(s->policy, (*first)->policy))
			*odd = "measured with different subtractions";
		else if (isnan(s->ns))
			*odd = "not told apart from the null program";
		else
			x[n++] = log(s->ns);
	}
	return n;
}

static int compute_row(const struct stored_list *list, struct historical_row *row)
{
	double *x = calloc(list->nr * 2, sizeof(*x)), *y;
	const struct stored *first = NULL;
	size_t n[2];

	if (!x)
		return -ENOMEM;
	y = x + list->nr;
	n[0] = collect(list, row, 0, &first, &row->reason, x);
	n[1] = collect(list, row, 1, &first, &row->reason, y);
	for (unsigned int i = 0; i < 2; i++) {
		row->side[i].runs = n[i];
		row->side[i].ns = n[i] ? exp(stats_mean(i ? y : x, n[i])) : NAN;
		row->side[i].sigma = n[i] > 1 ? stats_stddev(i ? y : x, n[i]) : NAN;
	}
	historical_effect(x, n[0], y, n[1], &row->effect);
	if (row->reason)
		row->effect.has_ci = false;
	else if (!row->effect.has_ci)
		row->reason = n[0] < HISTORICAL_MIN_RUNS && n[1] < HISTORICAL_MIN_RUNS ?
			      "too few runs: 5 of one side are needed" : "the runs are all the same";
	free(x);
	return 0;
}

/* The targets of @label in @file: how many, and the first. */
static size_t targets_of(const struct stored_list *list, const char *label, unsigned int file,
			 const char **target)
{
	size_t nr = 0;

	*target = NULL;
	for (size_t i = 0; i < list->nr; i++) {
		const struct stored *s = &list->items[i];

		if (s->file != file || strcmp(s->label, label) ||
		    (*target && !strcmp(*target, s->target)))
			continue;
		nr++;
		if (!*target)
			*target = s->target;
	}
	return nr;
}

static bool has(const struct stored_list *list, unsigned int file, const char *label,
		const char *target)
{
	for (size_t i = 0; i < list->nr; i++)
		if (list->items[i].file == file && !strcmp(list->items[i].label, label) &&
		    !strcmp(list->items[i].target, target))
			return true;
	return false;
}

static bool has_row(const struct historical *h, const struct stored *s)
{
	for (size_t i = 0; i < h->nr_rows; i++)
		if (!strcmp(h->rows[i].label, s->label) &&
		    !strcmp(h->rows[i].side[0].target, s->target))
			return true;
	return false;
}

/* Rows have the same target on both sides; or, if either file has one only, whichever it is. */
static int pair_rows(struct historical *h, const struct stored_list *list)
{
	h->rows = calloc(list->nr, sizeof(*h->rows));
	if (!h->rows)
		return -ENOMEM;
	for (size_t i = 0; i < list->nr; i++) {
		const struct stored *s = &list->items[i];
		const char *only_a, *only_b, *partner = s->target;
		struct historical_row *row = &h->rows[h->nr_rows];

		if (s->file || has_row(h, s))
			continue;
		if (!has(list, 1, s->label, s->target)) {
			if (targets_of(list, s->label, 0, &only_a) != 1 ||
			    targets_of(list, s->label, 1, &only_b) != 1)
				continue;
			partner = only_b;
		}
		snprintf(row->label, sizeof(row->label), "%s", s->label);
		snprintf(row->side[0].target, sizeof(row->side[0].target), "%s", s->target);
		snprintf(row->side[1].target, sizeof(row->side[1].target), "%s", partner);
		h->nr_rows++;
	}
	return 0;
}

static int judge(struct historical *h, const struct stored_list *list)
{
	double *p = calloc(h->nr_rows ? h->nr_rows : 1, sizeof(*p));
	int err = p ? 0 : -ENOMEM;

	for (size_t i = 0; i < h->nr_rows && !err; i++) {
		err = compute_row(list, &h->rows[i]);
		p[i] = h->rows[i].effect.p;
	}
	if (!err)
		err = holm_adjust(p, h->nr_rows, p);
	for (size_t i = 0; i < h->nr_rows && !err; i++) {
		h->rows[i].p_holm = p[i];
		h->rows[i].verdict = verdict_decide(&h->rows[i].effect, h->margin, p[i] <= COMPARE_ALPHA);
	}
	free(p);
	return err;
}

int historical_compare(struct historical *h, const char *a, const char *b, double margin,
		       struct errline *e)
{
	struct stored_list list = { 0 };
	int err;

	*h = (struct historical){ .paths = { a, b }, .margin = log1p(margin) };
	err = read_files(&list, a, b, e);
	if (!err && (pair_rows(h, &list) || judge(h, &list)))
		err = errline_set(e, -ENOMEM, "out of memory");
	if (!err && !h->nr_rows)
		err = errline_set(e, -ENODATA, "'%s' and '%s' have no bench with the same parameters and "
				  "target", a, b);
	free(list.items);
	if (err)
		historical_release(h);
	return err;
}

void historical_release(struct historical *h)
{
	free(h->rows);
	h->rows = NULL;
	h->nr_rows = 0;
}
