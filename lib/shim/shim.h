/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Private to shim/: the system calls that concern libbpfu, on their way from the program.
 *
 *      libbpf, application
 *          | close(), mmap64(), syscall(__NR_bpf) …
 *      wrap.c (link time: __wrap_close) or preload.c (run time: close)
 *          |
 *      hooks.c  what the call means for objects of ours ---- route.c  who answers a bpf(2) call
 *          |                                          \
 *      bpfu_real_*: the libc's function                bpfu_bpf(), obj/
 *
 * Hooks return what the libc function returns and set errno.
 */
#ifndef BPFU_SHIM_SHIM_H
#define BPFU_SHIM_SHIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "bpfu/bpfu.h"

struct statfs;
struct _IO_FILE; /* FILE: <stdio.h> would give our entries other names */

/* ---- route.c ---- */

/* Who answers bpf(@cmd, @uattr, @size) of the calling thread. */
enum bpfu_route bpfu_route_of(int cmd, uint64_t uattr, unsigned int size);

/* True if the call is the one that bpfu_selftest() makes: then it has reached the router. */
bool bpfu_selftest_seen(int cmd, uint64_t uattr, unsigned int size);

/* ---- mappings.c: where the memory of maps is mapped in the process ---- */

struct bpfu_map;

/* mmap() of a map's descriptor @fd; the address or MAP_FAILED with errno. */
void *bpfu_mapping_new(struct bpfu_map *map, void *addr, size_t len, int prot, int flags, int fd,
		       off_t off);

/* munmap(), or an mmap() that replaces what was there (@flags has MAP_FIXED). */
int bpfu_mapping_unmap(void *addr, size_t len);
void *bpfu_mapping_replace(void *addr, size_t len, int prot, int flags, int fd, off_t off);

/* ---- hooks.c ---- */

long bpfu_hook_syscall(long nr, const long *args);
void *bpfu_hook_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t off);
int bpfu_hook_munmap(void *addr, size_t len);
int bpfu_hook_close(int fd);
int bpfu_hook_close_range(unsigned int first, unsigned int last, int flags);
void bpfu_hook_closefrom(int first);
int bpfu_hook_dup(int fd);
int bpfu_hook_dup2(int old_fd, int new_fd);
int bpfu_hook_dup3(int old_fd, int new_fd, int flags);
int bpfu_hook_fcntl(int fd, int cmd, long arg);
ssize_t bpfu_hook_sendmsg(int sock, const struct msghdr *msg, int flags);
int bpfu_hook_statfs(const char *path, struct statfs *st);
int bpfu_hook_mkdir(const char *path, mode_t mode);
int bpfu_hook_rmdir(const char *path);
int bpfu_hook_unlink(const char *path);
int bpfu_hook_ioctl(int fd, unsigned long cmd, unsigned long arg);

/* ---- files.c: files of the kernel that tell of what libbpfu has ---- */

int bpfu_hook_faccessat(int dir_fd, const char *path, int how, int flags);
int bpfu_hook_open(const char *path, int flags, int mode);
struct _IO_FILE *bpfu_hook_fopen(const char *path, const char *how);

/* ---- the libc's functions: wrap.c or preload.c ---- */

long bpfu_real_syscall(long nr, const long *args);
void *bpfu_real_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t off);
int bpfu_real_munmap(void *addr, size_t len);
int bpfu_real_close(int fd);
int bpfu_real_close_range(unsigned int first, unsigned int last, int flags);
void bpfu_real_closefrom(int first);
int bpfu_real_dup(int fd);
int bpfu_real_dup2(int old_fd, int new_fd);
int bpfu_real_dup3(int old_fd, int new_fd, int flags);
int bpfu_real_fcntl(int fd, int cmd, long arg);
ssize_t bpfu_real_sendmsg(int sock, const struct msghdr *msg, int flags);
int bpfu_real_statfs(const char *path, struct statfs *st);
int bpfu_real_mkdir(const char *path, mode_t mode);
int bpfu_real_rmdir(const char *path);
int bpfu_real_unlink(const char *path);
int bpfu_real_ioctl(int fd, unsigned long cmd, unsigned long arg);
int bpfu_real_faccessat(int dir_fd, const char *path, int how, int flags);
int bpfu_real_open(const char *path, int flags, int mode);
struct _IO_FILE *bpfu_real_fopen(const char *path, const char *how);

#endif
