/* SPDX-License-Identifier: BSD-2-Clause */
/* Views of a finished comparison, measured or of stored results. */
#ifndef BPFLAB_REPORT_COMPARE_H
#define BPFLAB_REPORT_COMPARE_H

#include "compare/comparison.h"
#include "compare/historical.h"
#include "machine/env.h"
#include "result/record.h"

struct compare_report {
	const struct comparison *comparison;
	const struct env *env;
	bool quick; /* --quick */
	bool quiet;
	const char *command; /* that repeats it */
};

void report_compare_table(FILE *f, const struct compare_report *r);
/* One line a row, of schema bpflab.compare/1 with all batches. For output_view(); @ctx: a report. */
int report_compare_json(FILE *f, const void *ctx);
int report_compare_csv(FILE *f, const void *ctx);
/* As stored results; @ctx as above. 0 or a negative errno with a line. */
int report_compare_records(const void *ctx, struct record_list *list, struct errline *e);

void report_historical_table(FILE *f, const struct historical *h, bool quiet);
/* @ctx: a struct historical. */
int report_historical_json(FILE *f, const void *ctx);
int report_historical_csv(FILE *f, const void *ctx);
int report_historical_records(const void *ctx, struct record_list *list, struct errline *e);

/* The table that both have. */
struct compare_cells {
	const char *bench, *a, *b, *change, *verdict, *n, *note;
};
void report_compare_cells(FILE *f, const struct compare_cells *rows, size_t nr);

/* "2 faster, 1 the same within ±1.5 %": @counts of each verdict. */
void report_compare_counts(FILE *f, const size_t counts[NR_VERDICTS], double margin);

/* @text as a field of RFC 4180. */
void report_csv_text(FILE *f, const char *text);

#endif
