/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Private to btf/: the state of one BPF_BTF_LOAD check. btf_check.c parses header, strings and the
 * list of types and owns the log's phrases; btf_meta.c checks each type by itself (phase META);
 * btf_resolve.c follows references until every type has a size or is known to have none, and
 * btf_member.c checks members against the sizes of their types (phase RESOLVE).
 */
#ifndef BPFU_BTF_BTF_CHECK_H
#define BPFU_BTF_BTF_CHECK_H

#include "btf/btf.h"

#define BPFU_BTF_HDR_LEN_END (offsetof(struct btf_header, hdr_len) + 4)
#define BPFU_BTF_MAX_DEPTH 32      /* MAX_RESOLVE_DEPTH */
#define BPFU_BTF_MAX_TYPE 0xfffff  /* BTF_MAX_TYPE of the running kernels */
#define BPFU_ENOTSUPP 524          /* the kernel's ENOTSUPP has no name in user space */

enum bpfu_btf_visit { BPFU_BTF_NOT_VISITED, BPFU_BTF_VISITED, BPFU_BTF_RESOLVED };

/*
 * What ends the walk along references. A pointer may point back to the struct it is in, so once a
 * pointer is on the path structs end it, and once a struct or array is, pointers do.
 */
enum bpfu_btf_mode { BPFU_BTF_TBD, BPFU_BTF_PTR, BPFU_BTF_STRUCT_OR_ARRAY };

struct bpfu_btf_vertex {
	const struct btf_type *t;
	uint32_t id;
	uint32_t next_member; /* structs and sections: where to go on */
};

struct bpfu_btf_env {
	struct bpfu_btf *btf;
	struct bpfu_log *log;
	struct btf_header hdr;
	const uint8_t *sections; /* behind the header */
	bool resolving;          /* phase RESOLVE */
	uint32_t log_id;         /* type id that messages name */

	/* phase RESOLVE; the arrays have one row per type */
	uint8_t *visit;
	uint32_t *resolved_id;
	uint32_t *resolved_size;
	enum bpfu_btf_mode mode;
	struct bpfu_btf_vertex stack[BPFU_BTF_MAX_DEPTH];
	uint32_t depth;
};

struct bpfu_btf_kind_ops {
	const char *name;
	/* Check the type by itself, @left bytes behind it; bytes of its tail or -errno. */
	int (*meta)(struct bpfu_btf_env *env, const struct btf_type *t, uint32_t left);
	/* Print what the log says behind the name. */
	void (*details)(struct bpfu_btf_env *env, const struct btf_type *t);
	/* Go on with the type on top of the stack: push what it needs, or pop it resolved. */
	int (*resolve)(struct bpfu_btf_env *env, struct bpfu_btf_vertex *v);
	/* Check that member @m (of this kind) fits @st; with and without bit-field encoding. */
	int (*member)(struct bpfu_btf_env *env, const struct btf_type *st,
		      const struct btf_member *m, const struct btf_type *mt);
	int (*kflag_member)(struct bpfu_btf_env *env, const struct btf_type *st,
			    const struct btf_member *m, const struct btf_type *mt);
};

/* btf_kinds.c: NULL for an unknown kind. */
const struct bpfu_btf_kind_ops *bpfu_btf_kind_ops(uint32_t kind);

/* btf_check.c */
int bpfu_btf_check(struct bpfu_btf *btf, struct bpfu_log *log);
bool bpfu_btf_name_off_valid(const struct bpfu_btf_env *env, uint32_t off);
const char *bpfu_btf_log_name(const struct bpfu_btf_env *env, uint32_t off);

#define BPFU_PRINTF(a, b) __attribute__((format(printf, a, b)))
void bpfu_btf_log(struct bpfu_btf_env *env, const char *fmt, ...) BPFU_PRINTF(2, 3);
/* "[id] KIND name details: fmt"; basic: without details. @fmt NULL: the description only. */
void bpfu_btf_log_type(struct bpfu_btf_env *env, const struct btf_type *t, const char *fmt, ...)
	BPFU_PRINTF(3, 4);
void bpfu_btf_log_basic(struct bpfu_btf_env *env, const struct btf_type *t, const char *fmt, ...)
	BPFU_PRINTF(3, 4);
void bpfu_btf_log_member(struct bpfu_btf_env *env, const struct btf_type *st,
			 const struct btf_member *m, const char *fmt, ...) BPFU_PRINTF(4, 5);
void bpfu_btf_log_var(struct bpfu_btf_env *env, const struct btf_type *sec,
		      const struct btf_var_secinfo *var, const char *fmt, ...) BPFU_PRINTF(4, 5);

/* btf_meta.c: absent or an identifier; @off is in the string section. */
bool bpfu_btf_is_optional_name(const struct bpfu_btf_env *env, uint32_t off);

/* btf_resolve.c: all types, after the meta phase. */
int bpfu_btf_resolve_all(struct bpfu_btf_env *env);
/* The type behind modifiers and its size; NULL if it has none. *@id becomes its id. */
const struct btf_type *bpfu_btf_sized_type(const struct bpfu_btf_env *env, uint32_t *id,
					   uint32_t *size);
/* An int of 1, 2, 4, 8 or 16 whole bytes. */
bool bpfu_btf_is_regular_int(const struct btf_type *t);

/* btf_member.c: member @m of @st, whose type has been resolved. */
int bpfu_btf_check_member(struct bpfu_btf_env *env, const struct btf_type *st,
			  const struct btf_member *m);

/* Kind handlers, listed in btf_kinds.c. */
#define BPFU_BTF_META(name)                                                                        \
	int bpfu_btf_meta_##name(struct bpfu_btf_env *env, const struct btf_type *t, uint32_t left);
#define BPFU_BTF_DETAILS(name)                                                                     \
	void bpfu_btf_details_##name(struct bpfu_btf_env *env, const struct btf_type *t);
#define BPFU_BTF_RESOLVE(name)                                                                     \
	int bpfu_btf_resolve_##name(struct bpfu_btf_env *env, struct bpfu_btf_vertex *v);
#define BPFU_BTF_MEMBER(name)                                                                      \
	int bpfu_btf_member_##name(struct bpfu_btf_env *env, const struct btf_type *st,            \
				   const struct btf_member *m, const struct btf_type *mt);

/* clang-format off */
BPFU_BTF_META(int) BPFU_BTF_META(ref) BPFU_BTF_META(array) BPFU_BTF_META(struct) BPFU_BTF_META(enum)
BPFU_BTF_META(enum64) BPFU_BTF_META(fwd) BPFU_BTF_META(func) BPFU_BTF_META(func_proto)
BPFU_BTF_META(var) BPFU_BTF_META(datasec) BPFU_BTF_META(float) BPFU_BTF_META(decl_tag)

BPFU_BTF_DETAILS(int) BPFU_BTF_DETAILS(ref) BPFU_BTF_DETAILS(array) BPFU_BTF_DETAILS(sized_list)
BPFU_BTF_DETAILS(fwd) BPFU_BTF_DETAILS(func_proto) BPFU_BTF_DETAILS(var) BPFU_BTF_DETAILS(float)
BPFU_BTF_DETAILS(decl_tag)

BPFU_BTF_RESOLVE(none) BPFU_BTF_RESOLVE(modifier) BPFU_BTF_RESOLVE(ptr) BPFU_BTF_RESOLVE(array)
BPFU_BTF_RESOLVE(struct) BPFU_BTF_RESOLVE(func) BPFU_BTF_RESOLVE(var) BPFU_BTF_RESOLVE(datasec)
BPFU_BTF_RESOLVE(decl_tag)

BPFU_BTF_MEMBER(none) BPFU_BTF_MEMBER(kflag_none) BPFU_BTF_MEMBER(int) BPFU_BTF_MEMBER(kflag_int)
BPFU_BTF_MEMBER(modifier) BPFU_BTF_MEMBER(kflag_modifier) BPFU_BTF_MEMBER(ptr)
BPFU_BTF_MEMBER(array) BPFU_BTF_MEMBER(sized) BPFU_BTF_MEMBER(kflag_enum) BPFU_BTF_MEMBER(float)
BPFU_BTF_MEMBER(kflag_generic)
/* clang-format on */

#endif
