/* SPDX-License-Identifier: BSD-2-Clause */
/* Compressed files in memory: kernel modules come as .ko, .ko.xz or .ko.zst. */
#ifndef BPFLAB_UNPACK_H
#define BPFLAB_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "errline.h"

#define UNPACK_MAX (16u << 20)

/*
 * The contents of the regular file @path, which has at most @max bytes; free *@data.
 */
int unpack_read(const char *path, size_t max, void **data, size_t *len, struct errline *e);

/*
 * Replace *@data, if it is an .xz or .zst file, by what is in it: at most UNPACK_MAX bytes, whatever its
 * header says. Other contents are left as they are. -EINVAL: damaged; -EFBIG.
 */
int unpack(const char *name, void **data, size_t *len, struct errline *e);

#endif
