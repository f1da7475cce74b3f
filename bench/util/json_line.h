/* SPDX-License-Identifier: BSD-2-Clause */
/* Result files are JSON lines: how one is written. */
#ifndef BPFLAB_JSON_LINE_H
#define BPFLAB_JSON_LINE_H

#include <stdio.h>

#include <jansson.h>

/* Nine digits: more than any figure has, and the same text after it was read again. */
#define JSON_LINE_FLAGS (JSON_COMPACT | JSON_REAL_PRECISION(9))

/* Write @o and release it. 0, -EIO, or -ENOMEM if @o is NULL: it could not be made. */
int json_line_put(FILE *f, json_t *o);

#endif
