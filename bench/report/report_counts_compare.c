// SPDX-License-Identifier: BSD-2-Clause
#include "report/report_counts_compare.h"

#include <errno.h>

#include "report/report_counts.h"
#include "report/report_functions.h"
#include "report/report_json.h"
#include "util/json_line.h"

static const char *const titles[] = { "bench", "A insns/event", "B insns/event", "B - A", "B / A",
				      "verdict", "runs equal A, B", NULL };

static struct fraction magnitude(struct fraction x)
{
	return x.num < 0 ? (struct fraction){ -x.num, x.den } : x;
}

static void put_sentence(FILE *f, const struct counts_row *row)
{
	const struct counts_side *a = &row->side[0], *b = &row->side[1];
	char diff[64], va[64], vb[64];

	fraction_text(magnitude(row->difference), true, diff, sizeof(diff));
	fraction_text(a->value, false, va, sizeof(va));
	fraction_text(b->value, false, vb, sizeof(vb));
	fprintf(f, "%s: ", row->label);
	switch (row->verdict) {
	case COUNTS_SAME:
		fprintf(f, "the same, exactly: %s instructions per event", va);
		break;
	case COUNTS_FEWER:
	case COUNTS_MORE:
		fprintf(f, "%s instruction%s %s per event on B, exactly (%s, %s)", diff,
			fraction_equal(magnitude(row->difference), fraction_make(1, 1)) ? "" : "s",
			row->verdict == COUNTS_FEWER ? "fewer" : "more", va, vb);
		break;
	case COUNTS_ABOUT_FEWER:
	case COUNTS_ABOUT_MORE:
		fprintf(f, "about %s instructions %s per event on B (%s, %s)", diff,
			row->verdict == COUNTS_ABOUT_FEWER ? "fewer" : "more", va, vb);
		break;
	case COUNTS_INEXACT:
		fprintf(f, "runs differ from each other by more than A from B (%s, %s)", va, vb);
		break;
	}
	if (a->runs == b->runs && a->equal == a->runs && b->equal == b->runs)
		fprintf(f, "; %zu of %zu runs equal.\n", a->equal, a->runs);
	else
		fprintf(f, "; %zu of %zu runs of A and %zu of %zu of B equal.\n", a->equal, a->runs,
			b->equal, b->runs);
}

static int fill(struct table *t, const struct counts_compare *c)
{
	for (size_t i = 0; i < c->nr_rows; i++) {
		const struct counts_row *row = &c->rows[i];
		char(*cells)[TABLE_CELL];
		char text[64];

		if (row->failed.text[0])
			continue;
		cells = table_row(t);
		if (!cells)
			return -ENOMEM;
		snprintf(cells[0], TABLE_CELL, "%.150s", row->label);
		for (int k = 0; k < 2; k++)
			snprintf(cells[1 + k], TABLE_CELL, "%s",
				 fraction_text(row->side[k].value, false, text, sizeof(text)));
		snprintf(cells[3], TABLE_CELL, "%s",
			 fraction_text(row->difference, false, text, sizeof(text)));
		if (fraction_is_valid(row->ratio))
			snprintf(cells[4], TABLE_CELL, "%.4f", fraction_value(row->ratio));
		else
			snprintf(cells[4], TABLE_CELL, "-");
		snprintf(cells[5], TABLE_CELL, "%s", counts_verdict_names[row->verdict]);
		snprintf(cells[6], TABLE_CELL, "%zu of %zu, %zu of %zu", row->side[0].equal,
			 row->side[0].runs, row->side[1].equal, row->side[1].runs);
	}
	return 0;
}

static int print(FILE *f, const struct counts_compare_report *r,
		 void (*put)(FILE *f, const struct table *t))
{
	const struct counts_compare *c = r->compare;
	struct table t;
	int err = table_init(&t, 1, titles);

	if (!err)
		err = fill(&t, c);
	if (!err && t.nr_rows > 1) {
		fprintf(f, "A: %s\nB: %s\n\n", c->names[0], c->names[1]);
		put(f, &t);
	}
	table_release(&t);
	return err;
}

void report_counts_compare_table(FILE *f, const struct counts_compare_report *r)
{
	const struct counts_compare *c = r->compare;

	for (size_t i = 0; i < c->nr_rows; i++) {
		const struct counts_side *side = c->rows[i].side;

		if (c->rows[i].failed.text[0])
			continue;
		put_sentence(f, &c->rows[i]);
		if (side[0].functions && side[1].functions)
			report_functions_difference(f, side[0].functions, side[1].functions);
	}
	if (r->quiet)
		return;
	putc('\n', f);
	if (print(f, r, table_print) || c->stored)
		return;
	putc('\n', f);
	report_counts_where(f, c->targets, 2);
}

int report_counts_compare_markdown(FILE *f, const void *ctx)
{
	const struct counts_compare_report *r = ctx;
	int err = print(f, r, table_print_markdown);

	if (!err && !r->compare->stored) {
		putc('\n', f);
		report_counts_where(f, r->compare->targets, 2);
	}
	return err ? err : ferror(f) ? -EIO : 0;
}

int report_counts_compare_csv(FILE *f, const void *ctx)
{
	const struct counts_compare_report *r = ctx;

	fputs("bench,a,b,a_insns_per_event,b_insns_per_event,difference,ratio,verdict,a_runs_equal,a_runs,"
	      "b_runs_equal,b_runs\n", f);
	for (size_t i = 0; i < r->compare->nr_rows; i++) {
		const struct counts_row *row = &r->compare->rows[i];
		const struct counts_side *a = &row->side[0], *b = &row->side[1];

		if (row->failed.text[0])
			continue;
		fprintf(f, "\"%s\",\"%s\",\"%s\",%.9g,%.9g,%.9g,", row->label, a->target, b->target,
			fraction_value(a->value), fraction_value(b->value),
			fraction_value(row->difference));
		if (fraction_is_valid(row->ratio))
			fprintf(f, "%.9g", fraction_value(row->ratio));
		fprintf(f, ",%s,%zu,%zu,%zu,%zu\n", counts_verdict_names[row->verdict], a->equal, a->runs,
			b->equal, b->runs);
	}
	return ferror(f) ? -EIO : 0;
}

static json_t *side_json(const struct counts_side *s)
{
	json_t *o = json_deep_copy(s->json);

	json_object_set_new(o, "estimate", number(fraction_value(s->value)));
	json_object_set_new(o, "fraction", report_counts_fraction(s->value));
	json_object_set_new(o, "least", report_counts_fraction(s->lo));
	json_object_set_new(o, "most", report_counts_fraction(s->hi));
	json_object_set_new(o, "runs", json_integer((json_int_t)s->runs));
	json_object_set_new(o, "runs_equal", json_integer((json_int_t)s->equal));
	if (s->functions)
		json_object_set_new(o, "functions", report_functions_json(s->functions));
	return o;
}

int report_counts_compare_json(FILE *f, const void *ctx)
{
	const struct counts_compare_report *r = ctx;
	int err = 0;

	for (size_t i = 0; i < r->compare->nr_rows && !err; i++) {
		const struct counts_row *row = &r->compare->rows[i];

		if (row->failed.text[0])
			continue;
		err = json_line_put(f, json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:s, s:b, s:s, s:o}",
						 "schema", SCHEMA_COUNT_COMPARE, "bench", row->label,
						 "unit", "insns/event", "a", side_json(&row->side[0]),
						 "b", side_json(&row->side[1]), "difference",
						 report_counts_fraction(row->difference), "ratio",
						 number(fraction_value(row->ratio)), "verdict",
						 counts_verdict_names[row->verdict], "historical",
						 (int)r->compare->stored, "command", r->command, "env",
						 env_json(r->env)));
	}
	return err;
}
