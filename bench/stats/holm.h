/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Many p-values at once. Adjusted values are compared with the level itself: Holm's keep the chance of
 * any false one among all below it, Benjamini and Hochberg's the expected share of false ones among
 * those that are found.
 */
#ifndef BPFLAB_HOLM_H
#define BPFLAB_HOLM_H

#include <stddef.h>

/* 0, or -ENOMEM. @adjusted may be @p. */
int holm_adjust(const double *p, size_t n, double *adjusted);
int holm_fdr_adjust(const double *p, size_t n, double *adjusted);

#endif
