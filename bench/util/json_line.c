// SPDX-License-Identifier: BSD-2-Clause
#include "util/json_line.h"

#include <errno.h>

int json_line_put(FILE *f, json_t *o)
{
	int err;

	if (!o)
		return -ENOMEM;
	err = json_dumpf(o, f, JSON_LINE_FLAGS);
	json_decref(o);
	return err || putc('\n', f) == EOF ? -EIO : 0;
}
