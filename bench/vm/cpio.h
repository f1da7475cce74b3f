/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Archives in the format "newc" of cpio, which the kernel unpacks into its first file system: written to a
 * stream, one member after another. Names have no leading slash; folders come before what is in them.
 */
#ifndef BPFLAB_CPIO_H
#define BPFLAB_CPIO_H

#include <stdint.h>
#include <stdio.h>

struct cpio {
	FILE *f;
	uint64_t offset; /* written so far: members start at multiples of four */
	uint32_t inode;
	int err;         /* the first that happened, kept; checked by cpio_end() */
};

void cpio_begin(struct cpio *c, FILE *f);
void cpio_folder(struct cpio *c, const char *name);
/* A character device. */
void cpio_device(struct cpio *c, const char *name, uint32_t major, uint32_t minor);
/* A file of @len bytes with permissions @mode. -EFBIG from 4 GiB on: the format has no room. */
void cpio_file(struct cpio *c, const char *name, uint32_t mode, const void *data, size_t len);
/* Write the trailer: 0, or the first error of all of the above. */
int cpio_end(struct cpio *c);

#endif
