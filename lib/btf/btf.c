// SPDX-License-Identifier: BSD-2-Clause
/* BTF objects and look-up in checked BTF. btf_check.c and its neighbours do the checking. */
#include "btf/btf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "btf/btf_check.h"
#include "util/bits.h"

static void btf_release(struct bpfu_obj *obj)
{
	struct bpfu_btf *btf = bpfu_btf_of(obj);

	free(btf->types);
	free(btf->alloc);
	free(btf);
}

/*
 * A copy of @data whose type section lies aligned, whatever the length of the header. Offsets are
 * multiples of 4 from the end of the header (checked later; a lie only costs the alignment).
 */
static int copy_blob(struct bpfu_btf *btf, const void *data, uint32_t size)
{
	uint32_t hdr_len = 0, pad;

	if (size >= BPFU_BTF_HDR_LEN_END)
		memcpy(&hdr_len, (const char *)data + offsetof(struct btf_header, hdr_len), 4);
	pad = -hdr_len % 4;
	btf->alloc = malloc((size_t)size + pad + 1);
	if (!btf->alloc)
		return -ENOMEM;
	btf->data = (char *)btf->alloc + pad;
	btf->data_size = size;
	memcpy(btf->data, data, size);
	return 0;
}

int bpfu_btf_new(const void *data, uint32_t size, struct bpfu_log *log, struct bpfu_btf **out)
{
	struct bpfu_btf *btf;
	int err;

	if (size > BPFU_BTF_MAX_SIZE)
		return -E2BIG;
	btf = calloc(1, sizeof(*btf));
	if (!btf)
		return -ENOMEM;
	bpfu_obj_init(&btf->obj, BPFU_OBJ_BTF, btf_release);
	err = copy_blob(btf, data, size);
	if (!err)
		err = bpfu_btf_check(btf, log);
	if (err) {
		bpfu_obj_put(&btf->obj);
		return err;
	}
	*out = btf;
	return 0;
}

const struct btf_type *bpfu_btf_type(const struct bpfu_btf *btf, uint32_t id)
{
	return id < btf->type_cnt ? btf->types[id] : NULL;
}

const char *bpfu_btf_name(const struct bpfu_btf *btf, uint32_t name_off)
{
	return name_off < btf->str_len ? btf->strings + name_off : NULL;
}

const struct btf_type *bpfu_btf_skip_modifiers(const struct bpfu_btf *btf, uint32_t id,
					       uint32_t *res_id)
{
	const struct btf_type *t = bpfu_btf_type(btf, id);

	while (t && bpfu_btf_is_modifier(t)) {
		id = t->type;
		t = bpfu_btf_type(btf, id);
	}
	if (res_id)
		*res_id = id;
	return t;
}

int64_t bpfu_btf_size(const struct bpfu_btf *btf, uint32_t id)
{
	const struct btf_type *t;
	uint64_t elems = 1; /* may wrap for arrays of nothing, whose size is 0 */

	for (;;) {
		t = bpfu_btf_skip_modifiers(btf, id, NULL);
		if (!t)
			return -EINVAL;
		switch (bpfu_btf_kind(t)) {
		case BTF_KIND_INT:
		case BTF_KIND_STRUCT:
		case BTF_KIND_UNION:
		case BTF_KIND_ENUM:
		case BTF_KIND_ENUM64:
		case BTF_KIND_FLOAT:
		case BTF_KIND_DATASEC:
			return (int64_t)(elems * t->size);
		case BTF_KIND_PTR:
			return (int64_t)(elems * sizeof(void *));
		case BTF_KIND_ARRAY:
			elems *= ((const struct btf_array *)(t + 1))->nelems;
			id = ((const struct btf_array *)(t + 1))->type;
			break;
		case BTF_KIND_VAR:
			id = t->type;
			break;
		default:
			return -EINVAL;
		}
	}
}
