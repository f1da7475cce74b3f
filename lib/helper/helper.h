/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Helpers: helper.def has one row per helper (id, name, prototype, flags, body); everything that
 * needs to know a helper reads that table. Bodies take and return five/one 64-bit values and run
 * inside a section (percpu/cpu.h).
 */
#ifndef BPFU_HELPER_HELPER_H
#define BPFU_HELPER_HELPER_H

#include <stdbool.h>
#include <stdint.h>

#include "util/uapi.h"

/* Argument kinds, the kernel's names. MAYBE_NULL is a flag. */
enum bpfu_arg {
	BPFU_ARG_NONE,               /* no such argument */
	BPFU_ARG_ANYTHING,           /* any initialised value */
	BPFU_ARG_CONST_MAP_PTR,
	BPFU_ARG_PTR_TO_MAP_KEY,     /* key_size readable bytes */
	BPFU_ARG_PTR_TO_MAP_VALUE,   /* value_size readable bytes */
	BPFU_ARG_PTR_TO_UNINIT_MAP_VALUE, /* value_size writable bytes */
	BPFU_ARG_PTR_TO_MEM,         /* readable, size in the next argument */
	BPFU_ARG_PTR_TO_UNINIT_MEM,  /* writable, size in the next argument */
	BPFU_ARG_CONST_SIZE,         /* 1 … */
	BPFU_ARG_CONST_SIZE_OR_ZERO,
	BPFU_ARG_CONST_ALLOC_SIZE_OR_ZERO, /* known constant */
	BPFU_ARG_PTR_TO_CTX,
	BPFU_ARG_PTR_TO_FUNC,        /* static callback */
	BPFU_ARG_PTR_TO_STACK,       /* pointer to the stack (callback context), or NULL if OR_NULL */
	BPFU_ARG_PTR_TO_CONST_STR,   /* NUL-terminated, in a read-only frozen map */
	BPFU_ARG_PTR_TO_LONG,        /* 8 writable bytes, aligned (strtol) */
	BPFU_ARG_PTR_TO_MEM_WRITE,   /* as PTR_TO_MEM, and writable too (snprintf) */
	BPFU_ARG_PTR_TO_RINGBUF_MEM, /* what ringbuf_reserve returned; gone after the call */
	BPFU_ARG_PTR_TO_PERCPU_BTF_ID, /* a per-CPU variable (btf/percpu_var.h) */
	BPFU_ARG_KPTR_DEST,          /* where a map's value has a pointer to an object */
	BPFU_ARG_KPTR_SRC,           /* an object, which the program gives away */
	BPFU_ARG_MAYBE_NULL = 1 << 8,
};

enum bpfu_ret {
	BPFU_RET_INTEGER,
	BPFU_RET_VOID,
	BPFU_RET_PTR_TO_MAP_VALUE_OR_NULL,
	BPFU_RET_PTR_TO_MEM_OR_NULL, /* size from the constant argument */
	BPFU_RET_PTR_TO_PERCPU_VAR,  /* one CPU's copy of the argument, read-only */
	BPFU_RET_PTR_TO_PERCPU_VAR_OR_NULL,
	BPFU_RET_KPTR_OR_NULL,       /* an object that the program owns: what was at KPTR_DEST */
};

enum bpfu_helper_flags {
	BPFU_HELPER_GPL_ONLY = 1u << 0,
	BPFU_HELPER_PKT_ACCESS = 1u << 1,      /* packet pointers may be passed as memory */
	BPFU_HELPER_CHANGES_PKT = 1u << 2,     /* invalidates packet pointers */
	BPFU_HELPER_MIGHT_SLEEP = 1u << 3,     /* only from sleepable programs */
	BPFU_HELPER_TRACING = 1u << 4,         /* allowed in tracing-family programs (raw_tp …) */
	BPFU_HELPER_FILTER = 1u << 5,          /* allowed in socket_filter and cgroup_skb */
	BPFU_HELPER_BASE = 1u << 6,            /* allowed everywhere */
	BPFU_HELPER_SYSCALL = 1u << 7,         /* allowed in BPF_PROG_TYPE_SYSCALL */
	BPFU_HELPER_SKB = 1u << 8,             /* allowed in sched_cls and sched_act */
	BPFU_HELPER_XDP = 1u << 9,
	BPFU_HELPER_ALLOWS_FASTCALL = 1u << 10, /* r1-r5 may be kept (bpf_fastcall) */
	BPFU_HELPER_ON_FUNC = 1u << 11,        /* programs on functions: arguments, return value */
};

typedef uint64_t (*bpfu_helper_fn)(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5);

struct bpfu_helper {
	const char *name;            /* "bpf_map_lookup_elem" */
	bpfu_helper_fn fn;           /* NULL: not callable (bpf_tail_call is rewritten) */
	enum bpfu_ret ret;
	uint32_t arg[5];             /* enum bpfu_arg | MAYBE_NULL */
	uint32_t flags;
};

/*
 * The helper with @id, NULL if libbpfu has none. bpfu_helper_name() knows the name of every helper of
 * <linux/bpf.h> (also unsupported ones), "unknown" otherwise.
 */
const struct bpfu_helper *bpfu_helper_by_id(int32_t id);
const char *bpfu_helper_name(int32_t id);

/*
 * Functions that rewrite/ has a program call in place of a helper. They are no helpers: the verifier does
 * not know them, so that no program can name one.
 */
enum bpfu_internal_call {
	BPFU_CALL_HASH_SLOT = 1 << 16,
	BPFU_CALL_HASH_SLOT_4,
	BPFU_CALL_HASH_SLOT_8,
	BPFU_CALL_INTERNAL_END,
	BPFU_CALL_KFUNC = 1 << 20, /* and the number of the function (btf/func.h) */
};

static inline bool bpfu_call_is_internal(int32_t id)
{
	return id >= BPFU_CALL_HASH_SLOT && id < BPFU_CALL_INTERNAL_END;
}

/* What a call of @id in a rewritten program calls: a helper's body or an internal function; or NULL. */
bpfu_helper_fn bpfu_call_target(int32_t id);

/* How many of r1 … r5 such a call may read; 5 for what is not known. */
unsigned bpfu_call_args(int32_t id);

/* Bodies that rewrite/, the verifier and tests call by name are declared in helper/bodies.h. */

#endif
