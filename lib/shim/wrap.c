// SPDX-License-Identifier: BSD-2-Clause
/*
 * The router at link time: with -Wl,--wrap=close every undefined close in the program becomes
 * __wrap_close, and __real_close is the libc's. Only references in what is linked statically are
 * caught; see docs/interposition.md.
 */
#include <stdarg.h>

#include "shim/shim.h"

#define ENTRY(name) __wrap_##name
#define ENTRY_API
#include "shim/entries.def"

long __real_syscall(long nr, ...);
void *__real_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t off);
int __real_munmap(void *addr, size_t len);
int __real_close(int fd);
int __real_close_range(unsigned int first, unsigned int last, int flags);
void __real_closefrom(int first);
int __real_dup(int fd);
int __real_dup2(int old_fd, int new_fd);
int __real_dup3(int old_fd, int new_fd, int flags);
int __real_fcntl(int fd, int cmd, ...);
ssize_t __real_sendmsg(int sock, const struct msghdr *msg, int flags);
int __real_statfs(const char *path, struct statfs *st);
int __real_mkdir(const char *path, mode_t mode);
int __real_rmdir(const char *path);
int __real_unlink(const char *path);
int __real_ioctl(int fd, unsigned long cmd, ...);
int __real_faccessat(int dir_fd, const char *path, int how, int flags);
int __real_open(const char *path, int flags, ...);
struct _IO_FILE *__real_fopen(const char *path, const char *how);

long bpfu_real_syscall(long nr, const long *a)
{
	return __real_syscall(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
}

void *bpfu_real_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t off)
{
	return __real_mmap(addr, len, prot, flags, fd, off);
}

int bpfu_real_munmap(void *addr, size_t len)
{
	return __real_munmap(addr, len);
}

int bpfu_real_close(int fd)
{
	return __real_close(fd);
}

int bpfu_real_close_range(unsigned int first, unsigned int last, int flags)
{
	return __real_close_range(first, last, flags);
}

void bpfu_real_closefrom(int first)
{
	__real_closefrom(first);
}

int bpfu_real_dup(int fd)
{
	return __real_dup(fd);
}

int bpfu_real_dup2(int old_fd, int new_fd)
{
	return __real_dup2(old_fd, new_fd);
}

int bpfu_real_dup3(int old_fd, int new_fd, int flags)
{
	return __real_dup3(old_fd, new_fd, flags);
}

int bpfu_real_fcntl(int fd, int cmd, long arg)
{
	return __real_fcntl(fd, cmd, arg);
}

ssize_t bpfu_real_sendmsg(int sock, const struct msghdr *msg, int flags)
{
	return __real_sendmsg(sock, msg, flags);
}

int bpfu_real_statfs(const char *path, struct statfs *st)
{
	return __real_statfs(path, st);
}

int bpfu_real_mkdir(const char *path, mode_t mode)
{
	return __real_mkdir(path, mode);
}

int bpfu_real_rmdir(const char *path)
{
	return __real_rmdir(path);
}

int bpfu_real_unlink(const char *path)
{
	return __real_unlink(path);
}

int bpfu_real_faccessat(int dir_fd, const char *path, int how, int flags)
{
	return __real_faccessat(dir_fd, path, how, flags);
}

int bpfu_real_open(const char *path, int flags, int mode)
{
	return __real_open(path, flags, mode);
}

struct _IO_FILE *bpfu_real_fopen(const char *path, const char *how)
{
	return __real_fopen(path, how);
}

int bpfu_real_ioctl(int fd, unsigned long cmd, unsigned long arg)
{
	return __real_ioctl(fd, cmd, arg);
}
