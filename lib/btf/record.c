// SPDX-License-Identifier: BSD-2-Clause
/* Finds the special fields of values; see record.h. Only structures and arrays are looked into. */
#include "btf/record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/bits.h"

#define MAX_DEPTH 16
#define MAX_VISITS (1u << 20) /* members may lie on top of each other, so depth is no bound */

struct scan {
	const struct bpfu_btf *btf;
	struct bpfu_record record;
	uint32_t visits;
};

/* What the tag of a pointer says. */
static int kind_of_tag(const char *tag, enum bpfu_field_kind *kind)
{
	if (!strcmp(tag, "kptr"))
		*kind = BPFU_KPTR_REF;
	else if (!strcmp(tag, "kptr_untrusted"))
		*kind = BPFU_KPTR_UNREF;
	else
		return !strcmp(tag, "percpu_kptr") || !strcmp(tag, "uptr") ? -EOPNOTSUPP : -EINVAL;
	return 0;
}

static const struct btf_type *tag_of(const struct bpfu_btf *btf, const struct btf_type *t)
{
	if (bpfu_btf_kind(t) == BTF_KIND_VOLATILE)
		t = bpfu_btf_type(btf, t->type);
	if (!t || bpfu_btf_kind(t) != BTF_KIND_PTR)
		return NULL;
	t = bpfu_btf_type(btf, t->type);
	return t && bpfu_btf_kind(t) == BTF_KIND_TYPE_TAG && !bpfu_btf_kflag(t) ? t : NULL;
}

static int add_pointer(struct scan *s, const struct btf_type *tag, uint64_t off)
{
	struct bpfu_btf_field field = { .off = (uint32_t)off };
	const struct btf_type *t = bpfu_btf_type(s->btf, tag->type);
	const char *name = bpfu_btf_name(s->btf, tag->name_off);
	int err;

	if (!t || bpfu_btf_kind(t) == BTF_KIND_TYPE_TAG || !name)
		return -EINVAL;
	err = kind_of_tag(name, &field.kind);
	if (err)
		return err;
	t = bpfu_btf_skip_modifiers(s->btf, tag->type, &field.type_id);
	if (!t || bpfu_btf_kind(t) != BTF_KIND_STRUCT || off % BPFU_KPTR_SIZE)
		return -EINVAL;
	if (s->record.cnt == BPFU_FIELDS_MAX)
		return -E2BIG;
	s->record.field[s->record.cnt++] = field;
	return 0;
}

static int scan_struct(struct scan *s, const struct btf_type *t, uint64_t off, uint32_t depth);

/* A member or variable of type @id at @off. */
static int scan_member(struct scan *s, uint32_t id, uint64_t off, uint32_t depth)
{
	const struct btf_type *t = bpfu_btf_type(s->btf, id), *tag;
	uint64_t cnt = 1, size;
	uint32_t before;
	int err = 0;

	while (t && bpfu_btf_kind(t) == BTF_KIND_ARRAY) {
		const struct btf_array *array = (const struct btf_array *)(t + 1);

		if (array->nelems && cnt > UINT32_MAX / array->nelems)
			return 0;
		cnt *= array->nelems;
		t = bpfu_btf_type(s->btf, array->type);
	}
	if (!t || !cnt)
		return 0;
	tag = tag_of(s->btf, t);
	if (!tag && bpfu_btf_kind(t) != BTF_KIND_STRUCT)
		return 0;
	size = tag ? BPFU_KPTR_SIZE : t->size;
	for (uint64_t i = 0; !err && i < cnt; i++) {
		before = s->record.cnt;
		err = tag ? add_pointer(s, tag, off + i * size) :
			    scan_struct(s, t, off + i * size, depth + 1);
		if (s->record.cnt == before)
			break; /* the other elements have none either */
	}
	return err;
}

static int scan_struct(struct scan *s, const struct btf_type *t, uint64_t off, uint32_t depth)
{
	const struct btf_member *m = (const struct btf_member *)(t + 1);
	int err = 0;

	if (depth > MAX_DEPTH)
		return -E2BIG;
	for (uint32_t i = 0; !err && i < bpfu_btf_vlen(t); i++) {
		uint32_t bits = m[i].offset;

		if (bpfu_btf_kflag(t)) {
			if (BTF_MEMBER_BITFIELD_SIZE(bits))
				continue;
			bits = BTF_MEMBER_BIT_OFFSET(bits);
		}
		if (++s->visits > MAX_VISITS)
			return -E2BIG;
		if (!(bits % 8))
			err = scan_member(s, m[i].type, off + bits / 8, depth);
	}
	return err;
}

static int scan_section(struct scan *s, const struct btf_type *t)
{
	const struct btf_var_secinfo *v = (const struct btf_var_secinfo *)(t + 1);
	int err = 0;

	for (uint32_t i = 0; !err && i < bpfu_btf_vlen(t); i++) {
		const struct btf_type *var = bpfu_btf_type(s->btf, v[i].type);

		if (var && bpfu_btf_kind(var) == BTF_KIND_VAR)
			err = scan_member(s, var->type, v[i].offset, 0);
	}
	return err;
}

static int by_offset(const void *a, const void *b)
{
	const struct bpfu_btf_field *x = a, *y = b;

	return x->off < y->off ? -1 : x->off > y->off;
}

int bpfu_record_parse(const struct bpfu_btf *btf, uint32_t type_id, struct bpfu_record **out)
{
	const struct btf_type *t = bpfu_btf_skip_modifiers(btf, type_id, NULL);
	struct scan s = { .btf = btf };
	int err = 0;

	*out = NULL;
	if (t && bpfu_btf_kind(t) == BTF_KIND_STRUCT)
		err = scan_struct(&s, t, 0, 0);
	else if (t && bpfu_btf_kind(t) == BTF_KIND_DATASEC)
		err = scan_section(&s, t);
	if (err || !s.record.cnt)
		return err == -EOPNOTSUPP ? err : 0;
	qsort(s.record.field, s.record.cnt, sizeof(s.record.field[0]), by_offset);
	*out = malloc(sizeof(**out));
	if (!*out)
		return -ENOMEM;
	**out = s.record;
	return 0;
}

const struct bpfu_btf_field *bpfu_record_find(const struct bpfu_record *record, uint32_t off)
{
	for (uint32_t i = 0; record && i < record->cnt; i++)
		if (record->field[i].off == off)
			return &record->field[i];
	return NULL;
}

/* Types by which the kernel knows members that it prepares and takes down. */
static bool is_special_type(const char *name)
{
	static const char *const names[] = {
		"bpf_spin_lock", "bpf_res_spin_lock", "bpf_timer", "bpf_wq", "bpf_task_work",
		"bpf_list_head", "bpf_list_node", "bpf_rb_root", "bpf_rb_node", "bpf_refcount",
	};

	for (size_t i = 0; name && i < BPFU_ARRAY_SIZE(names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

static bool has_special(const struct bpfu_btf *btf, const struct btf_type *t, uint32_t depth,
			uint32_t *visits)
{
	const struct btf_member *m = (const struct btf_member *)(t + 1);

	for (uint32_t i = 0; i < bpfu_btf_vlen(t); i++) {
		const struct btf_type *mt = bpfu_btf_type(btf, m[i].type);

		while (mt && bpfu_btf_kind(mt) == BTF_KIND_ARRAY)
			mt = bpfu_btf_type(btf, ((const struct btf_array *)(mt + 1))->type);
		if (!mt)
			continue;
		if (tag_of(btf, mt) || ++*visits > MAX_VISITS)
			return true;
		if (bpfu_btf_kind(mt) == BTF_KIND_STRUCT &&
		    (is_special_type(bpfu_btf_name(btf, mt->name_off)) || depth > MAX_DEPTH ||
		     has_special(btf, mt, depth + 1, visits)))
			return true;
	}
	return false;
}

bool bpfu_btf_struct_is_special(const struct bpfu_btf *btf, uint32_t type_id)
{
	const struct btf_type *t = bpfu_btf_type(btf, type_id);
	uint32_t visits = 0;

	return t && bpfu_btf_kind(t) == BTF_KIND_STRUCT && has_special(btf, t, 0, &visits);
}
