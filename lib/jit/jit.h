/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The JIT driver. README.md is the porting contract: what a backend (x86_64/, arm64/) supplies.
 * Images are never writable and executable in one mapping (image.c).
 */
#ifndef BPFU_JIT_JIT_H
#define BPFU_JIT_JIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "jit/private_stack.h"
#include "util/uapi.h"

struct bpfu_cfi;
struct bpfu_gdb_object;
struct bpfu_patches;
struct bpfu_prog;

/* With the option gdb: what debuggers are told (gdb.h). */
struct bpfu_jit_debug {
	struct bpfu_cfi *cfis;
	uint32_t cfi_cnt;
	uint32_t *direct_off; /* per subprogram: where it begins behind a stub that C enters it by */
	struct bpfu_gdb_object *object; /* NULL: not told yet */
};

struct bpfu_jit_image {
	uint8_t *code;               /* executable address of the first byte */
	uint32_t size;               /* bytes of code */
	uint32_t *subprog_off;       /* per subprogram: offset of its first byte in code */
	uint32_t *subprog_len;       /* and its length */
	uint32_t *insn_off;          /* insn_cnt + 1 rows: offset of each instruction's code */
	struct bpfu_extable_entry *extable;
	uint32_t extable_cnt;
	struct bpfu_private_stack private_stack;
	struct bpfu_jit_debug *debug; /* NULL: not wanted, or no memory */
	void *mem;                   /* private to image.c */
};

/* True if there is a backend for the machine we run on and executable memory can be had. */
bool bpfu_jit_available(void);

/* Another image of a program, with functions replaced or traced. */
struct bpfu_jit_variant {
	struct bpfu_jit_image *image;
	void *func, *tail_entry, *direct_entry; /* as those of struct bpfu_prog */
	char name[BPF_OBJ_NAME_LEN];            /* of the program */
};

/*
 * Compile @prog, which has been compiled, once more, with the functions in @patches replaced or traced.
 * Changes nothing of @prog: that is for the caller, and what ran before must be kept for as long as
 * somebody may be in it. 0 or bpfu_jit_compile()'s errors.
 */
int bpfu_jit_compile_variant(const struct bpfu_prog *prog, const struct bpfu_patches *patches,
			     struct bpfu_jit_variant **out);
void bpfu_jit_variant_free(struct bpfu_jit_variant *variant);

/*
 * Compile @prog (verified and rewritten): sets func, own_func, the entries, jit and jited.
 * 0, -ENOMEM, -E2BIG, or -ENOTSUPP (524) if there is no backend. bpfu_jit_release() frees.
 */
int bpfu_jit_compile(struct bpfu_prog *prog);
void bpfu_jit_release(struct bpfu_prog *prog);

#endif
