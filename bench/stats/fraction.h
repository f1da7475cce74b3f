/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Exact fractions: counts of instructions over numbers of events. Always reduced, the denominator above
 * 0, so that equal numbers are equal member by member. Numerators and denominators of all that is
 * counted stay far below 2^40; what does not fit into 64 bits becomes invalid, never wrong.
 */
#ifndef BPFLAB_FRACTION_H
#define BPFLAB_FRACTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fraction {
	int64_t num;
	int64_t den; /* 0: invalid */
};

struct fraction fraction_make(int64_t num, int64_t den);
/* @a - @b and @a / @b; invalid if one is, or if @b is 0. */
struct fraction fraction_sub(struct fraction a, struct fraction b);
struct fraction fraction_div(struct fraction a, struct fraction b);
/* Below 0, 0 or above 0, as @a is to @b. Both are valid. */
int fraction_cmp(struct fraction a, struct fraction b);
double fraction_value(struct fraction f);

static inline bool fraction_is_valid(struct fraction f)
{
	return f.den != 0;
}

static inline bool fraction_equal(struct fraction a, struct fraction b)
{
	return a.num == b.num && a.den == b.den;
}

/*
 * "11", "5.25" if four digits are enough to be exact, otherwise "5.0156" with the exact value behind it
 * if @exact: "5.0156 (321/64)". "-" if invalid. Returns @buf.
 */
const char *fraction_text(struct fraction f, bool exact, char *buf, size_t size);

#endif
