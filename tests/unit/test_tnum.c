// SPDX-License-Identifier: BSD-2-Clause
/*
 * Tristate numbers against brute force: all numbers of four bits with all their members, then random
 * 64-bit ones. What is tested is soundness (the concrete result is a member of the abstract one)
 * and, where the operation is exact, that no bit was given away.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "verifier_rng.h"
#include "verifier/tnum.h"

#define BITS 4

struct binary_op {
	const char *name;
	struct bpfu_tnum (*abstract)(struct bpfu_tnum, struct bpfu_tnum);
	uint64_t (*concrete)(uint64_t, uint64_t);
	bool exact; /* the best possible result at 64 bits */
};

static uint64_t c_add(uint64_t a, uint64_t b)
{
	return a + b;
}

static uint64_t c_sub(uint64_t a, uint64_t b)
{
	return a - b;
}

static uint64_t c_mul(uint64_t a, uint64_t b)
{
	return a * b;
}

static uint64_t c_and(uint64_t a, uint64_t b)
{
	return a & b;
}

static uint64_t c_or(uint64_t a, uint64_t b)
{
	return a | b;
}

static uint64_t c_xor(uint64_t a, uint64_t b)
{
	return a ^ b;
}

static const struct binary_op ops[] = {
	{ "add", bpfu_tnum_add, c_add, true }, { "sub", bpfu_tnum_sub, c_sub, true },
	{ "mul", bpfu_tnum_mul, c_mul, false }, { "and", bpfu_tnum_and, c_and, true },
	{ "or", bpfu_tnum_or, c_or, true }, { "xor", bpfu_tnum_xor, c_xor, true },
};

static bool has(struct bpfu_tnum t, uint64_t v)
{
	return (v & ~t.mask) == t.value;
}

/* The i-th of 3^BITS tristate numbers. */
static struct bpfu_tnum nth(unsigned int i)
{
	struct bpfu_tnum t = { 0, 0 };

	for (int bit = 0; bit < BITS; bit++, i /= 3) {
		if (i % 3 == 1)
			t.value |= 1u << bit;
		else if (i % 3 == 2)
			t.mask |= 1u << bit;
	}
	return t;
}

#define COUNT 81 /* 3^BITS */

static void binary_one(const struct binary_op *op, struct bpfu_tnum a, struct bpfu_tnum b)
{
	struct bpfu_tnum r = op->abstract(a, b);
	uint64_t all_and = UINT64_MAX, all_or = 0;

	assert_int_equal(r.value & r.mask, 0);
	for (uint64_t x = 0; x < 1u << BITS; x++) {
		for (uint64_t y = 0; has(a, x) && y < 1u << BITS; y++) {
			uint64_t v = op->concrete(x, y);

			if (!has(b, y))
				continue;
			if (!has(r, v))
				fail_msg("%s: %llu, %llu -> %llu is outside", op->name,
					 (unsigned long long)x, (unsigned long long)y,
					 (unsigned long long)v);
			all_and &= v;
			all_or |= v;
		}
	}
	if (op->exact) {
		assert_int_equal(r.mask, all_and ^ all_or);
		assert_int_equal(r.value, all_and);
	}
}

static void test_binary_exhaustive(void **state)
{
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		for (unsigned int a = 0; a < COUNT; a++)
			for (unsigned int b = 0; b < COUNT; b++)
				binary_one(&ops[i], nth(a), nth(b));
}

static void test_relations_exhaustive(void **state)
{
	for (unsigned int i = 0; i < COUNT; i++) {
		for (unsigned int j = 0; j < COUNT; j++) {
			struct bpfu_tnum a = nth(i), b = nth(j), both = bpfu_tnum_intersect(a, b);
			bool subset = true, overlap = false;

			for (uint64_t x = 0; x < 1u << BITS; x++) {
				subset &= !has(b, x) || has(a, x);
				overlap |= has(a, x) && has(b, x);
				if (has(a, x) && has(b, x))
					assert_true(has(both, x));
			}
			assert_int_equal(bpfu_tnum_in(a, b), subset);
			assert_int_equal(bpfu_tnum_overlap(a, b), overlap);
		}
	}
}

static void test_range_exhaustive(void **state)
{
	for (uint64_t lo = 0; lo < 64; lo++) {
		for (uint64_t hi = lo; hi < 64; hi++) {
			struct bpfu_tnum t = bpfu_tnum_range(lo, hi);

			for (uint64_t x = lo; x <= hi; x++)
				assert_true(has(t, x));
			assert_true(t.value <= lo && (t.value | t.mask) >= hi);
			/* tight: halving the mask would lose an end */
			assert_true(!t.mask || (t.mask >> 1) < (lo ^ hi));
		}
	}
	assert_int_equal(bpfu_tnum_range(0, UINT64_MAX).mask, UINT64_MAX);
	assert_int_equal(bpfu_tnum_range(UINT64_MAX, UINT64_MAX).value, UINT64_MAX);
}

static uint64_t c_arsh(uint64_t v, unsigned int shift, unsigned int width)
{
	return width == 32 ? (uint32_t)((int32_t)v >> shift) : (uint64_t)((int64_t)v >> shift);
}

static uint64_t c_sext(uint64_t v, unsigned int size)
{
	unsigned int up = 64 - 8 * size;

	return (uint64_t)((int64_t)(v << up) >> up);
}

static struct bpfu_tnum around(struct rng *rng, uint64_t v)
{
	uint64_t mask = rng_edgy(rng);

	if (rng_below(rng, 2))
		mask &= rng_u64(rng);
	return (struct bpfu_tnum){ v & ~mask, mask };
}

static void test_random(void **state)
{
	struct rng rng = rng_start("tnum");

	for (int i = 0; i < 200000; i++) {
		uint64_t x = rng_edgy(&rng), y = rng_edgy(&rng);
		struct bpfu_tnum a = around(&rng, x), b = around(&rng, y);
		unsigned int shift = rng_below(&rng, 64), size = 1u << rng_below(&rng, 4);

		for (size_t k = 0; k < sizeof(ops) / sizeof(ops[0]); k++)
			if (!has(ops[k].abstract(a, b), ops[k].concrete(x, y)))
				fail_msg("%s of 0x%llx 0x%llx", ops[k].name, (unsigned long long)x,
					 (unsigned long long)y);
		assert_true(has(bpfu_tnum_lsh(a, shift), x << shift));
		assert_true(has(bpfu_tnum_rsh(a, shift), x >> shift));
		assert_true(has(bpfu_tnum_arsh(a, shift, 64), c_arsh(x, shift, 64)));
		assert_true(has(bpfu_tnum_arsh(bpfu_tnum_subreg(a), shift & 31, 32),
				c_arsh(x, shift & 31, 32)));
		assert_true(has(bpfu_tnum_sext(a, size), c_sext(x, size)));
		assert_true(has(bpfu_tnum_cast(a, size),
				size == 8 ? x : x & ((1ULL << 8 * size) - 1)));
		assert_true(has(bpfu_tnum_bswap(a, size),
				__builtin_bswap64(x) >> (64 - 8 * size)));
		assert_true(has(bpfu_tnum_with_subreg(a, b),
				(x & ~0xffffffffULL) | (uint32_t)y));
		if (bpfu_tnum_is_aligned(a, size))
			assert_int_equal(x % size, 0);
	}
}

static void test_at_least_exhaustive(void **state)
{
	for (unsigned int i = 0; i < COUNT; i++) {
		/* The same at the other end, where the bits above the top do not wrap to a match. */
		for (unsigned int shift = 0; shift <= 64 - BITS; shift += 64 - BITS) {
			struct bpfu_tnum t = bpfu_tnum_lsh(nth(i), shift);

			for (uint64_t min = 0; min < 1u << BITS; min++) {
				uint64_t want = min, v = 0;
				bool some;

				while (want < 1u << BITS && !has(nth(i), want))
					want++;
				some = bpfu_tnum_at_least(t, min << shift, &v);
				assert_int_equal(some, want < 1u << BITS);
				if (some)
					assert_int_equal(v, want << shift);
			}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_binary_exhaustive),
		cmocka_unit_test(test_relations_exhaustive),
		cmocka_unit_test(test_range_exhaustive),
		cmocka_unit_test(test_at_least_exhaustive),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
