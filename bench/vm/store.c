// SPDX-License-Identifier: BSD-2-Clause
/* The folders of the store: finding, staging, committing, removing. What goes into one is in store_files.c. */
#include "vm/store.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <jansson.h>

#define STAGING ".staging-"

#ifndef RENAME_EXCHANGE
#define RENAME_EXCHANGE 2
#endif

/* -------------------------------------------------------------- the folder */

int store_write_error(struct errline *e, int err, const char *dir)
{
	if (err == -ENOSPC || err == -EDQUOT)
		return errline_set(e, err, "the disk that holds '%s' is full; free some space there, or set "
				   "XDG_CACHE_HOME to a folder elsewhere", dir);
	return errline_set(e, err, "cannot write in '%s': %s", dir, strerror(-err));
}

static int make_folders(char *path)
{
	for (char *p = strchr(path + 1, '/');; p = strchr(p + 1, '/')) {
		if (p)
			*p = '\0';
		if (mkdir(path, 0777) && errno != EEXIST)
			return -errno;
		if (!p)
			return 0;
		*p = '/';
	}
}

static int find_dir(char *buf, size_t size, struct errline *e)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	int len;

	if (cache && cache[0] == '/')
		len = snprintf(buf, size, "%s/bpflab/kernels", cache);
	else if (home && home[0] == '/')
		len = snprintf(buf, size, "%s/.cache/bpflab/kernels", home);
	else
		return errline_set(e, -ENOENT, "no folder for kernels: set HOME or XDG_CACHE_HOME");
	if (len < 0 || (size_t)len >= size - 512)
		return errline_set(e, -ENAMETOOLONG, "the path of the folder for kernels is too long");
	return 0;
}

int store_dir(char *buf, size_t size, struct errline *e)
{
	int err = find_dir(buf, size, e);

	if (err)
		return err;
	err = make_folders(buf);
	return err ? store_write_error(e, err, buf) : 0;
}

/* -------------------------------------------------------------- names and versions */

int store_check_name(const char *name, struct errline *e)
{
	bool good = isalnum((unsigned char)name[0]) && strlen(name) < KERNEL_NAME_MAX;

	for (const char *p = name; *p && good; p++)
		good = isalnum((unsigned char)*p) || strchr("._+~-", *p);
	if (good)
		return 0;
	return errline_set(e, -EINVAL, "'%.80s' cannot be the name of a kernel: letters, digits and ._+~-, "
			   "at most %d of them, a letter or digit first", name, KERNEL_NAME_MAX - 1);
}

/* 6.12-rc3, or as Debian has it 6.12~rc3. */
static bool is_candidate(const char *rest)
{
	return (*rest == '-' || *rest == '~') && !strncmp(rest + 1, "rc", 2) && isdigit((unsigned char)rest[3]);
}

int store_compare_versions(const char *a, const char *b)
{
	while (*a || *b) {
		if (is_candidate(a) != is_candidate(b))
			return is_candidate(a) ? -1 : 1;
		if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
			char *end_a, *end_b;
			unsigned long long na = strtoull(a, &end_a, 10), nb = strtoull(b, &end_b, 10);

			if (na != nb)
				return na < nb ? -1 : 1;
			a = end_a;
			b = end_b;
			continue;
		}
		if (*a != *b)
			return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
		a++;
		b++;
	}
	return 0;
}

/* 6.12 is the start of 6.12.118 and of 6.12-rc3, but not of 6.120. */
static bool is_of_line(const char *name, const char *line)
{
	size_t len = strlen(line);

	return isdigit((unsigned char)line[0]) && !strncmp(name, line, len) &&
	       !isalnum((unsigned char)name[len]);
}

/* -------------------------------------------------------------- listing */

static uint64_t *size_sum;

static int add_size(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	if (type == FTW_F)
		*size_sum += (uint64_t)st->st_blocks * 512;
	return 0;
}

static uint64_t size_of(const char *dir)
{
	uint64_t sum = 0;

	size_sum = &sum;
	nftw(dir, add_size, 16, FTW_PHYS);
	return sum;
}

/* The kernel in the folder @entry of @root; false: there is none, or a part of one. */
static bool read_kernel(struct kernel *k, const char *root, const char *entry)
{
	const char *dot = strrchr(entry, '.');
	char path[4200];
	json_t *meta;

	memset(k, 0, sizeof(*k));
	if (entry[0] == '.' || !dot || (size_t)(dot - entry) >= sizeof(k->name))
		return false;
	k->machine = machine_find(dot + 1);
	if (!k->machine || strcmp(k->machine->name, dot + 1))
		return false;
	memcpy(k->name, entry, (size_t)(dot - entry));
	if (snprintf(k->dir, sizeof(k->dir), "%s/%s", root, entry) >= (int)sizeof(k->dir))
		return false;
	snprintf(k->image, sizeof(k->image), "%s/vmlinuz", k->dir);
	snprintf(k->modules, sizeof(k->modules), "%s/modules", k->dir);
	if (access(k->image, R_OK))
		return false;
	snprintf(path, sizeof(path), "%s/kernel.json", k->dir);
	meta = json_load_file(path, 0, NULL);
	if (!json_is_object(meta)) {
		json_decref(meta);
		return false;
	}
	snprintf(k->package, sizeof(k->package), "%s",
		 json_string_value(json_object_get(meta, "package")) ?: "");
	json_decref(meta);
	k->bytes = size_of(k->dir);
	return true;
}

static int order(const void *a, const void *b)
{
	const struct kernel *x = a, *y = b;

	if (x->machine != y->machine)
		return x->machine < y->machine ? -1 : 1;
	return store_compare_versions(x->name, y->name);
}

int kernel_list_add(struct kernel_list *list, const struct kernel *k)
{
	struct kernel *grown = realloc(list->items, (list->nr + 1) * sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	list->items = grown;
	grown[list->nr++] = *k;
	return 0;
}

void kernel_list_sort(struct kernel_list *list)
{
	if (list->nr)
		qsort(list->items, list->nr, sizeof(*list->items), order);
}

int store_list(struct kernel_list *list, struct errline *e)
{
	char root[4096];
	struct dirent *d;
	int err = find_dir(root, sizeof(root), e);
	DIR *dir;

	memset(list, 0, sizeof(*list));
	if (err)
		return err;
	dir = opendir(root);
	if (!dir && errno == ENOENT)
		return 0; /* looking makes no folder */
	if (!dir)
		return errline_set(e, -errno, "cannot read '%s': %s", root, strerror(errno));
	while ((d = readdir(dir))) {
		struct kernel k;

		if (!read_kernel(&k, root, d->d_name))
			continue;
		if (kernel_list_add(list, &k)) {
			closedir(dir);
			store_list_release(list);
			return errline_set(e, -ENOMEM, "out of memory");
		}
	}
	closedir(dir);
	kernel_list_sort(list);
	return 0;
}

void store_list_release(struct kernel_list *list)
{
	free(list->items);
	memset(list, 0, sizeof(*list));
}

static int not_found(const char *name, const struct machine_kind *machine,
		     const struct kernel_list *list, struct errline *e)
{
	const bool native = machine == machine_native();
	const char *comma = native ? "" : ",arch=";

	for (size_t i = 0; i < list->nr; i++)
		if (!strcmp(list->items[i].name, name) || is_of_line(list->items[i].name, name))
			return errline_set(e, -ENOENT, "kernel '%s' is here for %s only; run: bpflab kernel "
					   "fetch %s%s%s", name, list->items[i].machine->name, name, comma,
					   native ? "" : machine->name);
	if (isdigit((unsigned char)name[0]))
		return errline_set(e, -ENOENT, "no kernel %s for %s is here yet; run: bpflab kernel fetch "
				   "%s%s%s", name, machine->name, name, comma, native ? "" : machine->name);
	return errline_set(e, -ENOENT, "no kernel '%s' for %s is here; bpflab kernel list shows which are, "
			   "bpflab kernel add %s VMLINUZ adds one", name, machine->name, name);
}

const struct kernel *kernel_list_find(const struct kernel_list *list, const char *name,
				      const struct machine_kind *machine)
{
	const struct kernel *best = NULL;

	for (size_t i = 0; i < list->nr; i++) {
		const struct kernel *it = &list->items[i];

		if (it->machine != machine)
			continue;
		if (!strcmp(it->name, name))
			return it;
		if (is_of_line(it->name, name)) /* later ones are newer */
			best = it;
	}
	return best;
}

int store_find(struct kernel *k, const char *name, const struct machine_kind *machine, struct errline *e)
{
	const struct kernel *best;
	struct kernel_list list;
	int err = store_list(&list, e);

	if (err)
		return err;
	best = kernel_list_find(&list, name, machine);
	if (best)
		*k = *best;
	else
		err = not_found(name, machine, &list, e);
	store_list_release(&list);
	return err;
}

/* -------------------------------------------------------------- staging */

static int drop(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

static void remove_tree(const char *dir)
{
	nftw(dir, drop, 16, FTW_DEPTH | FTW_PHYS);
}

static int lock_store(const char *root, struct errline *e)
{
	char path[4200];
	int fd;

	snprintf(path, sizeof(path), "%s/.lock", root);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0)
		return store_write_error(e, -errno, root);
	while (flock(fd, LOCK_EX))
		if (errno != EINTR) {
			close(fd);
			return errline_set(e, -errno, "cannot lock '%s': %s", path, strerror(errno));
		}
	return fd;
}

/* Folders of processes that died. The store is locked: nobody is between making one and locking it. */
static void sweep(const char *root)
{
	DIR *dir = opendir(root);
	struct dirent *d;

	while (dir && (d = readdir(dir))) {
		char path[4400];
		int fd;

		if (strncmp(d->d_name, STAGING, strlen(STAGING)))
			continue;
		snprintf(path, sizeof(path), "%s/%s", root, d->d_name);
		fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd >= 0 && !flock(fd, LOCK_EX | LOCK_NB))
			remove_tree(path);
		if (fd >= 0)
			close(fd);
	}
	if (dir)
		closedir(dir);
}

int store_stage_begin(struct store_stage *s, struct errline *e)
{
	char root[4000];
	int err, lock;

	s->lock = -1;
	s->dir[0] = '\0';
	err = store_dir(root, sizeof(root), e);
	if (err)
		return err;
	lock = lock_store(root, e);
	if (lock < 0)
		return lock;
	sweep(root);
	snprintf(s->dir, sizeof(s->dir), "%s/" STAGING "XXXXXX", root);
	if (!mkdtemp(s->dir)) {
		err = store_write_error(e, -errno, root);
		s->dir[0] = '\0';
	} else {
		s->lock = open(s->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (s->lock >= 0)
			flock(s->lock, LOCK_EX | LOCK_NB);
	}
	close(lock);
	return err;
}

static int write_meta(const char *dir, const char *package, struct errline *e)
{
	json_t *o = json_pack("{s:s}", "package", package ?: "");
	char path[4200];
	int err;

	snprintf(path, sizeof(path), "%s/kernel.json", dir);
	errno = 0;
	err = o ? json_dump_file(o, path, JSON_INDENT(2)) : -1;
	json_decref(o);
	return err ? store_write_error(e, errno ? -errno : -EIO, dir) : 0;
}

int store_stage_commit(struct store_stage *s, const char *name, const struct machine_kind *machine,
		       const char *package, struct errline *e)
{
	char root[4000], final[4200];
	int err = store_dir(root, sizeof(root), e), lock;

	if (!err)
		err = write_meta(s->dir, package, e);
	if (err)
		return err;
	chmod(s->dir, 0755);
	/* what is not on the disk yet may never come to it */
	if (s->lock >= 0 && syncfs(s->lock))
		return store_write_error(e, -errno, s->dir);
	snprintf(final, sizeof(final), "%s/%s.%s", root, name, machine->name);
	lock = lock_store(root, e);
	if (lock < 0)
		return lock;
	if (!syscall(SYS_renameat2, AT_FDCWD, s->dir, AT_FDCWD, final, RENAME_EXCHANGE)) {
		remove_tree(s->dir); /* the one that was there */
		s->dir[0] = '\0';
	} else if (!rename(s->dir, final)) {
		s->dir[0] = '\0';
	} else {
		err = store_write_error(e, -errno, root);
	}
	close(lock);
	return err;
}

void store_stage_end(struct store_stage *s)
{
	if (s->dir[0])
		remove_tree(s->dir);
	s->dir[0] = '\0';
	if (s->lock >= 0)
		close(s->lock);
	s->lock = -1;
}

int store_remove(const struct kernel *k, struct errline *e)
{
	struct store_stage s;
	char gone[4200];
	int err = store_stage_begin(&s, e);

	if (err)
		return err;
	/* first out of sight, in one step */
	snprintf(gone, sizeof(gone), "%s/gone", s.dir);
	if (rename(k->dir, gone))
		err = store_write_error(e, -errno, k->dir);
	store_stage_end(&s);
	return err;
}
