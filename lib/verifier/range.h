/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is known of a scalar: a tristate number and four intervals (signed and unsigned, of the whole
 * value and of its low 32 bits). All of it is true at once; bpfu_range_sync() lets each part sharpen
 * the others. Every operation is sound: the concrete result of concrete operands that lie in the
 * arguments lies in the result.
 *
 * Pointers use the same structure for the unknown part of their offset.
 */
#ifndef BPFU_VERIFIER_RANGE_H
#define BPFU_VERIFIER_RANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "verifier/tnum.h"

struct bpfu_range {
	struct bpfu_tnum var;
	int64_t smin, smax;
	uint64_t umin, umax;
	int32_t s32_min, s32_max;
	uint32_t u32_min, u32_max;
};

void bpfu_range_set_unknown(struct bpfu_range *r);
void bpfu_range_set_const(struct bpfu_range *r, uint64_t v);

static inline bool bpfu_range_is_const(const struct bpfu_range *r)
{
	return bpfu_tnum_is_const(r->var);
}

static inline bool bpfu_range_is_zero(const struct bpfu_range *r)
{
	return !r->var.mask && !r->var.value;
}

bool bpfu_range_is_unknown(const struct bpfu_range *r);

/* Sharpen all parts; the range may turn out empty. */
void bpfu_range_sync(struct bpfu_range *r);

/* False: no value satisfies all parts (an impossible path). */
bool bpfu_range_is_valid(const struct bpfu_range *r);

/* True if every value of @in is in @r, part by part. */
bool bpfu_range_covers(const struct bpfu_range *r, const struct bpfu_range *in);

/* The low half of @r is also in the low half of @low; unchanged if that cannot be. */
void bpfu_range_meet_low(struct bpfu_range *r, const struct bpfu_range *low);

/* What is known of the low half becomes all that is known; the upper half is zero. */
void bpfu_range_zext32(struct bpfu_range *r);

/* Keep the low @size bytes (1, 2, 4, 8), zero- or sign-extended to 64 bits. */
void bpfu_range_trunc(struct bpfu_range *r, unsigned int size);
void bpfu_range_sext(struct bpfu_range *r, unsigned int size);

/* The low @size bytes in reverse order, zero-extended: of the intervals nothing is left. */
void bpfu_range_bswap(struct bpfu_range *r, unsigned int size);

/* As movsx to a 32-bit register: the low @size bytes sign-extended to 32 bits, upper half zero. */
void bpfu_range_sext32(struct bpfu_range *r, unsigned int size);

/*
 * @dst = @dst @op @src for BPF_ADD … BPF_ARSH, BPF_NEG, BPF_DIV, BPF_MOD (signed forms too: nothing
 * is known of quotients); @is64 false: 32-bit operation, upper half zero.
 */
void bpfu_range_alu(struct bpfu_range *dst, const struct bpfu_range *src, uint8_t op, bool is64);

/* Is "@dst @op @src" (BPF_JEQ …) decided? 1 always, 0 never, -1 not known. */
int bpfu_range_cmp(const struct bpfu_range *dst, const struct bpfu_range *src, uint8_t op,
		   bool is64);

/* Sharpen both with the fact that "@dst @op @src" is @taken. */
void bpfu_range_assume(struct bpfu_range *dst, struct bpfu_range *src, uint8_t op, bool taken,
		       bool is64);

#endif
