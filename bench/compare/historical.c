// SPDX-License-Identifier: BSD-2-Clause
/* Reading stored results, pairing their rows, and the prediction interval between runs. */
#include "compare/historical.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stats/compare_rule.h"
#include "stats/dist.h"
#include "stats/holm.h"
#include "stats/stats.h"

#define SCHEMA "bpflab.result/1"

/* One result of one run. */
struct stored {
	char label[192];   /* bench and parameters */
	char target[256];  /* with its variant */
	char machine[512]; /* what has to be the same for times to be comparable */
	char policy[128];
	char seed[32];
	double ns;         /* NAN if the run gave no figure that can be compared */
	unsigned int file;
};

struct stored_list {
	struct stored *items;
	size_t nr, max;
};

bool historical_is_file(const char *path)
{
	FILE *f = fopen(path, "re");
	int c = EOF;

	if (!f)
		return false;
	do
		c = getc(f);
	while (c == ' ' || c == '\t' || c == '\r' || c == '\n');
	fclose(f);
	return c == '{' || c == EOF;
}

/* -------------------------------------------------------------- reading */

static const char *text_of(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "";
}

/* Appends "NAME=VALUE" for each member of @o, in the order of names, with @first in front. */
static void append_members(char *buf, size_t size, json_t *o, const char *first, const char *then)
{
	const char *separator = first, *key;
	json_t *value;

	/* jansson keeps the order of the file: sort by looking for the next larger key each time */
	for (const char *last = ""; last;) {
		const char *next = NULL;
		size_t len = strlen(buf);

		json_object_foreach(o, key, value)
			if (strcmp(key, last) > 0 && (!next || strcmp(key, next) < 0))
				next = key;
		last = next;
		if (!next)
			break;
		value = json_object_get(o, next);
		if (!strcmp(next, "producers") && json_integer_value(value) == 1)
			continue;
		if (json_is_string(value))
			snprintf(buf + len, size - len, "%s%s=%s", separator, next,
				 json_string_value(value));
		else
			snprintf(buf + len, size - len, "%s%s=%lld", separator, next,
				 (long long)json_integer_value(value));
		separator = then;
	}
}

static void read_result(json_t *o, unsigned int file, struct stored *s)
{
	const json_t *env = json_object_get(o, "env");

	*s = (struct stored){ .file = file, .ns = NAN };
	snprintf(s->label, sizeof(s->label), "%.120s", text_of(o, "bench"));
	append_members(s->label, sizeof(s->label), json_object_get(o, "params"), "/", "/");
	snprintf(s->target, sizeof(s->target), "%.64s", text_of(o, "target"));
	append_members(s->target, sizeof(s->target), json_object_get(o, "variant"), ":", ",");
	snprintf(s->machine, sizeof(s->machine), "%.128s|%.64s|%.128s", text_of(env, "cpu"),
		 text_of(env, "microcode"), text_of(env, "hypervisor"));
	snprintf(s->policy, sizeof(s->policy), "%.100s|%d", text_of(env, "overhead_policy"),
		 json_is_true(json_object_get(o, "gross_only")));
	snprintf(s->seed, sizeof(s->seed), "%.31s", text_of(o, "seed"));
	if (json_is_true(json_object_get(o, "distinguishable")))
		s->ns = json_number_value(json_object_get(o, "estimate"));
	if (!(s->ns > 0))
		s->ns = NAN;
}

/* A run that a file holds twice is one run. */
static bool is_known(const struct stored_list *list, const struct stored *s)
{
	for (size_t i = 0; i < list->nr; i++)
		if (list->items[i].file == s->file && s->seed[0] &&
		    !strcmp(list->items[i].seed, s->seed) &&
		    !strcmp(list->items[i].label, s->label) &&
		    !strcmp(list->items[i].target, s->target))
			return true;
	return false;
}

static int add_stored(struct stored_list *list, const struct stored *s)
{
	if (is_known(list, s))
		return 0;
	if (list->nr == list->max) {
		size_t max = list->max ? 2 * list->max : 64;
		struct stored *grown = realloc(list->items, max * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		list->items = grown;
		list->max = max;
	}
	list->items[list->nr++] = *s;
	return 0;
}

static int read_line(const char *path, size_t number, const char *line, size_t len,
		     unsigned int file, struct stored_list *list, struct errline *e)
{
	json_error_t why;
	json_t *o = json_loadb(line, len, 0, &why);
	const char *schema = o ? text_of(o, "schema") : "";
	struct stored s;
	int err = 0;

	if (!o)
		return errline_set(e, -EINVAL, "'%s' line %zu is not JSON: %s; give a file that 'bpflab run "
				   "--json FILE' wrote", path, number, why.text);
	if (strcmp(schema, SCHEMA)) {
		err = errline_set(e, -EINVAL, "'%s' line %zu is no result of a run (schema '%.40s', not "
				  "'%s'); give a file that 'bpflab run --json FILE' wrote", path, number,
				  schema, SCHEMA);
	} else {
		read_result(o, file, &s);
		err = add_stored(list, &s);
		if (err)
			errline_set(e, err, "out of memory");
	}
	json_decref(o);
	return err;
}

static int read_file(const char *path, unsigned int file, struct stored_list *list,
		     struct errline *e)
{
	FILE *f = fopen(path, "re");
	size_t size = 0, number = 0, before = list->nr;
	char *line = NULL;
	ssize_t len;
	int err = 0;

	if (!f)
		return errline_set(e, -errno, "cannot read '%s': %s", path, strerror(errno));
	while (!err && (len = getline(&line, &size, f)) >= 0) {
		number++;
		if (strspn(line, " \t\r\n") < (size_t)len)
			err = read_line(path, number, line, (size_t)len, file, list, e);
	}
	if (!err && ferror(f))
		err = errline_set(e, -EIO, "cannot read '%s'", path);
	free(line);
	fclose(f);
	if (!err && list->nr == before)
		return errline_set(e, -ENODATA, "'%s' holds no results; give a file that 'bpflab run --json "
				   "FILE' wrote", path);
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
		if (strcmp(s->machine, (*first)->machine))
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
	err = read_file(a, 0, &list, e);
	if (!err)
		err = read_file(b, 1, &list, e);
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
