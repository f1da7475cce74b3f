// SPDX-License-Identifier: BSD-2-Clause
/*
 * Paths that need not be followed to their end, and those that have none. At prune points the current
 * state is compared with states stored there before:
 *
 *   - one whose exploration is complete (no open branches) and which stands for the current state: the
 *     path is safe. What mattered in the stored state matters in this one too, and in its ancestors.
 *   - one that this very path came from (open branches, same root) and that is exactly equal: the
 *     program would never end.
 *
 * Storing a state costs, so it is done only some jumps and instructions after the last time, and
 * stored states that never match are dropped. Everything is bounded: instructions by BPFU_MAX_INSNS,
 * pending branches by BPFU_MAX_PENDING, memory by BPFU_MAX_STATE_BYTES.
 */
#include <errno.h>
#include <stdlib.h>

#include "verifier/env.h"

/* ---- pending branches ---- */

static int charge(struct bpfu_env *env, const struct bpfu_state *state)
{
	env->state_bytes += bpfu_state_bytes(state);
	if (env->state_bytes <= BPFU_MAX_STATE_BYTES)
		return 0;
	bpfu_vrf_log(env, "BPF program is too complex: its states need too much memory\n");
	return -ENOMEM;
}

static void uncharge(struct bpfu_env *env, const struct bpfu_state *state)
{
	env->state_bytes -= bpfu_state_bytes(state);
}

int bpfu_vrf_push_state(struct bpfu_env *env, struct bpfu_state *state, uint32_t insn_idx)
{
	struct bpfu_pending *p = calloc(1, sizeof(*p));
	int err = p ? 0 : -ENOMEM;

	if (!err && env->pending_cnt >= BPFU_MAX_PENDING) {
		bpfu_vrf_log(env, "The sequence of %u jumps is too complex.\n",
			     env->pending_cnt + 1);
		err = -EFAULT;
	}
	if (err) {
		free(p);
		bpfu_state_free(state);
		return err;
	}
	p->state = state;
	p->insn_idx = insn_idx;
	p->prev_idx = env->insn_idx;
	p->log_pos = env->log->total;
	p->open_line = env->open_line;
	p->next = env->pending;
	env->pending = p;
	env->pending_cnt++;
	if (state->parent)
		state->parent->branches++;
	return charge(env, state);
}

struct bpfu_state *bpfu_vrf_push(struct bpfu_env *env, uint32_t insn_idx, int *err)
{
	struct bpfu_state *state = bpfu_state_copy(env->cur);

	*err = state ? 0 : -ENOMEM;
	if (!state)
		return NULL;
	state->parent = env->cur->parent;
	*err = bpfu_vrf_push_state(env, state, insn_idx);
	return *err ? NULL : state;
}

bool bpfu_vrf_pop(struct bpfu_env *env)
{
	struct bpfu_pending *p = env->pending;

	bpfu_state_free(env->cur);
	env->cur = NULL;
	if (!p)
		return false;
	env->pending = p->next;
	env->pending_cnt--;
	env->cur = p->state;
	env->insn_idx = p->insn_idx;
	env->prev_idx = p->prev_idx;
	uncharge(env, p->state);
	/* Level 1 shows one path: the one to the error, if there is one. */
	bpfu_vrf_log_close(env);
	if (!(env->log->level & BPFU_LOG_LEVEL2)) {
		bpfu_log_reset(env->log, p->log_pos);
		env->open_line = p->open_line;
	}
	free(p);
	return true;
}

void bpfu_vrf_forget_pending(struct bpfu_env *env)
{
	struct bpfu_pending *p, *next;

	for (p = env->pending; p; p = next) {
		next = p->next;
		uncharge(env, p->state);
		bpfu_state_free(p->state);
		free(p);
	}
	env->pending = NULL;
	env->pending_cnt = 0;
	bpfu_state_free(env->cur);
	env->cur = NULL;
}

/* ---- stored states ---- */

static void drop(struct bpfu_env *env, struct bpfu_state *state)
{
	uncharge(env, state);
	env->state_cnt--;
	bpfu_state_free(state);
}

/* No longer compared with, but paths that come from it still count on it. */
static void unlink_open(struct bpfu_env *env, struct bpfu_state *state)
{
	state->unlinked = true;
	state->prev = NULL;
	state->next = env->unlinked;
	if (state->next)
		state->next->prev = state;
	env->unlinked = state;
}

static void drop_unlinked(struct bpfu_env *env, struct bpfu_state *state)
{
	if (state->prev)
		state->prev->next = state->next;
	else
		env->unlinked = state->next;
	if (state->next)
		state->next->prev = state->prev;
	drop(env, state);
}

void bpfu_vrf_path_done(struct bpfu_env *env, struct bpfu_state *state)
{
	while (state) {
		struct bpfu_state *parent = state->parent;

		if (--state->branches)
			return;
		if (state->unlinked)
			drop_unlinked(env, state);
		state = parent;
	}
}

void bpfu_vrf_forget_states(struct bpfu_env *env)
{
	for (uint32_t i = 0; i < env->insn_cnt; i++) {
		struct bpfu_state *state = env->vinsn[i].states, *next;

		for (; state; state = next) {
			next = state->next;
			drop(env, state);
		}
		env->vinsn[i].states = NULL;
	}
	while (env->unlinked)
		drop_unlinked(env, env->unlinked);
}

/* ---- what mattered ---- */

static void inherit_reg(struct bpfu_env *env, const struct bpfu_reg *old,
			const struct bpfu_reg *cur)
{
	if (bpfu_reg_is_scalar(old) && bpfu_lineage_is_marked(&env->lineage, old->node))
		bpfu_vrf_demand(env, cur);
}

/* @old stands for @cur: whoever leads to @cur leads to what follows @old. */
static void inherit(struct bpfu_env *env, const struct bpfu_state *old, const struct bpfu_state *cur,
		    uint32_t insn_idx)
{
	for (uint32_t d = 0; d <= old->depth; d++) {
		const struct bpfu_frame *o = old->frame[d], *c = cur->frame[d];
		uint32_t live = bpfu_vrf_live_regs(env, cur, d, insn_idx);

		for (int r = 0; r < BPF_REG_10; r++)
			if (live >> r & 1)
				inherit_reg(env, &o->reg[r], &c->reg[r]);
		for (uint32_t s = 0; s < o->slot_cnt && s < c->slot_cnt; s++) {
			if (!bpfu_lineage_is_marked(&env->lineage, o->slot[s].node))
				continue;
			bpfu_lineage_mark(&env->lineage, c->slot[s].node);
			if (bpfu_slot_is_spill(&o->slot[s]) && bpfu_slot_is_spill(&c->slot[s]))
				inherit_reg(env, &o->slot[s].reg, &c->slot[s].reg);
		}
	}
}

/* Values live on under new nodes, so that their future is told apart from the stored past. */
static void refresh(struct bpfu_env *env, struct bpfu_state *state)
{
	struct bpfu_lineage *l = &env->lineage;

	for (uint32_t d = 0; d <= state->depth; d++) {
		struct bpfu_frame *f = state->frame[d];

		for (int r = 0; r < BPF_REG_10; r++)
			if (bpfu_reg_is_scalar(&f->reg[r]))
				f->reg[r].node = bpfu_lineage_new(l, f->reg[r].node, 0);
		for (uint32_t s = 0; s < f->slot_cnt; s++) {
			struct bpfu_slot *slot = &f->slot[s];

			if (slot->node)
				slot->node = bpfu_lineage_new(l, slot->node, 0);
			if (bpfu_slot_is_spill(slot) && bpfu_reg_is_scalar(&slot->reg))
				slot->reg.node = bpfu_lineage_new(l, slot->reg.node, 0);
		}
	}
}

/* ---- ids that link nothing ---- */

struct id_count {
	uint32_t cnt;
	struct {
		uint32_t id, uses;
	} row[BPFU_IDMAP_MAX];
};

static void count_id(struct bpfu_reg *reg, void *arg)
{
	struct id_count *ids = arg;

	if (!bpfu_reg_is_scalar(reg) || !reg->id)
		return;
	for (uint32_t i = 0; i < ids->cnt; i++)
		if (ids->row[i].id == reg->id) {
			ids->row[i].uses++;
			return;
		}
	if (ids->cnt < BPFU_IDMAP_MAX) {
		ids->row[ids->cnt].id = reg->id;
		ids->row[ids->cnt++].uses = 1;
	}
}

static void flag_single(struct bpfu_reg *reg, void *arg)
{
	const struct id_count *ids = arg;

	if (!bpfu_reg_is_scalar(reg) || !reg->id)
		return;
	for (uint32_t i = 0; i < ids->cnt; i++)
		if (ids->row[i].id == reg->id && ids->row[i].uses == 1) {
			reg->flags |= BPFU_REG_SINGLE;
			return;
		}
}

static void flag_single_ids(struct bpfu_state *state)
{
	struct id_count ids;

	ids.cnt = 0;
	bpfu_state_each_reg(state, count_id, &ids);
	bpfu_state_each_reg(state, flag_single, &ids);
}

/* ---- the visit ---- */

static int infinite_loop(struct bpfu_env *env, const struct bpfu_state *old, uint32_t insn_idx)
{
	bpfu_vrf_log_source(env, insn_idx, "; ");
	bpfu_vrf_log(env, "infinite loop detected at insn %u\n", insn_idx);
	bpfu_vrf_log(env, "cur state:");
	bpfu_vrf_log_state(env, env->cur, env->cur->depth, true);
	bpfu_vrf_log(env, "old state:");
	bpfu_vrf_log_state(env, old, env->cur->depth, true);
	return -EINVAL;
}

static int store(struct bpfu_env *env, uint32_t insn_idx, uint32_t compared)
{
	struct bpfu_state *copy;

	refresh(env, env->cur);
	copy = bpfu_state_copy(env->cur);
	if (!copy)
		return -ENOMEM;
	flag_single_ids(copy);
	copy->parent = env->cur->parent;
	copy->next = env->vinsn[insn_idx].states;
	env->vinsn[insn_idx].states = copy;
	env->cur->parent = copy;
	refresh(env, env->cur);
	env->total_states++;
	env->state_cnt++;
	env->peak_states = BPFU_MAX(env->peak_states, env->state_cnt);
	env->max_states_per_insn = BPFU_MAX(env->max_states_per_insn, compared);
	env->prev_jmps = env->jmps;
	env->prev_processed = env->processed;
	return charge(env, copy);
}

/*
 * A state that keeps not matching is not worth its place. Where states are always stored they are few, and meant to
 * be met again later: around calls of callbacks within loops by each round.
 */
static bool is_useless(const struct bpfu_state *state, bool always)
{
	uint32_t patience = always ? 64 : 3;

	return state->misses > state->hits * patience + patience;
}

int bpfu_vrf_visit(struct bpfu_env *env, uint32_t insn_idx)
{
	uint32_t jmps = env->jmps - env->prev_jmps, insns = env->processed - env->prev_processed;
	bool force = env->store_often || env->vinsn[insn_idx].force_checkpoint;
	bool add = force || (jmps >= 2 && insns >= 8);
	struct bpfu_state **link = &env->vinsn[insn_idx].states, *old;
	uint32_t compared = 0;

	while ((old = *link)) {
		compared++;
		if (old->branches) {
			if (old->root == env->cur->root &&
			    bpfu_vrf_match(env, old, env->cur, insn_idx, BPFU_MATCH_SAME))
				return infinite_loop(env, old, insn_idx);
			/* Round and round a short loop: an occasional state is enough. */
			if (!force && jmps < 20 && insns < 100)
				add = false;
		} else if (bpfu_vrf_match(env, old, env->cur, insn_idx, BPFU_MATCH_SAFE)) {
			old->hits++;
			inherit(env, old, env->cur, insn_idx);
			return 1;
		}
		old->misses += add;
		if (!is_useless(old, env->vinsn[insn_idx].force_checkpoint)) {
			link = &old->next;
			continue;
		}
		*link = old->next;
		if (old->branches)
			unlink_open(env, old);
		else
			drop(env, old);
	}
	return add ? store(env, insn_idx, compared) : 0;
}
