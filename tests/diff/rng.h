/* SPDX-License-Identifier: BSD-2-Clause */
/* A small generator of random numbers (splitmix64): the same sequence everywhere for a seed. */
#ifndef BPFU_TESTS_DIFF_RNG_H
#define BPFU_TESTS_DIFF_RNG_H

#include <stdbool.h>
#include <stdint.h>

struct rng {
	uint64_t state;
};

static inline uint64_t rng_mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

static inline uint64_t rng_next(struct rng *r)
{
	r->state += 0x9e3779b97f4a7c15ull;
	return rng_mix(r->state);
}

/* 0 … n - 1 */
static inline uint32_t rng_below(struct rng *r, uint32_t n)
{
	return (uint32_t)((rng_next(r) >> 32) * n >> 32);
}

/* lo … hi */
static inline int rng_range(struct rng *r, int lo, int hi)
{
	return lo + (int)rng_below(r, (uint32_t)(hi - lo + 1));
}

static inline bool rng_percent(struct rng *r, uint32_t percent)
{
	return rng_below(r, 100) < percent;
}

#endif
