/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The intercepted functions, included by wrap.c and preload.c with ENTRY(name) defined as the symbol's
 * name there. Both spellings of the large-file variants: on 64-bit machines they are one function,
 * but a caller refers to either. meson.build has the same list for --wrap.
 */
/* clang-format off */

ENTRY_API long ENTRY(syscall)(long nr, ...);
ENTRY_API void *ENTRY(mmap)(void *addr, size_t len, int prot, int flags, int fd, off_t off);
ENTRY_API void *ENTRY(mmap64)(void *addr, size_t len, int prot, int flags, int fd, off_t off);
ENTRY_API int ENTRY(munmap)(void *addr, size_t len);
ENTRY_API int ENTRY(close)(int fd);
ENTRY_API int ENTRY(close_range)(unsigned int first, unsigned int last, int flags);
ENTRY_API void ENTRY(closefrom)(int first);
ENTRY_API int ENTRY(dup)(int fd);
ENTRY_API int ENTRY(dup2)(int old_fd, int new_fd);
ENTRY_API int ENTRY(dup3)(int old_fd, int new_fd, int flags);
ENTRY_API int ENTRY(fcntl)(int fd, int cmd, ...);
ENTRY_API int ENTRY(fcntl64)(int fd, int cmd, ...);
ENTRY_API ssize_t ENTRY(sendmsg)(int sock, const struct msghdr *msg, int flags);
ENTRY_API int ENTRY(statfs)(const char *path, struct statfs *st);
ENTRY_API int ENTRY(statfs64)(const char *path, struct statfs *st);
ENTRY_API int ENTRY(mkdir)(const char *path, mode_t mode);
ENTRY_API int ENTRY(rmdir)(const char *path);
ENTRY_API int ENTRY(unlink)(const char *path);

/* Six arguments whatever the call has: what is not there is not looked at, as in the libc. */
long ENTRY(syscall)(long nr, ...)
{
	long args[6];
	va_list ap;

	va_start(ap, nr);
	for (int i = 0; i < 6; i++)
		args[i] = va_arg(ap, long);
	va_end(ap);
	return bpfu_hook_syscall(nr, args);
}

int ENTRY(fcntl)(int fd, int cmd, ...)
{
	va_list ap;
	long arg;

	va_start(ap, cmd);
	arg = va_arg(ap, long);
	va_end(ap);
	return bpfu_hook_fcntl(fd, cmd, arg);
}

int ENTRY(fcntl64)(int fd, int cmd, ...)
{
	va_list ap;
	long arg;

	va_start(ap, cmd);
	arg = va_arg(ap, long);
	va_end(ap);
	return bpfu_hook_fcntl(fd, cmd, arg);
}

void *ENTRY(mmap)(void *addr, size_t len, int prot, int flags, int fd, off_t off)
{
	return bpfu_hook_mmap(addr, len, prot, flags, fd, off);
}

void *ENTRY(mmap64)(void *addr, size_t len, int prot, int flags, int fd, off_t off)
{
	return bpfu_hook_mmap(addr, len, prot, flags, fd, off);
}

int ENTRY(munmap)(void *addr, size_t len)
{
	return bpfu_hook_munmap(addr, len);
}

int ENTRY(close)(int fd)
{
	return bpfu_hook_close(fd);
}

int ENTRY(close_range)(unsigned int first, unsigned int last, int flags)
{
	return bpfu_hook_close_range(first, last, flags);
}

void ENTRY(closefrom)(int first)
{
	bpfu_hook_closefrom(first);
}

int ENTRY(dup)(int fd)
{
	return bpfu_hook_dup(fd);
}

int ENTRY(dup2)(int old_fd, int new_fd)
{
	return bpfu_hook_dup2(old_fd, new_fd);
}

int ENTRY(dup3)(int old_fd, int new_fd, int flags)
{
	return bpfu_hook_dup3(old_fd, new_fd, flags);
}

ssize_t ENTRY(sendmsg)(int sock, const struct msghdr *msg, int flags)
{
	return bpfu_hook_sendmsg(sock, msg, flags);
}

int ENTRY(statfs)(const char *path, struct statfs *st)
{
	return bpfu_hook_statfs(path, st);
}

int ENTRY(statfs64)(const char *path, struct statfs *st)
{
	return bpfu_hook_statfs(path, st);
}

int ENTRY(mkdir)(const char *path, mode_t mode)
{
	return bpfu_hook_mkdir(path, mode);
}

int ENTRY(rmdir)(const char *path)
{
	return bpfu_hook_rmdir(path);
}

int ENTRY(unlink)(const char *path)
{
	return bpfu_hook_unlink(path);
}
