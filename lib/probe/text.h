/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writing to the program's own text without a mapping that is writable and executable.
 *
 *   usual     /proc/self/mem, through which the kernel writes to pages that this process may only
 *             execute. The mapping stays what it is, so symbols, perf and gdb are undisturbed.
 *   fallback  (the kernel forbids that, or an emulator would not notice) a changed copy of the page
 *             is made executable elsewhere and moved over the old one in one step (mremap).
 */
#ifndef BPFU_PROBE_TEXT_H
#define BPFU_PROBE_TEXT_H

#include <stddef.h>

/* Around a series of writes. */
void bpfu_text_open(void);
void bpfu_text_close(void);

/*
 * Write @n bytes at @at. A single byte, or an aligned word, changes at once for threads that execute
 * it. 0, or -EACCES if the text cannot be changed in this process.
 */
int bpfu_text_write(void *at, const void *bytes, size_t n);

/*
 * Wait until no thread of the process executes bytes that were fetched before the call.
 * membarrier(2) with core serialisation.
 */
void bpfu_text_sync(void);

enum bpfu_text_mode { BPFU_TEXT_AUTO, BPFU_TEXT_REMAP, BPFU_TEXT_NEVER };

/* For tests: take the fallback, or find that nothing works. */
void bpfu_text_set_mode(enum bpfu_text_mode mode);

#endif
