/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What unwinders are told of thunks, so that exceptions, pthread_exit() and backtrace(3) get through a
 * frame that no file describes. They ask libgcc's table of registered frames.
 */
#ifndef BPFU_PROBE_UNWIND_H
#define BPFU_PROBE_UNWIND_H

#include <stdint.h>

#include "jit/cfi.h"
#include "probe/thunk.h"

/*
 * Register the @size bytes of code at @code, whose frame is as @frame says, for good. Where there is no
 * unwinder, or no memory, nothing is registered: unwinding then ends at the thunk.
 */
void bpfu_unwind_register(const void *code, uint32_t size, const struct bpfu_thunk_frame *frame);

/* The same as a table, for whoever else asks (jit/gdb.h); the caller frees it. */
void bpfu_unwind_table(struct bpfu_bytes *table, const void *code, uint32_t size,
		       const struct bpfu_thunk_frame *frame);

#endif
