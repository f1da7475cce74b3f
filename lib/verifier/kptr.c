// SPDX-License-Identifier: BSD-2-Clause
/*
 * Pointers to objects in the values of maps (btf/record.h). A program takes one out, and puts one in,
 * with bpf_kptr_xchg(), and so there is always one owner. A plain load gives a pointer that is good for
 * reading and writing as long as the program runs, or, if the program may sleep, for reading only.
 */
#include <errno.h>

#include "btf/record.h"
#include "map/map.h"
#include "verifier/env.h"

static int check_touch(struct bpfu_env *env, const struct bpfu_reg *reg,
		       const struct bpfu_btf_field *field, int64_t off, int size, bool direct)
{
	if (!direct) {
		bpfu_vrf_log(env, "kptr cannot be accessed indirectly by helper\n");
		return -EACCES;
	}
	if (!bpfu_range_is_const(&reg->range)) {
		bpfu_vrf_log(env, "kptr access cannot have variable offset\n");
		return -EACCES;
	}
	off += (int64_t)reg->range.var.value;
	if (off != field->off) {
		bpfu_vrf_log(env, "kptr access misaligned expected=%u off=%lld\n", field->off,
			     (long long)off);
		return -EACCES;
	}
	if (size != BPFU_KPTR_SIZE) {
		bpfu_vrf_log(env, "kptr access size must be BPF_DW\n");
		return -EACCES;
	}
	return 0;
}

int bpfu_vrf_map_fields(struct bpfu_env *env, uint32_t regno, int off, int size, bool direct)
{
	const struct bpfu_reg *reg = &bpfu_vrf_regs(env)[regno];
	const struct bpfu_record *record = reg->map->record;
	int64_t base = (int64_t)off + reg->off;
	int err = 0;

	/* Within the value, so nothing here overflows. */
	for (uint32_t i = 0; !err && record && i < record->cnt; i++) {
		const struct bpfu_btf_field *f = &record->field[i];

		if (base + reg->range.smin < (int64_t)f->off + BPFU_KPTR_SIZE &&
		    (int64_t)f->off < base + (int64_t)reg->range.umax + size)
			err = check_touch(env, reg, f, base, size, direct);
	}
	return err;
}

const struct bpfu_btf_field *bpfu_vrf_kptr_at(const struct bpfu_reg *reg, int off)
{
	return bpfu_range_is_const(&reg->range) ?
		       bpfu_record_find(reg->map->record,
					(uint32_t)(off + reg->off + (int)reg->range.var.value)) :
		       NULL;
}

/* ---- loads and stores ---- */

static int no_match(struct bpfu_env *env, uint32_t regno, const struct bpfu_btf_field *field,
		    const struct bpfu_btf *btf, bool of_kind)
{
	const struct bpfu_reg *reg = &bpfu_vrf_regs(env)[regno];
	const struct bpfu_reg want = { .btf = btf, .type_id = field->type_id };
	const char *name = bpfu_vrf_struct_name(&want);

	bpfu_vrf_log(env, "invalid kptr access, R%u type=%s%s expected=ptr_%s", regno,
		     bpfu_reg_type_name(reg), of_kind ? bpfu_vrf_struct_name(reg) : "", name);
	if (field->kind == BPFU_KPTR_UNREF)
		bpfu_vrf_log(env, " or untrusted_ptr_%s", name);
	bpfu_vrf_log(env, "\n");
	return -EACCES;
}

/* Is it a pointer that may be where @field is? */
static int check_match(struct bpfu_env *env, uint32_t regno, const struct bpfu_btf_field *field,
		       const struct bpfu_btf *btf)
{
	const struct bpfu_reg *reg = &bpfu_vrf_regs(env)[regno];
	uint8_t allowed = BPFU_REG_ALLOC | BPFU_REG_MAYBE_NULL;
	bool of_kind;

	if (field->kind == BPFU_KPTR_UNREF)
		allowed |= BPFU_REG_UNTRUSTED;
	of_kind = reg->type == BPFU_REG_BTF && !(reg->flags & ~allowed);
	if (of_kind && reg->btf == btf && reg->type_id == field->type_id && !reg->off &&
	    bpfu_range_is_zero(&reg->range))
		return 0;
	return no_match(env, regno, field, btf, of_kind);
}

static int store(struct bpfu_env *env, const struct bpfu_access *a,
		 const struct bpfu_btf_field *field, const struct bpfu_btf *btf)
{
	if (field->kind == BPFU_KPTR_REF) {
		bpfu_vrf_log(env, "store to referenced kptr disallowed\n");
		return -EACCES;
	}
	if (a->st) {
		if (!a->st->imm)
			return 0;
		bpfu_vrf_log(env, "BPF_ST imm must be 0 when storing to kptr at off=%u\n",
			     field->off);
		return -EACCES;
	}
	if (bpfu_reg_is_null(&bpfu_vrf_regs(env)[a->value_regno])) {
		bpfu_vrf_demand(env, &bpfu_vrf_regs(env)[a->value_regno]);
		return 0;
	}
	return check_match(env, (uint32_t)a->value_regno, field, btf);
}

int bpfu_vrf_kptr_access(struct bpfu_env *env, const struct bpfu_access *a,
			 const struct bpfu_btf_field *field, struct bpfu_reg *loaded)
{
	const struct bpfu_btf *btf = bpfu_vrf_regs(env)[a->regno].map->btf;

	if (a->atomic) {
		bpfu_vrf_log(env, "kptr in map can only be accessed using BPF_MEM instruction mode\n");
		return -EACCES;
	}
	if (a->write)
		return store(env, a, field, btf);
	if (!loaded)
		return 0;
	bpfu_reg_init(loaded, BPFU_REG_BTF);
	loaded->btf = btf;
	loaded->type_id = field->type_id;
	loaded->id = ++env->id_gen;
	loaded->flags = BPFU_REG_MAYBE_NULL;
	/* What the map owns outlives this run, which no sleep interrupts. */
	if (field->kind == BPFU_KPTR_REF && !env->sleepable)
		loaded->flags |= BPFU_REG_ALLOC | BPFU_REG_RCU;
	else
		loaded->flags |= BPFU_REG_UNTRUSTED;
	return 0;
}

/* ---- bpf_kptr_xchg() ---- */

static int find_dest(struct bpfu_env *env, uint32_t regno, const struct bpfu_btf_field **field)
{
	const struct bpfu_reg *reg = &bpfu_vrf_regs(env)[regno];
	int off;

	if (!bpfu_range_is_const(&reg->range)) {
		bpfu_vrf_log(env,
			     "R%u doesn't have constant offset. kptr has to be at the constant offset\n",
			     regno);
		return -EINVAL;
	}
	if (!reg->map->record) {
		bpfu_vrf_log(env, "R%u has no valid kptr\n", regno);
		return -EINVAL;
	}
	off = reg->off + (int)reg->range.var.value;
	*field = bpfu_vrf_kptr_at(reg, 0);
	if (!*field) {
		bpfu_vrf_log(env, "off=%d doesn't point to kptr\n", off);
		return -EACCES;
	}
	if ((*field)->kind != BPFU_KPTR_REF) {
		bpfu_vrf_log(env, "off=%d kptr isn't referenced kptr\n", off);
		return -EACCES;
	}
	return 0;
}

int bpfu_vrf_kptr_dest(struct bpfu_env *env, uint32_t regno, const struct bpfu_btf_field **field,
		       const struct bpfu_btf **btf)
{
	const struct bpfu_reg *reg = &bpfu_vrf_regs(env)[regno];

	if (reg->type == BPFU_REG_BTF) { /* structures with such members are not made */
		bpfu_vrf_log(env, "R%u has no valid kptr\n", regno);
		return -EINVAL;
	}
	if (!reg->map->btf) {
		bpfu_vrf_log(env, "map '%s' has to have BTF in order to use bpf_kptr_xchg\n",
			     reg->map->name);
		return -EINVAL;
	}
	*btf = reg->map->btf;
	return find_dest(env, regno, field);
}

int bpfu_vrf_kptr_src(struct bpfu_env *env, uint32_t regno, const struct bpfu_btf_field *field,
		      const struct bpfu_btf *btf)
{
	/* Of an object that may not be there nothing is to be released, or everything. */
	if (bpfu_reg_maybe_null(&bpfu_vrf_regs(env)[regno])) {
		bpfu_vrf_log(env, "R%u: invalid PTR_TO_BTF_ID register for type match\n", regno);
		return -EFAULT;
	}
	return check_match(env, regno, field, btf);
}
