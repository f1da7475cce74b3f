// SPDX-License-Identifier: BSD-2-Clause
#include "vm/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define START 4096 /* of an image: enough to tell what it is */

static const char *const images[] = { "vmlinuz", "bzImage", "Image" };

#define NR_IMAGES (sizeof(images) / sizeof(images[0]))

static bool is_folder(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

static bool is_file(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode);
}

/* What the file @path is by its first bytes. 0 or a negative errno. */
static int read_machine(const char *path, const struct machine_kind **machine, const char **what)
{
	char start[START];
	int fd = open(path, O_RDONLY | O_CLOEXEC), err = 0;
	ssize_t len = fd < 0 ? -1 : read(fd, start, sizeof(start));

	if (len < 0)
		err = -errno;
	if (fd >= 0)
		close(fd);
	if (!err)
		*machine = machine_of_image(start, (size_t)len, what);
	return err;
}

/* The name in "vmlinuz-NAME", or NULL. */
static const char *name_behind(const char *file)
{
	for (size_t i = 0; i < NR_IMAGES; i++) {
		size_t len = strlen(images[i]);

		if (!strncmp(file, images[i], len) && file[len] == '-' && file[len + 1])
			return file + len + 1;
	}
	return NULL;
}

/* Names of targets have no commas, and nothing that a file name may have. */
static void set_name(struct kernel *k, const char *name)
{
	static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+~-";
	size_t len = 0;

	for (; name[len] && len + 1 < sizeof(k->name); len++)
		k->name[len] = strchr(good, name[len]) ? name[len] : '_';
	k->name[len] = '\0';
	if (strchr("._+~-", k->name[0]))
		k->name[0] = 'x';
}

/* As folders of the store have them: 6.12.118.x86_64. */
static void strip_machine(struct kernel *k)
{
	char *dot = strrchr(k->name, '.');

	if (dot && dot > k->name && k->machine && !strcmp(dot + 1, k->machine->name))
		*dot = '\0';
}

/* The first of the forms of @dir's that is a folder. */
static void find_modules(struct kernel *k, const char *dir, const char *name)
{
	static const char *const befores[] = { "modules-", "lib/modules/" };

	for (size_t i = 0; i < 2; i++) {
		int len = snprintf(k->modules, sizeof(k->modules), "%s/%s%s", dir, befores[i], name);

		if (len <= 0 || (size_t)len >= sizeof(k->modules))
			break;
		k->is_tree = is_folder(k->modules);
		if (k->is_tree)
			return;
	}
	k->modules[0] = '\0';
}

/* The image in the folder @dir; false if there is none. */
static bool find_image(struct kernel *k, const char *dir)
{
	static const char *const places[] = { "vmlinuz", "bzImage", "Image", "arch/x86/boot/bzImage",
					      "arch/arm64/boot/Image" };

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(k->image, sizeof(k->image), "%s/%s", dir, places[i]);
		if (!is_file(k->image))
			continue;
		snprintf(k->modules, sizeof(k->modules), "%s/%s", dir, i < NR_IMAGES ? "modules" : "drivers");
		k->is_tree = true;
		return true;
	}
	return false;
}

int folder_kernel(struct kernel *k, const char *path, const char *modules, struct errline *e)
{
	const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path, *name = name_behind(file), *what;
	char dir[4096] = ".";
	int err;

	memset(k, 0, sizeof(*k));
	if (strlen(path) >= sizeof(dir))
		return errline_set(e, -ENAMETOOLONG, "'%.80s...' is too long a path", path);
	if (modules && !is_folder(modules))
		return errline_set(e, -ENOTDIR, "'%s' is no folder of modules", modules);
	if (!is_file(path) && !access(path, F_OK))
		return errline_set(e, -EINVAL, "'%s' is no regular file", path);
	err = read_machine(path, &k->machine, &what);
	if (err)
		return errline_set(e, err, "cannot read '%s': %s", path, strerror(-err));
	if (!k->machine)
		return errline_set(e, -EINVAL, "'%s' is %s; a bzImage of x86-64 or an Image of arm64 is wanted", path,
				   what);
	set_name(k, name ?: file);
	snprintf(k->image, sizeof(k->image), "%s", path);
	if (modules) {
		snprintf(k->modules, sizeof(k->modules), "%s", modules);
		k->is_tree = true;
		return 0;
	}
	if (slash)
		snprintf(dir, sizeof(dir), "%.*s", slash > path ? (int)(slash - path) : 1, path);
	find_modules(k, dir, name ?: file);
	return 0;
}

/* What the entry @entry of @dir is; false: nothing of ours. */
static bool read_entry(struct kernel *k, const char *dir, const char *entry)
{
	char path[4096];
	struct errline ignored;
	const char *name;

	if (entry[0] == '.' || snprintf(path, sizeof(path), "%s/%s", dir, entry) >= (int)sizeof(path))
		return false;
	if (is_folder(path)) {
		struct kernel inner;

		memset(k, 0, sizeof(*k));
		if (!find_image(k, path))
			return false;
		if (!folder_kernel(&inner, k->image, NULL, &ignored))
			k->machine = inner.machine;
		set_name(k, entry);
		strip_machine(k);
		return true;
	}
	if (!folder_kernel(k, path, NULL, &ignored))
		return true;
	name = name_behind(entry);
	if (name) { /* it means to be one */
		memset(k, 0, sizeof(*k));
		set_name(k, name);
		snprintf(k->image, sizeof(k->image), "%s", path);
	}
	return name;
}

int folder_kernels(struct kernel_list *list, const char *dir, struct errline *e)
{
	DIR *d = opendir(dir);
	struct dirent *entry;
	int err = 0;

	if (!d)
		return errline_set(e, -errno, "cannot read the folder '%s': %s", dir, strerror(errno));
	while (!err && (entry = readdir(d))) {
		struct kernel k;

		if (read_entry(&k, dir, entry->d_name) && kernel_list_add(list, &k))
			err = errline_set(e, -ENOMEM, "out of memory");
	}
	closedir(d);
	return err;
}
