// SPDX-License-Identifier: BSD-2-Clause
/*
 * perf.h: what both kinds of file share, and the map file: "ADDRESS SIZE NAME" in hexadecimal, a line
 * a function. It has no notion of time. A program's lines stay when it is unloaded, for its samples
 * are looked at later; they go when another program takes its place, and the file is then written
 * anew.
 */
#include "syscall/perf.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jit/jit.h"
#include "obj/prog.h"
#include "syscall/prog_tag.h"
#include "util/log.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all below, and jitdump.c */
static pid_t owner;                  /* the process that the files are of */
static int map_fd = -1;
static struct bpfu_perf_func *funcs; /* the lines of the file */
static size_t nr_funcs, max_funcs;

void bpfu_perf_func(const struct bpfu_prog *prog, uint32_t idx, struct bpfu_perf_func *func)
{
	const char *name = prog->subprogs[idx].name;
	uint8_t tag[BPF_TAG_SIZE];
	char hex[2 * BPF_TAG_SIZE + 1];

	bpfu_prog_func_tag(prog, idx, tag);
	for (int i = 0; i < BPF_TAG_SIZE; i++)
		snprintf(hex + 2 * i, 3, "%02x", tag[i]);
	if (!name[0] && !idx)
		name = prog->name;
	func->addr = bpfu_u64(prog->jit->code) + prog->jit->subprog_off[idx];
	func->len = prog->jit->subprog_len[idx];
	/* A function without a name in BTF is F, as in the kernel. */
	snprintf(func->name, sizeof(func->name), "bpf_prog_%s%s%s", hex, name[0] || idx ? "_" : "",
		 name[0] ? name : idx ? "F" : "");
}

/* ---- files ---- */

int bpfu_perf_create(const char *path)
{
	struct stat st;
	int fd;

	for (int i = 0; i < 2; i++) {
		fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd >= 0 || errno != EEXIST)
			return fd < 0 ? -errno : fd;
		if (lstat(path, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
		    unlink(path))
			break;
	}
	return -EEXIST;
}

int bpfu_perf_write(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len) {
		ssize_t done = write(fd, p, len);

		if (done < 0 && errno != EINTR)
			return -errno;
		p += done > 0 ? done : 0;
		len -= done > 0 ? (size_t)done : 0;
	}
	return 0;
}

/* ---- the map ---- */

static int write_line(const struct bpfu_perf_func *func)
{
	char line[256];
	int len = snprintf(line, sizeof(line), "%" PRIx64 " %x %s\n", func->addr, func->len,
			   func->name);

	return bpfu_perf_write(map_fd, line, (size_t)len);
}

static int write_all_lines(void)
{
	int err = 0;

	if (ftruncate(map_fd, 0) || lseek(map_fd, 0, SEEK_SET))
		return -errno;
	for (size_t i = 0; i < nr_funcs && !err; i++)
		err = write_line(&funcs[i]);
	return err;
}

/* Forget what lay where @func now is. True if there was something. */
static bool displace(const struct bpfu_perf_func *func)
{
	size_t kept = 0, before = nr_funcs;

	for (size_t i = 0; i < nr_funcs; i++)
		if (funcs[i].addr >= func->addr + func->len ||
		    funcs[i].addr + funcs[i].len <= func->addr)
			funcs[kept++] = funcs[i];
	nr_funcs = kept;
	return kept != before;
}

static int remember(const struct bpfu_perf_func *func)
{
	if (nr_funcs == max_funcs) {
		size_t more = max_funcs ? 2 * max_funcs : 64;
		struct bpfu_perf_func *grown = realloc(funcs, more * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		funcs = grown;
		max_funcs = more;
	}
	funcs[nr_funcs++] = *func;
	return 0;
}

static int map_add(const struct bpfu_prog *prog)
{
	bool rewrite = map_fd < 0;
	size_t first;
	char path[64];
	int err = 0;

	if (map_fd < 0) {
		snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)owner);
		map_fd = bpfu_perf_create(path);
		if (map_fd < 0)
			return map_fd;
	}
	for (uint32_t i = 0; i < prog->subprog_cnt; i++) {
		struct bpfu_perf_func func;

		bpfu_perf_func(prog, i, &func);
		rewrite |= displace(&func);
	}
	first = nr_funcs;
	for (uint32_t i = 0; i < prog->subprog_cnt && !err; i++) {
		struct bpfu_perf_func func;

		bpfu_perf_func(prog, i, &func);
		err = remember(&func);
	}
	if (rewrite)
		return err ? err : write_all_lines();
	for (size_t i = first; i < nr_funcs && !err; i++)
		err = write_line(&funcs[i]);
	return err;
}

/* ---- both ---- */

static void lock_for_fork(void)
{
	pthread_mutex_lock(&lock);
}

static void unlock_after_fork(void)
{
	pthread_mutex_unlock(&lock);
}

/* A child has files of its own. True if this is one since the last call. */
static bool check_owner(void)
{
	bool forked = owner && owner != getpid();

	if (!owner)
		pthread_atfork(lock_for_fork, unlock_after_fork, unlock_after_fork);
	owner = getpid();
	if (forked && map_fd >= 0) {
		close(map_fd);
		map_fd = -1;
	}
	return forked;
}

static void complain(const struct bpfu_prog *prog, const char *option, const char *file, int err)
{
	bpfu_warn("%s: cannot make '%s' known to perf in %s: %s", option, prog->name, file,
		  err == -EEXIST ? "something that is not our file is there" : strerror(-err));
}

void bpfu_perf_announce(const struct bpfu_prog *prog)
{
	bool forked;
	int err;

	if (!prog->jit || (!prog->options.perf_map && !prog->options.jitdump))
		return;
	pthread_mutex_lock(&lock);
	forked = check_owner();
	err = prog->options.perf_map ? map_add(prog) : 0;
	if (err)
		complain(prog, "perf_map", "/tmp/perf-PID.map", err);
	err = prog->options.jitdump ? bpfu_jitdump_add(prog, forked) : 0;
	if (err)
		complain(prog, "jitdump", "jit-PID.dump", err);
	pthread_mutex_unlock(&lock);
}
