/* SPDX-License-Identifier: BSD-2-Clause */
/* A text that grows. */
#ifndef BPFLAB_TEXT_BUF_H
#define BPFLAB_TEXT_BUF_H

#include <stddef.h>

struct text_buf {
	char *text; /* with a NUL behind; NULL until there is something. free() it */
	size_t len, size;
};

/* Append @len bytes. -ENOMEM without memory, or where it would take more than 256 MiB. */
int text_buf_add(struct text_buf *t, const char *text, size_t len);

#define TEXT_BUF_MAX (256u << 20)

#endif
