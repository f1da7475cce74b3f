/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the driver and a backend exchange. README.md explains it from a porter's point of view.
 * A backend is data and pure code: it compiles on every host and produces bytes for any base
 * address; only running them needs the machine.
 */
#ifndef BPFU_JIT_BACKEND_H
#define BPFU_JIT_BACKEND_H

#include <stdbool.h>
#include <stdint.h>

#include "jit/facts.h"
#include "jit/layout.h"
#include "jit/private_stack.h"
#include "obj/patches.h"
#include "obj/prog.h"

struct bpfu_jit_image;
struct bpfu_prog;

/* What code is generated for. */
struct bpfu_jit_target {
	uint32_t cpu;       /* features, bits of the backend's own */
	int64_t self_tpoff; /* of bpfu_cpu_self, from the thread pointer */
	bool far_calls;     /* helpers may be out of reach of a direct call */
};

struct bpfu_jit_ctx {
	const struct bpfu_prog *prog;
	const struct bpf_insn *insns; /* the program's, or those of @simplified */
	struct bpf_insn *simplified;
	uint32_t insn_cnt;
	struct bpfu_prog blind;       /* what ->prog points to if it is hardened */
	uint32_t *blind_start;        /* index in it of each of the program's instructions, or NULL */
	uint32_t orig_cnt;            /* of the program's instructions */
	const struct bpfu_patches *patches; /* of functions that are replaced or traced, or NULL */
	struct bpfu_jit_target target;
	struct bpfu_facts facts;
	struct bpfu_private_stack private_stack;
	struct bpfu_layout layout;
};

struct bpfu_jit_backend {
	const char *name;         /* as in `uname -m` */
	uint32_t cpu_all;         /* every feature bit it knows */
	bool disp_from_end;       /* see struct bpfu_layout */
	bool uses_zext;           /* facts.zext_in */
	uint8_t bytes_per_insn;   /* a guess, for the first allocation */

	/* Features of the machine we run on, 0 elsewhere. */
	uint32_t (*cpu_features)(void);

	/*
	 * Lower the whole program into ctx->layout: per function bpfu_layout_func(), then the labels
	 * of all its instructions and the three of the function. 0, -ENOMEM, -EINVAL (an instruction it
	 * does not know). Errors of the layout are looked at by the driver.
	 */
	int (*lower)(struct bpfu_jit_ctx *ctx);

	struct bpfu_layout_writer writer;
};

/*
 * Labels of function @f. native: callable with the C convention of five 64-bit arguments; what
 * prog->func and callback values point to. direct: where BPF-to-BPF calls go. body: the same, but past what
 * is run before and after the function; where (function 0) tail calls go.
 */
static inline uint32_t bpfu_jit_native_label(const struct bpfu_jit_ctx *ctx, uint32_t f)
{
	return ctx->insn_cnt + 1 + 3 * f;
}

static inline uint32_t bpfu_jit_direct_label(const struct bpfu_jit_ctx *ctx, uint32_t f)
{
	return ctx->insn_cnt + 2 + 3 * f;
}

static inline uint32_t bpfu_jit_body_label(const struct bpfu_jit_ctx *ctx, uint32_t f)
{
	return ctx->insn_cnt + 3 + 3 * f;
}

/* What is attached to function @f; NULL: nothing. */
static inline const struct bpfu_func_patch *bpfu_jit_patch(const struct bpfu_jit_ctx *ctx, uint32_t f)
{
	const struct bpfu_func_patch *patch = ctx->patches ? &ctx->patches->func[f] : NULL;

	return patch && bpfu_func_is_patched(patch) ? patch : NULL;
}

/* True if C enters function @f and it needs a segment of private stack (private_stack.h). */
static inline bool bpfu_jit_takes_segment(const struct bpfu_jit_ctx *ctx, uint32_t f)
{
	return ctx->facts.funcs[f].private_reach && (!f || ctx->facts.funcs[f].is_callback);
}

extern const struct bpfu_jit_backend bpfu_jit_x86_64;
extern const struct bpfu_jit_backend bpfu_jit_arm64;

/* Backends by name; NULL if there is none. NULL asks for the one of the machine we run on. */
const struct bpfu_jit_backend *bpfu_jit_backend_find(const char *name);

/* bpfu_jit_compile() with another target than the machine we run on; for tests of features. */
int bpfu_jit_compile_for(struct bpfu_prog *prog, const struct bpfu_jit_target *target);

/* The target for which bpfu_jit_compile() compiles; on a foreign host, every feature. */
void bpfu_jit_target_init(struct bpfu_jit_target *target, const struct bpfu_jit_backend *backend);

/* Code for @prog that is not to be run here: dumps and tests. */
struct bpfu_jit_code {
	uint8_t *bytes;
	uint32_t size;
	uint32_t *insn_off;  /* insn_cnt + 1 rows */
	uint32_t *func_off;  /* per function */
	uint32_t *func_len;
};

/*
 * Produce the code of @prog for @base. @target NULL: of the machine we run on, or on a foreign host
 * every feature. 0, -ENOMEM, -E2BIG, -EINVAL, -ERANGE (helpers out of reach: far_calls).
 */
int bpfu_jit_generate(const struct bpfu_prog *prog, const struct bpfu_jit_backend *backend,
		      const struct bpfu_jit_target *target, uint64_t base,
		      struct bpfu_jit_code *code);
void bpfu_jit_code_release(struct bpfu_jit_code *code);

#endif
