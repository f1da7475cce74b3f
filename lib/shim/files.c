// SPDX-License-Identifier: BSD-2-Clause
/*
 * Files by which the kernel tells what there is to attach to. A thread whose route is
 * libbpfu finds libbpfu's answer there; for others, and under every other name, files are what they
 * are. A file of ours is a sealed memfd, made at each open.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "btf/func.h"
#include "probe/symbols.h"
#include "prog_type/tracepoint.h"
#include "shim/shim.h"

static const struct file {
	const char *path;
	int (*content)(void **data, uint32_t *size); /* malloc()ed; 0 or -errno */
} files[] = {
	{ "/sys/kernel/btf/vmlinux", bpfu_func_btf },
	{ "/proc/kallsyms", bpfu_symbols_kallsyms },
	{ "/sys/kernel/tracing/available_filter_functions", bpfu_symbols_filter },
	{ "/sys/kernel/debug/tracing/available_filter_functions", bpfu_symbols_filter },
	{ "/sys/kernel/tracing/available_filter_functions_addrs", bpfu_symbols_filter_addrs },
	{ "/sys/kernel/debug/tracing/available_filter_functions_addrs", bpfu_symbols_filter_addrs },
	{ "/sys/bus/event_source/devices/kprobe/type", bpfu_symbols_perf_type },
	{ "/sys/bus/event_source/devices/kprobe/format/retprobe", bpfu_symbols_perf_retprobe },
	{ "/sys/bus/event_source/devices/uprobe/type", bpfu_symbols_uprobe_type },
	{ "/sys/bus/event_source/devices/uprobe/format/retprobe", bpfu_symbols_perf_retprobe },
	{ "/sys/bus/event_source/devices/uprobe/format/ref_ctr_offset", bpfu_symbols_ref_ctr },
};

static const struct file event_id = { .path = "/sys/kernel/tracing/events" };

static int content_of(const struct file *file, const char *path, void **data, uint32_t *size)
{
	return file->content ? file->content(data, size) : bpfu_tp_id_file(path, data, size);
}

/* The files of tracepoints come and go with them. */
static const struct file *event_of(const char *path)
{
	uint32_t size;
	void *data;

	if (!strstr(path, "/tracing/events/") || bpfu_tp_id_file(path, &data, &size))
		return NULL;
	free(data);
	return &event_id;
}

static const struct file *file_of(const char *path)
{
	if (!path || (strncmp(path, "/sys/", 5) && strncmp(path, "/proc/k", 7)) ||
	    bpfu_route_get() != BPFU_ROUTE_USER)
		return NULL;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (!strcmp(path, files[i].path))
			return &files[i];
	return event_of(path);
}

static int fill(int fd, const char *data, uint32_t size)
{
	while (size) {
		ssize_t n = write(fd, data, size);

		if (n < 0)
			return -errno;
		data += n;
		size -= (uint32_t)n;
	}
	return lseek(fd, 0, SEEK_SET) < 0 ? -errno : 0;
}

/* A descriptor, or -1 with errno. */
static int file_open(const struct file *file, const char *path)
{
	uint32_t size;
	void *data;
	int err, fd;

	err = content_of(file, path, &data, &size);
	if (err) {
		errno = -err;
		return -1;
	}
	fd = memfd_create("bpfu-file", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	err = fd < 0 ? -errno : fill(fd, data, size);
	free(data);
	if (!err)
		fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK);
	else if (fd >= 0)
		close(fd);
	errno = err ? -err : errno;
	return err ? -1 : fd;
}

int bpfu_hook_faccessat(int dir_fd, const char *path, int how, int flags)
{
	if (!file_of(path))
		return bpfu_real_faccessat(dir_fd, path, how, flags);
	if (!(how & (W_OK | X_OK)))
		return 0;
	errno = EACCES;
	return -1;
}

int bpfu_hook_open(const char *path, int flags, int mode)
{
	const struct file *file = file_of(path);

	if (!file || (flags & O_ACCMODE) != O_RDONLY)
		return bpfu_real_open(path, flags, mode);
	return file_open(file, path);
}

FILE *bpfu_hook_fopen(const char *path, const char *how)
{
	const struct file *file = file_of(path);
	FILE *stream;
	int fd;

	if (!file || how[0] != 'r' || strchr(how, '+'))
		return bpfu_real_fopen(path, how);
	fd = file_open(file, path);
	if (fd < 0)
		return NULL;
	stream = fdopen(fd, "r");
	if (!stream)
		close(fd);
	return stream;
}
