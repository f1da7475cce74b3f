/* SPDX-License-Identifier: BSD-2-Clause */
/* The bar on standard error, if that is a terminal. */
#ifndef BPFLAB_PROGRESS_H
#define BPFLAB_PROGRESS_H

#include "measure/suite.h"
#include "opts.h"

void progress_begin(const struct opts *opts);
/* Point @idx is being calibrated and warmed up. */
void progress_prepare(const struct suite *s, size_t idx);
/* A round of @pt is done, @seconds into the run. */
void progress_round(const struct suite *s, const struct point *pt, double seconds);
/* @share of the work is done (0..1), and what there is to say about it. */
void progress_show(double share, const char *text);
/* Remove the bar. */
void progress_end(void);

#endif
