/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Generated code made known to debuggers by gdb's JIT interface ("JIT Compilation Interface" in its manual): an
 * object file in memory per image, with names, unwinding tables and source lines. gdb reads it when it attaches
 * or when its breakpoint in __jit_debug_register_code() is met; without a debugger that function does nothing.
 */
#ifndef BPFU_JIT_GDB_H
#define BPFU_JIT_GDB_H

#include <stdbool.h>
#include <stdint.h>

#include "util/bytes.h"

struct bpfu_gdb_object;

struct bpfu_gdb_func {
	uint64_t addr;
	uint32_t len;
	const char *name;
};

/* From @addr on the code is that of a line; they are in order of addresses. */
struct bpfu_gdb_line {
	uint64_t addr;
	uint32_t file; /* index in ->files */
	uint32_t line;
};

struct bpfu_gdb_image {
	const void *code;
	uint32_t size;
	const struct bpfu_gdb_func *funcs; /* in order of addresses */
	uint32_t func_cnt;
	const struct bpfu_bytes *frames;   /* as of bpfu_cfi_end() */
	const char *const *files;          /* NULL without lines */
	uint32_t file_cnt;
	const struct bpfu_gdb_line *lines;
	uint32_t line_cnt;
};

/* Make it known. NULL: no memory. What @image points to is no longer needed, but for the code. */
struct bpfu_gdb_object *bpfu_gdb_add(const struct bpfu_gdb_image *image);

/* Before the code goes. NULL is no object. */
void bpfu_gdb_del(struct bpfu_gdb_object *object);

#endif
