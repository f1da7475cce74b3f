// SPDX-License-Identifier: BSD-2-Clause
/*
 * The verifier's log. Text is collected here and copied to the caller at the end, in one of two
 * ways of dealing with a buffer that is too small:
 *
 *   rotating (default)   the caller gets the last size - 1 bytes
 *   BPF_LOG_FIXED        the caller gets the first size - 1 bytes
 *
 * A position is a count of bytes since the start of the log, so it stays meaningful when the front
 * has been dropped: buf[0] is at position total - len (rotating) or 0 (fixed). The verifier writes
 * speculatively and takes text back with bpfu_log_reset(); what had already rotated out stays lost.
 */
#include "util/vlog.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/bits.h"
#include "util/uaccess.h"

#define LINE_MAX_BYTES 1024 /* of one call, with the NUL */

int bpfu_log_init(struct bpfu_log *log, uint32_t level, uint64_t ubuf, uint32_t size)
{
	*log = (struct bpfu_log){ .level = level, .size = size, .ubuf = ubuf };
	if (!!ubuf != !!size || (ubuf && !level) || (level & ~BPFU_LOG_MASK) ||
	    size > UINT_MAX >> 2) {
		log->level = 0;
		return -EINVAL;
	}
	return 0;
}

static bool is_fixed(const struct bpfu_log *log)
{
	return log->level & BPFU_LOG_FIXED;
}

/* Make room for @more bytes and the NUL. */
static bool log_reserve(struct bpfu_log *log, uint64_t more)
{
	uint64_t need = log->len + more + 1;
	uint64_t cap = BPFU_MAX(log->cap, 4096);
	char *buf;

	if (need <= log->cap)
		return true;
	while (cap < need)
		cap *= 2;
	buf = realloc(log->buf, cap);
	if (!buf) {
		log->nomem = true;
		return false;
	}
	log->buf = buf;
	log->cap = cap;
	return true;
}

/* Keep the last size - 1 bytes; lazily, so that the cost per byte stays constant. */
static void log_rotate(struct bpfu_log *log, bool exact)
{
	uint64_t keep = log->size - 1;

	if (log->len <= keep || (!exact && log->len < 2 * keep))
		return;
	memmove(log->buf, log->buf + log->len - keep, keep);
	log->len = keep;
	log->buf[log->len] = '\0';
}

static void log_append(struct bpfu_log *log, const char *text, uint64_t n)
{
	uint64_t store = n;

	if (log->ubuf && is_fixed(log))
		store = BPFU_MIN(n, log->size - 1 - log->len);
	log->total += n;
	if (log->total + 1 > log->max)
		log->max = log->total + 1;
	if (!log->ubuf || !log_reserve(log, store))
		return;
	memcpy(log->buf + log->len, text, store);
	log->len += store;
	log->buf[log->len] = '\0';
	if (!is_fixed(log))
		log_rotate(log, false);
}

void bpfu_log_vprintf(struct bpfu_log *log, const char *fmt, va_list ap)
{
	char line[LINE_MAX_BYTES];
	int n;

	if (!bpfu_log_wants(log))
		return;
	n = vsnprintf(line, sizeof(line), fmt, ap);
	if (n < 0)
		return;
	log_append(log, line, BPFU_MIN((size_t)n, sizeof(line) - 1));
}

void bpfu_log_printf(struct bpfu_log *log, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	bpfu_log_vprintf(log, fmt, ap);
	va_end(ap);
}

void bpfu_log_reset(struct bpfu_log *log, uint64_t pos)
{
	uint64_t start;

	if (!bpfu_log_wants(log) || pos >= log->total)
		return;
	if (log->ubuf && log->buf) {
		if (!is_fixed(log))
			log_rotate(log, true);
		start = is_fixed(log) ? 0 : log->total - log->len;
		log->len = pos > start ? BPFU_MIN(pos - start, log->len) : 0;
		log->buf[log->len] = '\0';
	}
	log->total = pos;
}

int bpfu_log_finalize(struct bpfu_log *log, uint32_t *true_size)
{
	int err = 0;

	*true_size = 0;
	if (!bpfu_log_wants(log))
		return 0;
	*true_size = BPFU_MIN(log->max, UINT_MAX);
	if (log->ubuf && log->buf) {
		if (!is_fixed(log))
			log_rotate(log, true);
		err = bpfu_copy_to_user(log->ubuf, log->buf, log->len + 1);
	}
	if (!err && log->nomem)
		err = -ENOMEM;
	if (!err && log->ubuf && log->max > log->size)
		err = -ENOSPC;
	free(log->buf);
	log->buf = NULL;
	log->cap = 0;
	log->len = 0;
	log->level = 0;
	return err;
}
