// SPDX-License-Identifier: BSD-2-Clause
/* SHA-256: the examples of FIPS 180-4, and the lengths around the padding's corners. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "util/sha256.h"

static void expect(const void *data, size_t len, const char *want)
{
	uint8_t digest[BPFU_SHA256_SIZE];
	char hex[2 * sizeof(digest) + 1];

	bpfu_sha256(data, len, digest);
	for (size_t i = 0; i < sizeof(digest); i++)
		snprintf(hex + 2 * i, 3, "%02x", digest[i]);
	assert_string_equal(hex, want);
}

static void test_standard_examples(void **state)
{
	static const char two_blocks[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";

	expect("", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	expect("abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	expect(two_blocks, sizeof(two_blocks) - 1,
	       "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

/* The digest of all digests of "a" repeated 0 … 199 times, made with another implementation. */
static void test_all_lengths(void **state)
{
	uint8_t digests[200][BPFU_SHA256_SIZE];
	char text[200];

	memset(text, 'a', sizeof(text));
	for (size_t len = 0; len < 200; len++)
		bpfu_sha256(text, len, digests[len]);
	expect(digests, sizeof(digests), "752c007f38611cfbf5fa42cb1cea3d8e086491c844d0cc4defd632cb81423506");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_standard_examples),
		cmocka_unit_test(test_all_lengths),
	};

	return cmocka_run_group_tests_name("sha256", tests, NULL, NULL);
}
