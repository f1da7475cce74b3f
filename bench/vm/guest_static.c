// SPDX-License-Identifier: BSD-2-Clause
/*
 * In the static program of guests only, in place of dlopen() (--wrap): nothing is there to be loaded at
 * run time. SQLite refers to it for extensions, which bpflab does not use.
 */
#include <stddef.h>

void *__wrap_dlopen(const char *name, int flags);

void *__wrap_dlopen(const char *name, int flags)
{
	return NULL;
}
