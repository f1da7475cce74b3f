// SPDX-License-Identifier: BSD-2-Clause
#include "util/text_buf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int text_buf_add(struct text_buf *t, const char *text, size_t len)
{
	if (t->len + len + 1 > t->size) {
		size_t size = 2 * (t->len + len + 1);
		char *grown = size > TEXT_BUF_MAX ? NULL : realloc(t->text, size);

		if (!grown)
			return -ENOMEM;
		t->text = grown;
		t->size = size;
	}
	memcpy(t->text + t->len, text, len);
	t->len += len;
	t->text[t->len] = '\0';
	return 0;
}
