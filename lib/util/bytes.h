/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes that grow, for formats that are put together piece by piece. */
#ifndef BPFU_UTIL_BYTES_H
#define BPFU_UTIL_BYTES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Zeroed at first; ->data is malloc()ed, the owner's to free. */
struct bpfu_bytes {
	uint8_t *data;
	uint32_t len, cap;
	bool failed; /* there was no memory: nothing more is put */
};

static inline void bpfu_bytes_put(struct bpfu_bytes *b, const void *data, uint32_t size)
{
	if (b->cap - b->len < size && !b->failed) {
		uint32_t cap = 2 * b->cap + size + 256;
		uint8_t *grown = realloc(b->data, cap);

		b->failed = !grown;
		if (grown) {
			b->data = grown;
			b->cap = cap;
		}
	}
	if (b->failed)
		return;
	memcpy(b->data + b->len, data, size);
	b->len += size;
}

static inline void bpfu_bytes_put8(struct bpfu_bytes *b, uint8_t v)
{
	bpfu_bytes_put(b, &v, sizeof(v));
}

static inline void bpfu_bytes_put16(struct bpfu_bytes *b, uint16_t v)
{
	bpfu_bytes_put(b, &v, sizeof(v));
}

static inline void bpfu_bytes_put32(struct bpfu_bytes *b, uint32_t v)
{
	bpfu_bytes_put(b, &v, sizeof(v));
}

static inline void bpfu_bytes_put64(struct bpfu_bytes *b, uint64_t v)
{
	bpfu_bytes_put(b, &v, sizeof(v));
}

/* A string with its NUL; where it lies. */
static inline uint32_t bpfu_bytes_put_str(struct bpfu_bytes *b, const char *s)
{
	uint32_t at = b->len;

	bpfu_bytes_put(b, s, (uint32_t)strlen(s) + 1);
	return at;
}

/* Numbers as DWARF writes them, seven bits at a time. */
static inline void bpfu_bytes_put_uleb(struct bpfu_bytes *b, uint64_t v)
{
	for (; v > 0x7f; v >>= 7)
		bpfu_bytes_put8(b, (uint8_t)(0x80 | v));
	bpfu_bytes_put8(b, (uint8_t)v);
}

static inline void bpfu_bytes_put_sleb(struct bpfu_bytes *b, int64_t v)
{
	for (; v < -64 || v > 63; v >>= 7)
		bpfu_bytes_put8(b, (uint8_t)(0x80 | (v & 0x7f)));
	bpfu_bytes_put8(b, (uint8_t)(v & 0x7f));
}

/* Change the 32 bits at @at, which have been put. */
static inline void bpfu_bytes_set32(struct bpfu_bytes *b, uint32_t at, uint32_t v)
{
	if (!b->failed)
		memcpy(b->data + at, &v, sizeof(v));
}

/* Fill up with zeros, to a multiple of @to bytes from @start. */
static inline void bpfu_bytes_align(struct bpfu_bytes *b, uint32_t start, uint32_t to)
{
	while ((b->len - start) % to && !b->failed)
		bpfu_bytes_put8(b, 0);
}

#endif
