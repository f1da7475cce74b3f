/* SPDX-License-Identifier: BSD-2-Clause */
/* The running kernel as an oracle: bpf(2) without libbpf and without the router. */
#ifndef TESTS_INSN_ORACLE_H
#define TESTS_INSN_ORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/uapi.h"

struct oracle_load {
	enum bpf_prog_type type;
	const struct bpf_insn *insns;
	uint32_t insn_cnt;
	uint32_t log_level;
	char *log;                 /* NUL-terminated on return, also on failure */
	uint32_t log_size;
	int btf_fd;                /* with func_info */
	const struct bpf_func_info *func_info;
	uint32_t func_info_cnt;
};

/* False if bpf(2) refuses to load programs here; *@why says so in a line. */
bool oracle_available(const char **why);

/* Descriptor or -errno. */
int oracle_prog_load(const struct oracle_load *load);
int oracle_btf_load(const void *data, uint32_t size);

/* Mapped one-element array: descriptor or -errno, *@value gets the address of its bytes. */
int oracle_array_new(uint32_t value_size, void **value);
void oracle_array_free(int fd, void *value, uint32_t value_size);

/* BPF_PROG_TEST_RUN of a BPF_PROG_TYPE_SYSCALL program without context: 0 or -errno. */
int oracle_run(int prog_fd, uint32_t *retval);

/*
 * The BTF that the kernel wants for callbacks: func_cnt functions "uint64_t fN()" of which f0 is
 * global and the others static. Type id of fN is ORACLE_FUNC_TYPE + N. Returns a descriptor or -errno.
 */
#define ORACLE_FUNC_TYPE 3
int oracle_func_btf(uint32_t func_cnt);

#endif
