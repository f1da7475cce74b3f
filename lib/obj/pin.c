// SPDX-License-Identifier: BSD-2-Clause
/*
 * Pinning. The file system of pins lives in this process: a list of absolute paths, each a directory
 * or a pinned object, below one of the roots. No real file is made, so it needs no privilege and
 * leaves nothing behind; other processes do not see it. Outside the roots the real file system is
 * asked, because the kernel looks a path up before it finds that it is not on a bpffs.
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "obj/obj.h"

static const char default_root[] = "/sys/fs/bpf";

struct pin_node {
	char *path;           /* absolute, no "." or "..", no trailing slash */
	struct bpfu_obj *obj; /* with a user reference; NULL: a directory */
	struct pin_node *next;
};

static pthread_mutex_t pins_lock = PTHREAD_MUTEX_INITIALIZER; /* guards pins and the nodes */
static struct pin_node *pins;

/* ---- paths ---- */

struct pin_path {
	char text[PATH_MAX];
	size_t root_len;     /* bytes of the root, 0: not on the in-process bpffs */
	bool trailing_slash; /* the caller insists on a directory */
};

static size_t root_match(const char *path, const char *root)
{
	size_t len = strlen(root);

	while (len && root[len - 1] == '/')
		len--;
	if (len && !strncmp(path, root, len) && (path[len] == '/' || !path[len]))
		return len;
	return 0;
}

/* Append the components of @path to @out, resolving "." and "..". */
static int append_components(char *out, const char *path)
{
	size_t len = strlen(out);

	while (*path) {
		size_t n = strcspn(path, "/");

		if (n > NAME_MAX)
			return -ENAMETOOLONG;
		if (n == 2 && !memcmp(path, "..", 2)) {
			while (len && out[--len] != '/')
				;
		} else if (n && !(n == 1 && *path == '.')) {
			if (len + 1 + n >= PATH_MAX)
				return -ENAMETOOLONG;
			out[len++] = '/';
			memcpy(out + len, path, n);
			len += n;
		}
		out[len] = '\0';
		path += n;
		path += strspn(path, "/");
	}
	return 0;
}

static int path_resolve(const char *path, struct pin_path *out)
{
	const char *extra = getenv("BPFU_BPFFS");
	size_t len = strlen(path);
	int err;

	if (!len)
		return -ENOENT;
	if (len >= PATH_MAX)
		return -ENAMETOOLONG;
	out->text[0] = '\0';
	if (*path != '/') {
		char cwd[PATH_MAX];

		if (!getcwd(cwd, sizeof(cwd)))
			return -errno;
		err = append_components(out->text, cwd);
		if (err)
			return err;
	}
	err = append_components(out->text, path);
	if (err)
		return err;
	out->trailing_slash = path[len - 1] == '/';
	out->root_len = root_match(out->text, default_root);
	if (!out->root_len && extra)
		out->root_len = root_match(out->text, extra);
	return 0;
}

static bool is_root(const struct pin_path *path)
{
	return path->root_len && !path->text[path->root_len];
}

static struct pin_node *node_find(const char *path, size_t len)
{
	struct pin_node *node = pins;

	while (node && (strncmp(node->path, path, len) || node->path[len]))
		node = node->next;
	return node;
}

/*
 * Walk to @path as a path look-up does. 0 with *@node set (NULL: the root), -ENOENT if only the last
 * component is missing (*@parent_ok is true then) or an earlier one, -ENOTDIR, or -EPERM for a missing
 * name with a dot, which bpffs reserves.
 */
static int walk(const struct pin_path *path, struct pin_node **node, bool *parent_ok)
{
	const char *end = path->text + path->root_len;

	*node = NULL;
	*parent_ok = false;
	while (*end) {
		const char *name = end + 1;
		bool last;

		if (*node && (*node)->obj)
			return -ENOTDIR;
		end = name + strcspn(name, "/");
		last = !*end;
		*node = node_find(path->text, end - path->text);
		if (*node)
			continue;
		if (memchr(name, '.', end - name))
			return -EPERM;
		*parent_ok = last;
		return -ENOENT;
	}
	return 0;
}

/* The error for making a name outside the in-process bpffs. */
static int real_create_error(const char *path)
{
	char parent[PATH_MAX];
	struct stat st;
	char *slash;

	if (!lstat(path, &st))
		return -EEXIST;
	snprintf(parent, sizeof(parent), "%s", path);
	slash = strrchr(parent, '/');
	if (!slash) {
		slash = parent;
		*slash++ = '.';
	} else if (slash == parent) {
		slash++;
	}
	*slash = '\0';
	if (stat(parent, &st))
		return -errno;
	return S_ISDIR(st.st_mode) ? -EPERM : -ENOTDIR;
}

static int node_add(const char *path, struct bpfu_obj *obj)
{
	struct pin_node *node = calloc(1, sizeof(*node));

	if (!node)
		return -ENOMEM;
	node->path = strdup(path);
	if (!node->path) {
		free(node);
		return -ENOMEM;
	}
	if (obj)
		bpfu_obj_get_user(obj);
	node->obj = obj;
	node->next = pins;
	pins = node;
	return 0;
}

/* Take @node out and free it; returns the object whose user reference is now the caller's. */
static struct bpfu_obj *node_remove(struct pin_node *node)
{
	struct bpfu_obj *obj = node->obj;
	struct pin_node **at = &pins;

	while (*at != node)
		at = &(*at)->next;
	*at = node->next;
	free(node->path);
	free(node);
	return obj;
}

/* ---- the operations ---- */

static int create(const char *name, struct bpfu_obj *obj)
{
	struct pin_node *node;
	struct pin_path path;
	bool parent_ok;
	int err;

	err = path_resolve(name, &path);
	if (err)
		return err;
	if (!path.root_len)
		return real_create_error(path.text);
	pthread_mutex_lock(&pins_lock);
	err = walk(&path, &node, &parent_ok);
	if (!err)
		err = -EEXIST;
	/* A directory may be made under a name with a slash, an object may not. */
	else if (err == -ENOENT && parent_ok && !(obj && path.trailing_slash))
		err = node_add(path.text, obj);
	pthread_mutex_unlock(&pins_lock);
	return err;
}

int bpfu_pin(const char *path, struct bpfu_obj *obj)
{
	return create(path, obj);
}

int bpfu_pin_mkdir(const char *path)
{
	return create(path, NULL);
}

int bpfu_pin_get(const char *name, struct bpfu_obj **obj)
{
	struct pin_node *node;
	struct pin_path path;
	bool parent_ok;
	int err;

	err = path_resolve(name, &path);
	if (err)
		return err;
	if (!path.root_len) {
		struct stat st;

		return stat(name, &st) ? -errno : -EACCES;
	}
	pthread_mutex_lock(&pins_lock);
	err = walk(&path, &node, &parent_ok);
	if (!err && node && node->obj && path.trailing_slash) {
		err = -ENOTDIR;
	} else if (!err && node && node->obj) {
		bpfu_obj_get(node->obj);
		*obj = node->obj;
	} else if (!err) {
		err = -EACCES;
	}
	pthread_mutex_unlock(&pins_lock);
	return err;
}

int bpfu_unpin(const char *name)
{
	struct bpfu_obj *obj = NULL;
	struct pin_node *node;
	struct pin_path path;
	bool parent_ok;
	int err;

	err = path_resolve(name, &path);
	if (err)
		return err;
	if (!path.root_len)
		return -ENOENT;
	pthread_mutex_lock(&pins_lock);
	err = walk(&path, &node, &parent_ok);
	if (!err && (!node || !node->obj))
		err = -EISDIR;
	else if (!err && path.trailing_slash)
		err = -ENOTDIR;
	else if (!err)
		obj = node_remove(node);
	pthread_mutex_unlock(&pins_lock);
	if (obj)
		bpfu_obj_put_user(obj);
	return err;
}

static bool has_children(const struct pin_node *dir)
{
	size_t len = strlen(dir->path);

	for (struct pin_node *node = pins; node; node = node->next)
		if (!strncmp(node->path, dir->path, len) && node->path[len] == '/')
			return true;
	return false;
}

int bpfu_pin_rmdir(const char *name)
{
	struct pin_node *node;
	struct pin_path path;
	bool parent_ok;
	int err;

	err = path_resolve(name, &path);
	if (err)
		return err;
	if (!path.root_len)
		return -ENOENT;
	if (is_root(&path))
		return -EBUSY; /* a mount point */
	pthread_mutex_lock(&pins_lock);
	err = walk(&path, &node, &parent_ok);
	if (!err && node->obj)
		err = -ENOTDIR;
	else if (!err && has_children(node))
		err = -ENOTEMPTY;
	else if (!err)
		node_remove(node);
	pthread_mutex_unlock(&pins_lock);
	return err;
}

bool bpfu_pin_is_bpffs(const char *name)
{
	struct pin_path path;

	return !path_resolve(name, &path) && path.root_len;
}

void bpfu_pin_fork_lock(void)
{
	pthread_mutex_lock(&pins_lock);
}

void bpfu_pin_fork_unlock(void)
{
	pthread_mutex_unlock(&pins_lock);
}
