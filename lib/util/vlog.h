/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The verifier's log: what the caller of BPF_PROG_LOAD and BPF_BTF_LOAD reads in log_buf, with the
 * kernel's semantics of levels (1, 2, 4 BPF_LOG_STATS, 8 BPF_LOG_FIXED), of a rotating buffer, of
 * log_true_size, and of -ENOSPC when it was truncated. The text is an interface (docs/verifier.md).
 */
#ifndef BPFU_UTIL_VLOG_H
#define BPFU_UTIL_VLOG_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#define BPFU_LOG_LEVEL1 1u
#define BPFU_LOG_LEVEL2 2u
#define BPFU_LOG_STATS 4u
#define BPFU_LOG_FIXED 8u
#define BPFU_LOG_LEVEL (BPFU_LOG_LEVEL1 | BPFU_LOG_LEVEL2)
#define BPFU_LOG_MASK (BPFU_LOG_LEVEL | BPFU_LOG_STATS | BPFU_LOG_FIXED)

struct bpfu_log {
	uint32_t level;       /* 0: off */
	uint32_t size;        /* of the user's buffer */
	uint64_t ubuf;        /* the user's buffer */
	char *buf;            /* the text, NUL-terminated; grows, cut to what the user can hold */
	uint64_t cap;
	uint64_t len;         /* bytes in buf without the NUL */
	uint64_t total;       /* bytes that were written in all, without the NUL */
	uint64_t max;         /* largest total ever, with the NUL: a reset does not lower it */
	bool nomem;
};

/* As bpf_vlog_init(): -EINVAL if level, buffer and size do not fit together. */
int bpfu_log_init(struct bpfu_log *log, uint32_t level, uint64_t ubuf, uint32_t size);

/* One call writes at most 1023 bytes, as the kernel's; the rest of a longer text is lost. */
void bpfu_log_vprintf(struct bpfu_log *log, const char *fmt, va_list ap);
void bpfu_log_printf(struct bpfu_log *log, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Forget what was written after @pos (a value of ->total), as bpf_vlog_reset(). */
void bpfu_log_reset(struct bpfu_log *log, uint64_t pos);

/*
 * Copy the text to the user, release the buffer. *@true_size gets the size of the full text with
 * the NUL. Returns 0, -ENOSPC (truncated), -EFAULT or -ENOMEM.
 */
int bpfu_log_finalize(struct bpfu_log *log, uint32_t *true_size);

static inline bool bpfu_log_wants(const struct bpfu_log *log)
{
	return log && log->level;
}

#endif
