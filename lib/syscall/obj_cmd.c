// SPDX-License-Identifier: BSD-2-Clause
/* Commands on objects of any kind: pins, ids, and the descriptor that turns run statistics on. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "map/map.h"
#include "obj/prog.h"
#include "syscall/syscall.h"
#include "util/uaccess.h"

static int mem_fd_of(struct bpfu_obj *obj)
{
	return obj->kind == BPFU_OBJ_MAP ? bpfu_map_of(obj)->mem_fd : -1;
}

/* A new descriptor for @obj, whose reference it takes over or drops. */
static int install(struct bpfu_obj *obj, int mode)
{
	int fd = bpfu_fd_install_mode(obj, mem_fd_of(obj), mode);

	if (fd < 0)
		bpfu_obj_put(obj);
	return fd;
}

/* ---- pins ---- */

/* @path below the directory @dir_fd, in place (PATH_MAX bytes). */
static int path_at(char *path, int dir_fd)
{
	char link[32], dir[PATH_MAX], joined[2 * PATH_MAX];
	ssize_t n;

	if (*path == '/' || !*path || dir_fd == AT_FDCWD)
		return 0;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", dir_fd);
	n = readlink(link, dir, sizeof(dir) - 1);
	if (n < 0)
		return fcntl(dir_fd, F_GETFD) < 0 ? -EBADF : -ENOENT;
	dir[n] = '\0';
	if (*dir != '/')
		return -ENOTDIR;
	if (snprintf(joined, sizeof(joined), "%s/%s", dir, path) >= PATH_MAX)
		return -ENAMETOOLONG;
	memcpy(path, joined, strlen(joined) + 1);
	return 0;
}

/* The path of OBJ_PIN or OBJ_GET in @path, PATH_MAX bytes. */
static int path_in(const union bpfu_attr *attr, char *path)
{
	bool at = attr->a.file_flags & BPFU_F_PATH_FD;
	int n = bpfu_strncpy_from_user(path, attr->a.pathname, PATH_MAX);

	if (n < 0)
		return n;
	if (path[n - 1])
		return -ENAMETOOLONG;
	return at ? path_at(path, attr->obj.path_fd) : 0;
}

static bool is_path_fd_sane(const union bpfu_attr *attr)
{
	return (attr->a.file_flags & BPFU_F_PATH_FD) || !attr->obj.path_fd;
}

int bpfu_cmd_obj_pin(union bpfu_attr *attr, uint64_t uattr, uint32_t size)
{
	char path[PATH_MAX];
	struct bpfu_obj *obj;
	int err;

	if (!bpfu_attr_ends_with(attr, obj.path_fd) || (attr->a.file_flags & ~BPFU_F_PATH_FD) ||
	    !is_path_fd_sane(attr))
		return -EINVAL;
	obj = bpfu_fd_get(attr->a.bpf_fd);
	if (!obj)
		return -EINVAL;
	if (obj->kind == BPFU_OBJ_BTF || obj->kind == BPFU_OBJ_STATS ||
	    obj->kind == BPFU_OBJ_PERF_EVENT) {
		err = -EINVAL;
	} else {
		err = path_in(attr, path);
		if (!err)
			err = bpfu_pin(path, obj);
	}
	bpfu_obj_put(obj);
	return err;
}

int bpfu_cmd_obj_get(union bpfu_attr *attr, uint64_t uattr, uint32_t size)
{
	const uint32_t known = BPF_F_RDONLY | BPF_F_WRONLY | BPFU_F_PATH_FD;
	char path[PATH_MAX];
	struct bpfu_obj *obj;
	int mode, err;

	if (!bpfu_attr_ends_with(attr, obj.path_fd) || attr->a.bpf_fd ||
	    (attr->a.file_flags & ~known) || !is_path_fd_sane(attr))
		return -EINVAL;
	mode = bpfu_attr_file_mode(attr->a.file_flags);
	if (mode < 0)
		return mode;
	err = path_in(attr, path);
	if (!err)
		err = bpfu_pin_get(path, &obj);
	if (err)
		return err;
	/* Only maps have access modes. */
	return install(obj, obj->kind == BPFU_OBJ_MAP ? mode : O_RDWR);
}

/* ---- ids ---- */

static int next_id(enum bpfu_obj_kind kind, union bpfu_attr *attr, uint64_t uattr, uint32_t size)
{
	int err;

	if (!bpfu_attr_ends_with(attr, a.next_id) || attr->a.start_id >= INT_MAX)
		return -EINVAL;
	err = bpfu_obj_next_id(kind, attr->a.start_id, &attr->a.next_id);
	return err ? err : bpfu_attr_put(attr, uattr, size, a.next_id);
}

static int fd_by_id(enum bpfu_obj_kind kind, uint32_t id, int mode)
{
	struct bpfu_obj *obj = bpfu_obj_by_id(kind, id);

	return obj ? install(obj, mode) : -ENOENT;
}

int bpfu_cmd_map_next_id(union bpfu_attr *attr, uint64_t uattr, uint32_t size)
{
	return next_id(BPFU_OBJ_MAP, attr, uattr, size);
}

int bpfu_cmd_prog_next_id(union bpfu_attr *attr, uint64_t uattr, uint32_t size)
{
	return next_id(BPFU_OBJ_PROG, attr, uattr, size);
}

int bpfu_cmd_btf_next_id(union bpfu_attr *attr, uint64_t uattr, uint32_t size)
{
	return next_id(BPFU_OBJ_BTF, attr, uattr, size);
}

int bpfu_cmd_link_next_id(union bpfu_attr *attr, uint64_t uattr, uint32_t size)
{
	return next_id(BPFU_OBJ_LINK, attr, uattr, size);
}

int bpfu_cmd_map_fd_by_id(union bpfu_attr *attr, uint64_t uattr, uint32_t size)
{
	int mode;

	if (!bpfu_attr_ends_with(attr, a.open_flags) ||
	    (attr->a.open_flags & ~(BPF_F_RDONLY | BPF_F_WRONLY)))
		return -EINVAL;
	mode = bpfu_attr_file_mode(attr->a.open_flags);
	return mode < 0 ? mode : fd_by_id(BPFU_OBJ_MAP, attr->a.map_id, mode);
}

int bpfu_cmd_prog_fd_by_id(union bpfu_attr *attr, uint64_t uattr, uint32_t size)
{
	if (!bpfu_attr_ends_with(attr, a.prog_id))
		return -EINVAL;
	return fd_by_id(BPFU_OBJ_PROG, attr->a.prog_id, O_RDWR);
}

int bpfu_cmd_btf_fd_by_id(union bpfu_attr *attr, uint64_t uattr, uint32_t size)
{
	if (!bpfu_attr_ends_with(attr, fd_by_id.token_fd) ||
	    (attr->a.open_flags & ~BPFU_F_TOKEN_FD))
		return -EINVAL;
	if (attr->a.open_flags & BPFU_F_TOKEN_FD)
		return bpfu_attr_token(attr->fd_by_id.token_fd);
	return fd_by_id(BPFU_OBJ_BTF, attr->a.btf_id, O_RDWR);
}

int bpfu_cmd_link_fd_by_id(union bpfu_attr *attr, uint64_t uattr, uint32_t size)
{
	if (!bpfu_attr_ends_with(attr, a.link_id))
		return -EINVAL;
	return fd_by_id(BPFU_OBJ_LINK, attr->a.link_id, O_RDWR);
}

/* ---- run statistics: on while the descriptor is open ---- */

static void stats_release(struct bpfu_obj *obj)
{
	atomic_fetch_sub(&bpfu_stats_users, 1);
	free(obj);
}

int bpfu_cmd_enable_stats(union bpfu_attr *attr, uint64_t uattr, uint32_t size)
{
	struct bpfu_obj *obj;
	int fd;

	if (!bpfu_attr_ends_with(attr, a.enable_stats.type) ||
	    attr->a.enable_stats.type != BPF_STATS_RUN_TIME)
		return -EINVAL;
	obj = calloc(1, sizeof(*obj));
	if (!obj)
		return -ENOMEM;
	bpfu_obj_init(obj, BPFU_OBJ_STATS, stats_release);
	atomic_fetch_add(&bpfu_stats_users, 1);
	fd = bpfu_fd_install(obj, -1);
	if (fd < 0)
		bpfu_obj_put(obj);
	return fd;
}
