// SPDX-License-Identifier: BSD-2-Clause
/* By liblzma and libzstd. Neither is trusted with memory: the output has a limit of its own. */
#include "vm/unpack.h"

#include <errno.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zstd.h>

int unpack_read(const char *path, size_t max, void **data, size_t *len, struct errline *e)
{
	FILE *f = fopen(path, "re");
	struct stat st;
	int err = 0;

	*data = NULL;
	*len = 0;
	if (!f)
		return errline_set(e, -errno, "cannot read '%s': %s", path, strerror(errno));
	if (fstat(fileno(f), &st) || !S_ISREG(st.st_mode))
		err = errline_set(e, -EINVAL, "'%s' is no regular file", path);
	else if ((uint64_t)st.st_size > max)
		err = errline_set(e, -EFBIG, "'%s' is larger than %zu MiB", path, max >> 20);
	if (!err) {
		*len = (size_t)st.st_size;
		*data = malloc(*len + 1);
		if (!*data)
			err = errline_set(e, -ENOMEM, "out of memory");
		else if (fread(*data, 1, *len, f) != *len)
			err = errline_set(e, -EIO, "cannot read '%s' to its end", path);
	}
	fclose(f);
	if (err) {
		free(*data);
		*data = NULL;
	}
	return err;
}

static int damaged(const char *name, const char *why, struct errline *e)
{
	return errline_set(e, -EINVAL, "'%s' is damaged (%s)", name, why);
}

static int too_large(const char *name, struct errline *e)
{
	return errline_set(e, -EFBIG, "'%s' unpacks to more than %u MiB", name, UNPACK_MAX >> 20);
}

static int unpack_xz(const char *name, const void *in, size_t in_len, char *out, size_t *out_len,
		     struct errline *e)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	lzma_ret r = lzma_stream_decoder(&stream, 8ull * UNPACK_MAX, 0);

	stream.next_in = in;
	stream.avail_in = in_len;
	stream.next_out = (uint8_t *)out;
	stream.avail_out = UNPACK_MAX;
	if (r == LZMA_OK)
		r = lzma_code(&stream, LZMA_FINISH);
	*out_len = UNPACK_MAX - stream.avail_out;
	lzma_end(&stream);
	if (r != LZMA_STREAM_END && *out_len == UNPACK_MAX)
		return too_large(name, e);
	return r == LZMA_STREAM_END ? 0 : damaged(name, "xz", e);
}

/* As a stream: the modules of some distributions do not say how long they are. */
static int unpack_zstd(const char *name, const void *in, size_t in_len, char *out, size_t *out_len,
		       struct errline *e)
{
	ZSTD_DStream *stream = ZSTD_createDStream();
	ZSTD_inBuffer from = { in, in_len, 0 };
	ZSTD_outBuffer to = { out, UNPACK_MAX, 0 };
	size_t left = 1;
	int err = 0;

	if (!stream)
		return errline_set(e, -ENOMEM, "out of memory");
	while (left && !err) {
		size_t in_before = from.pos, out_before = to.pos;

		left = ZSTD_decompressStream(stream, &to, &from);
		if (ZSTD_isError(left))
			err = damaged(name, ZSTD_getErrorName(left), e);
		else if (left && to.pos == to.size)
			err = too_large(name, e);
		else if (left && from.pos == in_before && to.pos == out_before)
			err = damaged(name, "it ends early", e);
	}
	ZSTD_freeDStream(stream);
	*out_len = to.pos;
	return err;
}

int unpack(const char *name, void **data, size_t *len, struct errline *e)
{
	static const char xz[] = "\xfd" "7zXZ", zst[] = "\x28\xb5\x2f\xfd";
	bool is_xz = *len >= 6 && !memcmp(*data, xz, 6);
	bool is_zst = *len >= 4 && !memcmp(*data, zst, 4);
	size_t out_len = 0;
	char *out;
	int err;

	if (!is_xz && !is_zst)
		return 0;
	out = malloc(UNPACK_MAX);
	if (!out)
		return errline_set(e, -ENOMEM, "out of memory");
	err = is_xz ? unpack_xz(name, *data, *len, out, &out_len, e) :
		      unpack_zstd(name, *data, *len, out, &out_len, e);
	if (err) {
		free(out);
		return err;
	}
	free(*data);
	*data = realloc(out, out_len ? out_len : 1) ?: out;
	*len = out_len;
	return 0;
}
