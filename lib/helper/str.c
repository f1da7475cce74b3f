// SPDX-License-Identifier: BSD-2-Clause
/* Helpers about strings: compare, parse integers. */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "helper/bodies.h"
#include "util/bits.h"
#include "util/latin1.h"

#define BASE_MASK 31u /* the rest of the flags must be zero */
#define MAX_DIGITS 63 /* prefix and digits that are looked at */

uint64_t bpfu_helper_strncmp(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	const unsigned char *a = bpfu_ptr(r1), *b = bpfu_ptr(r3);
	uint32_t size = (uint32_t)r2;

	/* The sign only, as the kernel's generic strncmp(). */
	for (uint32_t i = 0; i < size; i++) {
		if (a[i] != b[i])
			return (int64_t)(a[i] < b[i] ? -1 : 1);
		if (!a[i])
			break;
	}
	return 0;
}

static int digit_value(char c)
{
	if (bpfu_is_digit(c))
		return c - '0';
	c = bpfu_to_lower(c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
}

/*
 * Blanks, a sign, a base prefix, digits. Returns the bytes consumed or a negative errno; *@value
 * is the magnitude.
 */
static int parse(const char *buf, uint32_t len, uint64_t flags, uint64_t *value, bool *negative)
{
	uint32_t base = (uint32_t)flags & BASE_MASK, pos = 0, start;

	if (!buf || !len || (base != 0 && base != 8 && base != 10 && base != 16) ||
	    flags & ~(uint64_t)BASE_MASK)
		return -EINVAL;
	while (pos < len && bpfu_is_space(buf[pos]))
		pos++;
	if (pos >= len)
		return -EINVAL;
	*negative = buf[pos] == '-';
	pos += *negative;
	if (pos >= len)
		return -EINVAL;
	len = BPFU_MIN(len, pos + MAX_DIGITS);
	if (base == 0) {
		base = buf[pos] == '0' ? 8 : 10;
		if (base == 8 && pos + 2 < len && bpfu_to_lower(buf[pos + 1]) == 'x' &&
		    digit_value(buf[pos + 2]) < 16)
			base = 16;
	}
	if (base == 16 && pos + 1 < len && buf[pos] == '0' &&
	    bpfu_to_lower(buf[pos + 1]) == 'x')
		pos += 2;
	*value = 0;
	for (start = pos; pos < len && (uint32_t)digit_value(buf[pos]) < base; pos++) {
		if (__builtin_mul_overflow(*value, base, value) ||
		    __builtin_add_overflow(*value, (uint64_t)digit_value(buf[pos]), value))
			return -ERANGE;
	}
	return pos == start ? -EINVAL : (int)pos;
}

uint64_t bpfu_helper_strtoul(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	uint64_t value, *res = bpfu_ptr(r4);
	bool negative;
	int ret;

	*res = 0;
	ret = parse(bpfu_ptr(r1), (uint32_t)r2, r3, &value, &negative);
	if (ret < 0)
		return (int64_t)ret;
	if (negative)
		return (int64_t)-EINVAL;
	*res = value;
	return (uint64_t)ret;
}

uint64_t bpfu_helper_strtol(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	uint64_t value, *res = bpfu_ptr(r4);
	bool negative;
	int ret;

	*res = 0;
	ret = parse(bpfu_ptr(r1), (uint32_t)r2, r3, &value, &negative);
	if (ret < 0)
		return (int64_t)ret;
	if (negative ? value > (uint64_t)INT64_MAX + 1 : value > INT64_MAX)
		return (int64_t)-ERANGE;
	*res = negative ? -value : value;
	return (uint64_t)ret;
}
