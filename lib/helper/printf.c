// SPDX-License-Identifier: BSD-2-Clause
/*
 * Formatted output of programs: snprintf, trace_printk, trace_vprintk. The formats are the kernel's
 * subset of printf, checked in full before anything is printed:
 *
 *   %[0 +-]*[width]  then  d i u x X, with l or ll      integers
 *                          c
 *                          s pks pus                    next: end, space or punctuation
 *                          p px pK ps pS pB             addresses (no symbol table: hexadecimal)
 *                          pi4 pI4 pi6 pI6              addresses in memory
 *
 * Strings and addresses in memory are read with faults caught; together with the binary arguments
 * they may take ARG_SPACE bytes, as in the kernel, else nothing is written.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "helper/bodies.h"
#include "util/bits.h"
#include "util/latin1.h"
#include "util/log.h"
#include "util/uaccess.h"

#define TRACE_PRINTK_ARGS 3
#define LINE_SIZE 1024 /* MAX_BPRINTF_BUF */
#define ARG_SPACE 512  /* MAX_BPRINTF_BIN_ARGS */
#define MAX_WIDTH ((1 << 23) - 1) /* FIELD_WIDTH_MAX */

enum conv { CONV_INT, CONV_LONG, CONV_CHAR, CONV_STR, CONV_PTR, CONV_SYM, CONV_IP };

struct spec {
	enum conv conv;
	char letter;     /* d i u x X; i I for addresses */
	bool ip6;
	bool left, zero, plus, space;
	uint32_t width;
};

struct out {
	char *buf;
	size_t size, len;
	bool dry;             /* only find out whether there is room for the arguments */
	char args[ARG_SPACE]; /* what the kernel would copy arguments to */
	size_t args_used;
};

/* Room for an argument of @size bytes, words on a boundary of 4. False if too little is left. */
static bool take_room(struct out *o, size_t size)
{
	size_t start = size > 1 ? BPFU_ROUND_UP(o->args_used, 4) : o->args_used;

	if (start + size > ARG_SPACE)
		return false;
	o->args_used = start + size;
	return true;
}

static bool ends_spec(char c)
{
	return !c || bpfu_is_space(c) || bpfu_is_punct(c);
}

/*
 * The kernel checks and prints a format in two places, and the printing side takes all letters and
 * digits after %p for the pointer's kind, and no width for what lies in memory.
 */
static const char *skip_kind(const char *s)
{
	while (bpfu_is_alpha(*s) || bpfu_is_digit(*s))
		s++;
	return s;
}

static int parse_pointer(const char **p, struct spec *spec)
{
	const char *s = *p; /* at the p */

	if (ends_spec(s[1])) {
		spec->conv = CONV_PTR;
		*p = s + 1;
		return 0;
	}
	if ((s[1] == 'k' || s[1] == 'u') && s[2] == 's') {
		spec->conv = CONV_STR;
		spec->width = 0;
		*p = s + 3;
		return ends_spec(s[3]) ? 0 : -EINVAL;
	}
	if (s[1] == 'x' || s[1] == 'K') {
		spec->conv = CONV_PTR;
		*p = skip_kind(s + 2);
		return 0;
	}
	if (s[1] == 's' || s[1] == 'S' || s[1] == 'B') {
		spec->conv = CONV_SYM;
		*p = skip_kind(s + 2);
		return 0;
	}
	if ((s[1] == 'i' || s[1] == 'I') && (s[2] == '4' || s[2] == '6')) {
		spec->conv = CONV_IP;
		spec->width = 0;
		spec->letter = s[1];
		spec->ip6 = s[2] == '6';
		*p = skip_kind(s + 3);
		return 0;
	}
	return -EINVAL;
}

static const char *parse_flags(const char *s, struct spec *spec)
{
	uint32_t width = 0;

	for (; *s == '0' || *s == '+' || *s == '-' || *s == ' '; s++) {
		spec->zero |= *s == '0';
		spec->plus |= *s == '+';
		spec->left |= *s == '-';
		spec->space |= *s == ' ';
	}
	for (; bpfu_is_digit(*s); s++)
		width = width * 10 + (uint32_t)(*s - '0');
	/* An int that may have wrapped; a negative width is none. */
	if ((int32_t)width > 0)
		spec->width = BPFU_MIN(width, MAX_WIDTH);
	return s;
}

/* Parse what follows a '%'; *@p moves behind it. 0 or -EINVAL. */
static int parse_spec(const char **p, struct spec *spec)
{
	const char *s;
	int longs = 0;

	memset(spec, 0, sizeof(*spec));
	s = parse_flags(*p, spec);
	*p = s;
	if (*s == 'p')
		return parse_pointer(p, spec);
	if (*s == 's' || *s == 'c') {
		spec->conv = *s == 's' ? CONV_STR : CONV_CHAR;
		*p = s + 1;
		return *s == 'c' || ends_spec(s[1]) ? 0 : -EINVAL;
	}
	for (; *s == 'l' && longs < 2; s++)
		longs++;
	if (!*s || !strchr("diuxX", *s))
		return -EINVAL;
	spec->conv = longs ? CONV_LONG : CONV_INT;
	spec->letter = *s;
	*p = s + 1;
	return 0;
}

static void out_char(struct out *o, char c)
{
	if (o->len + 1 < o->size)
		o->buf[o->len] = c;
	o->len++;
}

/* Fields may be far wider than the buffer. */
static void out_repeat(struct out *o, char c, size_t cnt)
{
	size_t room = o->len + 1 < o->size ? o->size - 1 - o->len : 0;

	if (room)
		memset(o->buf + o->len, c, BPFU_MIN(room, cnt));
	o->len += cnt;
}

static void out_text(struct out *o, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		out_char(o, text[i]);
}

/* A field of @text, padded to the width of @spec. */
static void out_field(struct out *o, const struct spec *spec, const char *text, size_t len)
{
	size_t pad = spec->width > len ? spec->width - len : 0;

	if (!spec->left)
		out_repeat(o, ' ', pad);
	out_text(o, text, len);
	if (spec->left)
		out_repeat(o, ' ', pad);
}

static void out_int(struct out *o, const struct spec *spec, uint64_t value)
{
	bool is_signed = spec->letter == 'd' || spec->letter == 'i';
	bool negative;
	char digits[24], text[32];
	size_t len = 0, n;

	if (spec->conv == CONV_INT)
		value = is_signed ? (uint64_t)(int64_t)(int32_t)value : (uint32_t)value;
	negative = is_signed && (int64_t)value < 0;
	if (negative)
		value = -value;
	n = (size_t)snprintf(digits, sizeof(digits),
			     spec->letter == 'x' ? "%llx" : spec->letter == 'X' ? "%llX" : "%llu",
			     (unsigned long long)value);
	if (negative)
		text[len++] = '-';
	else if (is_signed && (spec->plus || spec->space))
		text[len++] = spec->plus ? '+' : ' ';
	if (spec->zero && !spec->left) {
		out_text(o, text, len);
		out_repeat(o, '0', spec->width > len + n ? spec->width - len - n : 0);
		out_text(o, digits, n);
		return;
	}
	memcpy(text + len, digits, n);
	out_field(o, spec, text, len + n);
}

static void out_pointer(struct out *o, const struct spec *spec, uint64_t value)
{
	char text[32];
	int n = snprintf(text, sizeof(text), spec->conv == CONV_SYM ? "0x%llx" : "%016llx",
			 (unsigned long long)value);

	out_field(o, spec, text, (size_t)n);
}

static int out_string(struct out *o, const struct spec *spec, uint64_t addr)
{
	size_t room = ARG_SPACE - o->args_used;
	char *text = o->args + o->args_used;
	int n;

	if (!room)
		return -ENOSPC;
	n = bpfu_strncpy_from_user(text, addr, room);
	if (n < 0) {
		text[0] = '\0';
		n = 1;
	}
	text[room - 1] = '\0';
	o->args_used += (size_t)n;
	out_field(o, spec, text, strnlen(text, room));
	return 0;
}

static int out_ip(struct out *o, const struct spec *spec, uint64_t addr)
{
	bool plain = spec->letter == 'i'; /* i4 pads with zeros, i6 has no colons */
	size_t room = ARG_SPACE - o->args_used, size = spec->ip6 ? 16 : 4, len = 0;
	uint8_t ip[16];
	char text[64];

	if (room < size)
		return -ENOSPC;
	if (bpfu_copy_from_user(ip, addr, size))
		memset(ip, 0, size);
	for (size_t i = 0; i < size; i++) {
		bool sep = spec->ip6 ? !plain && i % 2 == 0 : true;

		len += (size_t)snprintf(text + len, sizeof(text) - len,
					spec->ip6 ? "%s%02x" : plain ? "%s%03u" : "%s%u",
					!i || !sep ? "" : spec->ip6 ? ":" : ".", ip[i]);
	}
	/* The text with its NUL is what takes room; it may be cut. */
	o->args_used += BPFU_MIN(len + 1, room);
	out_field(o, spec, text, BPFU_MIN(len, room - 1));
	return 0;
}

/* An argument that is kept as it is: 0 or -ENOSPC. */
static int out_value(struct out *o, const struct spec *spec, uint64_t arg)
{
	static const size_t size_of[] = { [CONV_INT] = 4, [CONV_LONG] = 8, [CONV_CHAR] = 1,
					  [CONV_PTR] = 8, [CONV_SYM] = 8 };
	char c = (char)arg;

	if (!take_room(o, size_of[spec->conv]))
		return -ENOSPC;
	if (o->dry)
		return 0;
	if (spec->conv == CONV_CHAR)
		out_field(o, spec, &c, 1);
	else if (spec->conv == CONV_INT || spec->conv == CONV_LONG)
		out_int(o, spec, arg);
	else
		out_pointer(o, spec, arg);
	return 0;
}

static int out_spec(struct out *o, const struct spec *spec, uint64_t arg)
{
	if (spec->conv == CONV_STR)
		return out_string(o, spec, arg);
	if (spec->conv == CONV_IP)
		return out_ip(o, spec, arg);
	return out_value(o, spec, arg);
}

/* Walk over the format; print if @o is not NULL. */
static int walk(const char *fmt, uint32_t fmt_size, const uint64_t *args, uint32_t arg_cnt,
		struct out *o)
{
	const char *p = fmt;
	uint32_t used = 0;
	struct spec spec;
	int err;

	if (strnlen(fmt, fmt_size) == fmt_size)
		return -EINVAL;
	while (*p) {
		char c = *p++;

		/* Bytes of UTF-8 pass, control characters do not. */
		if ((uint8_t)c <= 0x7f && !bpfu_is_print(c) && !bpfu_is_space(c))
			return -EINVAL;
		if (c != '%' || *p == '%') {
			p += c == '%';
			if (o)
				out_char(o, c);
			continue;
		}
		if (used >= arg_cnt)
			return -EINVAL;
		err = parse_spec(&p, &spec);
		if (!err && o)
			err = out_spec(o, &spec, args[used]);
		if (err)
			return err;
		used++;
	}
	return 0;
}

int bpfu_format_check(const char *fmt, uint32_t fmt_size, uint32_t arg_cnt)
{
	return walk(fmt, fmt_size, NULL, arg_cnt, NULL);
}

int bpfu_format(char *buf, size_t size, const char *fmt, uint32_t fmt_size, const uint64_t *args,
		uint32_t arg_cnt)
{
	struct out o = { .dry = true };
	int err = walk(fmt, fmt_size, args, arg_cnt, &o);

	if (err)
		return err;
	o.dry = false;
	o.buf = buf;
	o.size = size;
	o.len = 0;
	o.args_used = 0;
	err = walk(fmt, fmt_size, args, arg_cnt, &o);
	/* A string grew longer meanwhile. */
	if (err)
		return err;
	if (size)
		buf[BPFU_MIN(o.len, size - 1)] = '\0';
	return (int)o.len;
}

static int64_t printk(uint64_t fmt, uint32_t fmt_size, const uint64_t *args, uint32_t arg_cnt)
{
	char line[LINE_SIZE];
	size_t n;
	int len;

	len = bpfu_format(line, sizeof(line), bpfu_ptr(fmt), fmt_size, args, arg_cnt);
	if (len < 0)
		return len;
	n = strlen(line);
	if (n && line[n - 1] == '\n')
		line[n - 1] = '\0';
	bpfu_info("bpf_trace_printk: %s", line);
	return len;
}

/* Arguments in an array of 64-bit values: 0 or -EINVAL. */
static int check_arg_array(uint64_t data, uint32_t len)
{
	return len % 8 || len > BPFU_PRINTF_MAX_ARGS * 8 || (len && !data) ? -EINVAL : 0;
}

uint64_t bpfu_helper_trace_printk(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	uint64_t args[TRACE_PRINTK_ARGS] = { r3, r4, r5 };

	return printk(r1, (uint32_t)r2, args, TRACE_PRINTK_ARGS);
}

uint64_t bpfu_helper_trace_vprintk(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	uint32_t len = (uint32_t)r4;
	int err = check_arg_array(r3, len);

	return err ? (int64_t)err : printk(r1, (uint32_t)r2, bpfu_ptr(r3), len / 8);
}

/* The verifier has checked the format's NUL, so its size does not matter. */
uint64_t bpfu_helper_snprintf(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	uint32_t len = (uint32_t)r5;
	int ret = check_arg_array(r4, len);

	if (!ret)
		ret = bpfu_format(bpfu_ptr(r1), (uint32_t)r2, bpfu_ptr(r3), UINT32_MAX,
				  bpfu_ptr(r4), len / 8);
	return (int64_t)(ret < 0 ? ret : ret + 1);
}
