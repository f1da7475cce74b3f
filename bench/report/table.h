/* SPDX-License-Identifier: BSD-2-Clause */
/* Columns of text whose widths follow their contents, for a terminal or as Markdown. */
#ifndef BPFLAB_TABLE_H
#define BPFLAB_TABLE_H

#include <stddef.h>
#include <stdio.h>

#define TABLE_MAX_COLS 10
#define TABLE_CELL 160

struct table {
	size_t nr_cols, left; /* the first @left columns are aligned to the left */
	char (*cells)[TABLE_MAX_COLS][TABLE_CELL]; /* the first row is the titles */
	size_t nr_rows, max_rows;
};

/* @titles is NULL-terminated. 0 or -ENOMEM; table_release() frees, also after an error. */
int table_init(struct table *t, size_t left, const char *const *titles);
/* A new row of empty cells to write to, or NULL without memory. */
char (*table_row(struct table *t))[TABLE_CELL];
void table_print(FILE *f, const struct table *t);
void table_print_markdown(FILE *f, const struct table *t);
void table_release(struct table *t);

#endif
