/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What attached programs do with the functions of a BPF program: replace one (EXT), or run before and
 * after it (fentry, fexit). probe/host.h makes and publishes the table; interp/ looks into it at every
 * call, jit/ makes another image by it.
 */
#ifndef BPFU_OBJ_PATCHES_H
#define BPFU_OBJ_PATCHES_H

#include <stdint.h>

#include "percpu/rcu.h"

struct bpfu_prog;

/* Of one function. At most one of both. */
struct bpfu_func_patch {
	const struct bpfu_prog *replacement; /* runs in its place */
	void *trace;                         /* argument of both, NULL: it is not traced */
	uint64_t (*enter)(void *trace, uint64_t *ctx); /* what both return does not matter */
	uint64_t (*leave)(void *trace, uint64_t *ctx);
	uint64_t ip;                         /* what bpf_get_func_ip() says */
	uint32_t arg_cnt;                    /* that the context has, or that are passed on: 5 at most */
};

struct bpfu_jit_variant;

struct bpfu_patches {
	struct bpfu_rcu_head rcu;
	struct bpfu_jit_variant *variant;    /* the image made by it; NULL in the interpreter */
	uint32_t cnt;
	struct bpfu_func_patch func[];       /* per function of the program */
};

static inline int bpfu_func_is_patched(const struct bpfu_func_patch *patch)
{
	return patch->replacement || patch->trace;
}

#endif
