/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tristate numbers: what is known of a 64-bit value bit by bit. A bit is 0, 1 (set in value) or
 * unknown (set in mask); value & mask is always 0. The value x is described by t if every bit outside
 * the mask agrees: (x & ~t.mask) == t.value.
 *
 * Every operation is sound: if x is in a and y in b, then x op y (modulo 2^64) is in op(a, b).
 * Reference: Vishwanathan, Shachnai, Narayana, Nagarakatte, "Sound, Precise, and Fast Abstract
 * Interpretation with Tristate Numbers", CGO 2022.
 */
#ifndef BPFU_VERIFIER_TNUM_H
#define BPFU_VERIFIER_TNUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bpfu_tnum {
	uint64_t value;
	uint64_t mask;
};

#define BPFU_TNUM_UNKNOWN ((struct bpfu_tnum){ 0, UINT64_MAX })

static inline struct bpfu_tnum bpfu_tnum_const(uint64_t v)
{
	return (struct bpfu_tnum){ v, 0 };
}

static inline bool bpfu_tnum_is_const(struct bpfu_tnum t)
{
	return !t.mask;
}

/* The low 32 bits, zero-extended. */
static inline struct bpfu_tnum bpfu_tnum_subreg(struct bpfu_tnum t)
{
	return (struct bpfu_tnum){ (uint32_t)t.value, (uint32_t)t.mask };
}

/* Smallest t that holds all of min … max (unsigned). */
struct bpfu_tnum bpfu_tnum_range(uint64_t min, uint64_t max);

struct bpfu_tnum bpfu_tnum_add(struct bpfu_tnum a, struct bpfu_tnum b);
struct bpfu_tnum bpfu_tnum_sub(struct bpfu_tnum a, struct bpfu_tnum b);
struct bpfu_tnum bpfu_tnum_mul(struct bpfu_tnum a, struct bpfu_tnum b);
struct bpfu_tnum bpfu_tnum_and(struct bpfu_tnum a, struct bpfu_tnum b);
struct bpfu_tnum bpfu_tnum_or(struct bpfu_tnum a, struct bpfu_tnum b);
struct bpfu_tnum bpfu_tnum_xor(struct bpfu_tnum a, struct bpfu_tnum b);

/* Shifts by a known count below the width; arsh works on values of @width bits (32 or 64). */
struct bpfu_tnum bpfu_tnum_lsh(struct bpfu_tnum a, unsigned int shift);
struct bpfu_tnum bpfu_tnum_rsh(struct bpfu_tnum a, unsigned int shift);
struct bpfu_tnum bpfu_tnum_arsh(struct bpfu_tnum a, unsigned int shift, unsigned int width);

/* Keep the low @size bytes, zero- or sign-extended. */
struct bpfu_tnum bpfu_tnum_cast(struct bpfu_tnum a, unsigned int size);
struct bpfu_tnum bpfu_tnum_sext(struct bpfu_tnum a, unsigned int size);

/* The low @size bytes in reverse order. */
struct bpfu_tnum bpfu_tnum_bswap(struct bpfu_tnum a, unsigned int size);

/* What both say; only meaningful if a value in both exists (else see bpfu_tnum_overlap). */
struct bpfu_tnum bpfu_tnum_intersect(struct bpfu_tnum a, struct bpfu_tnum b);

/* False if the known bits contradict each other: no value is in both. */
bool bpfu_tnum_overlap(struct bpfu_tnum a, struct bpfu_tnum b);

/* Every value of @b is in @a. */
bool bpfu_tnum_in(struct bpfu_tnum a, struct bpfu_tnum b);

/* High half of @a, low half of @low. */
struct bpfu_tnum bpfu_tnum_with_subreg(struct bpfu_tnum a, struct bpfu_tnum low);

/* The smallest value of @a that is at least @min, in @v; false if there is none. */
bool bpfu_tnum_at_least(struct bpfu_tnum a, uint64_t min, uint64_t *v);

/* All values are multiples of @size (a power of two). */
bool bpfu_tnum_is_aligned(struct bpfu_tnum a, uint64_t size);

#endif
