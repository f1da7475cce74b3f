/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The running kernel as an oracle for tests that need more of BPF_PROG_LOAD than insn/oracle.h
 * gives: any type, attach type, licence and flags. Results are 0, a descriptor, or -errno.
 */
#ifndef TESTS_UNIT_KERN_BPF_H
#define TESTS_UNIT_KERN_BPF_H

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "insn/insn.h"
#include "util/bits.h"

#define KERN_LOG_SIZE (64 * 1024)

struct kern_prog {
	enum bpf_prog_type type;
	enum bpf_attach_type attach_type;
	uint32_t flags;
	const char *license; /* NULL: GPL */
	const struct bpf_insn *insns;
	uint32_t cnt;
};

static inline int kern_bpf(int cmd, union bpf_attr *attr)
{
	long ret = syscall(__NR_bpf, cmd, attr, sizeof(*attr));

	return ret < 0 ? -errno : (int)ret;
}

/* @log (KERN_LOG_SIZE bytes) may be NULL. */
static inline int kern_prog_load(const struct kern_prog *prog, char *log)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.prog_type = prog->type;
	attr.expected_attach_type = prog->attach_type;
	attr.prog_flags = prog->flags;
	attr.insns = bpfu_u64(prog->insns);
	attr.insn_cnt = prog->cnt;
	attr.license = bpfu_u64(prog->license ? prog->license : "GPL");
	if (log) {
		log[0] = '\0';
		attr.log_buf = bpfu_u64(log);
		attr.log_size = KERN_LOG_SIZE;
		attr.log_level = 1;
	}
	return kern_bpf(BPF_PROG_LOAD, &attr);
}

static inline int kern_array_new(uint32_t value_size, uint32_t flags)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.map_type = BPF_MAP_TYPE_ARRAY;
	attr.key_size = 4;
	attr.value_size = value_size;
	attr.max_entries = 1;
	attr.map_flags = flags;
	return kern_bpf(BPF_MAP_CREATE, &attr);
}

static inline int kern_map_update(int fd, const void *key, const void *value)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.map_fd = (uint32_t)fd;
	attr.key = bpfu_u64(key);
	attr.value = bpfu_u64(value);
	return kern_bpf(BPF_MAP_UPDATE_ELEM, &attr);
}

static inline int kern_map_lookup(int fd, const void *key, void *value)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.map_fd = (uint32_t)fd;
	attr.key = bpfu_u64(key);
	attr.value = bpfu_u64(value);
	return kern_bpf(BPF_MAP_LOOKUP_ELEM, &attr);
}

static inline int kern_map_freeze(int fd)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.map_fd = (uint32_t)fd;
	return kern_bpf(BPF_MAP_FREEZE, &attr);
}

/* A read-only frozen map whose one value is the string @text (padded to 64 bytes). */
static inline int kern_const_str(const char *text)
{
	char value[64] = "";
	uint32_t key = 0;
	int fd = kern_array_new(sizeof(value), BPF_F_RDONLY_PROG);

	if (fd < 0)
		return fd;
	strncpy(value, text, sizeof(value) - 1);
	kern_map_update(fd, &key, value);
	kern_map_freeze(fd);
	return fd;
}

/* Print why and return true if programs of the kernel cannot be loaded here. */
static inline bool kern_unavailable(void)
{
	const struct bpf_insn insns[] = {
		BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0),
		BPFU_INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
	};
	const struct kern_prog prog = { .type = BPF_PROG_TYPE_RAW_TRACEPOINT,
					.insns = insns,
					.cnt = BPFU_ARRAY_SIZE(insns) };
	int fd = kern_prog_load(&prog, NULL);

	if (fd < 0) {
		printf("# SKIP the kernel refuses BPF_PROG_LOAD: %s\n", strerror(-fd));
		return true;
	}
	close(fd);
	return false;
}

#endif
