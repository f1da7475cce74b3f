/* SPDX-License-Identifier: BSD-2-Clause */
/* What the programs of this folder share: expectations, and who is under test. */
#ifndef TESTS_PROBE_H
#define TESTS_PROBE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "bpfu/bpfu.h"

static int failures;

static inline void expect(int line, const char *what, int64_t got, int64_t want)
{
	if (got == want)
		return;
	failures++;
	printf("  line %d: %s: got %lld, want %lld\n", line, what, (long long)got, (long long)want);
}

static inline void expect_str(int line, const char *got, const char *want)
{
	if (!strcmp(got, want))
		return;
	failures++;
	printf("  line %d: got \"%s\", want \"%s\"\n", line, got, want);
}

#define expect_eq(got, want) expect(__LINE__, #got, (int64_t)(got), (int64_t)(want))
#define expect_true(cond) expect(__LINE__, #cond, !!(cond), 1)
#define expect_contains(text, part) expect(__LINE__, text, strstr(text, part) != NULL, 1)

/* In front of a function that is probed: the compiler knows nothing of it where it is called. */
#ifdef __clang__
#define PROBE_APART __attribute__((noinline, optnone))
#else
#define PROBE_APART __attribute__((noipa))
#endif

/* close() is wrapped in this program. */
static inline void bpfu_fd_close(int fd)
{
	if (fd >= 0)
		close(fd);
}

static int probe_quiet(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	return level == LIBBPF_WARN && getenv("VERBOSE") ? vprintf(fmt, ap) : 0;
}

/* The tests provoke refusals; what is said about them belongs to the log of the test. */
static void probe_log(enum bpfu_log_level level, const char *line, void *ctx)
{
	printf("  (%s)\n", line);
}

/* @argv[1]: "jit" or "interp". */
static inline void probe_init(int argc, char **argv)
{
	bool interp = argc > 1 && !strcmp(argv[1], "interp");

	libbpf_set_print(probe_quiet);
	bpfu_set_log_cb(probe_log, NULL);
	if (bpfu_selftest() || bpfu_option_set("jit", interp ? "off" : "on")) {
		printf("this test must run on libbpfu\n");
		exit(1);
	}
}

/* Each of an array of { name, fn } with the skeleton, whose type is the program's own. */
#define PROBE_RUN(tests, skel)                                                                     \
	for (size_t i_ = 0; i_ < sizeof(tests) / sizeof((tests)[0]); i_++) {                       \
		int before_ = failures;                                                            \
												   \
		(tests)[i_].fn(skel);                                                              \
		printf("%s %s\n", failures == before_ ? "ok" : "not ok", (tests)[i_].name);        \
	}

static inline int probe_result(void)
{
	return failures ? 1 : 0;
}

#endif
