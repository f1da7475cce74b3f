/* SPDX-License-Identifier: BSD-2-Clause */
/* Distributions that have no closed form: Student's t, and the upper tail of chi squared. */
#ifndef BPFLAB_DIST_H
#define BPFLAB_DIST_H

/* P(T <= @t) of Student's t with @df > 0 degrees of freedom. */
double dist_t_cdf(double t, double df);
/* The @p quantile (0 < @p < 1) of Student's t. */
double dist_t_quantile(double p, double df);

/* P(X > @x) of chi squared with @df > 0 degrees of freedom. */
double dist_chi2_tail(double x, double df);

#endif
