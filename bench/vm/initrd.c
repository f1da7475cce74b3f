// SPDX-License-Identifier: BSD-2-Clause
/* Packing: the guest program, the modules of the kernel in the order in which they load, the command. */
#include "vm/initrd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "vm/cpio.h"
#include "vm/guest.h"
#include "vm/unpack.h"

#define MAX_FILE (1u << 30)
#define MAX_FOLDERS 64

static int add_file(struct cpio *c, const char *path, const char *name, struct errline *e)
{
	size_t len;
	void *data;
	int err = unpack_read(path, MAX_FILE, &data, &len, e);

	if (!err)
		cpio_file(c, name, 0755, data, len);
	free(data);
	return err;
}

/* A module loads after those that it uses; kernel_modules has that order. */
static int add_modules(struct cpio *c, const struct kernel *k, struct errline *e)
{
	int err = 0;

	for (size_t i = 0; kernel_module(i) && !err; i++) {
		char path[4096], name[128];
		size_t len;
		void *data;

		if (!kernel_module_path(k, kernel_module(i), path, sizeof(path)))
			continue;
		err = unpack_read(path, UNPACK_MAX, &data, &len, e);
		if (err)
			break;
		err = unpack(path, &data, &len, e);
		snprintf(name, sizeof(name), GUEST_MODULES "/%02zu-%s.ko", i, kernel_module(i));
		if (!err)
			cpio_file(c, name, 0644, data, len);
		free(data);
	}
	return err;
}

static size_t add_words(char *text, size_t size, size_t at, const char *const *words)
{
	for (; words && *words; words++) {
		size_t len = strlen(*words) + 1;

		if (at + len + 1 > size)
			return size;
		memcpy(text + at, *words, len);
		at += len;
	}
	text[at] = '\0';
	return at + 1;
}

static int add_command(struct cpio *c, const struct initrd_plan *plan, struct errline *e)
{
	static char text[65536];
	size_t len = add_words(text, sizeof(text), 0, plan->argv);

	if (len < sizeof(text))
		len = add_words(text, sizeof(text), len, plan->env);
	if (len >= sizeof(text))
		return errline_set(e, -E2BIG, "the command for the guest is longer than 64 KiB");
	cpio_file(c, GUEST_COMMAND, 0644, text, len);
	return 0;
}

/* The folders that @name lies in, each once. */
static void add_folders(struct cpio *c, const char *name, char (*seen)[256], size_t *nr)
{
	for (const char *slash = strchr(name, '/'); slash; slash = strchr(slash + 1, '/')) {
		char folder[256];
		size_t i;

		snprintf(folder, sizeof(folder), "%s/%.*s", GUEST_FILES, (int)(slash - name), name);
		for (i = 0; i < *nr && strcmp(seen[i], folder); i++)
			;
		if (i < *nr || *nr == MAX_FOLDERS)
			continue;
		memcpy(seen[(*nr)++], folder, sizeof(folder));
		cpio_folder(c, folder);
	}
}

static int fill(struct cpio *c, const struct initrd_plan *plan, struct errline *e)
{
	static const char *const folders[] = { "dev", "proc", "sys", "tmp", GUEST_DIR, GUEST_MODULES,
					       GUEST_FILES };
	char seen[MAX_FOLDERS][256];
	size_t nr_seen = 0;
	int err;

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		cpio_folder(c, folders[i]);
	/* until /dev is mounted */
	cpio_device(c, "dev/console", 5, 1);
	cpio_device(c, "dev/null", 1, 3);
	err = add_file(c, plan->init, "init", e);
	if (!err)
		err = add_modules(c, plan->kernel, e);
	if (!err)
		err = add_command(c, plan, e);
	for (size_t i = 0; i < plan->nr_files && !err; i++) {
		char name[512];

		add_folders(c, plan->files[i].name, seen, &nr_seen);
		snprintf(name, sizeof(name), GUEST_FILES "/%s", plan->files[i].name);
		err = add_file(c, plan->files[i].path, name, e);
	}
	return err;
}

int initrd_make(const struct initrd_plan *plan, int *fd, struct errline *e)
{
	struct cpio c;
	FILE *f;
	int err, end;

	*fd = memfd_create("bpflab-initrd", 0);
	if (*fd < 0)
		return errline_set(e, -errno, "memfd_create: %s", strerror(errno));
	f = fdopen(dup(*fd), "we");
	if (!f) {
		close(*fd);
		return errline_set(e, -errno, "cannot write the guest's files: %s", strerror(errno));
	}
	cpio_begin(&c, f);
	err = fill(&c, plan, e);
	end = cpio_end(&c);
	if (!err && end)
		err = errline_set(e, end, "cannot write the guest's files: %s", strerror(-end));
	fclose(f);
	if (err)
		close(*fd);
	return err;
}
