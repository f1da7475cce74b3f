// SPDX-License-Identifier: BSD-2-Clause
/*
 * Soundness of ranges. Exhaustive: every pair of small intervals around the seams of the number line
 * (0, 2^31, 2^32, 2^63), every operation, every pair of members. Random: ranges grown around a known
 * value by random facts that are true of it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "verifier_rng.h"
#include "util/bits.h"
#include "util/uapi.h"
#include "verifier/range.h"

static bool has(const struct bpfu_range *r, uint64_t v)
{
	return (v & ~r->var.mask) == r->var.value && v >= r->umin && v <= r->umax &&
	       (int64_t)v >= r->smin && (int64_t)v <= r->smax && (uint32_t)v >= r->u32_min &&
	       (uint32_t)v <= r->u32_max && (int32_t)v >= r->s32_min && (int32_t)v <= r->s32_max;
}

static const uint8_t alu_ops[] = {
	BPF_ADD, BPF_SUB, BPF_MUL, BPF_AND, BPF_OR,  BPF_XOR,
	BPF_LSH, BPF_RSH, BPF_ARSH, BPF_NEG, BPF_DIV, BPF_MOD,
};

static uint64_t alu64(uint64_t a, uint64_t b, uint8_t op)
{
	switch (op) {
	case BPF_ADD:
		return a + b;
	case BPF_SUB:
		return a - b;
	case BPF_MUL:
		return a * b;
	case BPF_AND:
		return a & b;
	case BPF_OR:
		return a | b;
	case BPF_XOR:
		return a ^ b;
	case BPF_LSH:
		return a << (b & 63);
	case BPF_RSH:
		return a >> (b & 63);
	case BPF_ARSH:
		return (uint64_t)((int64_t)a >> (b & 63));
	case BPF_NEG:
		return -a;
	case BPF_DIV:
		return b ? a / b : 0;
	default:
		return b ? a % b : a;
	}
}

static uint64_t alu32(uint64_t a64, uint64_t b64, uint8_t op)
{
	uint32_t a = (uint32_t)a64, b = (uint32_t)b64;

	switch (op) {
	case BPF_LSH:
		return a << (b & 31);
	case BPF_RSH:
		return a >> (b & 31);
	case BPF_ARSH:
		return (uint32_t)((int32_t)a >> (b & 31));
	default:
		return (uint32_t)alu64(a, b, op);
	}
}

static const uint8_t jmp_ops[] = {
	BPF_JEQ, BPF_JNE, BPF_JGT, BPF_JGE, BPF_JLT, BPF_JLE, BPF_JSGT, BPF_JSGE, BPF_JSLT, BPF_JSLE,
	BPF_JSET,
};

static bool jmp(uint64_t a, uint64_t b, uint8_t op, bool is64)
{
	int64_t sa = is64 ? (int64_t)a : (int32_t)a, sb = is64 ? (int64_t)b : (int32_t)b;

	if (!is64) {
		a = (uint32_t)a;
		b = (uint32_t)b;
	}
	switch (op) {
	case BPF_JEQ:
		return a == b;
	case BPF_JNE:
		return a != b;
	case BPF_JGT:
		return a > b;
	case BPF_JGE:
		return a >= b;
	case BPF_JLT:
		return a < b;
	case BPF_JLE:
		return a <= b;
	case BPF_JSGT:
		return sa > sb;
	case BPF_JSGE:
		return sa >= sb;
	case BPF_JSLT:
		return sa < sb;
	case BPF_JSLE:
		return sa <= sb;
	default:
		return a & b;
	}
}

static uint64_t sext(uint64_t v, unsigned int size)
{
	unsigned int up = 64 - 8 * size;

	return (uint64_t)((int64_t)(v << up) >> up);
}

/* All operations on one concrete pair inside one abstract pair. */
static void check_pair(const struct bpfu_range *a, uint64_t x, const struct bpfu_range *b, uint64_t y)
{
	for (size_t i = 0; i < BPFU_ARRAY_SIZE(alu_ops); i++) {
		for (int is64 = 0; is64 < 2; is64++) {
			struct bpfu_range r = *a;
			uint64_t v = is64 ? alu64(x, y, alu_ops[i]) : alu32(x, y, alu_ops[i]);

			bpfu_range_alu(&r, b, alu_ops[i], is64);
			if (!has(&r, v))
				fail_msg("alu%d op 0x%x: 0x%llx, 0x%llx -> 0x%llx is outside",
					 is64 ? 64 : 32, alu_ops[i], (unsigned long long)x,
					 (unsigned long long)y, (unsigned long long)v);
		}
	}
	for (size_t i = 0; i < BPFU_ARRAY_SIZE(jmp_ops); i++) {
		for (int is64 = 0; is64 < 2; is64++) {
			struct bpfu_range ra = *a, rb = *b;
			bool taken = jmp(x, y, jmp_ops[i], is64);
			int known = bpfu_range_cmp(a, b, jmp_ops[i], is64);

			if (known >= 0 && known != taken)
				fail_msg("jmp%d op 0x%x: 0x%llx, 0x%llx decided as %d",
					 is64 ? 64 : 32, jmp_ops[i], (unsigned long long)x,
					 (unsigned long long)y, known);
			bpfu_range_assume(&ra, &rb, jmp_ops[i], taken, is64);
			if (!has(&ra, x) || !has(&rb, y))
				fail_msg("jmp%d op 0x%x taken %d: 0x%llx, 0x%llx lost",
					 is64 ? 64 : 32, jmp_ops[i], taken, (unsigned long long)x,
					 (unsigned long long)y);
		}
	}
}

static void check_widths(const struct bpfu_range *a, uint64_t x)
{
	for (unsigned int size = 1; size <= 8; size *= 2) {
		struct bpfu_range r = *a;

		bpfu_range_trunc(&r, size);
		assert_true(has(&r, size == 8 ? x : x & ((1ULL << 8 * size) - 1)));
		r = *a;
		bpfu_range_sext(&r, size);
		assert_true(has(&r, sext(x, size)));
		r = *a;
		if (size < 4) {
			bpfu_range_sext32(&r, size);
			assert_true(has(&r, (uint32_t)sext(x, size)));
		}
	}
	struct bpfu_range r = *a;

	bpfu_range_zext32(&r);
	assert_true(has(&r, (uint32_t)x));
}

/* ---- exhaustive around the seams ---- */

#define WIDTH 3

static const uint64_t seams[] = { 0, 1ULL << 31, 1ULL << 32, 1ULL << 63, 128, 1ULL << 15 };

static struct bpfu_range interval(uint64_t lo, uint64_t len)
{
	struct bpfu_range r;

	bpfu_range_set_unknown(&r);
	if (lo + len >= lo) { /* does not cross the unsigned seam */
		r.umin = lo;
		r.umax = lo + len;
	} else {
		r.smin = (int64_t)lo;
		r.smax = (int64_t)(lo + len);
	}
	bpfu_range_sync(&r);
	return r;
}

static void test_seams(void **state)
{
	for (size_t s = 0; s < BPFU_ARRAY_SIZE(seams); s++)
		for (size_t t = 0; t < BPFU_ARRAY_SIZE(seams); t++)
			for (uint64_t n = 0; n < 2 * WIDTH * WIDTH * WIDTH * WIDTH; n++) {
				uint64_t lo = seams[s] - WIDTH + n % (2 * WIDTH);
				uint64_t len = n / (2 * WIDTH) % WIDTH;
				uint64_t lo2 = seams[t] - 1 + n / (2 * WIDTH * WIDTH) % WIDTH;
				uint64_t len2 = n / (2 * WIDTH * WIDTH * WIDTH) % WIDTH;
				struct bpfu_range a = interval(lo, len), b = interval(lo2, len2);

				for (uint64_t x = 0; x <= len; x++) {
					assert_true(has(&a, lo + x));
					check_widths(&a, lo + x);
					for (uint64_t y = 0; y <= len2; y++)
						check_pair(&a, lo + x, &b, lo2 + y);
				}
			}
}

/* Small shift counts, given as constants, with intervals as values. */
static void test_shifts(void **state)
{
	for (size_t s = 0; s < BPFU_ARRAY_SIZE(seams); s++)
		for (uint64_t n = 0; n < 64 * 8 * 4; n++) {
			struct bpfu_range k, a = interval(seams[s] - 4 + n / 64 % 8, n / 512);

			bpfu_range_set_const(&k, n % 64);
			for (uint64_t x = 0; x <= n / 512; x++)
				check_pair(&a, seams[s] - 4 + n / 64 % 8 + x, &k, n % 64);
		}
}

/* ---- random ---- */

/* A range that holds @v, from facts that are true of @v. */
static struct bpfu_range grow(struct rng *rng, uint64_t v)
{
	struct bpfu_range r, c;
	uint64_t mask;

	bpfu_range_set_unknown(&r);
	if (!rng_below(rng, 3)) {
		mask = rng_edgy(rng);
		r.var = (struct bpfu_tnum){ v & ~mask, mask };
		bpfu_range_sync(&r);
	}
	for (uint32_t facts = rng_below(rng, 4); facts; facts--) {
		uint8_t op = jmp_ops[rng_below(rng, BPFU_ARRAY_SIZE(jmp_ops))];
		uint64_t limit = rng_below(rng, 2) ? rng_edgy(rng) : v + rng_below(rng, 64) - 32;
		bool is64 = rng_below(rng, 2);

		bpfu_range_set_const(&c, limit);
		bpfu_range_assume(&r, &c, op, jmp(v, limit, op, is64), is64);
	}
	return r;
}

static void test_random(void **state)
{
	struct rng rng = rng_start("range");

	for (int i = 0; i < 60000; i++) {
		uint64_t x = rng_edgy(&rng);
		uint64_t y = rng_below(&rng, 3) ? rng_edgy(&rng) : rng_below(&rng, 64);
		struct bpfu_range a = grow(&rng, x), b = grow(&rng, y), c;

		assert_true(has(&a, x));
		assert_true(has(&b, y));
		assert_true(bpfu_range_is_valid(&a));
		check_pair(&a, x, &b, y);
		check_widths(&a, x);
		bpfu_range_set_const(&c, y);
		check_pair(&a, x, &c, y);
	}
}

/* Chains of operations, as a program makes them: errors that need two steps to show. */
static void test_random_chains(void **state)
{
	struct rng rng = rng_start("range chains");

	for (int i = 0; i < 40000; i++) {
		uint64_t x = rng_edgy(&rng);
		struct bpfu_range r = grow(&rng, x);

		for (int step = 0; step < 8; step++) {
			uint8_t op = alu_ops[rng_below(&rng, BPFU_ARRAY_SIZE(alu_ops))];
			bool is64 = rng_below(&rng, 2);
			uint64_t y = rng_below(&rng, 2) ? rng_below(&rng, 64) : rng_edgy(&rng);
			struct bpfu_range b = grow(&rng, y);

			if (rng_below(&rng, 2))
				bpfu_range_set_const(&b, y);
			bpfu_range_alu(&r, &b, op, is64);
			x = is64 ? alu64(x, y, op) : alu32(x, y, op);
			assert_true(has(&r, x));
			op = jmp_ops[rng_below(&rng, BPFU_ARRAY_SIZE(jmp_ops))];
			y = rng_below(&rng, 2) ? x + rng_below(&rng, 8) - 4 : rng_edgy(&rng);
			bpfu_range_set_const(&b, y);
			bpfu_range_assume(&r, &b, op, jmp(x, y, op, is64), is64);
			assert_true(has(&r, x));
			assert_true(bpfu_range_is_valid(&r));
		}
	}
}

static void test_covers(void **state)
{
	struct rng rng = rng_start("range covers");

	for (int i = 0; i < 20000; i++) {
		uint64_t x = rng_edgy(&rng);
		struct bpfu_range a = grow(&rng, x), b = grow(&rng, x), whole;

		bpfu_range_set_unknown(&whole);
		assert_true(bpfu_range_is_unknown(&whole));
		assert_true(bpfu_range_covers(&whole, &a));
		assert_true(bpfu_range_covers(&a, &a));
		/* if a covers b, every member of b that we know is one of a */
		if (bpfu_range_covers(&a, &b))
			assert_true(has(&a, b.umin == b.umax ? b.umin : x));
		bpfu_range_set_const(&b, x);
		assert_true(bpfu_range_covers(&a, &b));
	}
}

/* Precision that ordinary code depends on. */
static void test_precision(void **state)
{
	struct bpfu_range r, c;

	/* w &= 7; w += 1 */
	bpfu_range_set_unknown(&r);
	bpfu_range_set_const(&c, 7);
	bpfu_range_alu(&r, &c, BPF_AND, false);
	bpfu_range_set_const(&c, 1);
	bpfu_range_alu(&r, &c, BPF_ADD, false);
	assert_int_equal(r.umin, 1);
	assert_int_equal(r.umax, 8);
	assert_int_equal(r.smax, 8);

	/* the v1 way to sign-extend an int: r <<= 32; r s>>= 32, with 32-bit bounds known */
	bpfu_range_set_unknown(&r);
	bpfu_range_set_const(&c, 100);
	bpfu_range_assume(&r, &c, BPF_JSLT, true, false);
	bpfu_range_set_const(&c, (uint64_t)-3);
	bpfu_range_assume(&r, &c, BPF_JSGT, true, false);
	bpfu_range_set_const(&c, 32);
	bpfu_range_alu(&r, &c, BPF_LSH, true);
	bpfu_range_alu(&r, &c, BPF_ARSH, true);
	assert_int_equal(r.smin, -2);
	assert_int_equal(r.smax, 99);

	/* 32-bit bound on a zero-extended value reaches the 64-bit one */
	bpfu_range_set_unknown(&r);
	bpfu_range_zext32(&r);
	bpfu_range_set_const(&c, 10);
	bpfu_range_assume(&r, &c, BPF_JLT, true, false);
	assert_int_equal(r.umax, 9);
	assert_int_equal(r.smin, 0);

	/* "& mask" then "!= 0" */
	bpfu_range_set_unknown(&r);
	bpfu_range_set_const(&c, 6);
	bpfu_range_alu(&r, &c, BPF_AND, true);
	bpfu_range_set_const(&c, 0);
	bpfu_range_assume(&r, &c, BPF_JNE, true, true);
	assert_int_equal(r.umin, 1);
	assert_int_equal(r.umax, 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_seams),	    cmocka_unit_test(test_shifts),
		cmocka_unit_test(test_random),	    cmocka_unit_test(test_random_chains),
		cmocka_unit_test(test_covers),	    cmocka_unit_test(test_precision),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
