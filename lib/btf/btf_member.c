// SPDX-License-Identifier: BSD-2-Clause
/*
 * BTF check, phase RESOLVE: members of structs against the sizes of their types. A struct with
 * kind_flag keeps a bit-field size in the upper byte of each offset.
 */
#include <errno.h>

#include "btf/btf_check.h"
#include "util/bits.h"

#define PTR_SIZE 8u
#define ENUM_BITS 32 /* of an enum member without bit-field size */
#define MAX_COPY_BITS 128

#define REJECT_MEMBER(env, t, m, ...) (bpfu_btf_log_member(env, t, m, __VA_ARGS__), -EINVAL)

int bpfu_btf_check_member(struct bpfu_btf_env *env, const struct btf_type *st,
			  const struct btf_member *m)
{
	const struct btf_type *mt = bpfu_btf_type(env->btf, m->type);
	const struct bpfu_btf_kind_ops *ops = bpfu_btf_kind_ops(bpfu_btf_kind(mt));

	return bpfu_btf_kflag(st) ? ops->kflag_member(env, st, m, mt) : ops->member(env, st, m, mt);
}

int bpfu_btf_member_none(struct bpfu_btf_env *env, const struct btf_type *st,
			 const struct btf_member *m, const struct btf_type *mt)
{
	bpfu_btf_log_basic(env, st, "Unsupported check_member");
	return -EINVAL;
}

int bpfu_btf_member_kflag_none(struct bpfu_btf_env *env, const struct btf_type *st,
			       const struct btf_member *m, const struct btf_type *mt)
{
	bpfu_btf_log_basic(env, st, "Unsupported check_kflag_member");
	return -EINVAL;
}

/* @bits bits from bit @off of @st on, copied in whole bytes. */
static int check_bits(struct bpfu_btf_env *env, const struct btf_type *st,
		      const struct btf_member *m, uint32_t off, uint32_t bits)
{
	uint32_t byte = off / 8, copied = bits + off % 8;

	if (copied > MAX_COPY_BITS)
		return REJECT_MEMBER(env, st, m, "nr_copy_bits exceeds 128");
	if (st->size < byte || st->size - byte < (copied + 7) / 8)
		return REJECT_MEMBER(env, st, m, "Member exceeds struct_size");
	return 0;
}

int bpfu_btf_member_int(struct bpfu_btf_env *env, const struct btf_type *st,
			const struct btf_member *m, const struct btf_type *mt)
{
	uint32_t data = *(const uint32_t *)(mt + 1);

	if (UINT32_MAX - m->offset < BTF_INT_OFFSET(data))
		return REJECT_MEMBER(env, st, m, "bits_offset exceeds U32_MAX");
	return check_bits(env, st, m, m->offset + BTF_INT_OFFSET(data), BTF_INT_BITS(data));
}

int bpfu_btf_member_kflag_int(struct bpfu_btf_env *env, const struct btf_type *st,
			      const struct btf_member *m, const struct btf_type *mt)
{
	uint32_t int_bits = BTF_INT_BITS(*(const uint32_t *)(mt + 1));
	uint32_t bits = BTF_MEMBER_BITFIELD_SIZE(m->offset);
	uint32_t off = BTF_MEMBER_BIT_OFFSET(m->offset);

	if (!bpfu_btf_is_regular_int(mt))
		return REJECT_MEMBER(env, st, m, "Invalid member base type");
	if (!bits && off % 8)
		return REJECT_MEMBER(env, st, m, "Invalid member offset");
	if (bits > int_bits)
		return REJECT_MEMBER(env, st, m, "Invalid member bitfield_size");
	return check_bits(env, st, m, off, bits ? bits : int_bits);
}

/* A member whose type is behind modifiers: as if it had that type. */
static int check_resolved(struct bpfu_btf_env *env, const struct btf_type *st,
			  const struct btf_member *m)
{
	struct btf_member resolved = *m;
	uint32_t size;

	if (!bpfu_btf_sized_type(env, &resolved.type, &size))
		return REJECT_MEMBER(env, st, m, "Invalid member");
	return bpfu_btf_check_member(env, st, &resolved);
}

int bpfu_btf_member_modifier(struct bpfu_btf_env *env, const struct btf_type *st,
			     const struct btf_member *m, const struct btf_type *mt)
{
	return check_resolved(env, st, m);
}

int bpfu_btf_member_kflag_modifier(struct bpfu_btf_env *env, const struct btf_type *st,
				   const struct btf_member *m, const struct btf_type *mt)
{
	return check_resolved(env, st, m);
}

/* @size bytes at a byte boundary. The offset was found to be inside the struct before. */
static int check_bytes(struct bpfu_btf_env *env, const struct btf_type *st,
		       const struct btf_member *m, uint32_t size)
{
	if (m->offset % 8)
		return REJECT_MEMBER(env, st, m, "Member is not byte aligned");
	if (st->size - m->offset / 8 < size)
		return REJECT_MEMBER(env, st, m, "Member exceeds struct_size");
	return 0;
}

int bpfu_btf_member_ptr(struct bpfu_btf_env *env, const struct btf_type *st,
			const struct btf_member *m, const struct btf_type *mt)
{
	return check_bytes(env, st, m, PTR_SIZE);
}

int bpfu_btf_member_sized(struct bpfu_btf_env *env, const struct btf_type *st,
			  const struct btf_member *m, const struct btf_type *mt)
{
	return check_bytes(env, st, m, mt->size);
}

int bpfu_btf_member_array(struct bpfu_btf_env *env, const struct btf_type *st,
			  const struct btf_member *m, const struct btf_type *mt)
{
	return check_bytes(env, st, m, env->resolved_size[m->type]);
}

int bpfu_btf_member_float(struct bpfu_btf_env *env, const struct btf_type *st,
			  const struct btf_member *m, const struct btf_type *mt)
{
	if (m->offset % (8 * BPFU_MIN(mt->size, PTR_SIZE)))
		return REJECT_MEMBER(env, st, m, "Member is not properly aligned");
	if (m->offset / 8 + (uint64_t)mt->size > st->size)
		return REJECT_MEMBER(env, st, m, "Member exceeds struct_size");
	return 0;
}

int bpfu_btf_member_kflag_enum(struct bpfu_btf_env *env, const struct btf_type *st,
			       const struct btf_member *m, const struct btf_type *mt)
{
	uint32_t bits = BTF_MEMBER_BITFIELD_SIZE(m->offset);
	uint32_t off = BTF_MEMBER_BIT_OFFSET(m->offset);

	if (!bits && off % 8)
		return REJECT_MEMBER(env, st, m, "Member is not byte aligned");
	if (bits > ENUM_BITS)
		return REJECT_MEMBER(env, st, m, "Invalid member bitfield_size");
	if (st->size < (off + (bits ? bits : ENUM_BITS) + 7) / 8)
		return REJECT_MEMBER(env, st, m, "Member exceeds struct_size");
	return 0;
}

int bpfu_btf_member_kflag_generic(struct bpfu_btf_env *env, const struct btf_type *st,
				  const struct btf_member *m, const struct btf_type *mt)
{
	if (BTF_MEMBER_BITFIELD_SIZE(m->offset))
		return REJECT_MEMBER(env, st, m, "Invalid member bitfield_size");
	return bpfu_btf_kind_ops(bpfu_btf_kind(mt))->member(env, st, m, mt);
}
