/* SPDX-License-Identifier: BSD-2-Clause */
/* Counted instructions by function (count/functions.h), of one target or of two. */
#ifndef BPFLAB_REPORT_FUNCTIONS_H
#define BPFLAB_REPORT_FUNCTIONS_H

#include <jansson.h>
#include <stdio.h>

#include "count/counts.h"

/* What @pt on @spec consists of, the largest first. */
void report_functions(FILE *f, const char *spec, const struct count_point *pt);
/* What differs between two, what differs most first; nothing if all is the same. */
void report_functions_difference(FILE *f, const struct count_functions *a, const struct count_functions *b);
/* [{"name": …, "insns": [numerator, denominator]}, …] */
json_t *report_functions_json(const struct count_functions *functions);

#endif
