/* SPDX-License-Identifier: BSD-2-Clause */
/* A small BTF blob for programs with two functions: int main_prog(void), and sub() of either linkage. */
#ifndef TEST_VERIFIER_RAW_BTF_H
#define TEST_VERIFIER_RAW_BTF_H

#include <linux/btf.h>
#include <stdint.h>
#include <string.h>

#define RAW_BTF_STRINGS "\0int\0main_prog\0sub_static\0sub_global\0file.c\0x = 1;"
enum { STR_INT = 1, STR_MAIN = 5, STR_STATIC = 15, STR_GLOBAL = 26, STR_FILE = 37, STR_LINE = 44 };
enum { T_INT = 1, T_PROTO, T_MAIN, T_STATIC, T_GLOBAL };

struct raw_btf {
	struct btf_header hdr;
	struct {
		struct btf_type integer;
		uint32_t bits;
		struct btf_type proto, main, sub_static, sub_global;
	} types;
	char strings[sizeof(RAW_BTF_STRINGS)];
};

static inline struct btf_type raw_type(uint32_t name, uint32_t kind, uint32_t vlen, uint32_t type)
{
	struct btf_type t = { .name_off = name, .info = kind << 24 | vlen };

	t.type = type;
	return t;
}

static inline void raw_btf_fill(struct raw_btf *b)
{
	memset(b, 0, sizeof(*b));
	b->hdr.magic = BTF_MAGIC;
	b->hdr.version = BTF_VERSION;
	b->hdr.hdr_len = sizeof(b->hdr);
	b->hdr.type_len = sizeof(b->types);
	b->hdr.str_off = sizeof(b->types);
	b->hdr.str_len = sizeof(RAW_BTF_STRINGS);
	b->types.integer = raw_type(STR_INT, BTF_KIND_INT, 0, 4);
	b->types.bits = BTF_INT_SIGNED << 24 | 32;
	b->types.proto = raw_type(0, BTF_KIND_FUNC_PROTO, 0, T_INT);
	b->types.main = raw_type(STR_MAIN, BTF_KIND_FUNC, BTF_FUNC_GLOBAL, T_PROTO);
	b->types.sub_static = raw_type(STR_STATIC, BTF_KIND_FUNC, BTF_FUNC_STATIC, T_PROTO);
	b->types.sub_global = raw_type(STR_GLOBAL, BTF_KIND_FUNC, BTF_FUNC_GLOBAL, T_PROTO);
	memcpy(b->strings, RAW_BTF_STRINGS, sizeof(RAW_BTF_STRINGS));
}

#endif
