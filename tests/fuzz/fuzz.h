/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What fuzz targets share: the entry that libFuzzer or regress.c calls, and a reader that turns the
 * input into numbers. A target fails by abort(), with a line that says which property does not
 * hold.
 */
#ifndef BPFU_TESTS_FUZZ_FUZZ_H
#define BPFU_TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct fuzz_input {
	const uint8_t *data;
	size_t left;
};

/* Bytes behind the end read as zero, so that every prefix of an input means something. */
static inline void fuzz_bytes(struct fuzz_input *in, void *out, size_t size)
{
	size_t have = in->left < size ? in->left : size;

	if (have)
		memcpy(out, in->data, have);
	memset((char *)out + have, 0, size - have);
	in->data += have;
	in->left -= have;
}

static inline uint8_t fuzz_u8(struct fuzz_input *in)
{
	uint8_t v;

	fuzz_bytes(in, &v, sizeof(v));
	return v;
}

static inline uint32_t fuzz_u32(struct fuzz_input *in)
{
	uint32_t v;

	fuzz_bytes(in, &v, sizeof(v));
	return v;
}

#define FUZZ_CHECK(cond, ...)                                                                     \
	do {                                                                                      \
		if (!(cond)) {                                                                    \
			fprintf(stderr, "%s:%d: does not hold: %s: ", __FILE__, __LINE__, #cond); \
			fprintf(stderr, __VA_ARGS__);                                             \
			fputc('\n', stderr);                                                      \
			abort();                                                                  \
		}                                                                                 \
	} while (0)

#endif
