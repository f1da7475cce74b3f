/* SPDX-License-Identifier: BSD-2-Clause */
/* Views of counted instructions: schema bpflab.count/1, and a table. */
#ifndef BPFLAB_REPORT_COUNTS_H
#define BPFLAB_REPORT_COUNTS_H

#include <stdio.h>

#include "count/counts.h"
#include "machine/env.h"
#include "report/table.h"

struct count_report {
	const struct count_target *targets;
	size_t nr_targets;
	const struct env *env;
	const char *command; /* that repeats the run */
	bool quiet;
};

void report_counts_table(FILE *f, const struct count_report *r);
/* The same as output_view() wants them: @ctx is a struct count_report. 0 or a negative errno. */
int report_counts_json(FILE *f, const void *ctx);
int report_counts_csv(FILE *f, const void *ctx);
int report_counts_markdown(FILE *f, const void *ctx);

/* Where and how it was counted, for the foot of a table. */
void report_counts_where(FILE *f, const struct count_target *targets, size_t nr);

/* NULL if out of memory. */
json_t *report_counts_variant(const struct count_target *t);
json_t *report_counts_fraction(struct fraction x);

#endif
