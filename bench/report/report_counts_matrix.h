/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts of kernels: benches down, targets across. */
#ifndef BPFLAB_REPORT_COUNTS_MATRIX_H
#define BPFLAB_REPORT_COUNTS_MATRIX_H

#include "report/report_counts.h"
#include "report/table.h"

/* Whether @r is shown so: several targets, of which one is a kernel, and a column for each. */
bool report_counts_is_matrix(const struct count_report *r);

/*
 * Fill @t. A cell is the net figure, with a ~ in front where the runs do not agree, or the number of the
 * reason why there is none. 0 or -ENOMEM; table_release() frees, also after an error.
 */
int report_counts_matrix(const struct count_report *r, struct table *t);

/* The reasons, numbered, a line each. */
void report_counts_reasons(FILE *f, const struct count_report *r);

#endif
