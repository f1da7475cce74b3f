/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A growing buffer of machine code. Errors are sticky: after a failure the emitters go on writing
 * into a scratch area, and whoever drives them looks at err once per pass.
 */
#ifndef BPFU_JIT_CODEBUF_H
#define BPFU_JIT_CODEBUF_H

#include <stddef.h>
#include <stdint.h>

#include "util/bits.h"

/* No machine instruction that a backend emits at once is longer. */
#define BPFU_CODEBUF_ROOM 16

struct bpfu_codebuf {
	uint8_t *data;
	uint32_t len;
	uint32_t cap;
	int err;                              /* 0, -ENOMEM or -E2BIG */
	uint8_t scratch[BPFU_CODEBUF_ROOM];   /* written to after an error */
};

/* Start with room for @hint bytes. A failed allocation shows as err. */
void bpfu_codebuf_init(struct bpfu_codebuf *cb, size_t hint);
void bpfu_codebuf_release(struct bpfu_codebuf *cb);

/* Slow path of bpfu_codebuf_room(): make room, or return the scratch area. */
uint8_t *bpfu_codebuf_grow(struct bpfu_codebuf *cb);

/* BPFU_CODEBUF_ROOM writable bytes at the end; bpfu_codebuf_commit() says how many were used. */
static inline uint8_t *bpfu_codebuf_room(struct bpfu_codebuf *cb)
{
	if (bpfu_unlikely(cb->cap - cb->len < BPFU_CODEBUF_ROOM))
		return bpfu_codebuf_grow(cb);
	return cb->data + cb->len;
}

static inline void bpfu_codebuf_commit(struct bpfu_codebuf *cb, const uint8_t *end)
{
	if (bpfu_likely(!cb->err))
		cb->len = (uint32_t)(end - cb->data);
}

#endif
