/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One line about what went wrong: it names the thing and the remedy, starts lower case, has no full
 * stop and no "bpflab:" in front (main.c adds that). Functions that fill one return a negative errno.
 */
#ifndef BPFLAB_ERRLINE_H
#define BPFLAB_ERRLINE_H

#include <stdarg.h>
#include <stdio.h>

struct errline {
	char text[1024];
};

/* Fills @e and returns @err, so that "return errline_set(e, -EINVAL, …)" reads as one step. */
__attribute__((format(printf, 3, 4))) static inline int errline_set(struct errline *e, int err,
								    const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	return err;
}

#endif
