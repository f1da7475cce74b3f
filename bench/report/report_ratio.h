/* SPDX-License-Identifier: BSD-2-Clause */
/* Ratios to native code, and of libbpfu to the kernel, in runs that have a native target. */
#ifndef BPFLAB_REPORT_RATIO_H
#define BPFLAB_REPORT_RATIO_H

#include "report/report.h"

/* A table of all, with the geometric means; nothing if there are none. */
void report_ratio_table(FILE *f, const struct report *r);

/* Call @add for each ratio of @res; NaN if one of the two figures is not above its noise. */
void report_ratios(const struct report *r, const struct result *res,
		   void (*add)(const struct target *base, double ratio, void *ctx), void *ctx);

#endif
