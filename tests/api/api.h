/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests of bpf(2) as an interface. Each program runs twice, once per side: "user" has libbpfu answer,
 * "kernel" the running kernel, and every expectation is the same. So the kernel twin proves the
 * expectation and the user twin proves libbpfu. The kernel twin exits 77 where bpf(2) is refused.
 *
 * A test is a function in the program's table; expectations that fail are printed and counted, the
 * rest goes on.
 */
#ifndef TESTS_API_API_H
#define TESTS_API_API_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <linux/bpf.h>
#include <linux/btf.h>

#include "attr.h"
#include "bpfu/bpfu.h"

#define API_ENOTSUPP 524 /* the kernel's */
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

struct api_test {
	const char *name;
	void (*fn)(void);
};

#define API_TEST(fn) { #fn, fn }
#define API_MAIN(...)                                                                              \
	int main(int argc, char **argv)                                                            \
	{                                                                                          \
		static const struct api_test tests[] = { __VA_ARGS__ };                            \
		return api_main(argc, argv, tests, ARRAY_SIZE(tests));                             \
	}

int api_main(int argc, char **argv, const struct api_test *tests, size_t cnt);

/* The side that this run is about. */
extern bool api_user;

/* Expectations; the value of each is whether it held. */
bool api_expect(const char *file, int line, const char *what, int64_t got, int64_t want);
#define expect_eq(got, want) api_expect(__FILE__, __LINE__, #got, got, want)
#define expect_true(cond) api_expect(__FILE__, __LINE__, #cond, !!(cond), 1)
/* A descriptor or count: fails and prints if it is an error. */
bool api_expect_ok(const char *file, int line, const char *what, int64_t got);
#define expect_ok(got) api_expect_ok(__FILE__, __LINE__, #got, got)
bool api_expect_mem(const char *file, int line, const char *what, const void *got, const void *want,
		    size_t n);
#define expect_mem(got, want, n) api_expect_mem(__FILE__, __LINE__, #got, got, want, n)

/* bpf(2) through libc's syscall(), -errno on failure. */
int sys_bpf(int cmd, void *attr, unsigned int size);
/* … with the host's whole union. */
int sys_attr(int cmd, union bpf_attr *attr);

/* An address that faults. */
#define BAD_PTR 16ull

static inline uint64_t ptr(const volatile void *p)
{
	return (uint64_t)(uintptr_t)p;
}

/* ---- short forms; results are descriptors, counts, 0 or -errno ---- */

int map_new(uint32_t type, uint32_t key_size, uint32_t value_size, uint32_t entries,
	    uint32_t flags);
int map_update(int fd, const void *key, const void *value, uint64_t flags);
int map_lookup(int fd, const void *key, void *value);
int map_lookup_flags(int fd, const void *key, void *value, uint64_t flags);
int map_delete(int fd, const void *key);
int map_next_key(int fd, const void *key, void *next);
int map_lookup_delete(int fd, const void *key, void *value, uint64_t flags);
int map_freeze(int fd);
int obj_pin(int fd, const char *path);
int obj_get(const char *path, uint32_t flags);
int obj_info(int fd, void *info, uint32_t *len);
int fd_by_id(int cmd, uint32_t id);
int next_id(int cmd, uint32_t start, uint32_t *next);
int prog_load(uint32_t type, const struct bpf_insn *insns, uint32_t cnt);
int test_run(int fd, uint32_t *retval);
uint32_t id_of(int fd);

/* A BTF object: [1] int (4 bytes, signed), [2] "u64", [3] struct { int a; int b; } of 8 bytes. */
int btf_small(void);

#define BTF_ID_INT 1
#define BTF_ID_U64 2
#define BTF_ID_PAIR 3
/* [4] FUNC_PROTO int (void *ctx), [5] FUNC "main_prog", [6] VAR u64 "value", [7] DATASEC of it. */
#define BTF_ID_FUNC 5
#define BTF_ID_DATASEC 7

/* ---- instructions ---- */

#define INSN(c, d, s, o, i)                                                                        \
	((struct bpf_insn){ .code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i) })
#define MOV64_IMM(d, i) INSN(BPF_ALU64 | BPF_MOV | BPF_K, d, 0, 0, i)
#define MOV64_REG(d, s) INSN(BPF_ALU64 | BPF_MOV | BPF_X, d, s, 0, 0)
#define ADD64_IMM(d, i) INSN(BPF_ALU64 | BPF_ADD | BPF_K, d, 0, 0, i)
#define LDX_DW(d, s, o) INSN(BPF_LDX | BPF_MEM | BPF_DW, d, s, o, 0)
#define LDX_W(d, s, o) INSN(BPF_LDX | BPF_MEM | BPF_W, d, s, o, 0)
#define STX_DW(d, s, o) INSN(BPF_STX | BPF_MEM | BPF_DW, d, s, o, 0)
#define ST_DW(d, o, i) INSN(BPF_ST | BPF_MEM | BPF_DW, d, 0, o, i)
#define ST_W(d, o, i) INSN(BPF_ST | BPF_MEM | BPF_W, d, 0, o, i)
#define JEQ_IMM(d, i, o) INSN(BPF_JMP | BPF_JEQ | BPF_K, d, 0, o, i)
#define JNE_IMM(d, i, o) INSN(BPF_JMP | BPF_JNE | BPF_K, d, 0, o, i)
#define CALL(id) INSN(BPF_JMP | BPF_CALL, 0, 0, 0, id)
#define CALL_REL(o) INSN(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, o)
#define EXIT() INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)
#define LD_MAP_FD(d, fd)                                                                           \
	INSN(BPF_LD | BPF_IMM | BPF_DW, d, BPF_PSEUDO_MAP_FD, 0, fd), INSN(0, 0, 0, 0, 0)
#define LD_MAP_VALUE(d, fd, o)                                                                     \
	INSN(BPF_LD | BPF_IMM | BPF_DW, d, BPF_PSEUDO_MAP_VALUE, 0, fd), INSN(0, 0, 0, 0, o)

/* Where the program's file has what is loaded at @fn, whatever page is there now. */
uint64_t api_file_offset(const void *fn);

#endif
