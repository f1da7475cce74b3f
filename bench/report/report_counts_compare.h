/* SPDX-License-Identifier: BSD-2-Clause */
/* Views of compared counts: a sentence for each bench and a table, and schema bpflab.count-compare/1. */
#ifndef BPFLAB_REPORT_COUNTS_COMPARE_H
#define BPFLAB_REPORT_COUNTS_COMPARE_H

#include <stdio.h>

#include "compare/counts_compare.h"
#include "machine/env.h"
#include "report/table.h"

#define SCHEMA_COUNT_COMPARE "bpflab.count-compare/1"

struct counts_compare_report {
	const struct counts_compare *compare;
	const struct env *env;
	const char *command;
	bool quiet;
};

void report_counts_compare_table(FILE *f, const struct counts_compare_report *r);
/* For output_view(); @ctx: a struct counts_compare_report. */
int report_counts_compare_json(FILE *f, const void *ctx);
int report_counts_compare_csv(FILE *f, const void *ctx);
int report_counts_compare_markdown(FILE *f, const void *ctx);

#endif
