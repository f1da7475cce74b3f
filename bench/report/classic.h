/* SPDX-License-Identifier: BSD-2-Clause */
/* --classic: throughput as the kernel's bench tool measures and prints it. */
#ifndef BPFLAB_CLASSIC_H
#define BPFLAB_CLASSIC_H

#include "measure/suite.h"
#include "opts.h"

/*
 * Run the points of @s one after the other. Marks those that fail their checks. -EINTR if
 * interrupted.
 */
int classic_run(struct suite *s, const struct opts *opts, struct errline *e);

/* The texts of one interval and of the whole, of @rates in million events per second. */
void classic_print_interval(FILE *f, bool ops, int iter, double delta_ns, double rate,
			    unsigned int producers);
void classic_print_summary(FILE *f, bool ops, const double *rates, size_t nr,
			   unsigned int producers);

#endif
