// SPDX-License-Identifier: BSD-2-Clause
/* From the description of a thunk to code that can run. */
#include "probe/thunk.h"

#include <errno.h>
#include <string.h>

#include "jit/backend.h"
#include "jit/image.h"

int bpfu_thunk_make(const struct bpfu_thunk *thunk, const void **out)
{
	const struct bpfu_jit_backend *backend = bpfu_jit_backend_find(NULL);
	struct bpfu_codebuf cb;
	struct bpfu_image image;
	uint32_t size;
	int err;

	if (!backend)
		return -ENOTSUP;
	bpfu_codebuf_init(&cb, 512);
	bpfu_thunk_emit(&cb, thunk, 0);
	size = cb.len;
	err = cb.err ? cb.err : bpfu_image_alloc(&image, size, 0, backend->writer.fill);
	if (!err) {
		cb.len = 0;
		bpfu_thunk_emit(&cb, thunk, bpfu_u64(image.rx));
		memcpy(image.rw, cb.data, size);
		err = bpfu_image_seal(&image);
		*out = image.rx;
	}
	bpfu_codebuf_release(&cb);
	return err;
}
