/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of result lines that several schemas share. */
#ifndef BPFLAB_REPORT_JSON_H
#define BPFLAB_REPORT_JSON_H

#include <jansson.h>
#include <math.h>

#include "report/report.h"

/* JSON has no NAN and no infinity. */
static inline json_t *number(double x)
{
	return isfinite(x) ? json_real(x) : json_null();
}

json_t *report_json_variant(const struct target *t);
json_t *report_json_params(const struct bench_inst *inst);
json_t *report_json_prog(const struct prog_info *prog);

#endif
