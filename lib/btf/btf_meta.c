// SPDX-License-Identifier: BSD-2-Clause
/*
 * BTF check, phase META: each type by itself. Every handler gets the type and the number of bytes
 * behind it, checks the header's fields and the tail, prints the type, and returns the tail's size.
 */
#include <errno.h>

#include "btf/btf_check.h"
#include "util/bits.h"
#include "util/latin1.h"

#define INT_MASK 0x0fffffffu
#define INT_MAX_BITS 128
#define NAME_LEN_MAX 512 /* KSYM_NAME_LEN */

/* Say why and return the error. */
#define REJECT(env, t, ...) (bpfu_btf_log_type(env, t, __VA_ARGS__), -EINVAL)

static bool type_id_valid(uint32_t id)
{
	return id <= BPFU_BTF_MAX_TYPE;
}

static bool is_name_char(char c, bool first)
{
	return bpfu_is_alpha(c) || c == '_' || c == '.' || (!first && bpfu_is_digit(c));
}

static bool is_identifier(const struct bpfu_btf_env *env, uint32_t off)
{
	const char *name = env->btf->strings + off, *end = name + NAME_LEN_MAX;

	if (!is_name_char(*name, true))
		return false;
	for (name++; *name && name < end; name++)
		if (!is_name_char(*name, false))
			return false;
	return !*name;
}

static bool is_section_name(const struct bpfu_btf_env *env, uint32_t off)
{
	const char *name = env->btf->strings + off, *end = name + NAME_LEN_MAX;

	if (!*name)
		return false;
	for (; *name && name < end; name++)
		if (!bpfu_is_print(*name))
			return false;
	return !*name;
}

bool bpfu_btf_is_optional_name(const struct bpfu_btf_env *env, uint32_t off)
{
	return !off || is_identifier(env, off);
}

static bool is_required_name(const struct bpfu_btf_env *env, uint32_t off)
{
	return off && is_identifier(env, off);
}

static bool is_empty_name(const struct bpfu_btf_env *env, uint32_t off)
{
	return !env->btf->strings[off];
}

static int check_left(struct bpfu_btf_env *env, const struct btf_type *t, uint32_t left,
		      uint32_t needed)
{
	if (left >= needed)
		return 0;
	bpfu_btf_log_basic(env, t, "meta_left:%u meta_needed:%u", left, needed);
	return -EINVAL;
}

static int accept(struct bpfu_btf_env *env, const struct btf_type *t, uint32_t tail)
{
	bpfu_btf_log_type(env, t, NULL);
	return (int)tail;
}

/* ---- INT ---- */

void bpfu_btf_details_int(struct bpfu_btf_env *env, const struct btf_type *t)
{
	static const char *const names[] = { "(none)", "SIGNED", "CHAR", "UNKN", "BOOL" };
	uint32_t data = *(const uint32_t *)(t + 1), encoding = BTF_INT_ENCODING(data);

	bpfu_btf_log(env, "size=%u bits_offset=%u nr_bits=%u encoding=%s", t->size,
		     BTF_INT_OFFSET(data), BTF_INT_BITS(data),
		     encoding < BPFU_ARRAY_SIZE(names) ? names[encoding] : "UNKN");
}

int bpfu_btf_meta_int(struct bpfu_btf_env *env, const struct btf_type *t, uint32_t left)
{
	uint32_t data, bits, encoding;

	if (check_left(env, t, left, sizeof(data)))
		return -EINVAL;
	if (bpfu_btf_vlen(t))
		return REJECT(env, t, "vlen != 0");
	if (bpfu_btf_kflag(t))
		return REJECT(env, t, "Invalid btf_info kind_flag");
	data = *(const uint32_t *)(t + 1);
	if (data & ~INT_MASK) {
		bpfu_btf_log_basic(env, t, "Invalid int_data:%x", data);
		return -EINVAL;
	}
	bits = BTF_INT_BITS(data) + BTF_INT_OFFSET(data);
	if (bits > INT_MAX_BITS)
		return REJECT(env, t, "nr_bits exceeds %d", INT_MAX_BITS);
	if ((bits + 7) / 8 > t->size)
		return REJECT(env, t, "nr_bits exceeds type_size");
	encoding = BTF_INT_ENCODING(data);
	if (encoding && encoding != BTF_INT_SIGNED && encoding != BTF_INT_CHAR &&
	    encoding != BTF_INT_BOOL) {
		bpfu_btf_log_type(env, t, "Unsupported encoding");
		return -BPFU_ENOTSUPP;
	}
	return accept(env, t, sizeof(data));
}

/* ---- PTR, TYPEDEF, VOLATILE, CONST, RESTRICT, TYPE_TAG ---- */

void bpfu_btf_details_ref(struct bpfu_btf_env *env, const struct btf_type *t)
{
	bpfu_btf_log(env, "type_id=%u", t->type);
}

int bpfu_btf_meta_ref(struct bpfu_btf_env *env, const struct btf_type *t, uint32_t left)
{
	uint32_t kind = bpfu_btf_kind(t);
	bool name_ok;

	if (bpfu_btf_vlen(t))
		return REJECT(env, t, "vlen != 0");
	if (bpfu_btf_kflag(t) && kind != BTF_KIND_TYPE_TAG)
		return REJECT(env, t, "Invalid btf_info kind_flag");
	if (!type_id_valid(t->type))
		return REJECT(env, t, "Invalid type_id");
	if (kind == BTF_KIND_TYPEDEF)
		name_ok = is_required_name(env, t->name_off);
	else if (kind == BTF_KIND_TYPE_TAG)
		name_ok = !is_empty_name(env, t->name_off);
	else
		name_ok = !t->name_off;
	if (!name_ok)
		return REJECT(env, t, "Invalid name");
	return accept(env, t, 0);
}

/* ---- FWD ---- */

void bpfu_btf_details_fwd(struct bpfu_btf_env *env, const struct btf_type *t)
{
	bpfu_btf_log(env, "%s", bpfu_btf_kflag(t) ? "union" : "struct");
}

int bpfu_btf_meta_fwd(struct bpfu_btf_env *env, const struct btf_type *t, uint32_t left)
{
	if (bpfu_btf_vlen(t))
		return REJECT(env, t, "vlen != 0");
	if (t->type)
		return REJECT(env, t, "type != 0");
	if (!is_required_name(env, t->name_off))
		return REJECT(env, t, "Invalid name");
	return accept(env, t, 0);
}

/* ---- ARRAY ---- */

void bpfu_btf_details_array(struct bpfu_btf_env *env, const struct btf_type *t)
{
	const struct btf_array *array = (const struct btf_array *)(t + 1);

	bpfu_btf_log(env, "type_id=%u index_type_id=%u nr_elems=%u", array->type,
		     array->index_type, array->nelems);
}

int bpfu_btf_meta_array(struct bpfu_btf_env *env, const struct btf_type *t, uint32_t left)
{
	const struct btf_array *array = (const struct btf_array *)(t + 1);

	if (check_left(env, t, left, sizeof(*array)))
		return -EINVAL;
	if (t->name_off)
		return REJECT(env, t, "Invalid name");
	if (bpfu_btf_vlen(t))
		return REJECT(env, t, "vlen != 0");
	if (bpfu_btf_kflag(t))
		return REJECT(env, t, "Invalid btf_info kind_flag");
	if (t->size)
		return REJECT(env, t, "size != 0");
	if (!array->type || !type_id_valid(array->type))
		return REJECT(env, t, "Invalid elem");
	if (!array->index_type || !type_id_valid(array->index_type))
		return REJECT(env, t, "Invalid index");
	return accept(env, t, sizeof(*array));
}

/* ---- STRUCT, UNION ---- */

void bpfu_btf_details_sized_list(struct bpfu_btf_env *env, const struct btf_type *t)
{
	bpfu_btf_log(env, "size=%u vlen=%u", t->size, bpfu_btf_vlen(t));
}

#define REJECT_MEMBER(env, t, m, ...) (bpfu_btf_log_member(env, t, m, __VA_ARGS__), -EINVAL)

static int check_member(struct bpfu_btf_env *env, const struct btf_type *t,
			const struct btf_member *m, uint32_t last_offset)
{
	uint32_t offset = bpfu_btf_kflag(t) ? BTF_MEMBER_BIT_OFFSET(m->offset) : m->offset;

	if (!bpfu_btf_name_off_valid(env, m->name_off))
		return REJECT_MEMBER(env, t, m, "Invalid member name_offset:%u", m->name_off);
	if (!bpfu_btf_is_optional_name(env, m->name_off))
		return REJECT_MEMBER(env, t, m, "Invalid name");
	if (!m->type || !type_id_valid(m->type))
		return REJECT_MEMBER(env, t, m, "Invalid type_id");
	if (bpfu_btf_kind(t) == BTF_KIND_UNION && offset)
		return REJECT_MEMBER(env, t, m, "Invalid member bits_offset");
	if (last_offset > offset)
		return REJECT_MEMBER(env, t, m, "Invalid member bits_offset");
	if (((uint64_t)offset + 7) / 8 > t->size)
		return REJECT_MEMBER(env, t, m, "Member bits_offset exceeds its struct size");
	bpfu_btf_log_member(env, t, m, NULL);
	return 0;
}

int bpfu_btf_meta_struct(struct bpfu_btf_env *env, const struct btf_type *t, uint32_t left)
{
	const struct btf_member *m = (const struct btf_member *)(t + 1);
	uint32_t needed = bpfu_btf_vlen(t) * (uint32_t)sizeof(*m), last = 0;

	if (check_left(env, t, left, needed))
		return -EINVAL;
	if (!bpfu_btf_is_optional_name(env, t->name_off))
		return REJECT(env, t, "Invalid name");
	bpfu_btf_log_type(env, t, NULL);
	for (uint32_t i = 0; i < bpfu_btf_vlen(t); i++, m++) {
		if (check_member(env, t, m, last))
			return -EINVAL;
		last = bpfu_btf_kflag(t) ? BTF_MEMBER_BIT_OFFSET(m->offset) : m->offset;
	}
	return (int)needed;
}

/* ---- ENUM, ENUM64 ---- */

static int check_enum(struct bpfu_btf_env *env, const struct btf_type *t, uint32_t left,
		      uint32_t row_size)
{
	if (check_left(env, t, left, bpfu_btf_vlen(t) * row_size))
		return -EINVAL;
	if (t->size > 8 || !t->size || (t->size & (t->size - 1)))
		return REJECT(env, t, "Unexpected size");
	if (!bpfu_btf_is_optional_name(env, t->name_off))
		return REJECT(env, t, "Invalid name");
	bpfu_btf_log_type(env, t, NULL);
	return 0;
}

static int check_enum_name(struct bpfu_btf_env *env, const struct btf_type *t, uint32_t off)
{
	if (!bpfu_btf_name_off_valid(env, off)) {
		bpfu_btf_log(env, "\tInvalid name_offset:%u", off);
		return -EINVAL;
	}
	if (!is_required_name(env, off))
		return REJECT(env, t, "Invalid name");
	return 0;
}

int bpfu_btf_meta_enum(struct bpfu_btf_env *env, const struct btf_type *t, uint32_t left)
{
	const struct btf_enum *e = (const struct btf_enum *)(t + 1);

	if (check_enum(env, t, left, sizeof(*e)))
		return -EINVAL;
	for (uint32_t i = 0; i < bpfu_btf_vlen(t); i++, e++) {
		if (check_enum_name(env, t, e->name_off))
			return -EINVAL;
		bpfu_btf_log(env, bpfu_btf_kflag(t) ? "\t%s val=%d\n" : "\t%s val=%u\n",
			     bpfu_btf_log_name(env, e->name_off), e->val);
	}
	return (int)(bpfu_btf_vlen(t) * sizeof(*e));
}

int bpfu_btf_meta_enum64(struct bpfu_btf_env *env, const struct btf_type *t, uint32_t left)
{
	const struct btf_enum64 *e = (const struct btf_enum64 *)(t + 1);

	if (check_enum(env, t, left, sizeof(*e)))
		return -EINVAL;
	for (uint32_t i = 0; i < bpfu_btf_vlen(t); i++, e++) {
		if (check_enum_name(env, t, e->name_off))
			return -EINVAL;
		bpfu_btf_log(env, bpfu_btf_kflag(t) ? "\t%s val=%lld\n" : "\t%s val=%llu\n",
			     bpfu_btf_log_name(env, e->name_off),
			     (unsigned long long)e->val_hi32 << 32 | e->val_lo32);
	}
	return (int)(bpfu_btf_vlen(t) * sizeof(*e));
}

/* ---- FUNC, FUNC_PROTO ---- */

int bpfu_btf_meta_func(struct bpfu_btf_env *env, const struct btf_type *t, uint32_t left)
{
	if (!is_required_name(env, t->name_off))
		return REJECT(env, t, "Invalid name");
	if (bpfu_btf_vlen(t) > BTF_FUNC_GLOBAL)
		return REJECT(env, t, "Invalid func linkage");
	if (bpfu_btf_kflag(t))
		return REJECT(env, t, "Invalid btf_info kind_flag");
	return accept(env, t, 0);
}

void bpfu_btf_details_func_proto(struct bpfu_btf_env *env, const struct btf_type *t)
{
	const struct btf_param *p = (const struct btf_param *)(t + 1);
	uint32_t cnt = bpfu_btf_vlen(t);

	bpfu_btf_log(env, "return=%u args=(%s", t->type, cnt ? "" : "void");
	for (uint32_t i = 0; i < cnt; i++) {
		bpfu_btf_log(env, "%s", i ? ", " : "");
		if (i == cnt - 1 && !p[i].type)
			bpfu_btf_log(env, "vararg");
		else
			bpfu_btf_log(env, "%u %s", p[i].type,
				     bpfu_btf_log_name(env, p[i].name_off));
	}
	bpfu_btf_log(env, ")");
}

int bpfu_btf_meta_func_proto(struct bpfu_btf_env *env, const struct btf_type *t, uint32_t left)
{
	uint32_t needed = bpfu_btf_vlen(t) * (uint32_t)sizeof(struct btf_param);

	if (check_left(env, t, left, needed))
		return -EINVAL;
	if (t->name_off)
		return REJECT(env, t, "Invalid name");
	if (bpfu_btf_kflag(t))
		return REJECT(env, t, "Invalid btf_info kind_flag");
	return accept(env, t, needed);
}

/* ---- VAR, DATASEC ---- */

void bpfu_btf_details_var(struct bpfu_btf_env *env, const struct btf_type *t)
{
	bpfu_btf_log(env, "type_id=%u linkage=%u", t->type,
		     ((const struct btf_var *)(t + 1))->linkage);
}

int bpfu_btf_meta_var(struct bpfu_btf_env *env, const struct btf_type *t, uint32_t left)
{
	const struct btf_var *var = (const struct btf_var *)(t + 1);

	if (check_left(env, t, left, sizeof(*var)))
		return -EINVAL;
	if (bpfu_btf_vlen(t))
		return REJECT(env, t, "vlen != 0");
	if (bpfu_btf_kflag(t))
		return REJECT(env, t, "Invalid btf_info kind_flag");
	if (!is_required_name(env, t->name_off))
		return REJECT(env, t, "Invalid name");
	if (!t->type || !type_id_valid(t->type))
		return REJECT(env, t, "Invalid type_id");
	if (var->linkage != BTF_VAR_STATIC && var->linkage != BTF_VAR_GLOBAL_ALLOCATED)
		return REJECT(env, t, "Linkage not supported");
	return accept(env, t, sizeof(*var));
}

#define REJECT_VAR(env, t, v, ...) (bpfu_btf_log_var(env, t, v, __VA_ARGS__), -EINVAL)

static int check_vars(struct bpfu_btf_env *env, const struct btf_type *t)
{
	const struct btf_var_secinfo *v = (const struct btf_var_secinfo *)(t + 1);
	uint32_t end = 0;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < bpfu_btf_vlen(t); i++, v++) {
		if (!v->type || !type_id_valid(v->type))
			return REJECT_VAR(env, t, v, "Invalid type_id");
		if (v->offset < end || v->offset >= t->size)
			return REJECT_VAR(env, t, v, "Invalid offset");
		if (!v->size || v->size > t->size)
			return REJECT_VAR(env, t, v, "Invalid size");
		end = v->offset + v->size;
		if (end > t->size)
			return REJECT_VAR(env, t, v, "Invalid offset+size");
		bpfu_btf_log_var(env, t, v, NULL);
		sum += v->size;
	}
	return t->size < sum ? REJECT(env, t, "Invalid btf_info size") : 0;
}

int bpfu_btf_meta_datasec(struct bpfu_btf_env *env, const struct btf_type *t, uint32_t left)
{
	uint32_t needed = bpfu_btf_vlen(t) * (uint32_t)sizeof(struct btf_var_secinfo);

	if (check_left(env, t, left, needed))
		return -EINVAL;
	if (!t->size)
		return REJECT(env, t, "size == 0");
	if (bpfu_btf_kflag(t))
		return REJECT(env, t, "Invalid btf_info kind_flag");
	if (!t->name_off || !is_section_name(env, t->name_off))
		return REJECT(env, t, "Invalid name");
	bpfu_btf_log_type(env, t, NULL);
	return check_vars(env, t) ? -EINVAL : (int)needed;
}

/* ---- FLOAT, DECL_TAG ---- */

void bpfu_btf_details_float(struct bpfu_btf_env *env, const struct btf_type *t)
{
	bpfu_btf_log(env, "size=%u", t->size);
}

int bpfu_btf_meta_float(struct bpfu_btf_env *env, const struct btf_type *t, uint32_t left)
{
	if (bpfu_btf_vlen(t))
		return REJECT(env, t, "vlen != 0");
	if (bpfu_btf_kflag(t))
		return REJECT(env, t, "Invalid btf_info kind_flag");
	if (t->size != 2 && t->size != 4 && t->size != 8 && t->size != 12 && t->size != 16)
		return REJECT(env, t, "Invalid type_size");
	return accept(env, t, 0);
}

void bpfu_btf_details_decl_tag(struct bpfu_btf_env *env, const struct btf_type *t)
{
	bpfu_btf_log(env, "type=%u component_idx=%d", t->type,
		     ((const struct btf_decl_tag *)(t + 1))->component_idx);
}

int bpfu_btf_meta_decl_tag(struct bpfu_btf_env *env, const struct btf_type *t, uint32_t left)
{
	const struct btf_decl_tag *tag = (const struct btf_decl_tag *)(t + 1);

	if (check_left(env, t, left, sizeof(*tag)))
		return -EINVAL;
	if (is_empty_name(env, t->name_off))
		return REJECT(env, t, "Invalid value");
	if (bpfu_btf_vlen(t))
		return REJECT(env, t, "vlen != 0");
	if (tag->component_idx < -1)
		return REJECT(env, t, "Invalid component_idx");
	return accept(env, t, sizeof(*tag));
}
