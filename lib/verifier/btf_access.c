// SPDX-License-Identifier: BSD-2-Clause
/*
 * Loads and stores through pointers to structures of the program's BTF. An access has to lie within one
 * member, or one array of numbers, and a pointer is read and written as a whole; what is read from
 * one is a number here.
 */
#include <errno.h>

#include "btf/btf.h"
#include "verifier/env.h"

static const char *name_of(const struct bpfu_btf *btf, uint32_t name_off)
{
	const char *name = bpfu_btf_name(btf, name_off);

	return name ? name : "";
}

const char *bpfu_vrf_struct_name(const struct bpfu_reg *reg)
{
	const struct btf_type *t = bpfu_btf_type(reg->btf, reg->type_id);

	return t ? name_of(reg->btf, t->name_off) : "";
}

/* Where the walk stands: [off, + size) of structure @t. */
struct walk {
	struct bpfu_env *env;
	const struct bpfu_btf *btf;
	const struct btf_type *t;
	uint32_t off, size;
	bool found;
};

static int beyond_struct(struct walk *w)
{
	bpfu_vrf_log(w->env, "access beyond struct %s at off %u size %u\n",
		     name_of(w->btf, w->t->name_off), w->off, w->size);
	return -EACCES;
}

/* The access begins inside member @m at @start, of @len bytes. */
static int enter_member(struct walk *w, const struct btf_member *m, uint32_t start, uint64_t len)
{
	const struct btf_type *mt = bpfu_btf_skip_modifiers(w->btf, m->type, NULL);
	uint64_t end = start + len, one = len;
	const char *name = name_of(w->btf, m->name_off);

	/* The element of an array that it begins in. */
	while (mt && bpfu_btf_kind(mt) == BTF_KIND_ARRAY) {
		const struct btf_array *array = (const struct btf_array *)(mt + 1);

		one /= array->nelems;
		mt = bpfu_btf_skip_modifiers(w->btf, array->type, NULL);
	}
	if (!mt || !one)
		return -EFAULT;
	start += (uint32_t)((w->off - start) / one * one);
	if (bpfu_btf_is_struct(mt)) {
		w->t = mt;
		w->off -= start;
		return 0;
	}
	w->found = true;
	if (bpfu_btf_kind(mt) == BTF_KIND_PTR && (one != w->size || w->off != start)) {
		bpfu_vrf_log(w->env,
			     "cannot access ptr member %s with moff %u in struct %s with off %u size %u\n",
			     name, start, name_of(w->btf, w->t->name_off), w->off, w->size);
		return -EACCES;
	}
	if (w->off + w->size > end) {
		bpfu_vrf_log(w->env,
			     "access beyond the end of member %s (mend:%u) in struct %s with off %u size "
			     "%u\n",
			     name, (uint32_t)end, name_of(w->btf, w->t->name_off), w->off, w->size);
		return -EACCES;
	}
	return 0;
}

/* Find the member that the access is in. */
static int step_into(struct walk *w)
{
	const struct btf_member *m = (const struct btf_member *)(w->t + 1);
	uint32_t vlen = bpfu_btf_vlen(w->t);

	if ((uint64_t)w->off + w->size > w->t->size)
		return beyond_struct(w);
	for (uint32_t i = 0; i < vlen; i++) {
		bool kflag = bpfu_btf_kflag(w->t);
		uint32_t bit = kflag ? BTF_MEMBER_BIT_OFFSET(m[i].offset) : m[i].offset;
		uint32_t bits = kflag ? BTF_MEMBER_BITFIELD_SIZE(m[i].offset) : 0, start = bit / 8;
		int64_t len;

		if (w->off + w->size <= start)
			break;
		if (bits) { /* only as a part of what is accessed as a whole */
			if (w->off <= start && (bit + bits + 7) / 8 <= w->off + w->size) {
				w->found = true;
				return 0;
			}
			continue;
		}
		if (w->off < start)
			break;
		len = bpfu_btf_size(w->btf, m[i].type);
		if (len < 0) {
			bpfu_vrf_log(w->env, "field %s doesn't have size\n",
				     name_of(w->btf, m[i].name_off));
			return -EFAULT;
		}
		if (w->off < start + (uint64_t)len)
			return enter_member(w, &m[i], start, (uint64_t)len);
	}
	bpfu_vrf_log(w->env, "struct %s doesn't have field at offset %u\n",
		     name_of(w->btf, w->t->name_off), w->off);
	return -EINVAL;
}

int bpfu_vrf_btf_access(struct bpfu_env *env, uint32_t regno, int off, int size, bool write)
{
	const struct bpfu_reg *reg = &bpfu_vrf_regs(env)[regno];
	struct walk w = { .env = env, .btf = reg->btf, .size = (uint32_t)size };
	char text[48];
	int err = 0;

	off += reg->off;
	if (off < 0) {
		bpfu_vrf_log(env, "R%u is ptr_%s invalid negative access: off=%d\n", regno,
			     bpfu_vrf_struct_name(reg), off);
		return -EACCES;
	}
	if (!bpfu_range_is_zero(&reg->range)) {
		bpfu_vrf_log(env, "R%u is ptr_%s invalid variable offset: off=%d, var_off=%s\n",
			     regno, bpfu_vrf_struct_name(reg), off,
			     bpfu_vrf_tnum_text(reg->range.var, text));
		return -EACCES;
	}
	if (write && !(reg->flags & BPFU_REG_ALLOC)) {
		bpfu_vrf_log(env, "only read is supported\n");
		return -EACCES;
	}
	w.t = bpfu_btf_type(reg->btf, reg->type_id);
	w.off = (uint32_t)off;
	while (!err && !w.found)
		err = step_into(&w);
	return err;
}
