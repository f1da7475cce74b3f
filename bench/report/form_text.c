// SPDX-License-Identifier: BSD-2-Clause
/* Sheets as Markdown, and as plain text of at most 72 columns. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/form.h"

#define WIDTH 72

static void put(FILE *f, const struct form *form, const char *text)
{
	if (form->ascii)
		form_put_ascii(f, text);
	else
		fputs(text, f);
}

/* -------------------------------------------------------------- Markdown */

/* So that a name cannot end the cell, make a link, or become HTML. */
static void put_markdown(FILE *f, const struct form *form, const char *text)
{
	char one[8];

	while (*text) {
		size_t len = 1;

		if (*text == '<' || *text == '>' || *text == '&') {
			fputs(*text == '<' ? "&lt;" : *text == '>' ? "&gt;" : "&amp;", f);
			text++;
			continue;
		}
		if (strchr("\\`*_{}[]|#~!", *text))
			putc('\\', f);
		while (((unsigned char)text[len] & 0xc0) == 0x80 && len < 4)
			len++;
		snprintf(one, sizeof(one), "%.*s", (int)len, text);
		put(f, form, one);
		text += len;
	}
}

static void markdown_sheet(FILE *f, const struct form *form, const struct sheet *s)
{
	put_markdown(f, form, s->head);
	fputs(".\n\n|", f);
	for (size_t c = 0; c < s->nr_cols; c++) {
		putc(' ', f);
		put_markdown(f, form, s->titles[c]);
		fputs(" |", f);
	}
	fputs("\n|", f);
	for (size_t c = 0; c < s->nr_cols; c++)
		fputs(c < 1 ? "---|" : "--:|", f);
	for (size_t r = 0; r < s->nr_rows; r++) {
		fputs("\n|", f);
		for (size_t c = 0; c < s->nr_cols; c++) {
			putc(' ', f);
			put_markdown(f, form, sheet_cell(s, r, c));
			fputs(" |", f);
		}
	}
	putc('\n', f);
	for (size_t i = 0; i < s->nr_remarks; i++) {
		fputs(i ? "- " : "\n- ", f);
		put_markdown(f, form, s->remarks[i]);
		putc('\n', f);
	}
}

int form_markdown(FILE *f, const void *ctx)
{
	const struct form *form = ctx;

	for (size_t i = 0; i < form->sheets->nr; i++) {
		if (i)
			putc('\n', f);
		markdown_sheet(f, form, &form->sheets->items[i]);
	}
	return ferror(f) ? -EIO : 0;
}

/* -------------------------------------------------------------- mail */

/* Bytes of @text that take @columns columns, or fewer if a blank is near: where to break the line. */
static size_t break_at(const char *text, int columns)
{
	size_t n = 0, blank = 0;
	int used = 0;

	while (text[n]) {
		size_t len = 1;

		while (((unsigned char)text[n + len] & 0xc0) == 0x80)
			len++;
		if (used == columns)
			return blank ? blank : n;
		if (text[n] == ' ')
			blank = n;
		n += len;
		used++;
	}
	return n;
}

/* The text in ASCII may be longer than it was: so it is broken after it was converted. */
static char *converted(const struct form *form, const char *text)
{
	char *copy = NULL;
	size_t size;
	FILE *f;

	if (!form->ascii)
		return strdup(text);
	f = open_memstream(&copy, &size);
	if (!f)
		return NULL;
	form_put_ascii(f, text);
	if (fclose(f)) {
		free(copy);
		return NULL;
	}
	return copy;
}

static void put_wrapped(FILE *f, const struct form *form, const char *text, int indent)
{
	char *copy = converted(form, text), *at = copy;
	int before = 0;

	while (at && *at) {
		size_t n = break_at(at, WIDTH - before);

		fprintf(f, "%*s%.*s\n", before, "", (int)n, at);
		at += n;
		while (*at == ' ')
			at++;
		before = indent;
	}
	free(copy);
}

struct layout {
	int widths[SHEET_MAX_COLS];
	bool two_lines; /* the first cell has a line of its own */
	bool stacked;   /* … and each of the others as well */
};

static int cell_width(const struct form *form, const char *text)
{
	char *copy = converted(form, text);
	int n = copy ? sheet_columns(copy) : 0;

	free(copy);
	return n;
}

static void lay_out(const struct form *form, const struct sheet *s, struct layout *l)
{
	int rest = 0;

	for (size_t c = 0; c < s->nr_cols; c++) {
		l->widths[c] = cell_width(form, s->titles[c]);
		for (size_t r = 0; r < s->nr_rows; r++) {
			int n = cell_width(form, sheet_cell(s, r, c));

			l->widths[c] = n > l->widths[c] ? n : l->widths[c];
		}
		if (c && s->narrow[c])
			rest += 2 + l->widths[c];
	}
	l->two_lines = l->widths[0] + rest > WIDTH;
	l->stacked = rest > WIDTH;
}

static void mail_cells(FILE *f, const struct form *form, const struct sheet *s,
		       const struct layout *l, const char *const *cells)
{
	int pending = 0;

	if (l->two_lines) {
		put_wrapped(f, form, cells[0], 4);
	} else {
		put(f, form, cells[0]);
		pending = l->widths[0] - cell_width(form, cells[0]);
	}
	for (size_t c = 1; c < s->nr_cols; c++) {
		if (!s->narrow[c])
			continue;
		if (l->stacked) {
			char line[1024];

			snprintf(line, sizeof(line), "    %.900s", cells[c]);
			put_wrapped(f, form, line, 8);
			continue;
		}
		fprintf(f, "%*s", pending + 2, "");
		put(f, form, cells[c]);
		pending = l->widths[c] - cell_width(form, cells[c]);
	}
	if (!l->stacked)
		putc('\n', f);
}

static void mail_sheet(FILE *f, const struct form *form, const struct sheet *s)
{
	const char *cells[SHEET_MAX_COLS];
	struct layout l;

	put_wrapped(f, form, s->head, 0);
	putc('\n', f);
	lay_out(form, s, &l);
	mail_cells(f, form, s, &l, s->titles);
	for (size_t r = 0; r < s->nr_rows; r++) {
		for (size_t c = 0; c < s->nr_cols; c++)
			cells[c] = sheet_cell(s, r, c);
		mail_cells(f, form, s, &l, cells);
	}
	if (s->nr_remarks)
		putc('\n', f);
	for (size_t i = 0; i < s->nr_remarks; i++)
		put_wrapped(f, form, s->remarks[i], 2);
}

int form_mail(FILE *f, const void *ctx)
{
	const struct form *form = ctx;

	for (size_t i = 0; i < form->sheets->nr; i++) {
		if (i)
			putc('\n', f);
		mail_sheet(f, form, &form->sheets->items[i]);
	}
	return ferror(f) ? -EIO : 0;
}
