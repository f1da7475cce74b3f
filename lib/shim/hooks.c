// SPDX-License-Identifier: BSD-2-Clause
/* What each intercepted call means for objects of ours; everything else passes through. */
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "map/map.h"
#include "obj/obj.h"
#include "probe/perf_event.h"
#include "shim/shim.h"
#include "util/uaccess.h"

/* -errno to the libc's convention. */
static int ret_errno(int ret)
{
	if (ret >= 0)
		return ret;
	errno = -ret;
	return -1;
}

/* ---- bpf(2) and system calls made by number ---- */

static long hook_bpf(const long *args)
{
	unsigned int size = args[2];
	uint64_t uattr = args[1];
	int cmd = args[0], ret;

	if (bpfu_selftest_seen(cmd, uattr, size))
		return ret_errno(-ENOENT);
	if (bpfu_route_of(cmd, uattr, size) == BPFU_ROUTE_KERNEL)
		return bpfu_real_syscall(__NR_bpf, args);
	ret = bpfu_bpf(cmd, (union bpf_attr *)uattr, size);
	bpfu_fd_unpeek();
	return ret_errno(ret);
}

/* Only events of the type that files.c told of are ours. */
static long hook_perf_event_open(const long *args)
{
	if (bpfu_route_get() != BPFU_ROUTE_USER || !bpfu_perf_event_is_ours((uint64_t)args[0]))
		return bpfu_real_syscall(__NR_perf_event_open, args);
	return ret_errno(bpfu_perf_event_open((uint64_t)args[0], (int)args[1], (int)args[2]));
}

int bpfu_hook_ioctl(int fd, unsigned long cmd, unsigned long arg)
{
	struct bpfu_obj *obj;
	int err;

	if (_IOC_TYPE(cmd) != '$') /* perf's letter */
		return bpfu_real_ioctl(fd, cmd, arg);
	obj = bpfu_fd_get(fd);
	if (!obj)
		return bpfu_real_ioctl(fd, cmd, arg);
	err = obj->kind == BPFU_OBJ_PERF_EVENT ? bpfu_perf_event_ioctl(obj, cmd, arg) : -ENOTTY;
	bpfu_obj_put(obj);
	return ret_errno(err);
}

long bpfu_hook_syscall(long nr, const long *args)
{
	switch (nr) {
	case __NR_perf_event_open:
		return hook_perf_event_open(args);
	case __NR_ioctl:
		return bpfu_hook_ioctl(args[0], args[1], args[2]);
	case __NR_bpf:
		return hook_bpf(args);
	case __NR_close:
		return bpfu_hook_close(args[0]);
	case __NR_dup:
		return bpfu_hook_dup(args[0]);
#ifdef __NR_dup2
	case __NR_dup2:
		return bpfu_hook_dup2(args[0], args[1]);
#endif
	case __NR_dup3:
		return bpfu_hook_dup3(args[0], args[1], args[2]);
	case __NR_fcntl:
		return bpfu_hook_fcntl(args[0], args[1], args[2]);
	case __NR_mmap:
		return (long)bpfu_hook_mmap((void *)args[0], args[1], args[2], args[3], args[4],
					    args[5]);
	case __NR_munmap:
		return bpfu_hook_munmap((void *)args[0], args[1]);
#ifdef __NR_close_range
	case __NR_close_range:
		return bpfu_hook_close_range(args[0], args[1], args[2]);
#endif
	default:
		return bpfu_real_syscall(nr, args);
	}
}

/* ---- memory ---- */

static void *mmap_other(void *addr, size_t len, int prot, int flags, int fd, off_t off)
{
	if (flags & MAP_FIXED)
		return bpfu_mapping_replace(addr, len, prot, flags, fd, off);
	return bpfu_real_mmap(addr, len, prot, flags, fd, off);
}

void *bpfu_hook_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t off)
{
	struct bpfu_obj *obj;
	void *ret;

	obj = (flags & MAP_ANONYMOUS) || fd < 0 ? NULL : bpfu_fd_get(fd);
	if (!obj)
		return mmap_other(addr, len, prot, flags, fd, off);
	if (obj->kind == BPFU_OBJ_MAP) {
		ret = bpfu_mapping_new(bpfu_map_of(obj), addr, len, prot, flags, fd, off);
	} else {
		errno = ENODEV;
		ret = MAP_FAILED;
	}
	bpfu_obj_put(obj);
	return ret;
}

int bpfu_hook_munmap(void *addr, size_t len)
{
	return bpfu_mapping_unmap(addr, len);
}

/* ---- descriptors ---- */

int bpfu_hook_close(int fd)
{
	bpfu_fd_closing(fd);
	return bpfu_real_close(fd);
}

static void closing_from(unsigned int first, unsigned int last)
{
	int highest = bpfu_fd_highest();

	for (unsigned int fd = first; highest >= 0 && fd <= last && fd <= (unsigned int)highest; fd++)
		bpfu_fd_closing(fd);
}

int bpfu_hook_close_range(unsigned int first, unsigned int last, int flags)
{
	/* With UNSHARE other threads keep their descriptors, and we live in all of them. */
	if (!(flags & (CLOSE_RANGE_CLOEXEC | CLOSE_RANGE_UNSHARE)) && first <= last)
		closing_from(first, last);
	return bpfu_real_close_range(first, last, flags);
}

void bpfu_hook_closefrom(int first)
{
	closing_from(first < 0 ? 0 : first, ~0u);
	bpfu_real_closefrom(first);
}

int bpfu_hook_dup(int fd)
{
	int copy = bpfu_real_dup(fd);

	if (copy >= 0)
		bpfu_fd_duped(fd, copy);
	return copy;
}

/* @new_fd is closed by a dup onto it, if @old_fd is open. */
static void closing_by_dup(int old_fd, int new_fd)
{
	if (old_fd != new_fd && bpfu_real_fcntl(old_fd, F_GETFD, 0) >= 0)
		bpfu_fd_closing(new_fd);
}

int bpfu_hook_dup2(int old_fd, int new_fd)
{
	int ret;

	closing_by_dup(old_fd, new_fd);
	ret = bpfu_real_dup2(old_fd, new_fd);
	if (ret >= 0 && old_fd != new_fd)
		bpfu_fd_duped(old_fd, new_fd);
	return ret;
}

int bpfu_hook_dup3(int old_fd, int new_fd, int flags)
{
	int ret;

	if (!(flags & ~O_CLOEXEC))
		closing_by_dup(old_fd, new_fd);
	ret = bpfu_real_dup3(old_fd, new_fd, flags);
	if (ret >= 0)
		bpfu_fd_duped(old_fd, new_fd);
	return ret;
}

int bpfu_hook_fcntl(int fd, int cmd, long arg)
{
	int ret = bpfu_real_fcntl(fd, cmd, arg);

	if (ret >= 0 && (cmd == F_DUPFD || cmd == F_DUPFD_CLOEXEC))
		bpfu_fd_duped(fd, ret);
	return ret;
}

/* Descriptors on their way to whoever receives them; maybe this process. */
static void fds_passed(const struct cmsghdr *cmsg)
{
	size_t cnt = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int);

	for (size_t i = 0; i < cnt; i++) {
		int fd;

		memcpy(&fd, CMSG_DATA(cmsg) + i * sizeof(fd), sizeof(fd));
		bpfu_fd_passed(fd);
	}
}

ssize_t bpfu_hook_sendmsg(int sock, const struct msghdr *msg, int flags)
{
	ssize_t ret = bpfu_real_sendmsg(sock, msg, flags);

	if (ret < 0 || !msg->msg_control)
		return ret;
	for (struct cmsghdr *cmsg = CMSG_FIRSTHDR(msg); cmsg;
	     cmsg = CMSG_NXTHDR((struct msghdr *)msg, cmsg))
		if (cmsg->cmsg_level == SOL_SOCKET && cmsg->cmsg_type == SCM_RIGHTS)
			fds_passed(cmsg);
	return ret;
}

/* ---- the in-process bpffs ---- */

static bool is_ours(const char *path)
{
	return path && bpfu_route_get() == BPFU_ROUTE_USER && bpfu_pin_is_bpffs(path);
}

int bpfu_hook_statfs(const char *path, struct statfs *st)
{
	struct bpfu_obj *obj = NULL;
	int err;

	if (!is_ours(path))
		return bpfu_real_statfs(path, st);
	err = bpfu_pin_get(path, &obj);
	bpfu_obj_put(obj);
	if (err && err != -EACCES) /* that is a directory */
		return ret_errno(err);
	memset(st, 0, sizeof(*st));
	st->f_type = BPF_FS_MAGIC;
	st->f_bsize = st->f_frsize = 4096;
	st->f_namelen = 255;
	return 0;
}

int bpfu_hook_mkdir(const char *path, mode_t mode)
{
	return is_ours(path) ? ret_errno(bpfu_pin_mkdir(path)) : bpfu_real_mkdir(path, mode);
}

int bpfu_hook_rmdir(const char *path)
{
	return is_ours(path) ? ret_errno(bpfu_pin_rmdir(path)) : bpfu_real_rmdir(path);
}

int bpfu_hook_unlink(const char *path)
{
	return is_ours(path) ? ret_errno(bpfu_unpin(path)) : bpfu_real_unlink(path);
}
