/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Classes of characters as the kernel has them: Latin-1, whatever the locale of the process. Names
 * and formats that a kernel accepts must be accepted here, and by no setlocale() any others.
 */
#ifndef BPFU_UTIL_LATIN1_H
#define BPFU_UTIL_LATIN1_H

#include <stdbool.h>
#include <stdint.h>

static inline bool bpfu_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline bool bpfu_is_alpha(char c)
{
	uint8_t u = (uint8_t)c, lower = u | 0x20;

	return (lower >= 'a' && lower <= 'z') || (u >= 0xc0 && u != 0xd7 && u != 0xf7);
}

static inline bool bpfu_is_space(char c)
{
	uint8_t u = (uint8_t)c;

	return u == ' ' || (u >= '\t' && u <= '\r') || u == 0xa0;
}

static inline bool bpfu_is_print(char c)
{
	uint8_t u = (uint8_t)c;

	return (u >= 0x20 && u <= 0x7e) || u >= 0xa0;
}

static inline bool bpfu_is_punct(char c)
{
	return bpfu_is_print(c) && !bpfu_is_space(c) && !bpfu_is_alpha(c) && !bpfu_is_digit(c);
}

static inline char bpfu_to_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

#endif
