// SPDX-License-Identifier: BSD-2-Clause
/*
 * libbpf's print callback. A failed load prints several warnings; the useful ones are the verifier
 * log, whose last line before the "processed N insns" statistics is the verdict, and the first
 * warning when there is no such log.
 */
#include "util/libbpf_log.h"

#include <bpf/libbpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool log_verbose;
static char first_warning[256];
static char verdict[256];

static void keep_line(char *dst, size_t size, const char *line, size_t len)
{
	static const char prefix[] = "libbpf: ";

	if (len >= sizeof(prefix) - 1 && !strncmp(line, prefix, sizeof(prefix) - 1)) {
		line += sizeof(prefix) - 1;
		len -= sizeof(prefix) - 1;
	}
	snprintf(dst, size, "%.*s", (int)len, line);
}

/* @text holds "-- BEGIN PROG LOAD LOG --\n…verifier log…-- END PROG LOAD LOG --". */
static void find_verdict(const char *text)
{
	const char *line = text, *last = NULL;
	size_t last_len = 0;

	while (*line) {
		size_t len = strcspn(line, "\n");

		if (!strncmp(line, "processed ", 10) || strstr(line, "-- END ") == line)
			break;
		if (len && !strstr(line, "-- BEGIN ") && line[0] != ';') {
			last = line;
			last_len = len;
		}
		line += len + (line[len] == '\n');
	}
	if (last)
		keep_line(verdict, sizeof(verdict), last, last_len);
}

static int print_libbpf(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	char *text = NULL;
	const char *begin;

	if (vasprintf(&text, fmt, ap) < 0)
		return 0;
	if (log_verbose)
		fputs(text, stderr);
	begin = strstr(text, "-- BEGIN PROG LOAD LOG --\n");
	if (begin && level == LIBBPF_WARN)
		find_verdict(begin + strlen("-- BEGIN PROG LOAD LOG --\n"));
	else if (level == LIBBPF_WARN && !first_warning[0])
		keep_line(first_warning, sizeof(first_warning), text, strcspn(text, "\n"));
	free(text);
	return 0;
}

void libbpf_log_init(bool verbose)
{
	log_verbose = verbose;
	libbpf_set_print(print_libbpf);
}

void libbpf_log_clear(void)
{
	first_warning[0] = '\0';
	verdict[0] = '\0';
}

const char *libbpf_log_last(void)
{
	return verdict[0] ? verdict : first_warning;
}
