/* SPDX-License-Identifier: BSD-2-Clause */
/* Views of a bisection: what was measured, and where the bench became dearer. */
#ifndef BPFLAB_REPORT_BISECT_H
#define BPFLAB_REPORT_BISECT_H

#include <stdio.h>

#include "compare/bisect.h"
#include "count/emulator.h"

struct bisect_report {
	const struct bisect *bisect;
	const char *bench;             /* with its parameters */
	const struct emulator *emulator;
	const char *command;           /* that repeats it */
	bool quiet;
};

void report_bisect_table(FILE *f, const struct bisect_report *r);
/* One line: bpflab.bisect/1. 0 or a negative errno. */
int report_bisect_json(FILE *f, const struct bisect_report *r);

const char *bisect_state_name(enum bisect_state state);

#endif
