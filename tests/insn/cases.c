// SPDX-License-Identifier: BSD-2-Clause
/* Reader of conformance files: lines "-- word rest" open a section, other lines are its body. */
#include "cases.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "asm.h"

struct reader {
	const char *path;
	const char *base; /* file name without folders and ".t" */
	int base_len;
	int line;
	char section[16];
	char *body; /* of the open section */
	size_t body_len;
	bool have_code;
	bool failed;
	struct insn_case c;
	void (*fn)(const struct insn_case *c, void *ctx);
	void *ctx;
};

__attribute__((format(printf, 2, 3))) static void complain(struct reader *r, const char *fmt, ...)
{
	va_list ap;

	if (r->failed)
		return;
	r->failed = true;
	fprintf(stderr, "%s:%d: ", r->path, r->line);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

static const char *trim(char *s)
{
	size_t len;

	s += strspn(s, " \t\n");
	len = strlen(s);
	while (len && isspace((unsigned char)s[len - 1]))
		s[--len] = '\0';
	return s;
}

/* Hex bytes separated by blanks into @out; returns their number. */
static uint32_t hex_bytes(struct reader *r, const char *s, uint8_t *out, uint32_t max)
{
	uint32_t cnt = 0;
	unsigned int byte;
	int used;

	while (sscanf(s, " %2x%n", &byte, &used) == 1) {
		if (cnt == max) {
			complain(r, "more than %u bytes", max);
			return 0;
		}
		out[cnt++] = byte;
		s += used;
	}
	if (s[strspn(s, " \t\n")])
		complain(r, "'%s' is not hex bytes", s);
	return cnt;
}

static void end_asm(struct reader *r)
{
	char err[200];
	int cnt = asm_parse(r->body, r->c.insns, CASE_MAX_INSNS, err, sizeof(err));

	if (cnt < 0)
		complain(r, "asm section: %s", err);
	else
		r->c.cnt = cnt;
}

/* A number up to @max; negative ones are taken as 64-bit two's complement. */
static uint64_t number(struct reader *r, uint64_t max)
{
	const char *s = trim(r->body);
	uint64_t v;
	char *end;

	errno = 0;
	v = *s == '-' ? (uint64_t)strtoll(s, &end, 0) : strtoull(s, &end, 0);
	if (errno || end == s || *end || v > max) {
		complain(r, "'%s' is not a number up to %llu", s, (unsigned long long)max);
		return 0;
	}
	return v;
}

static void end_result(struct reader *r)
{
	r->c.result = number(r, UINT64_MAX);
	r->c.has_result = true;
}

static void copy_text(struct reader *r, char *dst, size_t size)
{
	const char *s = trim(r->body);

	if (!*s || strlen(s) >= size)
		complain(r, "'%s' is empty or too long", s);
	snprintf(dst, size, "%s", s);
}

static void end_section(struct reader *r)
{
	const char *s = r->section;

	if (!strcmp(s, "case"))
		snprintf(r->c.name, sizeof(r->c.name), "%.*s: %s", r->base_len, r->base,
			 trim(r->body));
	else if (!strcmp(s, "asm"))
		end_asm(r);
	else if (!strcmp(s, "raw"))
		r->c.cnt = hex_bytes(r, r->body, (uint8_t *)r->c.insns,
				     CASE_MAX_INSNS * sizeof(*r->c.insns)) /
			   sizeof(*r->c.insns);
	else if (!strcmp(s, "mem"))
		r->c.mem_len = hex_bytes(r, r->body, r->c.mem, CASE_MAX_MEM);
	else if (!strcmp(s, "mem-size"))
		r->c.mem_len = number(r, CASE_MAX_MEM);
	else if (!strcmp(s, "result"))
		end_result(r);
	else if (!strcmp(s, "error"))
		copy_text(r, r->c.error, sizeof(r->c.error));
	else if (!strcmp(s, "cpu"))
		copy_text(r, r->c.cpu, sizeof(r->c.cpu));
	else if (!strcmp(s, "direct"))
		r->c.direct = true;
	else if (!strcmp(s, "no-kernel"))
		copy_text(r, r->c.kernel_skip, sizeof(r->c.kernel_skip));
	else if (*s)
		complain(r, "unknown section '%s'", s);
	r->body_len = 0;
	r->body[0] = '\0';
	r->section[0] = '\0';
}

static void reset_case(struct reader *r)
{
	struct bpf_insn *insns = r->c.insns;

	memset(&r->c, 0, sizeof(r->c));
	r->c.insns = insns;
	snprintf(r->c.name, sizeof(r->c.name), "%.*s", r->base_len, r->base);
	r->have_code = false;
}

static void end_case(struct reader *r)
{
	if (!r->have_code || r->failed)
		return;
	if (!r->c.cnt)
		complain(r, "case '%s' has no instructions", r->c.name);
	else if (r->c.has_result == (r->c.error[0] != '\0'))
		complain(r, "case '%s' needs a result or an error", r->c.name);
	else
		r->fn(&r->c, r->ctx);
}

static void header_line(struct reader *r, const char *line)
{
	size_t len = strcspn(line, " \t\n");

	end_section(r);
	if (len >= sizeof(r->section)) {
		complain(r, "unknown section '%.*s'", (int)len, line);
		return;
	}
	memcpy(r->section, line, len);
	r->section[len] = '\0';
	if (!strcmp(r->section, "case")) {
		end_case(r);
		reset_case(r);
	}
	if (!strcmp(r->section, "asm") || !strcmp(r->section, "raw"))
		r->have_code = true;
	r->body_len = strlen(line + len);
	memcpy(r->body, line + len, r->body_len + 1);
}

static void body_line(struct reader *r, const char *line)
{
	size_t len = strlen(line);

	if (line[0] == '#')
		return;
	if (!r->section[0]) {
		if (line[strspn(line, " \t\n")])
			complain(r, "text outside a section");
		return;
	}
	memcpy(r->body + r->body_len, line, len + 1);
	r->body_len += len;
}

int cases_read(const char *path, void (*fn)(const struct insn_case *c, void *ctx), void *ctx)
{
	struct reader r = { .path = path, .fn = fn, .ctx = ctx };
	FILE *f = fopen(path, "r");
	char *line = NULL;
	size_t cap = 0;
	long size;

	if (!f) {
		fprintf(stderr, "cannot open '%s': %s\n", path, strerror(errno));
		return -1;
	}
	fseek(f, 0, SEEK_END);
	size = ftell(f);
	rewind(f);
	r.base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	r.base_len = strcspn(r.base, ".");
	r.body = calloc(1, size + 2);
	r.c.insns = calloc(CASE_MAX_INSNS, sizeof(*r.c.insns));
	if (!r.body || !r.c.insns)
		complain(&r, "out of memory");
	else
		reset_case(&r);
	while (!r.failed && getline(&line, &cap, f) >= 0) {
		r.line++;
		if (!strncmp(line, "-- ", 3))
			header_line(&r, line + 3);
		else
			body_line(&r, line);
	}
	if (!r.failed)
		end_section(&r);
	end_case(&r);
	free(line);
	free(r.body);
	free(r.c.insns);
	fclose(f);
	return r.failed ? -1 : 0;
}
