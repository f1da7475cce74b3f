/* SPDX-License-Identifier: BSD-2-Clause */
/* Views of a finished run. Each takes the same results. */
#ifndef BPFLAB_REPORT_H
#define BPFLAB_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "machine/env.h"
#include "measure/estimate.h"
#include "measure/prog_info.h"
#include "measure/suite.h"
#include "result/record.h"

struct result {
	const struct point *point;
	struct estimate est;
	struct prog_info prog;
	char note[128];
};

struct report {
	const struct suite *suite;
	const struct env *env;
	const char *command; /* that repeats the run */
	struct result *results; /* of the points that passed their checks */
	size_t nr_results;
};

void report_table(FILE *f, const struct report *r, bool quiet);
/* One line per result. 0 or a negative errno of the stream. */
int report_json(FILE *f, const struct report *r);
int report_csv(FILE *f, const struct report *r);
/* The same as stored results, for the forms that are made of these. 0 or a negative errno. */
int report_records(const struct report *r, struct record_list *list, struct errline *e);

/* "1.36 [1.34, 1.38]" or "< 0.02": the two texts of a figure, also used by other views. */
void report_format_ns(char *buf, size_t size, double ns);

#endif
