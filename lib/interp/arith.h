/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The arithmetic of RFC 9669 where it differs from C: division by zero yields 0, remainder by zero
 * the dividend, MIN / -1 yields MIN and remainder 0, shift counts are taken modulo the width, shifts
 * to the right of negative numbers copy the sign.
 */
#ifndef BPFU_INTERP_ARITH_H
#define BPFU_INTERP_ARITH_H

#include <stdint.h>

static inline uint64_t div64(uint64_t a, uint64_t b)
{
	return b ? a / b : 0;
}

static inline uint64_t mod64(uint64_t a, uint64_t b)
{
	return b ? a % b : a;
}

static inline uint64_t sdiv64(uint64_t a, uint64_t b)
{
	if (b == UINT64_MAX) /* -1: 0 - a is right for MIN as well */
		return 0 - a;
	return b ? (uint64_t)((int64_t)a / (int64_t)b) : 0;
}

static inline uint64_t smod64(uint64_t a, uint64_t b)
{
	if (b == UINT64_MAX)
		return 0;
	return b ? (uint64_t)((int64_t)a % (int64_t)b) : a;
}

static inline uint32_t sdiv32(uint32_t a, uint32_t b)
{
	if (b == UINT32_MAX)
		return 0 - a;
	return b ? (uint32_t)((int32_t)a / (int32_t)b) : 0;
}

static inline uint32_t smod32(uint32_t a, uint32_t b)
{
	if (b == UINT32_MAX)
		return 0;
	return b ? (uint32_t)((int32_t)a % (int32_t)b) : a;
}

static inline uint64_t arsh64(uint64_t a, uint64_t n)
{
	return (uint64_t)((int64_t)a >> (n & 63));
}

static inline uint32_t arsh32(uint32_t a, uint32_t n)
{
	return (uint32_t)((int32_t)a >> (n & 31));
}

/* Reverse the low @bits of @v, clear the rest. */
static inline uint64_t swap_bytes(uint64_t v, int bits)
{
	return __builtin_bswap64(v) >> (64 - bits);
}

/* Keep the low @bits of @v: what le16 … le64 do on a little-endian machine. */
static inline uint64_t truncate_to(uint64_t v, int bits)
{
	return bits == 64 ? v : v & ((1ull << bits) - 1);
}

static inline uint64_t to_le(uint64_t v, int bits)
{
	return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? truncate_to(v, bits) : swap_bytes(v, bits);
}

static inline uint64_t to_be(uint64_t v, int bits)
{
	return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? swap_bytes(v, bits) : truncate_to(v, bits);
}

/* Sign extension of the low @bits, to 64 bits. */
static inline uint64_t sign_extend(uint64_t v, int bits)
{
	return (uint64_t)((int64_t)(v << (64 - bits)) >> (64 - bits));
}

#endif
