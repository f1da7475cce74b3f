// SPDX-License-Identifier: BSD-2-Clause
/*
 * Thunks for arm64 (thunk.h).
 *
 *      higher   | argument 9 …       |   of the caller
 *               | [n] return value   |
 *               | [n-1] … [0]        | <- x29 + 32 = ctx
 *               | [-1] n             |
 *               | [-2] function      |
 *               | x30                |
 *               | x29                | <- x29, sp
 *               | arguments 9 …      |   copies, during the call
 */
#include <errno.h>

#include "jit/arm64/encode.h"
#include "probe/thunk.h"

#define REG_ARGS 8

void bpfu_a64_thunk(struct bpfu_codebuf *cb, const struct bpfu_thunk *t, uint64_t base,
		    struct bpfu_thunk_frame *frame)
{
	cb->err = -EOPNOTSUPP;
}

uint64_t bpfu_a64_lean_words(uint32_t arg_cnt, bool has_exit)
{
	return 0;
}
