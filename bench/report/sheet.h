/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What there is to say about some stored results, as text in cells: a headline, a table, remarks. Every
 * form for people (Markdown, mail, HTML) is one way to write a sheet, so that all of them say the same.
 */
#ifndef BPFLAB_SHEET_H
#define BPFLAB_SHEET_H

#include <stdbool.h>
#include <stddef.h>

#include "result/record.h"

#define SHEET_MAX_COLS 8

struct sheet {
	enum record_kind kind;
	size_t first, nr_records; /* of the list it was made of */
	const char *const *titles;
	const bool *narrow;       /* columns that are left where space is short */
	size_t nr_cols;
	char *head;
	char **cells;             /* nr_rows x nr_cols */
	size_t nr_rows;
	char **remarks;
	size_t nr_remarks;
};

struct sheets {
	struct sheet *items;
	size_t nr;
	bool failed; /* out of memory */
};

/* One sheet for each stretch of records that belong together. 0 or -ENOMEM. */
int sheets_make(struct sheets *sheets, const struct record_list *list);
void sheets_release(struct sheets *sheets);

static inline const char *sheet_cell(const struct sheet *s, size_t row, size_t col)
{
	return s->cells[row * s->nr_cols + col];
}

/* Columns of @text in a fixed-width font: UTF-8 continuation bytes take none. */
int sheet_columns(const char *text);

#endif
