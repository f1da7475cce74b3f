// SPDX-License-Identifier: BSD-2-Clause
/* Arithmetic on tristate numbers; tnum.h says what they are. */
#include "verifier/tnum.h"

static struct bpfu_tnum tnum(uint64_t value, uint64_t mask)
{
	return (struct bpfu_tnum){ value & ~mask, mask };
}

static uint64_t low_bits(unsigned int bits)
{
	return bits >= 64 ? UINT64_MAX : (1ULL << bits) - 1;
}

struct bpfu_tnum bpfu_tnum_range(uint64_t min, uint64_t max)
{
	uint64_t differ = min ^ max;
	unsigned int bits = differ ? 64 - __builtin_clzll(differ) : 0;

	/* Above the highest differing bit min and max agree; below it every pattern may occur. */
	return tnum(min, low_bits(bits));
}

/*
 * The sums of the smallest and of the largest members differ exactly in the bits that some carry or
 * unknown bit can reach.
 */
struct bpfu_tnum bpfu_tnum_add(struct bpfu_tnum a, struct bpfu_tnum b)
{
	uint64_t low = a.value + b.value;
	uint64_t high = low + a.mask + b.mask;

	return tnum(low, (low ^ high) | a.mask | b.mask);
}

struct bpfu_tnum bpfu_tnum_sub(struct bpfu_tnum a, struct bpfu_tnum b)
{
	uint64_t diff = a.value - b.value;
	uint64_t most = diff + a.mask;
	uint64_t least = diff - b.mask;

	return tnum(diff, (most ^ least) | a.mask | b.mask);
}

/*
 * Schoolbook: one partial product per bit of a. A known 1 contributes b, an unknown bit contributes
 * b or nothing; the known parts are summed exactly (a.value * b.value), the rest through masks.
 */
struct bpfu_tnum bpfu_tnum_mul(struct bpfu_tnum a, struct bpfu_tnum b)
{
	struct bpfu_tnum sum = { 0, 0 };
	uint64_t known = a.value * b.value;

	for (; a.value | a.mask; a.value >>= 1, a.mask >>= 1, b.value <<= 1, b.mask <<= 1) {
		if (a.value & 1)
			sum = bpfu_tnum_add(sum, tnum(0, b.mask));
		else if (a.mask & 1)
			sum = bpfu_tnum_add(sum, tnum(0, b.value | b.mask));
	}
	return bpfu_tnum_add(bpfu_tnum_const(known), sum);
}

struct bpfu_tnum bpfu_tnum_and(struct bpfu_tnum a, struct bpfu_tnum b)
{
	uint64_t ones = a.value & b.value;
	uint64_t maybe = (a.value | a.mask) & (b.value | b.mask);

	return tnum(ones, maybe & ~ones);
}

struct bpfu_tnum bpfu_tnum_or(struct bpfu_tnum a, struct bpfu_tnum b)
{
	uint64_t ones = a.value | b.value;

	return tnum(ones, (a.mask | b.mask) & ~ones);
}

struct bpfu_tnum bpfu_tnum_xor(struct bpfu_tnum a, struct bpfu_tnum b)
{
	return tnum(a.value ^ b.value, a.mask | b.mask);
}

struct bpfu_tnum bpfu_tnum_lsh(struct bpfu_tnum a, unsigned int shift)
{
	return tnum(a.value << shift, a.mask << shift);
}

struct bpfu_tnum bpfu_tnum_rsh(struct bpfu_tnum a, unsigned int shift)
{
	return tnum(a.value >> shift, a.mask >> shift);
}

/* The sign bit is copied down, known or not: shift value and mask as signed numbers. */
struct bpfu_tnum bpfu_tnum_arsh(struct bpfu_tnum a, unsigned int shift, unsigned int width)
{
	if (width == 32)
		return tnum((uint32_t)((int32_t)a.value >> shift),
			    (uint32_t)((int32_t)a.mask >> shift));
	return tnum((uint64_t)((int64_t)a.value >> shift), (uint64_t)((int64_t)a.mask >> shift));
}

struct bpfu_tnum bpfu_tnum_cast(struct bpfu_tnum a, unsigned int size)
{
	uint64_t keep = low_bits(size * 8);

	return tnum(a.value & keep, a.mask & keep);
}

struct bpfu_tnum bpfu_tnum_sext(struct bpfu_tnum a, unsigned int size)
{
	unsigned int shift = 64 - size * 8;

	return bpfu_tnum_arsh(bpfu_tnum_lsh(a, shift), shift, 64);
}

struct bpfu_tnum bpfu_tnum_bswap(struct bpfu_tnum a, unsigned int size)
{
	unsigned int shift = 64 - size * 8;

	return tnum(__builtin_bswap64(a.value) >> shift, __builtin_bswap64(a.mask) >> shift);
}

struct bpfu_tnum bpfu_tnum_intersect(struct bpfu_tnum a, struct bpfu_tnum b)
{
	return tnum(a.value | b.value, a.mask & b.mask);
}

bool bpfu_tnum_overlap(struct bpfu_tnum a, struct bpfu_tnum b)
{
	return !((a.value ^ b.value) & ~a.mask & ~b.mask);
}

bool bpfu_tnum_in(struct bpfu_tnum a, struct bpfu_tnum b)
{
	return !(b.mask & ~a.mask) && (b.value & ~a.mask) == a.value;
}

struct bpfu_tnum bpfu_tnum_with_subreg(struct bpfu_tnum a, struct bpfu_tnum low)
{
	return tnum((a.value & ~(uint64_t)UINT32_MAX) | (uint32_t)low.value,
		    (a.mask & ~(uint64_t)UINT32_MAX) | (uint32_t)low.mask);
}

/*
 * The highest known bit in which @min differs decides. If @a has it, all above is as in @min and the unknown bits
 * below are 0. If @min has it, the number made of the unknown bits above it has to be one more.
 */
bool bpfu_tnum_at_least(struct bpfu_tnum a, uint64_t min, uint64_t *v)
{
	uint64_t differs = (min ^ a.value) & ~a.mask, top, below, above;

	if (!differs) {
		*v = min;
		return true;
	}
	top = 1ULL << (63 - __builtin_clzll(differs));
	below = top | (top - 1);
	above = min & a.mask & ~below;
	if (!(a.value & top)) {
		/* Known bits all set, so that the carry runs through them. */
		above = ((min | ~a.mask | below) + 1) & a.mask & ~below;
		if (above <= (min & a.mask & ~below))
			return false;
	}
	*v = a.value | above;
	return true;
}

bool bpfu_tnum_is_aligned(struct bpfu_tnum a, uint64_t size)
{
	return !((a.value | a.mask) & (size - 1));
}
