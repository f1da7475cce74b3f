// SPDX-License-Identifier: BSD-2-Clause
/* Growth of code buffers; see codebuf.h. */
#include "jit/codebuf.h"

#include <errno.h>
#include <stdlib.h>

/* Offsets are 32-bit and displacements signed: stay well below 2 GiB. */
#define CODE_MAX (1u << 30)

void bpfu_codebuf_init(struct bpfu_codebuf *cb, size_t hint)
{
	cb->len = 0;
	cb->err = 0;
	cb->cap = hint < CODE_MAX / 2 ? (uint32_t)hint + BPFU_CODEBUF_ROOM : CODE_MAX / 2;
	cb->data = malloc(cb->cap);
	if (!cb->data) {
		cb->cap = 0;
		cb->err = -ENOMEM;
	}
}

void bpfu_codebuf_release(struct bpfu_codebuf *cb)
{
	free(cb->data);
	cb->data = NULL;
	cb->cap = cb->len = 0;
}

uint8_t *bpfu_codebuf_grow(struct bpfu_codebuf *cb)
{
	uint32_t cap = cb->cap * 2 + BPFU_CODEBUF_ROOM;
	uint8_t *data;

	if (cb->err)
		return cb->scratch;
	if (cap > CODE_MAX) {
		cb->err = -E2BIG;
		cb->cap = cb->len; /* no room: every later call comes here */
		return cb->scratch;
	}
	data = realloc(cb->data, cap);
	if (!data) {
		cb->err = -ENOMEM;
		cb->cap = cb->len;
		return cb->scratch;
	}
	cb->data = data;
	cb->cap = cap;
	return data + cb->len;
}
