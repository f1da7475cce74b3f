// SPDX-License-Identifier: BSD-2-Clause
/*
 * The arm64 encoders: each row of arm64.def must give the word that an assembler gives
 * (arm64.golden), and the search for logical immediates is held against its definition.
 * Runs on every host: encoders are pure functions.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "jit/arm64/encode.h"

static uint32_t fields(uint64_t imm)
{
	uint32_t f = 0;

	assert_true(a64_logical_imm(imm, &f));
	return f;
}

static void test_golden(void **state)
{
	FILE *golden = fopen(ARM64_GOLDEN, "r");
	char line[128], asm_text[112];
	unsigned word, rows = 0;

	assert_non_null(golden);
#define _(text, call)                                                                              \
	do {                                                                                       \
		uint32_t made = (call);                                                            \
		assert_non_null(fgets(line, sizeof(line), golden));                                \
		assert_int_equal(sscanf(line, "%x %111[^\n]", &word, asm_text), 2);                \
		assert_string_equal(asm_text, text);                                               \
		if (made != word)                                                                  \
			fail_msg("%s: %08x, assembler: %08x", text, made, word);                   \
		rows++;                                                                            \
	} while (0);
#include "arm64.def"
#undef _
	assert_null(fgets(line, sizeof(line), golden));
	assert_true(rows > 1000);
	fclose(golden);
}

/* What the fields mean, by the manual's DecodeBitMasks(). */
static uint64_t decode_fields(uint32_t f)
{
	uint32_t n = f >> 22 & 1, immr = f >> 16 & 63, imms = f >> 10 & 63;
	uint32_t len = 31 - (uint32_t)__builtin_clz(n << 6 | (~imms & 63));
	uint32_t size = 1u << len, ones = (imms & (size - 1)) + 1, rot = immr & (size - 1);
	uint64_t elem = ones == 64 ? UINT64_MAX : (1ull << ones) - 1, out = 0;
	uint64_t mask = size == 64 ? UINT64_MAX : (1ull << size) - 1;

	if (rot)
		elem = (elem >> rot | elem << (size - rot)) & mask;
	for (uint32_t i = 0; i < 64; i += size)
		out |= elem << i;
	return out;
}

static void test_logical_all(void **state)
{
	unsigned found = 0;
	uint32_t f;

	/* Every pattern there is: size, count of ones, rotation. */
	for (uint32_t size = 2; size <= 64; size *= 2) {
		for (uint32_t ones = 1; ones < size; ones++) {
			for (uint32_t rot = 0; rot < size; rot++) {
				uint64_t e = (1ull << ones) - 1, imm = 0;

				if (rot)
					e = (e >> rot | e << (size - rot)) &
					    (size == 64 ? UINT64_MAX : (1ull << size) - 1);
				for (uint32_t i = 0; i < 64; i += size)
					imm |= e << i;
				assert_true(a64_logical_imm(imm, &f));
				assert_true(decode_fields(f) == imm);
				found++;
			}
		}
	}
	assert_int_equal(found, 5334);
	assert_false(a64_logical_imm(0, &f));
	assert_false(a64_logical_imm(UINT64_MAX, &f));
	assert_false(a64_logical_imm(5, &f));
	assert_false(a64_logical_imm(0x123456789abcdef0, &f));
}

static void test_addsub_fits(void **state)
{
	assert_true(a64_addsub_imm_fits(0));
	assert_true(a64_addsub_imm_fits(4095));
	assert_true(a64_addsub_imm_fits(4096));
	assert_true(a64_addsub_imm_fits(0xfff000));
	assert_false(a64_addsub_imm_fits(4097));
	assert_false(a64_addsub_imm_fits(0x1000000));
	assert_false(a64_addsub_imm_fits(-1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),
		cmocka_unit_test(test_logical_all),
		cmocka_unit_test(test_addsub_fits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
