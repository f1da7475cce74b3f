// SPDX-License-Identifier: BSD-2-Clause
/*
 * What came of a comparison: the figures of every row, which differences hold among all rows, whether
 * the controls are fine, and the verdicts.
 */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "compare/compare_text.h"
#include "compare/comparison.h"
#include "stats/holm.h"

#define SHARE_NOTE 0.05 /* of the null program, from which on the gross difference is worth a note */

void comparison_note(struct comparison_row *row, const char *fmt, ...)
{
	va_list ap;

	if (row->nr_notes == COMPARISON_MAX_NOTES)
		return;
	va_start(ap, fmt);
	if (vasprintf(&row->notes[row->nr_notes], fmt, ap) >= 0)
		row->nr_notes++;
	va_end(ap);
}

struct quad *comparison_used_quads(const struct comparison_row *row, size_t *n)
{
	struct quad *used = malloc((row->nr_quads ? row->nr_quads : 1) * sizeof(*used));

	*n = 0;
	for (size_t i = 0; used && i < row->nr_quads; i++)
		if (row->crowded || !row->quads[i].disturbed)
			used[(*n)++] = row->quads[i];
	return used;
}

static int compute_row(struct comparison *c, struct comparison_row *row)
{
	struct quad *used = comparison_used_quads(row, &row->used);
	int err = used ? compare_stats_compute(used, row->used, &c->rule, c->control, &row->stats) :
			 -ENOMEM;

	free(used);
	if (err)
		return err;
	row->p = compare_rule_p(&c->rule, row->looks, row->nr_looks, row->p_least);
	return row->p < 0 ? -ENOMEM : 0;
}

/* -------------------------------------------------------------- over all rows */

static double quad_ratio(const struct comparison_row *row, const struct quad *q, enum quad_arm arm)
{
	return row->stats.basis == BASIS_NET ? quad_net(q, arm) : quad_gross(q, arm);
}

/* Adds the log-ratios of @row to @d, whose length *@n becomes that of the shortest row. */
static int add_row(const struct comparison_row *row, enum quad_arm arm, double *d, uint32_t *load,
		   size_t *n)
{
	size_t used;
	struct quad *quads = comparison_used_quads(row, &used);

	if (!quads)
		return -ENOMEM;
	if (used < *n)
		*n = used;
	for (size_t i = 0; i < *n; i++) {
		d[i] += quad_ratio(row, &quads[i], arm);
		load[i] = quads[i].load;
	}
	free(quads);
	return 0;
}

/*
 * What the rows have in common: the mean log-ratio of the first quads of all rows, of the second ones,
 * and so on. They were measured in the same rounds, but for those that were left out.
 */
static int compute_mean(const struct comparison *c, enum quad_arm arm, double alpha,
			struct effect *effect)
{
	size_t n = SIZE_MAX, rows = 0;
	uint32_t *load;
	double *d;
	int err = 0;

	for (size_t i = 0; i < c->nr_rows; i++)
		if (!c->rows[i].failed && c->rows[i].nr_quads < n)
			n = c->rows[i].nr_quads;
	if (n == SIZE_MAX)
		n = 0;
	d = calloc(n ? n : 1, sizeof(*d));
	load = calloc(n ? n : 1, sizeof(*load));
	if (!d || !load)
		err = -ENOMEM;
	for (size_t i = 0; i < c->nr_rows && !err; i++) {
		if (c->rows[i].failed)
			continue;
		err = add_row(&c->rows[i], arm, d, load, &n);
		rows++;
	}
	for (size_t i = 0; i < n && !err; i++)
		d[i] /= (double)rows;
	if (!err)
		err = effect_compute(d, load, n, alpha, effect);
	free(d);
	free(load);
	return err;
}

/* p-values of the rows that did not fail, adjusted for how many there are. */
static int adjust(struct comparison *c)
{
	double *p = calloc(c->nr_rows * 3, sizeof(*p)), *holm, *fdr;
	size_t n = 0;
	int err;

	if (!p)
		return -ENOMEM;
	holm = p + c->nr_rows;
	fdr = holm + c->nr_rows;
	for (size_t i = 0; i < c->nr_rows; i++)
		if (!c->rows[i].failed)
			p[n++] = c->rows[i].p;
	err = holm_adjust(p, n, holm);
	if (!err)
		err = holm_fdr_adjust(p, n, fdr);
	for (size_t i = c->nr_rows; i > 0 && !err; i--) {
		if (c->rows[i - 1].failed)
			continue;
		n--;
		c->rows[i - 1].p_holm = holm[n];
		c->rows[i - 1].fdr = fdr[n];
	}
	free(p);
	return err;
}

/* All controls together are wrong in 1 %: each row's own has its share, and so has their mean. */
static void check_controls(struct comparison *c)
{
	double alpha = COMPARE_CONTROL_ALPHA / (double)(c->nr_rows > 1 ? c->nr_rows + 1 : 1);

	for (size_t i = 0; i < c->nr_rows; i++) {
		struct comparison_row *row = &c->rows[i];

		row->control_failed = c->control && !row->failed && row->stats.control.n &&
				      row->stats.control.p <= alpha;
	}
	c->control_failed = c->control && c->control_mean.n && c->control_mean.p <= alpha;
}

/* -------------------------------------------------------------- a row */

static void note_programs(struct comparison_row *row)
{
	const struct prog_info *a = &row->arms[QUAD_A].prog, *b = &row->arms[QUAD_B].prog;

	if (!a->known || !b->known)
		return;
	if (a->jited_len && b->jited_len && a->jited_len != b->jited_len)
		comparison_note(row, "%u -> %u bytes of machine code", a->jited_len, b->jited_len);
	else if (a->xlated_len != b->xlated_len)
		comparison_note(row, "%u -> %u instructions after rewriting", a->xlated_len / 8,
				b->xlated_len / 8);
}

/* Nothing could be subtracted, and what should have been is not the same on both sides. */
static bool has_other_null(const struct comparison_row *row)
{
	return row->stats.basis == BASIS_GROSS && effect_excludes_zero(&row->stats.null);
}

static void note_row(const struct comparison *c, struct comparison_row *row)
{
	const struct compare_stats *st = &row->stats;
	double share = fmax(st->null_share[0], st->null_share[1]);
	char gross[64];

	compare_text_effect(gross, sizeof(gross), &st->gross);
	if (has_other_null(row))
		comparison_note(row, "the null programs differ by %+.1f %% and cannot be subtracted: it is not "
				"known what differs", 100 * expm1(st->null.log_ratio));
	else if (st->basis == BASIS_GROSS && row->used)
		comparison_note(row, "gross: the null program is %.0f %% of the time, and too noisy to "
				"subtract", 100 * share);
	else if (share > SHARE_NOTE && row->used)
		comparison_note(row, "the null program is %.0f %% of the time; without subtracting it %s",
				100 * share, gross);
	if (st->effect.loads_differ)
		comparison_note(row, "loads differ by %.1f %%: the interval is that of %zu loads",
				100 * st->effect.load_sigma, st->effect.loads);
	if (st->shape_differs)
		comparison_note(row, "shape differs: A and B are not slow in the same way (least times %+.1f "
				"%%)", 100 * expm1(st->floor.log_ratio));
	if (st->unsteady != 0)
		comparison_note(row, "not steady: the first quarter was %+.1f %% off the rest",
				100 * st->unsteady);
	if (c->out_of_time && row->used < c->rule.looks[0])
		comparison_note(row, "out of time");
	note_programs(row);
}

static void decide_row(struct comparison *c, struct comparison_row *row)
{
	bool significant = row->p_holm <= COMPARE_ALPHA;

	row->verdict = verdict_decide(&row->stats.effect, c->rule.margin, significant);
	if (has_other_null(row))
		row->verdict = VERDICT_INCONCLUSIVE;
	if (row->control_failed || c->control_failed)
		row->verdict = VERDICT_UNTRUSTED;
	if (row->verdict == VERDICT_INCONCLUSIVE) {
		row->needed = verdict_quads_needed(&row->stats.effect, c->rule.margin);
		if (effect_excludes_zero(&row->stats.effect) && !significant)
			comparison_note(row, "p %.2g is not enough among %zu rows (Holm)", row->p,
					c->nr_rows);
		else if (row->needed && !has_other_null(row))
			comparison_note(row, "needs about %llu quads", (unsigned long long)row->needed);
	}
	note_row(c, row);
}

int comparison_judge(struct comparison *c)
{
	int err = 0;

	for (size_t i = 0; i < c->nr_rows && !err; i++)
		if (!c->rows[i].failed)
			err = compute_row(c, &c->rows[i]);
	if (!err)
		err = adjust(c);
	if (!err && c->nr_rows > 1)
		err = compute_mean(c, QUAD_B, c->rule.alpha, &c->geomean);
	if (!err && c->control)
		err = compute_mean(c, QUAD_CONTROL, COMPARE_CONTROL_ALPHA, &c->control_mean);
	if (err)
		return err;
	check_controls(c);
	for (size_t i = 0; i < c->nr_rows; i++)
		if (!c->rows[i].failed)
			decide_row(c, &c->rows[i]);
	return 0;
}

/* -------------------------------------------------------------- confirmation */

bool comparison_is_regression(const struct comparison_row *row, double above)
{
	return !row->failed && row->verdict == VERDICT_SLOWER &&
	       row->stats.effect.ci.lo > log1p(above);
}

static void copy_row(struct comparison_row *to, const struct comparison_row *from)
{
	memcpy(to->label, from->label, sizeof(to->label));
	memcpy(to->arms, from->arms, sizeof(to->arms));
	to->params = from->params;
}

static int confirm_rows(struct comparison *c, struct comparison *fresh, double above,
			struct errline *e)
{
	struct rng rng = { c->seed };
	size_t n = 0;
	int err;

	for (size_t i = 0; i < c->nr_rows; i++)
		if (comparison_is_regression(&c->rows[i], above))
			copy_row(&fresh->rows[n++], &c->rows[i]);
	fresh->seed = rng_next(&rng);
	err = comparison_measure(fresh, e);
	if (!err && comparison_judge(fresh))
		err = errline_set(e, -ENOMEM, "out of memory");
	n = 0;
	for (size_t i = 0; i < c->nr_rows && !err; i++) {
		struct comparison_row *row = &c->rows[i], *again = &fresh->rows[n];

		if (!comparison_is_regression(row, above))
			continue;
		n++;
		row->confirmation = (struct comparison_confirmation){
			.done = true,
			.confirmed = comparison_is_regression(again, above),
			.seed = fresh->seed,
			.quads = again->used,
			.effect = again->stats.effect,
		};
		if (again->failed) {
			row->failed = again->failed;
			row->error = again->error;
		}
	}
	return err;
}

int comparison_confirm(struct comparison *c, double above, struct errline *e)
{
	struct comparison fresh = {
		.suite = c->suite,
		.control = c->control,
		.loads = c->loads,
		.max_seconds = c->max_seconds,
		.warmup = c->warmup,
	};
	size_t n = 0;
	int err;

	for (size_t i = 0; i < c->nr_rows; i++)
		n += comparison_is_regression(&c->rows[i], above);
	if (!n)
		return 0;
	err = comparison_alloc_rows(&fresh, n, e);
	if (err)
		return err;
	compare_rule_init(&fresh.rule, c->rule.nr_looks == 1 ? c->rule.looks[0] : 0, n,
			  expm1(c->rule.margin));
	err = confirm_rows(c, &fresh, above, e);
	comparison_free_rows(&fresh);
	return err;
}
