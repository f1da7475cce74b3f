// SPDX-License-Identifier: BSD-2-Clause
/* benches x targets. Cells without a figure have a number, under which the reason is below the table. */
#include "report/report_matrix.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/report.h"
#include "report/sheet.h"

#define MAX_ROWS 512
#define MAX_COLS 72
#define MAX_REASONS 256
#define CELL 48

struct matrix {
	const char *rows[MAX_ROWS], *cols[MAX_COLS];
	size_t nr_rows, nr_cols;
	const struct record **at; /* rows x MAX_COLS; NULL: nothing */
	const char *reasons[MAX_REASONS];
	size_t nr_reasons;
	bool emulated, metal;
};

static size_t place(const char **names, size_t *nr, size_t max, const char *name)
{
	for (size_t i = 0; i < *nr; i++)
		if (!strcmp(names[i], name))
			return i;
	if (*nr == max)
		return max - 1;
	names[(*nr)++] = name;
	return *nr - 1;
}

/* The number of a reason, from 1 on; the same reasons share one. */
static size_t reason_number(struct matrix *m, const char *reason)
{
	return place(m->reasons, &m->nr_reasons, MAX_REASONS, reason) + 1;
}

static void cell_text(struct matrix *m, const struct record *r, char *buf, size_t size)
{
	char ns[32];

	if (!r) {
		snprintf(buf, size, "-");
		return;
	}
	if (r->kind == RECORD_UNAVAILABLE) {
		snprintf(buf, size, "[%zu]", reason_number(m, record_text(r->json, "reason")));
		return;
	}
	report_format_ns(ns, sizeof(ns), isnan(r->ns) ? record_number(r->json, "below") : r->ns);
	snprintf(buf, size, "%s%s%s", isnan(r->ns) ? "< " : "", ns,
		 json_is_true(json_object_get(r->json, "gross_only")) ? " gross" : "");
}

static void fill(struct matrix *m, const struct record_list *list)
{
	for (size_t i = 0; i < list->nr; i++) {
		const struct record *r = &list->items[i];
		size_t row = place(m->rows, &m->nr_rows, MAX_ROWS, r->label);
		size_t col = place(m->cols, &m->nr_cols, MAX_COLS, r->target);

		m->at[row * MAX_COLS + col] = r;
		if (json_is_true(json_object_get(r->json, "emulated")))
			m->emulated = true;
		else
			m->metal = true;
	}
}

static void print_table(FILE *f, struct matrix *m)
{
	char (*cells)[CELL] = calloc(m->nr_rows * m->nr_cols + 1, sizeof(*cells));
	int widths[MAX_COLS], first = (int)strlen("bench");

	if (!cells)
		return;
	for (size_t row = 0; row < m->nr_rows; row++)
		if (sheet_columns(m->rows[row]) > first)
			first = sheet_columns(m->rows[row]);
	for (size_t col = 0; col < m->nr_cols; col++) {
		widths[col] = sheet_columns(m->cols[col]);
		for (size_t row = 0; row < m->nr_rows; row++) {
			char *cell = cells[row * m->nr_cols + col];

			cell_text(m, m->at[row * MAX_COLS + col], cell, CELL);
			if ((int)strlen(cell) > widths[col])
				widths[col] = (int)strlen(cell);
		}
	}
	fprintf(f, "%-*s", first, "bench");
	for (size_t col = 0; col < m->nr_cols; col++)
		fprintf(f, "  %*s", widths[col], m->cols[col]);
	for (size_t row = 0; row < m->nr_rows; row++) {
		fprintf(f, "\n%-*s", first, m->rows[row]);
		for (size_t col = 0; col < m->nr_cols; col++)
			fprintf(f, "  %*s", widths[col], cells[row * m->nr_cols + col]);
	}
	putc('\n', f);
	free(cells);
}

static void print_kernels(FILE *f, const struct matrix *m)
{
	for (size_t col = 0; col < m->nr_cols; col++)
		for (size_t row = 0; row < m->nr_rows; row++) {
			const struct record *r = m->at[row * MAX_COLS + col];
			const json_t *vm = r ? json_object_get(r->json, "vm") : NULL;

			if (!vm)
				continue;
			fprintf(f, "%s: Linux %.100s, %.40s\n", m->cols[col], record_text(vm, "release"),
				record_text(vm, "arch"));
			break;
		}
}

static void print_warnings(FILE *f, const struct record_list *list)
{
	for (size_t i = 0; i < list->nr; i++) {
		const json_t *warnings = json_object_get(list->items[i].json, "warnings");

		for (size_t j = 0; j < json_array_size(warnings); j++)
			fprintf(f, "%s on %s: %.400s\n", list->items[i].label, list->items[i].target,
				json_string_value(json_array_get(warnings, j)));
	}
}

/* What a bench says of itself: the memory of prog-pack's programs. */
static void print_notes(FILE *f, const struct record_list *list)
{
	for (size_t i = 0; i < list->nr; i++) {
		const char *note = record_text(list->items[i].json, "note");

		if (note[0])
			fprintf(f, "%s on %s: %.400s\n", list->items[i].label, list->items[i].target, note);
	}
}

void report_matrix(FILE *f, const struct record_list *list, bool quiet)
{
	struct matrix m = { .at = calloc((size_t)MAX_ROWS * MAX_COLS, sizeof(*m.at)) };

	if (!m.at)
		return;
	fill(&m, list);
	if (m.emulated)
		fprintf(f, "EMULATED ns/event%s: what QEMU's translation of the guest takes on this machine, not "
			   "what a CPU would\n\n", m.metal ? " under vm:" : "");
	print_table(f, &m);
	if (m.nr_reasons || !quiet)
		putc('\n', f);
	for (size_t i = 0; i < m.nr_reasons; i++)
		fprintf(f, "[%zu] %s\n", i + 1, m.reasons[i]);
	if (!quiet) {
		print_notes(f, list);
		print_warnings(f, list);
		print_kernels(f, &m);
	}
	free(m.at);
}
