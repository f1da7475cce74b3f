// SPDX-License-Identifier: BSD-2-Clause
/*
 * jit-PID.dump, in $JITDUMPDIR or /tmp: the format that `perf inject --jit` reads (the kernel's
 * tools/perf/Documentation/jitdump-specification.txt). Records have the time of CLOCK_MONOTONIC, so
 * record with `perf record -k mono`; code that takes the place of other code is told apart by time,
 * and unloading needs no record. perf finds the file because we map a page of it executable, which its
 * record of mappings shows.
 *
 * An instruction's record of source lines precedes the code it is about:
 *
 *   header | [debug info of f] code of f | [debug info of g] code of g | ...
 */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "btf/btf.h"
#include "jit/jit.h"
#include "obj/prog.h"
#include "syscall/perf.h"

#define MAGIC 0x4a695444 /* "JiTD" */
#define VERSION 1

#if defined(__aarch64__)
#define MACHINE EM_AARCH64
#else
#define MACHINE EM_X86_64
#endif

enum record_id { CODE_LOAD = 0, DEBUG_INFO = 2 };

struct header {
	uint32_t magic, version, size, machine, pad, pid;
	uint64_t timestamp, flags;
};

struct record {
	uint32_t id, size;
	uint64_t timestamp;
};

struct code_load {
	struct record record;
	uint32_t pid, tid;
	uint64_t vma, addr, size, index;
	/* the name with its NUL, the code */
};

struct debug_info {
	struct record record;
	uint64_t addr, entries;
	/* for each: struct debug_line, the file's name with its NUL */
};

struct debug_line {
	uint64_t addr;
	uint32_t line, discriminator;
};

_Static_assert(sizeof(struct header) == 40, "file format");
_Static_assert(sizeof(struct code_load) == 56, "file format");
_Static_assert(sizeof(struct debug_info) == 32, "file format");
_Static_assert(sizeof(struct debug_line) == 16, "file format");

/* Guarded by the lock of perf.c. */
static int fd = -1;
static void *marker;
static uint64_t next_index;

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void forget_file(void)
{
	if (marker)
		munmap(marker, (size_t)sysconf(_SC_PAGESIZE));
	if (fd >= 0)
		close(fd);
	marker = NULL;
	fd = -1;
}

static int open_file(void)
{
	const struct header header = { .magic = MAGIC, .version = VERSION, .size = sizeof(header),
				       .machine = MACHINE, .pid = (uint32_t)getpid(),
				       .timestamp = now() };
	const char *dir = getenv("JITDUMPDIR");
	char path[512];
	int err;

	if ((size_t)snprintf(path, sizeof(path), "%s/jit-%d.dump", dir && *dir ? dir : "/tmp",
			     (int)getpid()) >= sizeof(path))
		return -ENAMETOOLONG;
	fd = bpfu_perf_create(path);
	if (fd < 0)
		return fd;
	err = bpfu_perf_write(fd, &header, sizeof(header));
	if (!err) {
		marker = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_EXEC, MAP_PRIVATE,
			      fd, 0);
		if (marker == MAP_FAILED) {
			marker = NULL;
			err = -errno;
		}
	}
	if (err) {
		forget_file();
		unlink(path);
	}
	return err;
}

/* ---- records ---- */

/* A record in the making. */
struct buffer {
	uint8_t *data;
	size_t len, room;
	bool failed;
};

static void put(struct buffer *b, const void *data, size_t len)
{
	if (b->len + len > b->room) {
		size_t room = 2 * b->room + len;
		uint8_t *grown = realloc(b->data, room);

		if (!grown) {
			b->failed = true;
			return;
		}
		b->data = grown;
		b->room = room;
	}
	memcpy(b->data + b->len, data, len);
	b->len += len;
}

static int finish(struct buffer *b)
{
	int err = b->failed ? -ENOMEM : 0;

	if (!err) {
		((struct record *)b->data)->size = (uint32_t)b->len;
		err = bpfu_perf_write(fd, b->data, b->len);
	}
	free(b->data);
	return err;
}

/* Source lines of function @idx; nothing is written if there are none. */
static int put_lines(const struct bpfu_prog *prog, uint32_t idx, const struct bpfu_perf_func *func)
{
	uint32_t start = prog->subprogs[idx].start;
	uint32_t end = idx + 1 < prog->subprog_cnt ? prog->subprogs[idx + 1].start : prog->insn_cnt;
	struct debug_info head = { .record = { .id = DEBUG_INFO, .timestamp = now() },
				   .addr = func->addr };
	struct buffer b = { NULL };

	put(&b, &head, sizeof(head));
	for (uint32_t i = 0; prog->btf && i < prog->line_info_cnt; i++) {
		const struct bpf_line_info *info = &prog->line_info[i];
		const char *file = bpfu_btf_name(prog->btf, info->file_name_off);
		struct debug_line line = {
			.addr = info->insn_off == start ? func->addr :
				bpfu_u64(prog->jit->code) + prog->jit->insn_off[info->insn_off],
			.line = BPF_LINE_INFO_LINE_NUM(info->line_col),
		};

		if (info->insn_off < start || info->insn_off >= end || !file || !line.line)
			continue;
		put(&b, &line, sizeof(line));
		put(&b, file, strlen(file) + 1);
		head.entries++;
	}
	if (!head.entries || b.failed) {
		free(b.data);
		return b.failed ? -ENOMEM : 0;
	}
	memcpy(b.data, &head, sizeof(head));
	return finish(&b);
}

static int put_code(const struct bpfu_perf_func *func)
{
	struct code_load head = {
		.record = { .id = CODE_LOAD, .timestamp = now() },
		.pid = (uint32_t)getpid(),
		.tid = (uint32_t)syscall(SYS_gettid),
		.vma = func->addr,
		.addr = func->addr,
		.size = func->len,
		.index = next_index++,
	};
	struct buffer b = { NULL };

	put(&b, &head, sizeof(head));
	put(&b, func->name, strlen(func->name) + 1);
	put(&b, (const void *)(uintptr_t)func->addr, func->len);
	return finish(&b);
}

int bpfu_jitdump_add(const struct bpfu_prog *prog, bool forked)
{
	int err = 0;

	if (forked)
		forget_file();
	if (fd < 0)
		err = open_file();
	for (uint32_t i = 0; i < prog->subprog_cnt && !err; i++) {
		struct bpfu_perf_func func;

		bpfu_perf_func(prog, i, &func);
		err = put_lines(prog, i, &func);
		if (!err)
			err = put_code(&func);
	}
	return err;
}
