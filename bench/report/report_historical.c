// SPDX-License-Identifier: BSD-2-Clause
/* Two files of stored results for people: what a run against run comparison can say, and no more. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare/compare_text.h"
#include "report/report.h"
#include "report/report_compare.h"

struct row_text {
	char bench[320], a[48], b[48], change[96], verdict[48], n[48], note[256];
};

/* Why there is no verdict, and how far runs of the same thing lie apart, which is what it would take. */
static void note_text(char *buf, size_t size, const struct historical_row *row)
{
	const char *const names[] = { "A", "B" };
	size_t len = (size_t)snprintf(buf, size, "%s", row->reason ? row->reason : "");

	if (row->effect.has_ci)
		return;
	for (int i = 0; i < 2 && len < size; i++)
		if (row->side[i].runs > 1)
			len += (size_t)snprintf(buf + len, size - len, "%sruns of %s scatter by %.1f %%",
						len ? "; " : "", names[i], 100 * row->side[i].sigma);
}

static void fill_row(const struct historical_row *row, struct row_text *t)
{
	bool same_target = !strcmp(row->side[0].target, row->side[1].target);
	char ns[32];

	snprintf(t->bench, sizeof(t->bench), "%s on %.100s", row->label, row->side[0].target);
	if (!same_target)
		snprintf(t->bench, sizeof(t->bench), "%s on %.60s, %.60s", row->label,
			 row->side[0].target, row->side[1].target);
	report_format_ns(ns, sizeof(ns), row->side[0].ns);
	snprintf(t->a, sizeof(t->a), "%s ns", ns);
	report_format_ns(ns, sizeof(ns), row->side[1].ns);
	snprintf(t->b, sizeof(t->b), "%s ns", ns);
	compare_text_effect(t->change, sizeof(t->change), &row->effect);
	snprintf(t->verdict, sizeof(t->verdict), "%s%s", verdict_name(row->verdict),
		 row->effect.has_ci ? " (historical)" : "");
	snprintf(t->n, sizeof(t->n), "%zu/%zu runs", row->side[0].runs, row->side[1].runs);
	note_text(t->note, sizeof(t->note), row);
}

static void print_rows(FILE *f, const struct historical *h)
{
	struct row_text *texts = calloc(h->nr_rows, sizeof(*texts));
	struct compare_cells *cells = calloc(h->nr_rows, sizeof(*cells));

	for (size_t i = 0; texts && cells && i < h->nr_rows; i++) {
		struct row_text *t = &texts[i];

		fill_row(&h->rows[i], t);
		cells[i] = (struct compare_cells){ t->bench, t->a, t->b, t->change, t->verdict, t->n,
						   t->note };
	}
	if (texts && cells)
		report_compare_cells(f, cells, h->nr_rows);
	free(texts);
	free(cells);
}

static void print_sentence(FILE *f, const struct historical *h)
{
	const struct historical_row *row = &h->rows[0];
	struct effect effect = row->effect;
	const struct compare_sentence s = { row->label, row->verdict, &effect, h->margin, 0, "runs" };
	char text[512];

	effect.n = row->side[0].runs + row->side[1].runs;
	compare_text_sentence(text, sizeof(text), &s);
	fputs(text, f);
}

static void print_summary(FILE *f, const struct historical *h)
{
	size_t counts[NR_VERDICTS] = { 0 };

	for (size_t i = 0; i < h->nr_rows; i++)
		counts[h->rows[i].verdict]++;
	fprintf(f, "Of %zu stored benches in B: ", h->nr_rows);
	report_compare_counts(f, counts, h->margin);
}

void report_historical_table(FILE *f, const struct historical *h, bool quiet)
{
	if (h->nr_rows == 1)
		print_sentence(f, h);
	else
		print_summary(f, h);
	fprintf(f, "; measured at other times, not side by side.\nA: %s   B: %s\n\n", h->paths[0],
		h->paths[1]);
	print_rows(f, h);
	if (quiet)
		return;
	fprintf(f, "Verdicts are historical: from the scatter between runs, of which %d of one side are needed. "
		   "No stored\nresult can tell a change of the program from one of the machine; measure A and "
		   "B together to do so:\nbpflab compare TARGET TARGET, or bpflab compare OLD.bpf.o "
		   "NEW.bpf.o\n", HISTORICAL_MIN_RUNS);
}
