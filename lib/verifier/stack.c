// SPDX-License-Identifier: BSD-2-Clause
/*
 * The stack, byte by byte. A store of a register at the start of a slot keeps the register there
 * (spill), so that a later load brings it back (fill); other stores leave bytes of which only "zero" or
 * "something" is known:
 *
 *   *(u64 *)(r10 - 8) = r6        fp-8  =r6
 *   *(u32 *)(r10 - 8) = w6        fp-8  = upper half as it was, lower half r6 (if it is a scalar)
 *   *(u8 *)(r10 - 1) = 0          fp-8  =0???????
 *
 * An access at an unknown offset counts for every byte it may touch. Memory that was never written
 * may be read (we act for a privileged user, as the kernel's CAP_PERFMON): it holds something.
 */
#include <errno.h>

#include "verifier/env.h"

/* Slot and byte of fp + @off. */
static uint32_t slot_of(int off)
{
	return (uint32_t)(-off - 1) / BPFU_SLOT_BYTES;
}

static uint32_t byte_of(int off)
{
	return BPFU_SLOT_BYTES - 1 - (uint32_t)(-off - 1) % BPFU_SLOT_BYTES;
}

static uint8_t *byte_at(struct bpfu_frame *frame, int off)
{
	return &frame->slot[slot_of(off)].byte[byte_of(off)];
}

static void touch(struct bpfu_env *env, const struct bpfu_frame *frame, uint32_t slot)
{
	if (frame == bpfu_state_top(env->cur))
		bpfu_vrf_touch_slot(env, slot);
}

/* ---- bounds ---- */

/* The bytes min … max - 1 (relative to fp) that an access may touch, made to exist. */
struct extent {
	struct bpfu_frame *frame;
	int min, max;
	bool fixed;
};

static int out_of_stack(struct bpfu_env *env, uint32_t regno, int off, int size, bool write, int err)
{
	const struct bpfu_reg *reg = &bpfu_vrf_regs(env)[regno];
	const char *how = write ? " write to" : " read from";
	char text[48];

	if (bpfu_range_is_const(&reg->range))
		bpfu_vrf_log(env, "invalid%s stack R%u off=%d size=%d\n", how, regno, off, size);
	else
		bpfu_vrf_log(env, "invalid variable-offset%s stack R%u var_off=%s off=%d size=%d\n",
			     how, regno, bpfu_vrf_tnum_text(reg->range.var, text), off, size);
	return err;
}

static int find_extent(struct bpfu_env *env, uint32_t regno, int off, int size, bool write,
		       struct extent *e)
{
	const struct bpfu_reg *reg = &bpfu_vrf_regs(env)[regno];
	struct bpfu_subprog *sub;
	int64_t base = (int64_t)reg->off + off, min, max;
	uint32_t depth;

	e->fixed = bpfu_range_is_const(&reg->range);
	if (!e->fixed && (reg->range.smax >= BPFU_MAX_VAR_OFF ||
			  reg->range.smin <= -BPFU_MAX_VAR_OFF)) {
		bpfu_vrf_log(env, "invalid unbounded variable-offset%s stack R%u\n",
			     write ? " write to" : " read from", regno);
		return -EACCES;
	}
	min = base + (e->fixed ? (int64_t)reg->range.var.value : reg->range.smin);
	max = base + (e->fixed ? (int64_t)reg->range.var.value : reg->range.smax) + size;
	if (min < -BPFU_STACK_SIZE || min >= 0)
		return out_of_stack(env, regno, (int)base, size, write, -EACCES);
	if (max > 0 || size < 0)
		return out_of_stack(env, regno, (int)base, size, write, -EINVAL);
	e->frame = bpfu_vrf_stack_frame(env, reg);
	e->min = (int)min;
	e->max = (int)max;
	depth = (uint32_t)-min;
	sub = &env->prog->subprogs[e->frame->subprog];
	sub->stack_depth = BPFU_MAX(sub->stack_depth, BPFU_ROUND_UP(depth, BPFU_SLOT_BYTES));
	return bpfu_frame_grow(e->frame, depth);
}

/* Each slot of an extent. */
static uint32_t first_slot(const struct extent *e)
{
	return slot_of(e->max - 1);
}

static uint32_t last_slot(const struct extent *e)
{
	return slot_of(e->min);
}

/* ---- reading ---- */

static void mark_read(struct bpfu_env *env, const struct extent *e)
{
	for (uint32_t s = first_slot(e); e->max > e->min && s <= last_slot(e); s++)
		bpfu_lineage_mark(&env->lineage, e->frame->slot[s].node);
}

static bool all_zero(const struct extent *e)
{
	for (int off = e->min; off < e->max; off++)
		if (*byte_at(e->frame, off) != BPFU_BYTE_ZERO)
			return false;
	return true;
}

/* Bytes of a spilled zero, and zero bytes: a zero either way. */
static bool zero_or_spilled_zero(const struct extent *e)
{
	const struct bpfu_slot *slot = &e->frame->slot[first_slot(e)];

	if (!bpfu_reg_is_null(&slot->reg))
		return false;
	for (int off = e->min; off < e->max; off++) {
		uint8_t byte = *byte_at(e->frame, off);

		if (byte != BPFU_BYTE_SPILL && byte != BPFU_BYTE_ZERO)
			return false;
	}
	return true;
}

static void load_number(struct bpfu_env *env, const struct bpfu_access *a, struct bpfu_reg *dst)
{
	bpfu_vrf_set_unknown(env, dst);
	if (a->sign)
		bpfu_range_sext(&dst->range, (unsigned int)a->size);
	else
		bpfu_range_trunc(&dst->range, (unsigned int)a->size);
}

/* Load @a->size bytes at a known place inside a slot with a spilled register. */
static int fill(struct bpfu_env *env, const struct bpfu_access *a, const struct extent *e,
		struct bpfu_slot *slot)
{
	struct bpfu_reg *dst = a->value_regno < 0 ? NULL : &bpfu_vrf_regs(env)[a->value_regno];
	unsigned int spill = bpfu_slot_spill_size(slot);
	struct bpfu_reg value = slot->reg;

	if (value.type != BPFU_REG_SCALAR) {
		if (a->size != BPFU_SLOT_BYTES || spill != BPFU_SLOT_BYTES) {
			bpfu_vrf_log(env, "invalid size of register fill\n");
			return -EACCES;
		}
		if (dst)
			*dst = value;
		return 0;
	}
	if (!dst)
		return 0;
	if (byte_of(e->min) == 0 && (unsigned int)a->size <= spill) {
		/* The low bytes; the register itself if nothing of it is cut off. */
		if (a->size < 8 && value.range.umax >> (8 * a->size)) {
			bpfu_reg_unlink(&value);
		}
		if (a->sign && a->size < 8) {
			if (value.range.umax >> (8 * a->size - 1)) {
				bpfu_reg_unlink(&value);
			}
			bpfu_range_sext(&value.range, (unsigned int)a->size);
		} else {
			bpfu_range_trunc(&value.range, (unsigned int)a->size);
		}
		*dst = value;
		return 0;
	}
	if (zero_or_spilled_zero(e)) {
		bpfu_vrf_set_const(env, dst, 0);
		dst->node = bpfu_lineage_new(&env->lineage, value.node, 0);
		return 0;
	}
	load_number(env, a, dst);
	return 0;
}

int bpfu_vrf_stack_read(struct bpfu_env *env, const struct bpfu_access *a)
{
	struct bpfu_slot *slot;
	struct extent e;
	int err = find_extent(env, a->regno, a->off, a->size, false, &e);

	if (err)
		return err;
	mark_read(env, &e);
	for (uint32_t s = first_slot(&e); s <= last_slot(&e); s++)
		touch(env, e.frame, s);
	slot = &e.frame->slot[first_slot(&e)];
	/* A known offset is aligned: one slot. */
	if (e.fixed && bpfu_slot_is_spill(slot))
		return fill(env, a, &e, slot);
	if (a->value_regno < 0)
		return 0;
	if (all_zero(&e))
		bpfu_vrf_set_const(env, &bpfu_vrf_regs(env)[a->value_regno], 0);
	else
		load_number(env, a, &bpfu_vrf_regs(env)[a->value_regno]);
	return 0;
}

/* ---- writing ---- */

/* New contents of a whole slot, or of part of it. */
static void renew(struct bpfu_env *env, struct bpfu_slot *slot, bool whole)
{
	if (whole || !slot->node)
		slot->node = bpfu_lineage_new(&env->lineage, 0, 0);
	slot->written = ++env->write_gen;
}

static void spill(struct bpfu_env *env, struct bpfu_slot *slot, const struct bpfu_reg *reg, int size)
{
	bpfu_slot_scrub(slot);
	renew(env, slot, size == BPFU_SLOT_BYTES);
	slot->reg = *reg;
	for (int i = 0; i < size; i++)
		slot->byte[i] = BPFU_BYTE_SPILL;
}

static int spill_scalar(struct bpfu_env *env, struct bpfu_slot *slot, const struct bpfu_access *a)
{
	struct bpfu_reg *reg, value;

	if (a->st) {
		bpfu_reg_init(&value, BPFU_REG_SCALAR);
		bpfu_vrf_set_const(env, &value, (uint64_t)(int64_t)a->st->imm);
	} else {
		reg = &bpfu_vrf_regs(env)[a->value_regno];
		if (a->size == 8 || !(reg->range.umax >> (8 * a->size))) {
			bpfu_vrf_link_scalar(env, reg);
			value = *reg;
		} else {
			value = *reg;
			bpfu_reg_unlink(&value);
		}
	}
	spill(env, slot, &value, a->size);
	return 0;
}

static int spill_pointer(struct bpfu_env *env, struct bpfu_slot *slot, const struct bpfu_access *a,
			 const struct bpfu_frame *frame)
{
	const struct bpfu_reg *reg = &bpfu_vrf_regs(env)[a->value_regno];

	if (a->size != BPFU_SLOT_BYTES) {
		bpfu_vrf_log(env, "invalid size of register spill\n");
		return -EACCES;
	}
	/* It would outlive the frame it points into. */
	if (reg->type == BPFU_REG_STACK && frame != bpfu_state_top(env->cur)) {
		bpfu_vrf_log(env,
			     "cannot spill pointers to stack into stack frame of the caller\n");
		return -EINVAL;
	}
	spill(env, slot, reg, a->size);
	return 0;
}

/* A zero whose value the slot's bytes now depend on. */
static bool stores_zero(struct bpfu_env *env, const struct bpfu_access *a)
{
	if (a->st)
		return !a->st->imm;
	if (a->value_regno < 0 || !bpfu_reg_is_null(&bpfu_vrf_regs(env)[a->value_regno]))
		return false;
	bpfu_vrf_demand(env, &bpfu_vrf_regs(env)[a->value_regno]);
	return true;
}

/* Would it matter if a load saw what was there before the store? */
static bool shows_what_was(const struct extent *e, const struct bpfu_reg *stored)
{
	if (stored && bpfu_reg_is_pointer(stored))
		return true;
	for (int off = e->min; off < e->max; off++) {
		uint8_t byte = *byte_at(e->frame, off);

		if (byte != BPFU_BYTE_MISC && byte != BPFU_BYTE_ZERO)
			return true;
	}
	return false;
}

static int write_fixed(struct bpfu_env *env, const struct bpfu_access *a, const struct extent *e)
{
	struct bpfu_slot *slot = &e->frame->slot[first_slot(e)];
	const struct bpfu_reg *reg =
		a->value_regno < 0 ? NULL : &bpfu_vrf_regs(env)[a->value_regno];
	uint8_t kind;

	if (env->harden && shows_what_was(e, reg))
		env->aux[env->insn_idx].nospec_after = true; /* speculate.c */
	touch(env, e->frame, first_slot(e));
	if (reg && bpfu_reg_is_pointer(reg))
		return spill_pointer(env, slot, a, e->frame);
	if ((reg || a->st) && byte_of(e->min) == 0)
		return spill_scalar(env, slot, a);
	bpfu_slot_scrub(slot);
	renew(env, slot, a->size == BPFU_SLOT_BYTES);
	kind = stores_zero(env, a) ? BPFU_BYTE_ZERO : BPFU_BYTE_MISC;
	for (int off = e->min; off < e->max; off++)
		*byte_at(e->frame, off) = kind;
	return 0;
}

/* Somewhere in the extent: all of it is something, unless zeros stay zeros. */
static void write_variable(struct bpfu_env *env, const struct bpfu_access *a, const struct extent *e)
{
	bool zero = false;

	for (int off = e->min; off < e->max; off++)
		zero |= *byte_at(e->frame, off) == BPFU_BYTE_ZERO;
	zero = zero && stores_zero(env, a);
	for (uint32_t s = first_slot(e); s <= last_slot(e); s++) {
		bpfu_slot_scrub(&e->frame->slot[s]);
		renew(env, &e->frame->slot[s], false);
		touch(env, e->frame, s);
	}
	for (int off = e->min; off < e->max; off++) {
		uint8_t *byte = byte_at(e->frame, off);

		if (!zero || *byte != BPFU_BYTE_ZERO)
			*byte = BPFU_BYTE_MISC;
	}
}

int bpfu_vrf_stack_write(struct bpfu_env *env, const struct bpfu_access *a)
{
	struct extent e;
	int err = find_extent(env, a->regno, a->off, a->size, true, &e);

	if (err)
		return err;
	if (e.fixed)
		return write_fixed(env, a, &e);
	write_variable(env, a, &e);
	return 0;
}

/* ---- helpers ---- */

static int helper_extent(struct bpfu_env *env, uint32_t regno, int size, bool write, bool zero_ok,
			 struct extent *e)
{
	if (!size && !zero_ok) {
		bpfu_vrf_log(env, "invalid zero-sized read\n");
		return -EACCES;
	}
	return find_extent(env, regno, 0, size, write, e);
}

int bpfu_vrf_stack_check(struct bpfu_env *env, uint32_t regno, int size, bool write, bool zero_ok)
{
	struct extent e;

	return helper_extent(env, regno, size, write, zero_ok, &e);
}

int bpfu_vrf_stack_helper(struct bpfu_env *env, uint32_t regno, int size, bool write, bool zero_ok)
{
	struct extent e;
	int err = helper_extent(env, regno, size, write, zero_ok, &e);

	if (err || e.max == e.min)
		return err;
	if (!write) {
		mark_read(env, &e);
		return 0;
	}
	/*
	 * Written, maybe not all of it (the helper may fail): bytes are something afterwards. That
	 * what was there may survive does not matter, as nothing is known of it any more.
	 */
	for (uint32_t s = first_slot(&e); s <= last_slot(&e); s++) {
		int start = -(int)(s + 1) * BPFU_SLOT_BYTES;

		bpfu_slot_scrub(&e.frame->slot[s]);
		renew(env, &e.frame->slot[s],
		      e.fixed && start >= e.min && start + BPFU_SLOT_BYTES <= e.max);
		touch(env, e.frame, s);
	}
	for (int off = e.min; off < e.max; off++)
		*byte_at(e.frame, off) = BPFU_BYTE_MISC;
	return 0;
}

bool bpfu_vrf_stack_const(struct bpfu_env *env, const struct bpfu_reg *reg, uint32_t size,
			  uint64_t *value)
{
	struct bpfu_frame *frame;
	struct bpfu_slot *slot;
	int off;

	if (reg->type != BPFU_REG_STACK || !bpfu_range_is_const(&reg->range) || size > 8)
		return false;
	frame = bpfu_vrf_stack_frame(env, reg);
	off = reg->off + (int)reg->range.var.value;
	if (off >= 0 || (uint32_t)-off > frame->slot_cnt * BPFU_SLOT_BYTES ||
	    byte_of(off) + size > BPFU_SLOT_BYTES)
		return false;
	slot = &frame->slot[slot_of(off)];
	/* The kernel does not take a part of a wider number. */
	if (byte_of(off) == 0 && bpfu_slot_spill_size(slot) == size &&
	    bpfu_reg_is_const(&slot->reg)) {
		bpfu_vrf_demand(env, &slot->reg);
		*value = slot->reg.range.var.value;
		if (size < 8)
			*value &= (1ULL << (8 * size)) - 1;
		return true;
	}
	for (uint32_t i = 0; i < size; i++)
		if (slot->byte[byte_of(off) + i] != BPFU_BYTE_ZERO)
			return false;
	*value = 0;
	return true;
}
