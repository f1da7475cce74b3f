// SPDX-License-Identifier: BSD-2-Clause
/*
 * The router at run time: libbpfu-preload.so defines the libc's functions and finds the libc's own
 * behind itself. For programs that link libbpf dynamically (LD_PRELOAD, or bpflab exec).
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>

#include "shim/shim.h"

/* The prototypes of the libc's headers differ in noise (qualifiers, attributes); these are ours. */
#ifdef __clang__
#pragma clang diagnostic ignored "-Wbuiltin-requires-header"
#endif
#define ENTRY(name) name
#define ENTRY_API BPFU_API
#include "shim/entries.def"

/*
 * REAL(name) is the next definition of name behind ours, looked up once. Racing look-ups find the
 * same address. A libc without the function gives -ENOSYS.
 */
#define REAL(ret_type, name, params, args, failed)                                                 \
	ret_type bpfu_real_##name params                                                           \
	{                                                                                          \
		static _Atomic(void *) found;                                                      \
		ret_type(*fn) params = atomic_load_explicit(&found, memory_order_acquire);         \
		if (!fn) {                                                                         \
			fn = dlsym(RTLD_NEXT, #name);                                              \
			if (!fn) {                                                                 \
				errno = ENOSYS;                                                    \
				return failed;                                                     \
			}                                                                          \
			atomic_store_explicit(&found, (void *)fn, memory_order_release);           \
		}                                                                                  \
		return fn args;                                                                    \
	}

/* clang-format off */
REAL(void *, mmap, (void *addr, size_t len, int prot, int flags, int fd, off_t off),
     (addr, len, prot, flags, fd, off), (void *)-1)
REAL(int, munmap, (void *addr, size_t len), (addr, len), -1)
REAL(int, close, (int fd), (fd), -1)
REAL(int, close_range, (unsigned int first, unsigned int last, int flags), (first, last, flags), -1)
REAL(void, closefrom, (int first), (first), )
REAL(int, dup, (int fd), (fd), -1)
REAL(int, dup2, (int old_fd, int new_fd), (old_fd, new_fd), -1)
REAL(int, dup3, (int old_fd, int new_fd, int flags), (old_fd, new_fd, flags), -1)
REAL(int, fcntl, (int fd, int cmd, long arg), (fd, cmd, arg), -1)
REAL(ssize_t, sendmsg, (int sock, const struct msghdr *msg, int flags), (sock, msg, flags), -1)
REAL(int, statfs, (const char *path, struct statfs *st), (path, st), -1)
REAL(int, mkdir, (const char *path, mode_t mode), (path, mode), -1)
REAL(int, rmdir, (const char *path), (path), -1)
REAL(int, unlink, (const char *path), (path), -1)
REAL(int, ioctl, (int fd, unsigned long cmd, unsigned long arg), (fd, cmd, arg), -1)
REAL(int, faccessat, (int dir_fd, const char *path, int how, int flags), (dir_fd, path, how, flags), -1)
REAL(struct _IO_FILE *, fopen, (const char *path, const char *how), (path, how), NULL)
/* clang-format on */

long bpfu_real_syscall(long nr, const long *a)
{
	static _Atomic(void *) found;
	long (*fn)(long nr, ...) = atomic_load_explicit(&found, memory_order_acquire);

	if (!fn) {
		fn = dlsym(RTLD_NEXT, "syscall");
		if (!fn) {
			errno = ENOSYS;
			return -1;
		}
		atomic_store_explicit(&found, (void *)fn, memory_order_release);
	}
	return fn(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
}

int bpfu_real_open(const char *path, int flags, int mode)
{
	static _Atomic(void *) found;
	int (*fn)(const char *path, int flags, ...) = atomic_load_explicit(&found,
									   memory_order_acquire);

	if (!fn) {
		fn = dlsym(RTLD_NEXT, "open");
		if (!fn) {
			errno = ENOSYS;
			return -1;
		}
		atomic_store_explicit(&found, (void *)fn, memory_order_release);
	}
	return fn(path, flags, mode);
}
