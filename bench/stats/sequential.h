/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Looking at a comparison several times while it runs.
 *
 * Whoever looks four times at 5 % each is wrong in more than a tenth of the cases. The sign of a quad
 * is a fair coin if there is no difference, so the chance that a rule with several looks is ever wrong
 * can be computed exactly: it is that of a fair-coin walk leaving a corridor at one of the looks.
 */
#ifndef BPFLAB_SEQUENTIAL_H
#define BPFLAB_SEQUENTIAL_H

#include <stddef.h>
#include <stdint.h>

#define SEQUENTIAL_NR_LOOKS 4
/* The default looks, and the level of each at which the whole rule is wrong in 4.51 %. */
extern const uint32_t sequential_looks[SEQUENTIAL_NR_LOOKS];
#define SEQUENTIAL_ALPHA 0.0182

/*
 * The chance that a walk of fair coins is outside the sign test's interval of level 1 - @alpha at any
 * of @looks, which grow. Negative: -ENOMEM.
 */
double sequential_level(const uint32_t *looks, size_t nr_looks, double alpha);

/* The largest level of each look for which sequential_level() is at most @total. */
double sequential_alpha(const uint32_t *looks, size_t nr_looks, double total);

#endif
