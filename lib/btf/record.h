/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fields of a map's value that are not plain bytes: pointers to objects that programs make and own
 * ("struct T __kptr *p", the type tag "kptr"), and such pointers without ownership ("kptr_untrusted").
 */
#ifndef BPFU_BTF_RECORD_H
#define BPFU_BTF_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "btf/btf.h"

#define BPFU_FIELDS_MAX 11
#define BPFU_KPTR_SIZE 8

enum bpfu_field_kind {
	BPFU_KPTR_REF,   /* owns what it points to */
	BPFU_KPTR_UNREF, /* what it points to may be gone */
};

struct bpfu_btf_field {
	uint32_t off;     /* bytes from the start of the value */
	enum bpfu_field_kind kind;
	uint32_t type_id; /* the structure that it points to, in the BTF of the map */
};

struct bpfu_record {
	uint32_t cnt;
	struct bpfu_btf_field field[BPFU_FIELDS_MAX]; /* by offset */
};

/*
 * The fields of values of type @type_id. *@out is NULL (and the result 0) if there are none, or if
 * one is not well formed: then none is one, as with the kernel. Else free() it. -ENOMEM, or -EOPNOTSUPP
 * for tags that the kernel knows and libbpfu does not.
 */
int bpfu_record_parse(const struct bpfu_btf *btf, uint32_t type_id, struct bpfu_record **out);

/* The field at @off, NULL if none begins there. @record may be NULL. */
const struct bpfu_btf_field *bpfu_record_find(const struct bpfu_record *record, uint32_t off);

/* True if a structure has members that bpf_obj_new() would have to prepare, which it cannot. */
bool bpfu_btf_struct_is_special(const struct bpfu_btf *btf, uint32_t type_id);

#endif
