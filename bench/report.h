/* SPDX-License-Identifier: BSD-2-Clause */
/* Views of a finished run. Each takes the same results. */
#ifndef BPFLAB_REPORT_H
#define BPFLAB_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "env.h"
#include "estimate.h"
#include "suite.h"

/* What BPF_OBJ_GET_INFO_BY_FD says about a measured program. */
struct result_prog {
	bool known;
	uint8_t tag[8];
	uint32_t xlated_len, jited_len;
};

void result_prog_read(const struct bench_inst *inst, struct result_prog *prog);

struct result {
	const struct point *point;
	struct estimate est;
	struct result_prog prog;
	char note[128];
};

struct report {
	const struct suite *suite;
	const struct env *env;
	struct result *results; /* of the points that passed their checks */
	size_t nr_results;
};

void report_table(FILE *f, const struct report *r, bool quiet);
/* One line per result. 0 or a negative errno of the stream. */
int report_json(FILE *f, const struct report *r);
int report_csv(FILE *f, const struct report *r);

/* "1.36 [1.34, 1.38]" or "< 0.02": the two texts of a figure, also used by other views. */
void report_format_ns(char *buf, size_t size, double ns);

#endif
