// SPDX-License-Identifier: BSD-2-Clause
/*
 * A member of a newc archive:
 *
 *	"070701", then 13 numbers of 8 hexadecimal digits each:
 *	inode  mode  uid  gid  links  mtime  size  device (2)  device of a node (2)  length of name  0
 *	the name with its NUL, zeros up to a multiple of four
 *	the contents, zeros up to a multiple of four
 *
 * Times and owners are 0, so that the same contents give the same bytes. The last member is called
 * "TRAILER!!!". The archive ends at a multiple of 512 as cpio's own do.
 */
#include "vm/cpio.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define BLOCK 512

void cpio_begin(struct cpio *c, FILE *f)
{
	*c = (struct cpio){ .f = f };
}

static void put(struct cpio *c, const void *data, size_t len)
{
	if (c->err)
		return;
	if (len && fwrite(data, 1, len, c->f) != len)
		c->err = errno ? -errno : -EIO;
	c->offset += len;
}

static void pad(struct cpio *c, uint64_t to)
{
	static const char zeros[BLOCK];

	put(c, zeros, (size_t)((to - c->offset % to) % to));
}

static void member(struct cpio *c, const char *name, uint32_t mode, uint32_t major, uint32_t minor,
		   const void *data, size_t len)
{
	const uint32_t links = S_ISDIR(mode) ? 2 : 1;
	char head[6 + 13 * 8 + 1];

	if (!c->err && len > UINT32_MAX)
		c->err = -EFBIG;
	snprintf(head, sizeof(head), "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x",
		 ++c->inode, mode, 0, 0, links, 0, (uint32_t)len, 0, 0, major, minor,
		 (uint32_t)strlen(name) + 1, 0);
	put(c, head, sizeof(head) - 1);
	put(c, name, strlen(name) + 1);
	pad(c, 4);
	put(c, data, len);
	pad(c, 4);
}

void cpio_folder(struct cpio *c, const char *name)
{
	member(c, name, S_IFDIR | 0755, 0, 0, NULL, 0);
}

void cpio_device(struct cpio *c, const char *name, uint32_t major, uint32_t minor)
{
	member(c, name, S_IFCHR | 0600, major, minor, NULL, 0);
}

void cpio_file(struct cpio *c, const char *name, uint32_t mode, const void *data, size_t len)
{
	member(c, name, S_IFREG | (mode & 07777), 0, 0, data, len);
}

int cpio_end(struct cpio *c)
{
	member(c, "TRAILER!!!", 0, 0, 0, NULL, 0);
	pad(c, BLOCK);
	if (!c->err && fflush(c->f))
		c->err = -errno;
	return c->err;
}
