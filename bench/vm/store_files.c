// SPDX-License-Identifier: BSD-2-Clause
/* What a kernel's folder holds: copies, and the modules that guests need. */
#include <errno.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vm/store.h"
#include "vm/unpack.h"

#define MAX_FILE (1u << 30)

const char *kernel_module(size_t idx)
{
	static const char *const modules[] = {
		"virtio_ring", "virtio", "virtio_pci_legacy_dev", "virtio_pci_modern_dev", "virtio_pci",
		"virtio_console",
	};

	return idx < sizeof(modules) / sizeof(modules[0]) ? modules[idx] : NULL;
}

static const char *const endings[] = { ".ko", ".ko.xz", ".ko.zst" };

#define NR_ENDINGS (sizeof(endings) / sizeof(endings[0]))

/* nftw() passes nothing on. */
static struct {
	const char *module;
	char *buf;
	size_t size;
} seeking;

static int seek_module(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	size_t len = strlen(seeking.module);
	const char *name = path + ftw->base;

	if (type != FTW_F || strncmp(name, seeking.module, len))
		return 0;
	for (size_t i = 0; i < NR_ENDINGS; i++)
		if (!strcmp(name + len, endings[i]) && strlen(path) < seeking.size) {
			memcpy(seeking.buf, path, strlen(path) + 1);
			return 1;
		}
	return 0;
}

bool kernel_module_path(const struct kernel *k, const char *module, char *buf, size_t size)
{
	if (k->is_tree) {
		char root[4300];

		/* the folder itself may be a link */
		snprintf(root, sizeof(root), "%s/.", k->modules);
		seeking.module = module;
		seeking.buf = buf;
		seeking.size = size;
		return nftw(root, seek_module, 32, FTW_PHYS) == 1;
	}
	for (size_t i = 0; i < NR_ENDINGS; i++) {
		int len = snprintf(buf, size, "%s/%s%s", k->modules, module, endings[i]);

		if (len > 0 && (size_t)len < size && !access(buf, R_OK))
			return true;
	}
	return false;
}

int kernel_copy_file(const char *from, const char *to, struct errline *e)
{
	size_t len;
	void *data;
	int err = unpack_read(from, MAX_FILE, &data, &len, e);
	FILE *f;

	if (err)
		return err;
	f = fopen(to, "wxe");
	if (!f) {
		err = store_write_error(e, -errno, to);
	} else {
		if (fwrite(data, 1, len, f) != len)
			err = -errno;
		if (fclose(f) && !err)
			err = -errno;
		if (err)
			store_write_error(e, err, to);
	}
	free(data);
	return err;
}

/* nftw() passes nothing on. */
static struct {
	const char *to;
	struct errline *e;
	int err;
} copying;

static int copy_module(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	const char *name = path + ftw->base;

	if (type != FTW_F)
		return 0;
	for (size_t i = 0; kernel_module(i); i++)
		for (size_t j = 0; j < NR_ENDINGS; j++) {
			char wanted[64], to[4300];

			snprintf(wanted, sizeof(wanted), "%s%s", kernel_module(i), endings[j]);
			if (strcmp(name, wanted))
				continue;
			snprintf(to, sizeof(to), "%s/%s", copying.to, wanted);
			if (!access(to, F_OK))
				return 0;
			copying.err = kernel_copy_file(path, to, copying.e);
			return copying.err != 0;
		}
	return 0;
}

int kernel_copy_modules(const char *from, const char *to, struct errline *e)
{
	struct stat st;

	if (stat(from, &st) || !S_ISDIR(st.st_mode))
		return errline_set(e, -ENOTDIR, "'%s' is no folder of modules", from);
	if (mkdir(to, 0777) && errno != EEXIST)
		return store_write_error(e, -errno, to);
	copying.to = to;
	copying.e = e;
	copying.err = 0;
	if (nftw(from, copy_module, 32, FTW_PHYS) && !copying.err)
		return errline_set(e, -errno, "cannot read '%s': %s", from, strerror(errno));
	return copying.err;
}
