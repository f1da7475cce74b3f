// SPDX-License-Identifier: BSD-2-Clause
/*
 * Comparisons of ranges: what is decided already, and what a branch teaches. Both work on one width at
 * a time (struct view); a 32-bit comparison only sees and only sharpens the low halves, and
 * bpfu_range_sync() carries the news to the rest.
 */
#include "verifier/range.h"

#include "util/bits.h"
#include "util/uapi.h"

struct view {
	struct bpfu_tnum var;
	int64_t smin, smax;
	uint64_t umin, umax;
};

static struct view view_of(const struct bpfu_range *r, bool is64)
{
	if (is64)
		return (struct view){ r->var, r->smin, r->smax, r->umin, r->umax };
	return (struct view){ bpfu_tnum_subreg(r->var), r->s32_min, r->s32_max, r->u32_min,
			      r->u32_max };
}

static void view_store(struct bpfu_range *r, const struct view *v, bool is64)
{
	if (is64) {
		r->var = v->var;
		r->smin = v->smin;
		r->smax = v->smax;
		r->umin = v->umin;
		r->umax = v->umax;
	} else {
		r->var = bpfu_tnum_with_subreg(r->var, v->var);
		r->s32_min = (int32_t)v->smin;
		r->s32_max = (int32_t)v->smax;
		r->u32_min = (uint32_t)v->umin;
		r->u32_max = (uint32_t)v->umax;
	}
}

static bool is_const(const struct view *v)
{
	return bpfu_tnum_is_const(v->var);
}

static int cmp_equal(const struct view *a, const struct view *b)
{
	if (is_const(a) && is_const(b))
		return a->var.value == b->var.value;
	if (!bpfu_tnum_overlap(a->var, b->var) || a->umin > b->umax || a->umax < b->umin ||
	    a->smin > b->smax || a->smax < b->smin)
		return 0;
	return -1;
}

/* always: the condition holds for all pairs; never: for none. */
static int decide(bool always, bool never)
{
	return always ? 1 : never ? 0 : -1;
}

static int cmp_set(const struct view *a, const struct view *b)
{
	if (!is_const(a) && !is_const(b))
		return -1; /* not followed, as in the kernel */
	if (a->var.value & b->var.value)
		return 1;
	return (a->var.value | a->var.mask) & (b->var.value | b->var.mask) ? -1 : 0;
}

int bpfu_range_cmp(const struct bpfu_range *dst, const struct bpfu_range *src, uint8_t op, bool is64)
{
	struct view a = view_of(dst, is64), b = view_of(src, is64);
	int equal;

	switch (op) {
	case BPF_JEQ:
		equal = cmp_equal(&a, &b);
		/* Different low halves (or, for 32 bits, nothing more) also settle it. */
		if (is64 && equal < 0 && bpfu_range_cmp(dst, src, BPF_JEQ, false) == 0)
			return 0;
		return equal;
	case BPF_JNE:
		equal = bpfu_range_cmp(dst, src, BPF_JEQ, is64);
		return equal < 0 ? -1 : !equal;
	case BPF_JSET:
		return cmp_set(&a, &b);
	case BPF_JGT:
		return decide(a.umin > b.umax, a.umax <= b.umin);
	case BPF_JGE:
		return decide(a.umin >= b.umax, a.umax < b.umin);
	case BPF_JLT:
		return decide(a.umax < b.umin, a.umin >= b.umax);
	case BPF_JLE:
		return decide(a.umax <= b.umin, a.umin > b.umax);
	case BPF_JSGT:
		return decide(a.smin > b.smax, a.smax <= b.smin);
	case BPF_JSGE:
		return decide(a.smin >= b.smax, a.smax < b.smin);
	case BPF_JSLT:
		return decide(a.smax < b.smin, a.smin >= b.smax);
	case BPF_JSLE:
		return decide(a.smax <= b.smin, a.smin > b.smax);
	default:
		return -1;
	}
}

/* ---- what a branch teaches ---- */

static void assume_equal(struct view *a, struct view *b)
{
	a->umin = b->umin = BPFU_MAX(a->umin, b->umin);
	a->umax = b->umax = BPFU_MIN(a->umax, b->umax);
	a->smin = b->smin = BPFU_MAX(a->smin, b->smin);
	a->smax = b->smax = BPFU_MIN(a->smax, b->smax);
	a->var = b->var = bpfu_tnum_intersect(a->var, b->var);
}

/* "!= c" moves an end of an interval that lies at c. */
static void assume_differs(struct view *a, const struct view *b, bool is64)
{
	uint64_t u = b->var.value;
	int64_t s = is64 ? (int64_t)u : (int32_t)u;

	if (!is_const(b))
		return;
	if (a->umin == u && a->umin < a->umax)
		a->umin++;
	else if (a->umax == u && a->umin < a->umax)
		a->umax--;
	if (a->smin == s && a->smin < a->smax)
		a->smin++;
	else if (a->smax == s && a->smin < a->smax)
		a->smax--;
}

static void assume_bits(struct view *a, const struct view *b, bool set)
{
	uint64_t bits = b->var.value;

	if (!is_const(b))
		return;
	if (!set) { /* none of them */
		a->var.value &= ~bits;
		a->var.mask &= ~bits;
	} else if (bits && !(bits & (bits - 1))) { /* at least one of one */
		a->var.value |= bits;
		a->var.mask &= ~bits;
	}
}

/* @small < @big, or <= if @or_equal. */
static void assume_unsigned_order(struct view *small, struct view *big, bool or_equal, bool is64)
{
	uint64_t gap = !or_equal;

	/* An end of the number line cannot move: the path is impossible, say nothing. */
	if (big->umax >= gap)
		small->umax = BPFU_MIN(small->umax, big->umax - gap);
	if (small->umin <= (is64 ? UINT64_MAX : UINT32_MAX) - gap)
		big->umin = BPFU_MAX(big->umin, small->umin + gap);
}

static void assume_signed_order(struct view *small, struct view *big, bool or_equal, bool is64)
{
	int64_t gap = !or_equal;

	if (big->smax >= (is64 ? INT64_MIN : INT32_MIN) + gap)
		small->smax = BPFU_MIN(small->smax, big->smax - gap);
	if (small->smin <= (is64 ? INT64_MAX : INT32_MAX) - gap)
		big->smin = BPFU_MAX(big->smin, small->smin + gap);
}

static uint8_t op_negate(uint8_t op)
{
	switch (op) {
	case BPF_JGT:
		return BPF_JLE;
	case BPF_JGE:
		return BPF_JLT;
	case BPF_JLT:
		return BPF_JGE;
	case BPF_JLE:
		return BPF_JGT;
	case BPF_JSGT:
		return BPF_JSLE;
	case BPF_JSGE:
		return BPF_JSLT;
	case BPF_JSLT:
		return BPF_JSGE;
	default:
		return BPF_JSGT;
	}
}

static void assume_order(struct view *a, struct view *b, uint8_t op, bool is64)
{
	switch (op) {
	case BPF_JGT:
		assume_unsigned_order(b, a, false, is64);
		break;
	case BPF_JGE:
		assume_unsigned_order(b, a, true, is64);
		break;
	case BPF_JLT:
		assume_unsigned_order(a, b, false, is64);
		break;
	case BPF_JLE:
		assume_unsigned_order(a, b, true, is64);
		break;
	case BPF_JSGT:
		assume_signed_order(b, a, false, is64);
		break;
	case BPF_JSGE:
		assume_signed_order(b, a, true, is64);
		break;
	case BPF_JSLT:
		assume_signed_order(a, b, false, is64);
		break;
	default:
		assume_signed_order(a, b, true, is64);
		break;
	}
}

/*
 * After a test that found no bit set: if the bits alone rule out the negative numbers that the interval
 * still has, the kernel keeps the bits only. So do we, not to accept what it refuses.
 */
static void forget_if_bits_decide_sign(struct bpfu_range *r)
{
	uint64_t most = r->var.value | r->var.mask;
	struct bpfu_tnum var = r->var;

	if ((r->smin < 0 && r->smax >= 0 && most < (uint64_t)r->smin) ||
	    (r->s32_min < 0 && r->s32_max >= 0 && (uint32_t)most < (uint32_t)r->s32_min)) {
		bpfu_range_set_unknown(r);
		r->var = var;
	}
}

void bpfu_range_assume(struct bpfu_range *dst, struct bpfu_range *src, uint8_t op, bool taken,
		       bool is64)
{
	struct view a = view_of(dst, is64), b = view_of(src, is64);

	if (op == BPF_JSET) {
		assume_bits(is_const(&b) ? &a : &b, is_const(&b) ? &b : &a, taken);
	} else if (op == BPF_JEQ || op == BPF_JNE) {
		if ((op == BPF_JEQ) == taken) {
			assume_equal(&a, &b);
		} else {
			assume_differs(&a, &b, is64);
			assume_differs(&b, &a, is64);
		}
	} else {
		assume_order(&a, &b, taken ? op : op_negate(op), is64);
	}
	view_store(dst, &a, is64);
	view_store(src, &b, is64);
	if (op == BPF_JSET && !taken) {
		forget_if_bits_decide_sign(dst);
		forget_if_bits_decide_sign(src);
	}
	bpfu_range_sync(dst);
	bpfu_range_sync(src);
}
