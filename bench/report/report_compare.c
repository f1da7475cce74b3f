// SPDX-License-Identifier: BSD-2-Clause
/*
 * A comparison for people: a sentence, the table, and what there is to say below it.
 *
 *	bpf-loop is 41 % faster on B, 95 % interval 40–42 %; control fine.
 *	A: user:inline_loop=off   B: user:inline_loop=on
 *
 *	bench     A            B            B vs A [95 % CI]   verdict  n   note
 */
#include "report/report_compare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare/compare_text.h"
#include "report/report.h"

#define NR_COLS 7
#define SHARE_NOTE 0.05 /* of the null program, from which on it is worth a note */

static const char *const titles[NR_COLS] = {
	"bench", "A", "B", "B vs A [95 % CI]", "verdict", "n", "note",
};

/* Columns on a terminal: UTF-8 continuation bytes take none. */
static int columns(const char *s)
{
	int n = 0;

	for (; *s; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

static void print_cells(FILE *f, const char *const *cells, const int *widths)
{
	for (int i = 0; i < NR_COLS; i++) {
		bool last = i == NR_COLS - 1 || (i == NR_COLS - 2 && !cells[NR_COLS - 1][0]);

		fprintf(f, "%s%*s", cells[i], last ? 0 : widths[i] - columns(cells[i]) + 2, "");
		if (last)
			break;
	}
	fputc('\n', f);
}

static void cells_of(const struct compare_cells *row, const char **cells)
{
	const char *const all[NR_COLS] = {
		row->bench, row->a, row->b, row->change, row->verdict, row->n, row->note,
	};

	memcpy(cells, all, sizeof(all));
}

void report_compare_cells(FILE *f, const struct compare_cells *rows, size_t nr)
{
	const char *cells[NR_COLS];
	int widths[NR_COLS];

	for (int c = 0; c < NR_COLS; c++)
		widths[c] = columns(titles[c]);
	for (size_t i = 0; i < nr; i++) {
		cells_of(&rows[i], cells);
		for (int c = 0; c < NR_COLS; c++)
			if (columns(cells[c]) > widths[c])
				widths[c] = columns(cells[c]);
	}
	print_cells(f, titles, widths);
	for (size_t i = 0; i < nr; i++) {
		cells_of(&rows[i], cells);
		print_cells(f, cells, widths);
	}
}

void report_compare_counts(FILE *f, const size_t counts[NR_VERDICTS], double margin)
{
	const char *separator = "";

	for (int v = 0; v < NR_VERDICTS; v++) {
		if (!counts[v])
			continue;
		fprintf(f, "%s%zu %s", separator, counts[v],
			v == VERDICT_SAME ? "the same" : verdict_name(v));
		if (v == VERDICT_SAME || v == VERDICT_TRIVIAL)
			fprintf(f, " (within %.2g %%)", 100 * expm1(margin));
		separator = ", ";
	}
}

/* -------------------------------------------------------------- the sentence */

static const struct effect *control_effect(const struct comparison *c)
{
	return c->nr_rows > 1 ? &c->control_mean : &c->rows[0].stats.control;
}

static bool any_control_failed(const struct comparison *c)
{
	bool failed = c->control_failed;

	for (size_t i = 0; i < c->nr_rows; i++)
		failed |= c->rows[i].control_failed;
	return failed;
}

static void print_control(FILE *f, const struct comparison *c)
{
	char text[96];

	if (!c->control || !control_effect(c)->n) {
		fputs("no control", f);
	} else if (any_control_failed(c)) {
		compare_text_effect(text, sizeof(text), control_effect(c));
		fprintf(f, "control FAILED: A differs from itself, %s", text);
	} else {
		fputs("control fine", f);
	}
}

static void print_sentence(FILE *f, const struct comparison *c)
{
	const struct comparison_row *row = &c->rows[0];
	const struct compare_sentence s = {
		.bench = row->label,
		.verdict = row->verdict,
		.effect = &row->stats.effect,
		.margin = c->rule.margin,
		.needed = row->needed,
		.unit = "quads",
	};
	char text[512];

	compare_text_sentence(text, sizeof(text), &s);
	fputs(text, f);
}

static void print_summary(FILE *f, const struct comparison *c, size_t nr)
{
	size_t counts[NR_VERDICTS] = { 0 };
	char text[96];

	for (size_t i = 0; i < c->nr_rows; i++)
		if (!c->rows[i].failed)
			counts[c->rows[i].verdict]++;
	fprintf(f, "Of %zu benches on B: ", nr);
	report_compare_counts(f, counts, c->rule.margin);
	if (c->geomean.n) {
		compare_text_effect(text, sizeof(text), &c->geomean);
		fprintf(f, "; geometric mean %s", text);
	}
}

/* -------------------------------------------------------------- the table */

struct row_text {
	char a[80], b[80], change[96], verdict[32], n[32], note[64];
};

static void cost_text(char *buf, size_t size, const struct comparison_row *row, int arm)
{
	double per = comparison_row_events(row);
	const struct interval *ci = &row->stats.cost[arm].ci;
	char ns[32], half[32];

	report_format_ns(ns, sizeof(ns), row->stats.cost[arm].ns / per);
	report_format_ns(half, sizeof(half), (ci->hi - ci->lo) / 2 / per);
	if (!row->used)
		snprintf(buf, size, "-");
	else if (isnan(ci->lo))
		snprintf(buf, size, "%s ns", ns);
	else
		snprintf(buf, size, "%s ns \u00b1%s", ns, half);
}

/* What qualifies the figures; the whole sentences are below the table. */
static void short_note(char *buf, size_t size, const struct comparison_row *row)
{
	double share = fmax(row->stats.null_share[0], row->stats.null_share[1]);
	size_t len = 0;

	buf[0] = '\0';
	if (share > SHARE_NOTE)
		len = (size_t)snprintf(buf, size, "null share %.0f %%", 100 * share);
	if (row->crowded)
		snprintf(buf + len, size - len, "%sbusy", len ? ", " : "");
}

static void fill_row(const struct comparison *c, const struct comparison_row *row, struct row_text *t)
{
	cost_text(t->a, sizeof(t->a), row, QUAD_A);
	cost_text(t->b, sizeof(t->b), row, QUAD_B);
	compare_text_effect(t->change, sizeof(t->change), &row->stats.effect);
	if (row->stats.basis == BASIS_GROSS && row->used)
		strncat(t->change, " gross", sizeof(t->change) - strlen(t->change) - 1);
	if (row->verdict == VERDICT_SAME || row->verdict == VERDICT_TRIVIAL)
		snprintf(t->verdict, sizeof(t->verdict), "%s \u00b1%.2g %%", verdict_name(row->verdict),
			 100 * expm1(c->rule.margin));
	else
		snprintf(t->verdict, sizeof(t->verdict), "%s", verdict_name(row->verdict));
	snprintf(t->n, sizeof(t->n), "%zu", row->used);
	short_note(t->note, sizeof(t->note), row);
}

static void print_rows(FILE *f, const struct comparison *c, size_t nr)
{
	struct row_text *texts = calloc(nr + 1, sizeof(*texts));
	struct compare_cells *cells = calloc(nr + 1, sizeof(*cells));
	size_t n = 0;

	for (size_t i = 0; texts && cells && i < c->nr_rows; i++) {
		struct row_text *t = &texts[n];

		if (c->rows[i].failed)
			continue;
		fill_row(c, &c->rows[i], t);
		cells[n++] = (struct compare_cells){ c->rows[i].label, t->a, t->b, t->change, t->verdict,
						     t->n, t->note };
	}
	if (n && c->control && control_effect(c)->n) {
		const struct effect *control = control_effect(c);

		compare_text_effect(texts[n].change, sizeof(texts[n].change), control);
		snprintf(texts[n].n, sizeof(texts[n].n), "%zu", control->n);
		cells[n] = (struct compare_cells){ "control A/A", "", "", texts[n].change,
						   any_control_failed(c) ? "FAILED" : "ok", texts[n].n,
						   "" };
		n++;
	}
	if (n)
		report_compare_cells(f, cells, n);
	free(texts);
	free(cells);
}

/* -------------------------------------------------------------- below it */

static void print_confirmations(FILE *f, const struct comparison *c)
{
	char text[96];

	for (size_t i = 0; i < c->nr_rows; i++) {
		const struct comparison_confirmation *again = &c->rows[i].confirmation;

		if (!again->done || c->rows[i].failed)
			continue;
		compare_text_effect(text, sizeof(text), &again->effect);
		fprintf(f, "%s: %s by a fresh run of %zu quads, %s, seed 0x%llx\n", c->rows[i].label,
			again->confirmed ? "confirmed" : "NOT confirmed", again->quads, text,
			(unsigned long long)again->seed);
	}
}

static void print_remarks(FILE *f, const struct comparison *c)
{
	bool any = false;

	for (size_t i = 0; i < c->nr_rows; i++) {
		const struct comparison_row *row = &c->rows[i];

		if (!row->nr_notes)
			continue;
		fprintf(f, "%s%s: %s", any ? "" : "\n", row->label, row->notes[0]);
		for (size_t j = 1; j < row->nr_notes; j++)
			fprintf(f, "; %s", row->notes[j]);
		fputc('\n', f);
		any = true;
	}
	fputc('\n', f);
}

/* One line for all rows: on a busy machine it concerns most of them. */
static void print_disturbed(FILE *f, const struct comparison *c)
{
	size_t left_out = 0, used = 0, quads = 0;

	for (size_t i = 0; i < c->nr_rows; i++) {
		const struct comparison_row *row = &c->rows[i];

		quads += row->nr_quads;
		left_out += row->crowded ? 0 : row->nr_quads - row->nr_clean;
		used += row->crowded ? row->nr_quads - row->nr_clean : 0;
	}
	if (left_out + used <= quads / 10)
		return;
	fprintf(f, "The machine is busy: of %zu quads %zu were preempted or moved", quads, left_out + used);
	if (left_out)
		fprintf(f, ", %zu are left out", left_out);
	if (used)
		fprintf(f, ", %zu are used as there were too few others", used);
	fputs(".\n", f);
}

static size_t count_differences(const struct comparison *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->nr_rows; i++)
		n += !c->rows[i].failed && verdict_is_difference(c->rows[i].verdict);
	return n;
}

static void print_reasons(FILE *f, const struct comparison *c)
{
	for (size_t i = 0; i < c->nr_rows; i++)
		if (c->rows[i].why && !c->rows[i].failed)
			fprintf(f, "\nWhat differs in %s:\n%s", c->rows[i].label, c->rows[i].why);
}

static void print_footer(FILE *f, const struct compare_report *r, size_t nr)
{
	const struct comparison *c = r->comparison;

	print_remarks(f, c);
	print_disturbed(f, c);
	if (nr > 1)
		fprintf(f, "%zu of %zu differ (Holm, family-wise 5 %%); intervals are each row's own.\n",
			count_differences(c), nr);
	fprintf(f, "%s, %u loads of each arm, %.1f s%s, seed 0x%llx.\n",
		r->quick ? "Quick: 40 quads" :
		c->rule.nr_looks > 1 ? "Looks at 40, 80, 160 and 320 quads" : "A fixed number of quads",
		c->epochs, c->seconds, c->out_of_time ? " (out of time)" : "",
		(unsigned long long)c->seed);
	fprintf(f, "%s, Linux %s", r->env->cpu[0] ? r->env->cpu : r->env->arch, r->env->kernel);
	if (r->env->hypervisor[0])
		fprintf(f, ", virtual machine (%s)", r->env->hypervisor);
	fprintf(f, ", steal %.1f %%", c->steal_percent);
	if (!r->env->has_pmu)
		fputs(", no PMU", f);
	fputc('\n', f);
}

void report_compare_table(FILE *f, const struct compare_report *r)
{
	const struct comparison *c = r->comparison;
	size_t nr = 0;

	for (size_t i = 0; i < c->nr_rows; i++)
		nr += !c->rows[i].failed;
	if (!nr)
		return;
	if (c->nr_rows == 1)
		print_sentence(f, c);
	else
		print_summary(f, c, nr);
	fputs("; ", f);
	print_control(f, c);
	fprintf(f, ".\nA: %s   B: %s\n\n", c->names[0], c->names[1]);
	print_rows(f, c, nr);
	print_confirmations(f, c);
	print_reasons(f, c);
	if (!r->quiet)
		print_footer(f, r, nr);
}
