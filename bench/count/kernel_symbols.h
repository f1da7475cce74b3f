/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names for the addresses of a kernel: its functions, and the programs, trampolines and copies of
 * instructions that it made. Inside a guest they are read, as lines "ADDRESS NAME", outside they are looked up.
 */
#ifndef BPFLAB_COUNT_KERNEL_SYMBOLS_H
#define BPFLAB_COUNT_KERNEL_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

#include "errline.h"
#include "util/text_buf.h"

/*
 * Inside: the code of the running kernel, that of its image (which stays the same; NULL: not wanted) and what
 * was loaded or made since. 0, or a negative errno with a line.
 */
int kernel_symbols_read(struct text_buf *image, struct text_buf *made, struct errline *e);

struct kernel_symbols {
	struct kernel_symbol {
		uint64_t addr; /* first, for items_up_to() */
		const char *name; /* of the source: without what a compiler added, or a number of an object */
	} *items; /* by address */
	size_t nr, max;
	char *names[2]; /* what the names point into */
};

/*
 * Outside: look-up in the lines of @image and @made (either may be NULL). -EINVAL with a line if they are no
 * such lines. kernel_symbols_release() frees, also after an error.
 */
int kernel_symbols_parse(struct kernel_symbols *s, const char *image, const char *made, struct errline *e);
void kernel_symbols_release(struct kernel_symbols *s);

/* The function that @addr is in; NULL if it is in none. */
const char *kernel_symbols_find(const struct kernel_symbols *s, uint64_t addr);

#endif
