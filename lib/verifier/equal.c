// SPDX-License-Identifier: BSD-2-Clause
/*
 * When does one state stand for another? bpfu_vrf_match(old, cur) asks whether every concrete machine
 * state that cur describes is also described by old, so that what was found of old holds for cur:
 *
 *   SAFE     old is explored: parts that nothing depended on (lineage.h) and dead parts may differ
 *   COVERS   all parts count (what happens after old is not known yet)
 *   SAME     nothing differs at all, not even in dead registers: the path runs in circles
 *
 * Ids are names; the two states may use different ones as long as they correspond one to one (for SAME
 * they are compared as they are: a fresh id is a sign of progress, as the kernel sees it).
 */
#include <string.h>

#include "verifier/env.h"

#define CALLEE_SAVED 0x3c0u /* r6…r9 */

uint32_t bpfu_vrf_live_regs(const struct bpfu_env *env, const struct bpfu_state *state,
			    uint32_t depth, uint32_t insn_idx)
{
	if (depth == state->depth)
		return env->vinsn[insn_idx].live;
	/* A caller continues after its call; r0…r5 do not survive it. */
	return env->vinsn[state->frame[depth + 1]->callsite + 1].live & CALLEE_SAVED;
}

static bool match_id(struct bpfu_idmap *ids, uint32_t old, uint32_t cur)
{
	if (!old || !cur)
		return !old && !cur;
	for (uint32_t i = 0; i < ids->cnt; i++) {
		if (ids->pair[i].old == old)
			return ids->pair[i].cur == cur;
		if (ids->pair[i].cur == cur)
			return false;
	}
	if (ids->cnt == BPFU_IDMAP_MAX)
		return false;
	ids->pair[ids->cnt].old = old;
	ids->pair[ids->cnt++].cur = cur;
	return true;
}

static bool same_range(const struct bpfu_range *a, const struct bpfu_range *b)
{
	return bpfu_range_covers(a, b) && bpfu_range_covers(b, a);
}

static bool match_scalar(struct bpfu_env *env, const struct bpfu_reg *old,
			 const struct bpfu_reg *cur, struct bpfu_idmap *ids, enum bpfu_match how)
{
	if (how == BPFU_MATCH_SAFE && !bpfu_lineage_is_marked(&env->lineage, old->node))
		return true;
	if (how == BPFU_MATCH_SAME ? !same_range(&old->range, &cur->range) :
				     !bpfu_range_covers(&old->range, &cur->range))
		return false;
	if (how == BPFU_MATCH_SAME)
		return old->id == cur->id && old->off == cur->off &&
		       (old->flags & ~BPFU_REG_SINGLE) == cur->flags;
	/* That old is linked to others is something that cur must offer too. */
	if (!old->id || old->flags & BPFU_REG_SINGLE)
		return true;
	return old->flags == cur->flags && old->off == cur->off && match_id(ids, old->id, cur->id);
}

static bool match_pointer(const struct bpfu_reg *old, const struct bpfu_reg *cur,
			  struct bpfu_idmap *ids, enum bpfu_match how)
{
	bool packet = old->type == BPFU_REG_PACKET || old->type == BPFU_REG_PACKET_META;

	if (old->flags != cur->flags || old->frame != cur->frame || old->off != cur->off ||
	    old->map != cur->map)
		return false;
	/* More of the packet is known to exist than needed; other memory has one size. */
	if (packet && how != BPFU_MATCH_SAME ? old->size > cur->size : old->size != cur->size)
		return false;
	if (how == BPFU_MATCH_SAME ? !same_range(&old->range, &cur->range) :
				     !bpfu_range_covers(&old->range, &cur->range))
		return false;
	if (how == BPFU_MATCH_SAME)
		return old->id == cur->id && old->ref_id == cur->ref_id;
	return match_id(ids, old->id, cur->id) && match_id(ids, old->ref_id, cur->ref_id);
}

bool bpfu_vrf_match_reg(struct bpfu_env *env, const struct bpfu_reg *old, const struct bpfu_reg *cur,
			struct bpfu_idmap *ids, enum bpfu_match how)
{
	if (old->type == BPFU_REG_NOT_INIT)
		return how != BPFU_MATCH_SAME || cur->type == BPFU_REG_NOT_INIT;
	if (old->type != cur->type)
		return false;
	if (old->type == BPFU_REG_SCALAR)
		return match_scalar(env, old, cur, ids, how);
	return match_pointer(old, cur, ids, how);
}

/* ---- slots ---- */

/* No pointer among the @size low bytes of the slot: whatever they hold is a number. */
static bool holds_number(const struct bpfu_slot *slot)
{
	return !bpfu_slot_is_spill(slot) || bpfu_reg_is_scalar(&slot->reg);
}

static bool match_spill(struct bpfu_env *env, const struct bpfu_slot *old,
			const struct bpfu_slot *cur, struct bpfu_idmap *ids, enum bpfu_match how)
{
	bool any = bpfu_reg_is_scalar(&old->reg) &&
		   ((how == BPFU_MATCH_SAFE &&
		     !bpfu_lineage_is_marked(&env->lineage, old->reg.node)) ||
		    ((!old->reg.id || old->reg.flags & BPFU_REG_SINGLE) &&
		     bpfu_range_is_unknown(&old->reg.range)));

	if (any && how != BPFU_MATCH_SAME)
		return holds_number(cur);
	return bpfu_slot_spill_size(old) == bpfu_slot_spill_size(cur) &&
	       bpfu_vrf_match_reg(env, &old->reg, &cur->reg, ids, how);
}

bool bpfu_vrf_match_slot(struct bpfu_env *env, const struct bpfu_slot *old,
			 const struct bpfu_slot *cur, struct bpfu_idmap *ids, enum bpfu_match how)
{
	if (how == BPFU_MATCH_SAFE && !bpfu_lineage_is_marked(&env->lineage, old->node))
		return true;
	if (how == BPFU_MATCH_SAME && memcmp(old->byte, cur->byte, sizeof(old->byte)))
		return false;
	for (int i = 0; i < BPFU_SLOT_BYTES; i++)
		if (old->byte[i] == BPFU_BYTE_ZERO && cur->byte[i] != BPFU_BYTE_ZERO)
			return false;
	return !bpfu_slot_is_spill(old) || match_spill(env, old, cur, ids, how);
}

static bool match_slots(struct bpfu_env *env, const struct bpfu_frame *old,
			const struct bpfu_frame *cur, struct bpfu_idmap *ids, enum bpfu_match how)
{
	static const struct bpfu_slot none;

	if (how == BPFU_MATCH_SAME && old->slot_cnt != cur->slot_cnt)
		return false;
	for (uint32_t i = 0; i < old->slot_cnt; i++)
		if (!bpfu_vrf_match_slot(env, &old->slot[i],
					 i < cur->slot_cnt ? &cur->slot[i] : &none, ids, how))
			return false;
	return true;
}

/* ---- states ---- */

static bool match_refs(const struct bpfu_state *old, const struct bpfu_state *cur,
		       struct bpfu_idmap *ids)
{
	if (old->ref_cnt != cur->ref_cnt)
		return false;
	for (uint32_t i = 0; i < old->ref_cnt; i++)
		if (!match_id(ids, old->ref[i].id, cur->ref[i].id))
			return false;
	return true;
}

/* The cheap differences first. Of callbacks those of the same call are alike (callback.c). */
static bool same_shape(const struct bpfu_state *old, const struct bpfu_state *cur)
{
	/* A speculative path may have ended at a barrier, or after its window. */
	if (old->depth != cur->depth ||
	    (old->speculative && (!cur->speculative || old->spec_len > cur->spec_len)))
		return false;
	for (uint32_t d = 0; d <= old->depth; d++)
		if (old->frame[d]->callsite != cur->frame[d]->callsite ||
		    old->frame[d]->subprog != cur->frame[d]->subprog ||
		    old->frame[d]->callback != cur->frame[d]->callback)
			return false;
	return true;
}

bool bpfu_vrf_match(struct bpfu_env *env, const struct bpfu_state *old,
		    const struct bpfu_state *cur, uint32_t insn_idx, enum bpfu_match how)
{
	struct bpfu_idmap ids;

	ids.cnt = 0;
	if (!same_shape(old, cur))
		return false;
	for (uint32_t d = old->depth + 1; d-- > 0;) {
		const struct bpfu_frame *o = old->frame[d], *c = cur->frame[d];
		uint32_t live = bpfu_vrf_live_regs(env, cur, d, insn_idx);

		if (how == BPFU_MATCH_SAME)
			live = UINT32_MAX;
		for (int r = 0; r < BPF_REG_10; r++)
			if (live >> r & 1 &&
			    !bpfu_vrf_match_reg(env, &o->reg[r], &c->reg[r], &ids, how))
				return false;
		if (!match_slots(env, o, c, &ids, how))
			return false;
	}
	return match_refs(old, cur, &ids);
}
