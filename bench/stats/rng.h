/* SPDX-License-Identifier: BSD-2-Clause */
/* The random orders of a run: splitmix64, so that one 64-bit seed replays them. */
#ifndef BPFLAB_RNG_H
#define BPFLAB_RNG_H

#include <stddef.h>
#include <stdint.h>

struct rng {
	uint64_t state;
};

static inline uint64_t rng_next(struct rng *r)
{
	uint64_t z = r->state += 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

/* Uniform in [0, 1). */
static inline double rng_unit(struct rng *r)
{
	return (double)(rng_next(r) >> 11) * 0x1p-53;
}

/* Uniform in [0, @n), @n > 0; the bias of the multiplication is below 2^-32 for any n here. */
static inline uint32_t rng_below(struct rng *r, uint32_t n)
{
	return (uint32_t)(((rng_next(r) >> 32) * n) >> 32);
}

static inline void rng_shuffle(struct rng *r, uint32_t *items, size_t n)
{
	for (size_t i = n; i > 1; i--) {
		uint32_t j = rng_below(r, (uint32_t)i), item = items[j];

		items[j] = items[i - 1];
		items[i - 1] = item;
	}
}

#endif
