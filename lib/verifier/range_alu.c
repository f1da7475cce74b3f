// SPDX-License-Identifier: BSD-2-Clause
/*
 * Arithmetic on ranges. Interval arithmetic is written once for a width of 32 or 64 bits (struct iv,
 * with the numbers widened to 128 bits so that nothing overflows on the way), and is run for both
 * widths: the low half of a sum, product or bitwise result depends on the low halves only.
 */
#include "verifier/range.h"

#include "util/uapi.h"

typedef __int128 wide;

/* One width's view of a range. */
struct iv {
	unsigned int bits;
	struct bpfu_tnum var;
	wide smin, smax, umin, umax;
};

static struct iv iv_of(const struct bpfu_range *r, unsigned int bits)
{
	if (bits == 64)
		return (struct iv){ 64, r->var, r->smin, r->smax, r->umin, r->umax };
	return (struct iv){ 32,	      bpfu_tnum_subreg(r->var), r->s32_min,
			    r->s32_max, r->u32_min,		  r->u32_max };
}

static wide iv_size(const struct iv *v)
{
	return (wide)1 << v->bits;
}

static void iv_set_unsigned_unknown(struct iv *v)
{
	v->umin = 0;
	v->umax = iv_size(v) - 1;
}

static void iv_set_signed_unknown(struct iv *v)
{
	v->smin = -(iv_size(v) >> 1);
	v->smax = (iv_size(v) >> 1) - 1;
}

/*
 * Take lo … hi (exact, maybe outside of the width) modulo 2^bits. Both ends must wrap equally often,
 * else the result is not an interval and nothing is known.
 */
static void iv_set_unsigned(struct iv *v, wide lo, wide hi)
{
	wide laps = lo >> v->bits;

	if (laps != hi >> v->bits) {
		iv_set_unsigned_unknown(v);
		return;
	}
	v->umin = lo - laps * iv_size(v);
	v->umax = hi - laps * iv_size(v);
}

static void iv_set_signed(struct iv *v, wide lo, wide hi)
{
	wide half = iv_size(v) >> 1;
	wide laps = (lo + half) >> v->bits;

	if (laps != (hi + half) >> v->bits) {
		iv_set_signed_unknown(v);
		return;
	}
	v->smin = lo - laps * iv_size(v);
	v->smax = hi - laps * iv_size(v);
}

static void iv_add(struct iv *a, const struct iv *b)
{
	a->var = bpfu_tnum_add(a->var, b->var);
	iv_set_unsigned(a, a->umin + b->umin, a->umax + b->umax);
	iv_set_signed(a, a->smin + b->smin, a->smax + b->smax);
}

static void iv_sub(struct iv *a, const struct iv *b)
{
	a->var = bpfu_tnum_sub(a->var, b->var);
	iv_set_unsigned(a, a->umin - b->umax, a->umax - b->umin);
	iv_set_signed(a, a->smin - b->smax, a->smax - b->smin);
}

static void iv_mul(struct iv *a, const struct iv *b)
{
	/* Products of 64-bit unsigned numbers need all 128 bits. */
	unsigned __int128 top = (unsigned __int128)a->umax * (unsigned __int128)b->umax;
	wide p[4] = { a->smin * b->smin, a->smin * b->smax, a->smax * b->smin, a->smax * b->smax };
	wide lo = p[0], hi = p[0];

	for (int i = 1; i < 4; i++) {
		lo = p[i] < lo ? p[i] : lo;
		hi = p[i] > hi ? p[i] : hi;
	}
	a->var = bpfu_tnum_mul(a->var, b->var);
	if (top >> a->bits) {
		iv_set_unsigned_unknown(a);
	} else {
		a->umin *= b->umin;
		a->umax = (wide)top;
	}
	if (lo >= -(iv_size(a) >> 1) && hi < iv_size(a) >> 1) {
		a->smin = lo;
		a->smax = hi;
	} else {
		iv_set_signed_unknown(a);
	}
}

static void iv_bitwise(struct iv *a, const struct iv *b, uint8_t op)
{
	wide umin_a = a->umin, umax_a = a->umax;

	if (op == BPF_AND)
		a->var = bpfu_tnum_and(a->var, b->var);
	else if (op == BPF_OR)
		a->var = bpfu_tnum_or(a->var, b->var);
	else
		a->var = bpfu_tnum_xor(a->var, b->var);
	a->umin = a->var.value;
	a->umax = a->var.value | a->var.mask;
	if (op == BPF_AND) { /* never above either operand */
		wide least = umax_a < b->umax ? umax_a : b->umax;

		a->umax = least < a->umax ? least : a->umax;
	} else if (op == BPF_OR) { /* never below either operand */
		wide most = umin_a > b->umin ? umin_a : b->umin;

		a->umin = most > a->umin ? most : a->umin;
	}
	iv_set_signed_unknown(a); /* sync() derives it where the sign is known */
}

static void iv_lsh(struct iv *a, unsigned int shift)
{
	a->var = bpfu_tnum_lsh(a->var, shift);
	if (a->bits == 32)
		a->var = bpfu_tnum_subreg(a->var);
	/* umax < 2^bits and shift < bits: no overflow of the signed 128 bits up to 2^127. */
	if ((unsigned __int128)a->umax << shift >> a->bits) {
		iv_set_unsigned_unknown(a);
	} else {
		a->umin <<= shift;
		a->umax <<= shift;
	}
	iv_set_signed_unknown(a);
}

static void iv_rsh(struct iv *a, unsigned int shift)
{
	a->var = bpfu_tnum_rsh(a->var, shift);
	a->umin >>= shift;
	a->umax >>= shift;
	iv_set_signed_unknown(a);
}

static void iv_arsh(struct iv *a, unsigned int shift)
{
	a->var = bpfu_tnum_arsh(a->var, shift, a->bits);
	a->smin >>= shift;
	a->smax >>= shift;
	iv_set_unsigned_unknown(a);
}

/* False: nothing is known of the result. */
static bool iv_op(struct iv *a, const struct iv *b, uint8_t op)
{
	wide lo, hi;

	switch (op) {
	case BPF_ADD:
		iv_add(a, b);
		return true;
	case BPF_SUB:
		iv_sub(a, b);
		return true;
	case BPF_NEG:
		lo = -a->smax;
		hi = -a->smin;
		a->var = bpfu_tnum_sub(bpfu_tnum_const(0), a->var);
		iv_set_unsigned(a, -a->umax, -a->umin);
		iv_set_signed(a, lo, hi);
		return true;
	case BPF_MUL:
		iv_mul(a, b);
		return true;
	case BPF_AND:
	case BPF_OR:
	case BPF_XOR:
		iv_bitwise(a, b, op);
		return true;
	default:
		break;
	}
	/* Shifts: only by a known count that all backends agree on. */
	if (!bpfu_tnum_is_const(b->var) || b->var.value >= a->bits)
		return false;
	if (op == BPF_LSH)
		iv_lsh(a, b->var.value);
	else if (op == BPF_RSH)
		iv_rsh(a, b->var.value);
	else if (op == BPF_ARSH)
		iv_arsh(a, b->var.value);
	else
		return false; /* quotients and remainders */
	return true;
}

static void store32(struct bpfu_range *r, const struct iv *v)
{
	r->s32_min = (int32_t)v->smin;
	r->s32_max = (int32_t)v->smax;
	r->u32_min = (uint32_t)v->umin;
	r->u32_max = (uint32_t)v->umax;
}

static void store64(struct bpfu_range *r, const struct iv *v)
{
	r->var = v->var;
	r->smin = (int64_t)v->smin;
	r->smax = (int64_t)v->smax;
	r->umin = (uint64_t)v->umin;
	r->umax = (uint64_t)v->umax;
}

/* Does the low half of the result follow from the low halves of the operands? */
static bool low_half_is_closed(uint8_t op, const struct bpfu_range *src)
{
	if (op == BPF_RSH || op == BPF_ARSH)
		return false;
	return op != BPF_LSH || src->var.value < 32;
}

/* A 32-bit shift is followed only if the whole register holds the count, as in the kernel. */
static bool wide_count(const struct bpfu_range *src, uint8_t op)
{
	return (op == BPF_LSH || op == BPF_RSH || op == BPF_ARSH) && src->umax >= 32;
}

void bpfu_range_alu(struct bpfu_range *dst, const struct bpfu_range *src, uint8_t op, bool is64)
{
	struct bpfu_range out;
	struct iv a, b;

	bpfu_range_set_unknown(&out);
	if (!is64) {
		a = iv_of(dst, 32);
		b = iv_of(src, 32);
		/* As the kernel: of an operation that is not followed nothing is known at all. */
		if (!wide_count(src, op) && iv_op(&a, &b, op)) {
			out.var = bpfu_tnum_subreg(a.var);
			store32(&out, &a);
			bpfu_range_zext32(&out);
		}
		*dst = out;
		return;
	}
	a = iv_of(dst, 64);
	b = iv_of(src, 64);
	if (iv_op(&a, &b, op)) {
		/* "r <<= 32; r s>>= 32" is how 64-bit code sign-extends: keep the low half's bounds. */
		if (op == BPF_LSH && src->var.value == 32) {
			a.smin = (wide)dst->s32_min * ((wide)1 << 32);
			a.smax = (wide)dst->s32_max * ((wide)1 << 32);
		}
		store64(&out, &a);
		a = iv_of(dst, 32);
		b = iv_of(src, 32);
		if (low_half_is_closed(op, src) && iv_op(&a, &b, op))
			store32(&out, &a);
	}
	bpfu_range_sync(&out);
	*dst = out;
}
