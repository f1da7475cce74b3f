/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Private to syscall/: compiled programs made known to perf(1), on request: lines of
 * /tmp/perf-PID.map (option perf_map) and records of jit-PID.dump (option jitdump).
 *
 * Both are files at guessable names in a folder that everybody may write to. They are created anew,
 * never opened through a link, and readable by the owner alone; what is there already is replaced if
 * it is a file of ours (left behind by a process with the same number), and otherwise left alone.
 */
#ifndef BPFU_SYSCALL_PERF_H
#define BPFU_SYSCALL_PERF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bpfu_prog;

/* One function of a program as perf shows it: bpf_prog_<tag>_<name>, as the kernel names its own. */
struct bpfu_perf_func {
	uint64_t addr;
	uint32_t len;
	char name[168];
};

void bpfu_perf_func(const struct bpfu_prog *prog, uint32_t idx, struct bpfu_perf_func *func);

/* After @prog was compiled: do what its options say. Failures are warnings. */
void bpfu_perf_announce(const struct bpfu_prog *prog);

/* gdb_prog.c: the same for the option gdb. */
void bpfu_gdb_announce(struct bpfu_prog *prog);

/* A new file at @path: a descriptor for writing (and reading), or -errno. */
int bpfu_perf_create(const char *path);

/* Write all of it: 0 or -errno. */
int bpfu_perf_write(int fd, const void *data, size_t len);

/* jitdump.c; the caller holds the lock of perf.c. @forked: since the last call. */
int bpfu_jitdump_add(const struct bpfu_prog *prog, bool forked);

#endif
