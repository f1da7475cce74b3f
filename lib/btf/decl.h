/* SPDX-License-Identifier: BSD-2-Clause */
/* C declarations of functions, as traceable functions are described by. */
#ifndef BPFU_BTF_DECL_H
#define BPFU_BTF_DECL_H

#include <stdbool.h>
#include <stdint.h>

#define BPFU_FUNC_ARGS_MAX 12 /* MAX_BPF_FUNC_ARGS */
#define BPFU_FUNC_NAME_MAX 128

/* How a tracing program may read a value: by its size, and a pointer only as a whole. */
struct bpfu_value {
	uint8_t size; /* bytes, 0: void */
	bool is_pointer;
	uint8_t pointee; /* of a pointer to a number: its size; else 0 */
	bool is_opaque; /* a pointer that nothing may be done with, not even reading it */
};

struct bpfu_decl {
	char name[BPFU_FUNC_NAME_MAX];
	struct bpfu_value ret;
	struct bpfu_value args[BPFU_FUNC_ARGS_MAX];
	uint32_t arg_cnt;
	uint32_t proto_id; /* FUNC_PROTO in libbpfu's BTF */
};

/*
 * Parse "int name(const char *s, unsigned long n)" and add its types to libbpfu's BTF. Types are
 * those of C up to 64 bits, the usual typedefs of such (u32, uint32_t, size_t …), enums, and
 * pointers to anything; parameters may be unnamed.
 *
 * 0, -EINVAL (not such a declaration), -EOPNOTSUPP (variable arguments, floating point, or a
 * structure by value: what is not in one integer register), -E2BIG (more than 12 arguments),
 * -ENOSPC or -ENOMEM.
 */
int bpfu_decl_parse(const char *text, struct bpfu_decl *decl);

#endif
