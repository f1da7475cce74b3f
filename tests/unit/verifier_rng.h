/* SPDX-License-Identifier: BSD-2-Clause */
/* A small replayable random generator for tests: BPFU_TEST_SEED=N repeats a run. */
#ifndef TEST_VERIFIER_RNG_H
#define TEST_VERIFIER_RNG_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct rng {
	uint64_t state;
};

/* splitmix64 */
static inline uint64_t rng_u64(struct rng *rng)
{
	uint64_t z = rng->state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

static inline uint32_t rng_below(struct rng *rng, uint32_t n)
{
	return (uint32_t)(((rng_u64(rng) >> 32) * n) >> 32);
}

/* Seed from the environment, else from the clock; printed so that a failure can be repeated. */
static inline struct rng rng_start(const char *what)
{
	const char *env = getenv("BPFU_TEST_SEED");
	struct timespec now;
	struct rng rng;

	clock_gettime(CLOCK_MONOTONIC, &now);
	rng.state = env ? strtoull(env, NULL, 0) : (uint64_t)now.tv_nsec ^ (uint64_t)now.tv_sec << 32;
	printf("# %s: BPFU_TEST_SEED=0x%" PRIx64 "\n", what, rng.state);
	return rng;
}

/* Numbers that break things: small, near powers of two, near the ends of signed and unsigned. */
static inline uint64_t rng_edgy(struct rng *rng)
{
	uint64_t v = rng_u64(rng);

	switch (v & 7) {
	case 0:
		return (v >> 8 & 31) - 16;
	case 1:
		return (1ULL << (v >> 8 & 63)) + (v >> 16 & 7) - 4;
	case 2:
		return (uint64_t)(int64_t)(int32_t)(v >> 16);
	case 3:
		return v >> 32;
	case 4:
		return (uint64_t)INT64_MIN + (v >> 8 & 7) - 4;
	case 5:
		return (1ULL << 31) + (v >> 8 & 7) - 4;
	case 6:
		return v >> (v >> 8 & 63);
	default:
		return rng_u64(rng);
	}
}

#endif
