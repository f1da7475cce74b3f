/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers out of formats, wherever they lie. */
#ifndef TESTS_READ_BYTES_H
#define TESTS_READ_BYTES_H

#include <stdint.h>
#include <string.h>

static inline uint32_t u32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint64_t u64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

#endif
