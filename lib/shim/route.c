// SPDX-License-Identifier: BSD-2-Clause
/*
 * Who answers a bpf(2) call. A command that names a descriptor goes to whoever made it; a command that
 * creates something, or names nothing, goes where the calling thread's route says. So one process
 * can hold programs on both sides at once and use them in turn.
 *
 * A descriptor that nobody's bpf(2) made (closed, or a plain file) is an error on either side; the
 * route decides who reports it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "obj/obj.h"
#include "shim/shim.h"
#include "util/bits.h"
#include "util/log.h"
#include "util/uaccess.h"
#include "util/uapi.h"

#define NO_FD (-1)

/* ---- the thread's route ---- */

static __thread int thread_route = -1; /* enum bpfu_route, -1: not asked yet */

static enum bpfu_route route_from_env(void)
{
	const char *env = getenv("BPFU_ROUTE");

	if (!env || !*env || !strcmp(env, "user"))
		return BPFU_ROUTE_USER;
	if (!strcmp(env, "kernel"))
		return BPFU_ROUTE_KERNEL;
	bpfu_warn("BPFU_ROUTE: '%s' is neither user nor kernel; using user", env);
	return BPFU_ROUTE_USER;
}

enum bpfu_route bpfu_route_get(void)
{
	if (thread_route < 0)
		thread_route = route_from_env();
	return thread_route;
}

int bpfu_route_set(enum bpfu_route route)
{
	if (route != BPFU_ROUTE_USER && route != BPFU_ROUTE_KERNEL)
		return -EINVAL;
	thread_route = route;
	return 0;
}

/* ---- the descriptor of a command ---- */

/* Where the attribute of @cmd has the descriptor that decides. */
static int fd_offset(int cmd)
{
	switch (cmd) {
	case BPF_MAP_LOOKUP_ELEM:
	case BPF_MAP_UPDATE_ELEM:
	case BPF_MAP_DELETE_ELEM:
	case BPF_MAP_GET_NEXT_KEY:
	case BPF_MAP_LOOKUP_AND_DELETE_ELEM:
	case BPF_MAP_FREEZE:
		return offsetof(union bpf_attr, map_fd);
	case BPF_MAP_LOOKUP_BATCH:
	case BPF_MAP_LOOKUP_AND_DELETE_BATCH:
	case BPF_MAP_UPDATE_BATCH:
	case BPF_MAP_DELETE_BATCH:
		return offsetof(union bpf_attr, batch.map_fd);
	case BPF_OBJ_PIN:
		return offsetof(union bpf_attr, bpf_fd);
	case BPF_PROG_ATTACH:
	case BPF_PROG_DETACH:
		return offsetof(union bpf_attr, attach_bpf_fd);
	case BPF_PROG_TEST_RUN:
		return offsetof(union bpf_attr, test.prog_fd);
	case BPF_OBJ_GET_INFO_BY_FD:
		return offsetof(union bpf_attr, info.bpf_fd);
	case BPF_RAW_TRACEPOINT_OPEN:
		return offsetof(union bpf_attr, raw_tracepoint.prog_fd);
	case BPF_TASK_FD_QUERY:
		return offsetof(union bpf_attr, task_fd_query.fd);
	case BPF_LINK_CREATE:
		return offsetof(union bpf_attr, link_create.prog_fd);
	case BPF_LINK_UPDATE:
		return offsetof(union bpf_attr, link_update.link_fd);
	case BPF_LINK_DETACH:
		return offsetof(union bpf_attr, link_detach.link_fd);
	case BPF_ITER_CREATE:
		return offsetof(union bpf_attr, iter_create.link_fd);
	case BPF_PROG_BIND_MAP:
		return offsetof(union bpf_attr, prog_bind_map.prog_fd);
	default:
		return NO_FD;
	}
}

bool bpfu_fd_is_user(int fd)
{
	struct bpfu_obj *obj = bpfu_fd_get(fd);

	bpfu_obj_put(obj);
	return obj != NULL;
}

static bool is_kernel_object(int fd)
{
	static const char *const names[] = { "bpf", "btf", "[bpf", "[btf" };
	static const char prefix[] = "anon_inode:";
	char path[32], target[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n = readlink(path, target, sizeof(target) - 1);
	if (n < 0)
		return false;
	target[n] = '\0';
	if (strncmp(target, prefix, sizeof(prefix) - 1))
		return false;
	for (size_t i = 0; i < BPFU_ARRAY_SIZE(names); i++)
		if (!strncmp(target + sizeof(prefix) - 1, names[i], strlen(names[i])))
			return true;
	return false;
}

enum bpfu_route bpfu_route_of(int cmd, uint64_t uattr, unsigned int size)
{
	int off = fd_offset(cmd);
	int fd;

	if (off == NO_FD || (uint32_t)off + sizeof(fd) > size ||
	    bpfu_copy_from_user(&fd, uattr + off, sizeof(fd)))
		return bpfu_route_get();
	if (bpfu_fd_peek(fd))
		return BPFU_ROUTE_USER;
	if (bpfu_route_get() == BPFU_ROUTE_KERNEL || is_kernel_object(fd))
		return BPFU_ROUTE_KERNEL;
	return BPFU_ROUTE_USER;
}

/* ---- the self-test ---- */

/*
 * The question "do the program's calls come here?" is put by making one: BPF_OBJ_GET of a path whose
 * address nobody else can know. The router recognises it; the kernel would say ENOENT.
 */
static const char selftest_path[] = "/sys/fs/bpf/libbpfu-selftest";
/* Volatile: the libc promises that syscall() never comes back into this file. */
static __thread volatile bool selftest_reached;

/* libbpf's, if the program has libbpf: the calls that matter are those made there. */
int bpf_obj_get(const char *path) __attribute__((weak));

bool bpfu_selftest_seen(int cmd, uint64_t uattr, unsigned int size)
{
	uint64_t path;

	if (cmd != BPF_OBJ_GET || size < sizeof(path) ||
	    bpfu_copy_from_user(&path, uattr, sizeof(path)) || path != bpfu_u64(selftest_path))
		return false;
	selftest_reached = true;
	return true;
}

int bpfu_selftest(void)
{
	int saved_errno = errno;

	selftest_reached = false;
	if (bpf_obj_get) {
		bpf_obj_get(selftest_path);
	} else {
		union bpf_attr attr;

		memset(&attr, 0, sizeof(attr));
		attr.pathname = bpfu_u64(selftest_path);
		syscall(__NR_bpf, BPF_OBJ_GET, &attr, sizeof(attr));
	}
	errno = saved_errno;
	if (selftest_reached)
		return 0;
	bpfu_err("selftest: bpf(2) calls of this program do not reach libbpfu: libbpf is linked "
		 "dynamically, or without the --wrap options of pkg-config --libs libbpfu");
	return -ENOSYS;
}
