/* SPDX-License-Identifier: BSD-2-Clause */
/* One table of results from several targets: benches down, targets across. */
#ifndef BPFLAB_REPORT_MATRIX_H
#define BPFLAB_REPORT_MATRIX_H

#include <stdbool.h>
#include <stdio.h>

#include "result/record.h"

/*
 * @list: results, and benches without one (RECORD_UNAVAILABLE), whose cells say so and whose reasons stand
 * below. What comes from an emulator is marked.
 */
void report_matrix(FILE *f, const struct record_list *list, bool quiet);

#endif
