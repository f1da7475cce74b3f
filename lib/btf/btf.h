/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * BTF objects: the kernel's checks of BPF_BTF_LOAD, and look-up by id and name for the verifier
 * (func_info, line_info, map keys and values). Parsing of ELF and CO-RE is libbpf's.
 */
#ifndef BPFU_BTF_BTF_H
#define BPFU_BTF_BTF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "obj/obj.h"
#include "util/uapi.h"
#include "util/vlog.h"

#define BPFU_BTF_MAX_SIZE (16 * 1024 * 1024)

static inline uint32_t bpfu_btf_kind(const struct btf_type *t)
{
	return BTF_INFO_KIND(t->info);
}

static inline uint32_t bpfu_btf_vlen(const struct btf_type *t)
{
	return BTF_INFO_VLEN(t->info);
}

static inline bool bpfu_btf_kflag(const struct btf_type *t)
{
	return BTF_INFO_KFLAG(t->info);
}

/* Typedef, const, volatile, restrict or type tag. */
static inline bool bpfu_btf_is_modifier(const struct btf_type *t)
{
	const uint32_t mask = 1u << BTF_KIND_TYPEDEF | 1u << BTF_KIND_VOLATILE |
			      1u << BTF_KIND_CONST | 1u << BTF_KIND_RESTRICT |
			      1u << BTF_KIND_TYPE_TAG;

	return mask >> bpfu_btf_kind(t) & 1;
}

static inline bool bpfu_btf_is_struct(const struct btf_type *t)
{
	return bpfu_btf_kind(t) == BTF_KIND_STRUCT || bpfu_btf_kind(t) == BTF_KIND_UNION;
}

struct bpfu_btf {
	struct bpfu_obj obj;
	void *data;                   /* whole blob as loaded; the type section is aligned to 4 */
	void *alloc;                  /* what free() gets */
	uint32_t data_size;
	const char *strings;
	uint32_t str_len;
	const struct btf_type **types; /* [0] is void */
	uint32_t type_cnt;             /* including void */
	char name[BPF_OBJ_NAME_LEN];
	bool is_kernel;
};

/*
 * Check @data (@size bytes, copied) and build an object with one reference. The log (may be NULL)
 * gets the kernel's phrases. Returns 0, -EINVAL, -E2BIG (over 16 MiB, or too deep), -ENOMEM,
 * -EEXIST (loop), -ELOOP, -ENOTSUPP (524) as the kernel.
 */
int bpfu_btf_new(const void *data, uint32_t size, struct bpfu_log *log, struct bpfu_btf **out);

static inline struct bpfu_btf *bpfu_btf_of(struct bpfu_obj *obj)
{
	return (struct bpfu_btf *)((char *)obj - offsetof(struct bpfu_btf, obj));
}

const struct btf_type *bpfu_btf_type(const struct bpfu_btf *btf, uint32_t id); /* NULL: no such */
const char *bpfu_btf_name(const struct bpfu_btf *btf, uint32_t name_off);      /* NULL: no such */

/* Skip typedefs, modifiers and tags. *@id (may be NULL) becomes the id of the result. */
const struct btf_type *bpfu_btf_skip_modifiers(const struct bpfu_btf *btf, uint32_t id,
					       uint32_t *res_id);

/* Size in bytes of a type that has one (of a variable: of its type); -EINVAL otherwise. */
int64_t bpfu_btf_size(const struct bpfu_btf *btf, uint32_t id);

#endif
