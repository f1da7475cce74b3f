// SPDX-License-Identifier: BSD-2-Clause
/* Thin calls of the kernel's bpf(2), and the smallest BTF that gives subprograms a prototype. */
#include "oracle.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "insn/insn.h"

static int sys_bpf(int cmd, union bpf_attr *attr)
{
	long ret = syscall(__NR_bpf, cmd, attr, sizeof(*attr));

	return ret < 0 ? -errno : (int)ret;
}

int oracle_prog_load(const struct oracle_load *load)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.prog_type = load->type;
	attr.insns = (uintptr_t)load->insns;
	attr.insn_cnt = load->insn_cnt;
	attr.license = (uintptr_t) "GPL";
	attr.log_level = load->log_level;
	attr.log_buf = load->log_level ? (uintptr_t)load->log : 0;
	attr.log_size = load->log_level ? load->log_size : 0;
	if (load->type == BPF_PROG_TYPE_SYSCALL)
		attr.prog_flags = BPF_F_SLEEPABLE;
	if (load->func_info_cnt) {
		attr.prog_btf_fd = load->btf_fd;
		attr.func_info = (uintptr_t)load->func_info;
		attr.func_info_cnt = load->func_info_cnt;
		attr.func_info_rec_size = sizeof(*load->func_info);
	}
	if (load->log)
		load->log[0] = '\0';
	return sys_bpf(BPF_PROG_LOAD, &attr);
}

bool oracle_available(const char **why)
{
	static char line[80];
	const struct bpf_insn insns[] = {
		BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0),
		BPFU_INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
	};
	const struct oracle_load load = { .type = BPF_PROG_TYPE_SYSCALL, .insns = insns, .insn_cnt = 2 };
	int fd = oracle_prog_load(&load);

	if (fd < 0) {
		snprintf(line, sizeof(line), "the kernel refuses BPF_PROG_LOAD: %s", strerror(-fd));
		*why = line;
		return false;
	}
	close(fd);
	return true;
}

int oracle_array_new(uint32_t value_size, void **value)
{
	union bpf_attr attr;
	int fd;

	memset(&attr, 0, sizeof(attr));
	attr.map_type = BPF_MAP_TYPE_ARRAY;
	attr.key_size = 4;
	attr.value_size = value_size;
	attr.max_entries = 1;
	attr.map_flags = BPF_F_MMAPABLE;
	fd = sys_bpf(BPF_MAP_CREATE, &attr);
	if (fd < 0)
		return fd;
	*value = mmap(NULL, value_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (*value == MAP_FAILED) {
		int err = -errno;

		close(fd);
		return err;
	}
	return fd;
}

void oracle_array_free(int fd, void *value, uint32_t value_size)
{
	munmap(value, value_size);
	close(fd);
}

int oracle_run(int prog_fd, uint32_t *retval)
{
	union bpf_attr attr;
	int err;

	memset(&attr, 0, sizeof(attr));
	attr.test.prog_fd = prog_fd;
	err = sys_bpf(BPF_PROG_TEST_RUN, &attr);
	if (!err)
		*retval = attr.test.retval;
	return err;
}

int oracle_btf_load(const void *data, uint32_t size)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.btf = (uintptr_t)data;
	attr.btf_size = size;
	return sys_bpf(BPF_BTF_LOAD, &attr);
}

int oracle_func_btf(uint32_t func_cnt)
{
	static const char int_name[] = "\0uint64_t";
	uint32_t str_cap = sizeof(int_name) + func_cnt * 12, str_len = sizeof(int_name);
	uint32_t type_len = (4 + 3 + 3 * func_cnt) * sizeof(uint32_t);
	struct btf_header *hdr = calloc(1, sizeof(*hdr) + type_len + str_cap);
	uint32_t *type;
	char *str;
	int fd;

	if (!hdr)
		return -ENOMEM;
	type = (uint32_t *)(hdr + 1);
	str = (char *)type + type_len;
	memcpy(str, int_name, sizeof(int_name));

	*type++ = 1; /* [1] INT uint64_t */
	*type++ = BTF_KIND_INT << 24;
	*type++ = 8;
	*type++ = 64;
	*type++ = 0; /* [2] FUNC_PROTO uint64_t () */
	*type++ = BTF_KIND_FUNC_PROTO << 24;
	*type++ = 1;
	for (uint32_t i = 0; i < func_cnt; i++) { /* [3 + i] FUNC fi */
		*type++ = str_len;
		*type++ = BTF_KIND_FUNC << 24 | (i ? BTF_FUNC_STATIC : BTF_FUNC_GLOBAL);
		*type++ = 2;
		str_len += snprintf(str + str_len, str_cap - str_len, "f%u", i) + 1;
	}
	*hdr = (struct btf_header){ .magic = BTF_MAGIC,
				    .version = BTF_VERSION,
				    .hdr_len = sizeof(*hdr),
				    .type_len = type_len,
				    .str_off = type_len,
				    .str_len = str_len };
	fd = oracle_btf_load(hdr, sizeof(*hdr) + type_len + str_len);
	free(hdr);
	return fd;
}
