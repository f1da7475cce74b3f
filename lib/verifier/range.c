// SPDX-License-Identifier: BSD-2-Clause
/*
 * Intervals and tristate numbers together: representation, agreement between the parts, extension and
 * truncation. range_alu.c has the arithmetic, range_cmp.c the comparisons.
 *
 * The parts and how knowledge flows between them in bpfu_range_sync():
 *
 *        var (bits)  <------------>  umin..umax  <---->  smin..smax          64 bits
 *          |  ^                        |    ^              |    ^
 *          v  |                        v    |              v    |
 *     low half of var <---------->  u32_min..u32_max <-> s32_min..s32_max    32 bits
 *
 * An unsigned and a signed interval describe the same set as long as neither crosses the other's
 * seam: unsigned numbers wrap between 2^n-1 and 0, signed ones between 2^(n-1)-1 and -2^(n-1).
 */
#include "verifier/range.h"

#include <string.h>

#include "util/bits.h"

void bpfu_range_set_unknown(struct bpfu_range *r)
{
	*r = (struct bpfu_range){
		.var = BPFU_TNUM_UNKNOWN,
		.smin = INT64_MIN,
		.smax = INT64_MAX,
		.umin = 0,
		.umax = UINT64_MAX,
		.s32_min = INT32_MIN,
		.s32_max = INT32_MAX,
		.u32_min = 0,
		.u32_max = UINT32_MAX,
	};
}

void bpfu_range_set_const(struct bpfu_range *r, uint64_t v)
{
	*r = (struct bpfu_range){
		.var = bpfu_tnum_const(v),
		.smin = (int64_t)v,
		.smax = (int64_t)v,
		.umin = v,
		.umax = v,
		.s32_min = (int32_t)v,
		.s32_max = (int32_t)v,
		.u32_min = (uint32_t)v,
		.u32_max = (uint32_t)v,
	};
}

bool bpfu_range_is_unknown(const struct bpfu_range *r)
{
	return r->var.mask == UINT64_MAX && r->smin == INT64_MIN && r->smax == INT64_MAX &&
	       r->umin == 0 && r->umax == UINT64_MAX && r->s32_min == INT32_MIN &&
	       r->s32_max == INT32_MAX && r->u32_min == 0 && r->u32_max == UINT32_MAX;
}

bool bpfu_range_is_valid(const struct bpfu_range *r)
{
	return r->umin <= r->umax && r->smin <= r->smax && r->u32_min <= r->u32_max &&
	       r->s32_min <= r->s32_max && !(r->var.value & r->var.mask) &&
	       r->var.value <= r->umax && (r->var.value | r->var.mask) >= r->umin;
}

bool bpfu_range_covers(const struct bpfu_range *r, const struct bpfu_range *in)
{
	return r->umin <= in->umin && r->umax >= in->umax && r->smin <= in->smin &&
	       r->smax >= in->smax && r->u32_min <= in->u32_min && r->u32_max >= in->u32_max &&
	       r->s32_min <= in->s32_min && r->s32_max >= in->s32_max &&
	       bpfu_tnum_in(r->var, in->var);
}

/* ---- agreement ---- */

#define RAISE(field, v) ((field) = BPFU_MAX(field, v))
#define LOWER(field, v) ((field) = BPFU_MIN(field, v))

/* Smallest and largest member of the bits, read as unsigned and as signed numbers. */
static void intervals_from_bits(struct bpfu_range *r)
{
	uint64_t lo = r->var.value, hi = r->var.value | r->var.mask;
	uint64_t sign = 1ULL << 63;
	uint32_t lo32 = (uint32_t)lo, hi32 = (uint32_t)hi, sign32 = 1U << 31;

	RAISE(r->umin, lo);
	LOWER(r->umax, hi);
	RAISE(r->smin, (int64_t)(lo | (r->var.mask & sign)));
	LOWER(r->smax, (int64_t)(hi & ~(r->var.mask & sign)));
	RAISE(r->u32_min, lo32);
	LOWER(r->u32_max, hi32);
	RAISE(r->s32_min, (int32_t)(lo32 | ((uint32_t)r->var.mask & sign32)));
	LOWER(r->s32_max, (int32_t)(hi32 & ~((uint32_t)r->var.mask & sign32)));
}

static void bits_from_intervals(struct bpfu_range *r)
{
	struct bpfu_tnum low;

	if (r->umin <= r->umax)
		r->var = bpfu_tnum_intersect(r->var, bpfu_tnum_range(r->umin, r->umax));
	low = bpfu_tnum_subreg(r->var);
	if (r->u32_min <= r->u32_max)
		low = bpfu_tnum_intersect(low, bpfu_tnum_range(r->u32_min, r->u32_max));
	r->var = bpfu_tnum_with_subreg(r->var, low);
}

/*
 * Signed against unsigned of one width. If both cross the other's seam, the set may still lie in one
 * of two arcs only:
 *
 *   unsigned   0 ....... umax ............ umin ....... MAX      (umin..umax crosses the sign bit)
 *   signed     0 ... smax                       smin ... -1
 *
 * With smax below umin as an unsigned number only the negative arc is left, and vice versa.
 */
static void signs_64(struct bpfu_range *r)
{
	if ((int64_t)r->umin <= (int64_t)r->umax) {
		RAISE(r->smin, (int64_t)r->umin);
		LOWER(r->smax, (int64_t)r->umax);
	}
	if ((uint64_t)r->smin <= (uint64_t)r->smax) {
		RAISE(r->umin, (uint64_t)r->smin);
		LOWER(r->umax, (uint64_t)r->smax);
	} else if (r->smax >= 0 && r->smin < 0) {
		if ((uint64_t)r->smax < r->umin) {
			RAISE(r->umin, (uint64_t)r->smin);
			LOWER(r->smax, -1);
		} else if (r->umax < (uint64_t)r->smin) {
			LOWER(r->umax, (uint64_t)r->smax);
			RAISE(r->smin, 0);
		}
	}
}

static void signs_32(struct bpfu_range *r)
{
	if ((int32_t)r->u32_min <= (int32_t)r->u32_max) {
		RAISE(r->s32_min, (int32_t)r->u32_min);
		LOWER(r->s32_max, (int32_t)r->u32_max);
	}
	if ((uint32_t)r->s32_min <= (uint32_t)r->s32_max) {
		RAISE(r->u32_min, (uint32_t)r->s32_min);
		LOWER(r->u32_max, (uint32_t)r->s32_max);
	} else if (r->s32_max >= 0 && r->s32_min < 0) {
		if ((uint32_t)r->s32_max < r->u32_min) {
			RAISE(r->u32_min, (uint32_t)r->s32_min);
			LOWER(r->s32_max, -1);
		} else if (r->u32_max < (uint32_t)r->s32_min) {
			LOWER(r->u32_max, (uint32_t)r->s32_max);
			RAISE(r->s32_min, 0);
		}
	}
}

/* The low halves of an interval whose ends share the high half form an interval themselves. */
static void low_from_whole(struct bpfu_range *r)
{
	if (r->umin >> 32 == r->umax >> 32 && r->umin <= r->umax) {
		RAISE(r->u32_min, (uint32_t)r->umin);
		LOWER(r->u32_max, (uint32_t)r->umax);
		if ((int32_t)r->umin <= (int32_t)r->umax) {
			RAISE(r->s32_min, (int32_t)r->umin);
			LOWER(r->s32_max, (int32_t)r->umax);
		}
	}
	if (r->smin >> 32 == r->smax >> 32 && r->smin <= r->smax) {
		RAISE(r->u32_min, (uint32_t)r->smin);
		LOWER(r->u32_max, (uint32_t)r->smax);
		if ((int32_t)r->smin <= (int32_t)r->smax) {
			RAISE(r->s32_min, (int32_t)r->smin);
			LOWER(r->s32_max, (int32_t)r->smax);
		}
	}
	/* -1 … 1 and the like: adjacent high halves, low halves contiguous across zero. */
	if ((r->umin >> 32) + 1 == r->umax >> 32 && (int32_t)r->umin < 0 && (int32_t)r->umax >= 0) {
		RAISE(r->s32_min, (int32_t)r->umin);
		LOWER(r->s32_max, (int32_t)r->umax);
	}
	if ((r->smin >> 32) + 1 == r->smax >> 32 && (int32_t)r->smin < 0 && (int32_t)r->smax >= 0) {
		RAISE(r->s32_min, (int32_t)r->smin);
		LOWER(r->s32_max, (int32_t)r->smax);
	}
}

static uint64_t with_low(uint64_t v, uint32_t low)
{
	return (v & ~(uint64_t)UINT32_MAX) | low;
}

/* A known low half moves the ends of the whole interval to the next value with such a low half. */
static void whole_from_low(struct bpfu_range *r)
{
	RAISE(r->umin, with_low(r->umin, r->u32_min));
	LOWER(r->umax, with_low(r->umax, r->u32_max));
	RAISE(r->smin, (int64_t)with_low((uint64_t)r->smin, r->u32_min));
	LOWER(r->smax, (int64_t)with_low((uint64_t)r->smax, r->u32_max));

	/* Within the signed 32-bit numbers, value and low half are the same number. */
	if (r->smin >= INT32_MIN && r->smax <= INT32_MAX) {
		RAISE(r->smin, (int64_t)r->s32_min);
		LOWER(r->smax, (int64_t)r->s32_max);
	}
}

/* Bits and interval may have one value in common, as multiples of 8 have in 41 … 55. */
static void only_common_value(struct bpfu_range *r)
{
	uint64_t only, next;

	if (r->umin > r->umax || !bpfu_tnum_at_least(r->var, r->umin, &only) || only > r->umax)
		return;
	if (only != r->umax && bpfu_tnum_at_least(r->var, only + 1, &next) && next <= r->umax)
		return;
	r->var = bpfu_tnum_const(only);
}

void bpfu_range_sync(struct bpfu_range *r)
{
	intervals_from_bits(r);
	for (int round = 0; round < 3; round++) {
		signs_32(r);
		signs_64(r);
		low_from_whole(r);
		whole_from_low(r);
	}
	bits_from_intervals(r);
	only_common_value(r);
	intervals_from_bits(r);
}

void bpfu_range_meet_low(struct bpfu_range *r, const struct bpfu_range *low)
{
	struct bpfu_range met = *r;

	RAISE(met.s32_min, low->s32_min);
	LOWER(met.s32_max, low->s32_max);
	RAISE(met.u32_min, low->u32_min);
	LOWER(met.u32_max, low->u32_max);
	if (!bpfu_tnum_overlap(bpfu_tnum_subreg(r->var), bpfu_tnum_subreg(low->var)))
		return;
	met.var = bpfu_tnum_with_subreg(
		r->var, bpfu_tnum_intersect(bpfu_tnum_subreg(r->var), bpfu_tnum_subreg(low->var)));
	bpfu_range_sync(&met);
	if (bpfu_range_is_valid(&met))
		*r = met;
}

/* ---- width changes ---- */

void bpfu_range_zext32(struct bpfu_range *r)
{
	r->var = bpfu_tnum_subreg(r->var);
	r->umin = r->u32_min;
	r->umax = r->u32_max;
	r->smin = r->u32_min;
	r->smax = r->u32_max;
	bpfu_range_sync(r);
}

void bpfu_range_trunc(struct bpfu_range *r, unsigned int size)
{
	uint64_t limit;

	if (size == 8)
		return;
	if (size == 4) {
		bpfu_range_zext32(r);
		return;
	}
	limit = (1ULL << (size * 8)) - 1;
	r->var = bpfu_tnum_cast(r->var, size);
	if ((r->umin & ~limit) == (r->umax & ~limit)) {
		r->umin &= limit;
		r->umax &= limit;
	} else {
		r->umin = 0;
		r->umax = limit;
	}
	r->smin = (int64_t)r->umin;
	r->smax = (int64_t)r->umax;
	r->u32_min = (uint32_t)r->umin;
	r->u32_max = (uint32_t)r->umax;
	r->s32_min = (int32_t)r->umin;
	r->s32_max = (int32_t)r->umax;
	bpfu_range_sync(r);
}

/*
 * Signed bounds of the low @size bytes of a number between @min and @max: kept if all of them agree
 * above, and on the sign. Bits are not looked at (nor does the kernel).
 */
static void low_signed_bounds(int64_t min, int64_t max, unsigned int size, int64_t *lo, int64_t *hi)
{
	unsigned int shift = 64 - size * 8, bits = size * 8;

	*lo = (int64_t)((uint64_t)min << shift) >> shift;
	*hi = (int64_t)((uint64_t)max << shift) >> shift;
	if (min >> bits != max >> bits || (*lo < 0) != (*hi < 0)) {
		*lo = INT64_MIN >> shift;
		*hi = INT64_MAX >> shift;
	}
}

void bpfu_range_sext(struct bpfu_range *r, unsigned int size)
{
	int64_t lo, hi;

	if (size == 8)
		return;
	low_signed_bounds(r->smin, r->smax, size, &lo, &hi);
	bpfu_range_set_unknown(r);
	r->smin = lo;
	r->smax = hi;
	bpfu_range_sync(r);
}

void bpfu_range_sext32(struct bpfu_range *r, unsigned int size)
{
	int64_t lo, hi;

	low_signed_bounds(r->s32_min, r->s32_max, size, &lo, &hi);
	bpfu_range_set_unknown(r);
	r->s32_min = (int32_t)lo;
	r->s32_max = (int32_t)hi;
	bpfu_range_zext32(r);
}

void bpfu_range_bswap(struct bpfu_range *r, unsigned int size)
{
	struct bpfu_tnum var = bpfu_tnum_bswap(r->var, size);

	bpfu_range_set_unknown(r);
	r->var = var;
	bpfu_range_sync(r);
}
