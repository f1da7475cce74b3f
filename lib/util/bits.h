/* SPDX-License-Identifier: BSD-2-Clause */
/* Small arithmetic and type helpers used everywhere; no dependencies. */
#ifndef BPFU_UTIL_BITS_H
#define BPFU_UTIL_BITS_H

#include <stddef.h>
#include <stdint.h>

#define BPFU_ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define BPFU_ROUND_UP(x, a) ((((x) + (a) - 1) / (a)) * (a))
#define BPFU_MIN(a, b) ((a) < (b) ? (a) : (b))
#define BPFU_MAX(a, b) ((a) > (b) ? (a) : (b))
#define bpfu_container_of(ptr, type, member) ((type *)((char *)(ptr) - offsetof(type, member)))

#define bpfu_likely(x) __builtin_expect(!!(x), 1)
#define bpfu_unlikely(x) __builtin_expect(!!(x), 0)

static inline void *bpfu_ptr(uint64_t user)
{
	return (void *)(uintptr_t)user;
}

static inline uint64_t bpfu_u64(const volatile void *p)
{
	return (uint64_t)(uintptr_t)p;
}

#endif
