// SPDX-License-Identifier: BSD-2-Clause
/* Library diagnostics: level filter, callback, default sink on standard error. */
#include "util/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER; /* guards log_cb and log_cb_ctx */
static bpfu_log_cb log_cb;
static void *log_cb_ctx;

static enum bpfu_log_level env_level(void)
{
	static const char *const names[] = { "error", "warn", "info", "debug" };
	const char *env = getenv("BPFU_LOG");

	for (int i = 0; env && i < 4; i++)
		if (!strcmp(env, names[i]))
			return i;
	return BPFU_LOG_WARN;
}

static void log_default(enum bpfu_log_level level, const char *line)
{
	if (level <= env_level())
		fprintf(stderr, "libbpfu: %s\n", line);
}

void bpfu_set_log_cb(bpfu_log_cb cb, void *ctx)
{
	pthread_mutex_lock(&log_lock);
	log_cb = cb;
	log_cb_ctx = ctx;
	pthread_mutex_unlock(&log_lock);
}

void bpfu_log(enum bpfu_log_level level, const char *fmt, ...)
{
	char line[512];
	bpfu_log_cb cb;
	void *ctx;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);

	pthread_mutex_lock(&log_lock);
	cb = log_cb;
	ctx = log_cb_ctx;
	pthread_mutex_unlock(&log_lock);
	if (cb)
		cb(level, line, ctx);
	else
		log_default(level, line);
}

#ifdef BPFU_ENABLE_BUG_ON
void bpfu_bug(const char *file, int line, const char *msg)
{
	fprintf(stderr, "libbpfu: BUG at %s:%d: %s\n", file, line, msg);
	abort();
}
#endif
