/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Library diagnostics (the second of the three text channels; the verifier's log and the tool's
 * output are the others). Shape of a line: "kind 'name': what failed: why".
 */
#ifndef BPFU_UTIL_LOG_H
#define BPFU_UTIL_LOG_H

#include "bpfu/bpfu.h"

void bpfu_log(enum bpfu_log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define bpfu_err(...) bpfu_log(BPFU_LOG_ERROR, __VA_ARGS__)
#define bpfu_warn(...) bpfu_log(BPFU_LOG_WARN, __VA_ARGS__)
#define bpfu_info(...) bpfu_log(BPFU_LOG_INFO, __VA_ARGS__)
#define bpfu_debug(...) bpfu_log(BPFU_LOG_DEBUG, __VA_ARGS__)

/*
 * Internal invariants only: never reachable from attribute contents or program bytes. On in debug,
 * sanitizer and fuzz builds (-Dbug_on=true).
 */
#ifdef BPFU_ENABLE_BUG_ON
void bpfu_bug(const char *file, int line, const char *msg) __attribute__((noreturn));
#define BPFU_BUG_ON(cond, msg)                                                                     \
	do {                                                                                       \
		if (__builtin_expect(!!(cond), 0))                                                 \
			bpfu_bug(__FILE__, __LINE__, msg);                                         \
	} while (0)
#else
#define BPFU_BUG_ON(cond, msg)                                                                     \
	do {                                                                                       \
		if (0 && (cond)) {                                                                 \
		}                                                                                  \
	} while (0)
#endif

#endif
