// SPDX-License-Identifier: BSD-2-Clause
/* The table of helpers, made from helper.def, and the names of all helpers of <linux/bpf.h>. */
#include "helper/helper.h"

#include <stddef.h>

#include "btf/func.h"
#include "helper/bodies.h"
#include "util/bits.h"

/* The short names of helper.def's columns. */
enum {
	NONE = BPFU_ARG_NONE,
	ANY = BPFU_ARG_ANYTHING,
	MAP_PTR = BPFU_ARG_CONST_MAP_PTR,
	MAP_KEY = BPFU_ARG_PTR_TO_MAP_KEY,
	MAP_VALUE = BPFU_ARG_PTR_TO_MAP_VALUE,
	MEM = BPFU_ARG_PTR_TO_MEM,
	MEM_OR_NULL = BPFU_ARG_PTR_TO_MEM | BPFU_ARG_MAYBE_NULL,
	OUT_MEM_OR_NULL = BPFU_ARG_PTR_TO_MEM_WRITE | BPFU_ARG_MAYBE_NULL,
	UNINIT_MEM = BPFU_ARG_PTR_TO_UNINIT_MEM,
	SIZE = BPFU_ARG_CONST_SIZE,
	SIZE_OR_ZERO = BPFU_ARG_CONST_SIZE_OR_ZERO,
	CTX = BPFU_ARG_PTR_TO_CTX,
	FUNC = BPFU_ARG_PTR_TO_FUNC,
	STACK_OR_NULL = BPFU_ARG_PTR_TO_STACK | BPFU_ARG_MAYBE_NULL,
	CONST_STR = BPFU_ARG_PTR_TO_CONST_STR,
	LONG = BPFU_ARG_PTR_TO_LONG,
	PERCPU = BPFU_ARG_PTR_TO_PERCPU_BTF_ID,
	KPTR_DEST = BPFU_ARG_KPTR_DEST,
	KPTR_OR_NULL = BPFU_ARG_KPTR_SRC | BPFU_ARG_MAYBE_NULL,
};

enum {
	INTEGER = BPFU_RET_INTEGER,
	VOID = BPFU_RET_VOID,
	MAP_VALUE_OR_NULL = BPFU_RET_PTR_TO_MAP_VALUE_OR_NULL,
	PERCPU_VAR = BPFU_RET_PTR_TO_PERCPU_VAR,
	PERCPU_VAR_OR_NULL = BPFU_RET_PTR_TO_PERCPU_VAR_OR_NULL,
	KPTR = BPFU_RET_KPTR_OR_NULL,
};

enum {
	GPL = BPFU_HELPER_GPL_ONLY,
	PKT_ACCESS = BPFU_HELPER_PKT_ACCESS,
	CHANGES_PKT = BPFU_HELPER_CHANGES_PKT,
	MIGHT_SLEEP = BPFU_HELPER_MIGHT_SLEEP,
	TRACING = BPFU_HELPER_TRACING,
	FILTER = BPFU_HELPER_FILTER,
	BASE = BPFU_HELPER_BASE,
	SYSCALL = BPFU_HELPER_SYSCALL,
	SKB = BPFU_HELPER_SKB,
	XDP = BPFU_HELPER_XDP,
	FASTCALL = BPFU_HELPER_ALLOWS_FASTCALL,
	ON_FUNC = BPFU_HELPER_ON_FUNC,
};

/* Helpers that the build host's <linux/bpf.h> may lack. */
#define NEWER_HELPERS(_)                                                                           \
	_(cgrp_storage_get, 210)                                                                   \
	_(cgrp_storage_delete, 211)

#define BPFU_HELPER(name_, ret_, a1, a2, a3, a4, a5, flags_)                                       \
	[BPF_FUNC_##name_] = {                                                                     \
		.name = "bpf_" #name_,                                                             \
		.fn = bpfu_helper_##name_,                                                         \
		.ret = (enum bpfu_ret)(ret_),                                                      \
		.arg = { a1, a2, a3, a4, a5 },                                                     \
		.flags = (flags_),                                                                 \
	},
#define BPFU_HELPER_NO_BODY(name_, ret_, a1, a2, a3, a4, a5, flags_)                               \
	[BPF_FUNC_##name_] = {                                                                     \
		.name = "bpf_" #name_,                                                             \
		.ret = (enum bpfu_ret)(ret_),                                                      \
		.arg = { a1, a2, a3, a4, a5 },                                                     \
		.flags = (flags_),                                                                 \
	},

static const struct bpfu_helper helper_table[] = {
#include "helper/helper.def"
};

#define NAME_ROW(name) "bpf_" #name
#define NEWER_NAME_ROW(name, id) [id] = "bpf_" #name,

/* uapi lists the helpers in the order of their ids, from 0. */
static const char *const helper_names[] = { __BPF_FUNC_MAPPER(NAME_ROW) };

static const char *const newer_names[] = { NEWER_HELPERS(NEWER_NAME_ROW) };

const struct bpfu_helper *bpfu_helper_by_id(int32_t id)
{
	if (id <= 0 || (size_t)id >= BPFU_ARRAY_SIZE(helper_table) || !helper_table[id].name)
		return NULL;
	return &helper_table[id];
}

static const char *const internal_names[] = {
	[BPFU_CALL_HASH_SLOT - BPFU_CALL_HASH_SLOT] = "hash_slot",
	[BPFU_CALL_HASH_SLOT_4 - BPFU_CALL_HASH_SLOT] = "hash_slot_4",
	[BPFU_CALL_HASH_SLOT_8 - BPFU_CALL_HASH_SLOT] = "hash_slot_8",
};

const char *bpfu_helper_name(int32_t id)
{
	const char *name = NULL;

	if (id >= BPFU_CALL_KFUNC)
		return bpfu_kfunc_name((uint32_t)(id - BPFU_CALL_KFUNC));
	if (bpfu_call_is_internal(id))
		return internal_names[id - BPFU_CALL_HASH_SLOT];
	if (id >= 0 && (size_t)id < BPFU_ARRAY_SIZE(helper_names))
		name = helper_names[id];
	else if (id >= 0 && (size_t)id < BPFU_ARRAY_SIZE(newer_names))
		name = newer_names[id];
	return name ? name : "unknown";
}
