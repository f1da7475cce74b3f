/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory that programs use while commands copy it: values and keys inside maps. One side of each
 * copy is such shared memory, 8-aligned, accessed word by word with relaxed atomics, so a copy is
 * torn only between words; the other side is private and may have any alignment. The tail of a size
 * that is no multiple of 8 is accessed in pieces of 4, 2 and 1.
 */
#ifndef BPFU_MAP_COPY_VALUE_H
#define BPFU_MAP_COPY_VALUE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define BPFU_SHARED(type, ptr) ((_Atomic type *)(ptr))
#define BPFU_SHARED_GET(type, ptr)                                                                 \
	atomic_load_explicit((const _Atomic type *)(ptr), memory_order_relaxed)
#define BPFU_SHARED_SET(type, ptr, val)                                                            \
	atomic_store_explicit(BPFU_SHARED(type, ptr), val, memory_order_relaxed)

/* Run BODY(type) for each piece at offset off of size bytes. */
#define BPFU_FOR_EACH_PIECE(off, size, BODY)                                                       \
	do {                                                                                       \
		size_t off = 0;                                                                    \
		for (; off + 8 <= (size); off += 8)                                                \
			BODY(uint64_t);                                                            \
		if ((size) & 4) {                                                                  \
			BODY(uint32_t);                                                            \
			off += 4;                                                                  \
		}                                                                                  \
		if ((size) & 2) {                                                                  \
			BODY(uint16_t);                                                            \
			off += 2;                                                                  \
		}                                                                                  \
		if ((size) & 1)                                                                    \
			BODY(uint8_t);                                                             \
	} while (0)

/* Private @dst from shared @src. */
static inline void bpfu_value_read(void *dst, const void *src, size_t size)
{
#define PIECE(type)                                                                                \
	do {                                                                                       \
		type piece = BPFU_SHARED_GET(type, (const char *)src + off);                       \
		memcpy((char *)dst + off, &piece, sizeof(piece));                                  \
	} while (0)
	BPFU_FOR_EACH_PIECE(off, size, PIECE);
#undef PIECE
}

/* Shared @dst from private @src. */
static inline void bpfu_value_write(void *dst, const void *src, size_t size)
{
#define PIECE(type)                                                                                \
	do {                                                                                       \
		type piece;                                                                        \
		memcpy(&piece, (const char *)src + off, sizeof(piece));                            \
		BPFU_SHARED_SET(type, (char *)dst + off, piece);                                   \
	} while (0)
	BPFU_FOR_EACH_PIECE(off, size, PIECE);
#undef PIECE
}

static inline void bpfu_value_zero(void *dst, size_t size)
{
#define PIECE(type) BPFU_SHARED_SET(type, (char *)dst + off, 0)
	BPFU_FOR_EACH_PIECE(off, size, PIECE);
#undef PIECE
}

/* Shared @a equals private @b. */
static inline bool bpfu_value_equal(const void *a, const void *b, size_t size)
{
#define PIECE(type)                                                                                \
	do {                                                                                       \
		type piece;                                                                        \
		memcpy(&piece, (const char *)b + off, sizeof(piece));                              \
		if (BPFU_SHARED_GET(type, (const char *)a + off) != piece)                         \
			return false;                                                              \
	} while (0)
	BPFU_FOR_EACH_PIECE(off, size, PIECE);
#undef PIECE
	return true;
}

#endif
