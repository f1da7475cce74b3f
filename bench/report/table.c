// SPDX-License-Identifier: BSD-2-Clause
#include "report/table.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

int table_init(struct table *t, size_t left, const char *const *titles)
{
	char(*row)[TABLE_CELL];

	memset(t, 0, sizeof(*t));
	t->left = left;
	row = table_row(t);
	if (!row)
		return -ENOMEM;
	while (titles[t->nr_cols]) {
		snprintf(row[t->nr_cols], TABLE_CELL, "%s", titles[t->nr_cols]);
		t->nr_cols++;
	}
	return 0;
}

char (*table_row(struct table *t))[TABLE_CELL]
{
	if (t->nr_rows == t->max_rows) {
		size_t max = t->max_rows ? 2 * t->max_rows : 16;
		void *grown = realloc(t->cells, max * sizeof(*t->cells));

		if (!grown)
			return NULL;
		t->cells = grown;
		t->max_rows = max;
	}
	memset(t->cells[t->nr_rows], 0, sizeof(*t->cells));
	return t->cells[t->nr_rows++];
}

/* Columns on a terminal: UTF-8 continuation bytes take none. */
static int columns(const char *s)
{
	int n = 0;

	for (; *s; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

static int width_of(const struct table *t, size_t col)
{
	int width = 0;

	for (size_t r = 0; r < t->nr_rows; r++)
		if (columns(t->cells[r][col]) > width)
			width = columns(t->cells[r][col]);
	return width;
}

void table_print(FILE *f, const struct table *t)
{
	for (size_t r = 0; r < t->nr_rows; r++) {
		for (size_t c = 0; c < t->nr_cols; c++) {
			const char *cell = t->cells[r][c];
			int pad = width_of(t, c) - columns(cell);
			bool last = c + 1 == t->nr_cols;

			if (c < t->left)
				fprintf(f, "%s%*s", cell, last ? 0 : pad + 2, "");
			else
				fprintf(f, "%*s%s%s", pad, "", cell, last ? "" : "  ");
		}
		putc('\n', f);
	}
}

void table_print_markdown(FILE *f, const struct table *t)
{
	for (size_t r = 0; r < t->nr_rows; r++) {
		putc('|', f);
		for (size_t c = 0; c < t->nr_cols; c++)
			fprintf(f, " %s |", t->cells[r][c]);
		putc('\n', f);
		if (r)
			continue;
		putc('|', f);
		for (size_t c = 0; c < t->nr_cols; c++)
			fputs(c < t->left ? "---|" : "---:|", f);
		putc('\n', f);
	}
}

void table_release(struct table *t)
{
	free(t->cells);
	memset(t, 0, sizeof(*t));
}
