// SPDX-License-Identifier: BSD-2-Clause
/*
 * Helpers that call a function of the program again and again (bpf_loop, bpf_for_each_map_elem). How often
 * is not known, so the body must be safe for any number of iterations:
 *
 *      call ---> W0 = state at the call -----> body -----> X (state at the body's exit)
 *        |                                                  |     |
 *        |  no iteration                 X within W? done   |     |  this was the last iteration
 *        v                               else W' = W joined |     v
 *      after the call <----               with X, body again      after the call
 *
 * W (struct bpfu_callback_entry) describes the caller's frames whenever an iteration begins. Joining
 * replaces what differs by something that covers both (any number, maybe-null pointer, unknown bytes,
 * unusable register); each part can change a few times only, so this ends. After the last join all
 * states at the start of an iteration are within W, hence every iteration was explored.
 *
 * That X is within W uses the values that the body wrote, so those that W does not leave open are marked
 * as having mattered (lineage.h, prune.c). What it did not write is in X what it was in W, whatever
 * that was: registers of the caller, and slots that were not written since. This holds for states of one
 * call only: what a later iteration, or what follows the loop, does with such values does not show in
 * the states of the first one. So within a callback only states of the same call are compared (equal.c);
 * a call that is as one before is found equal where it is made.
 */
#include <errno.h>
#include <stdlib.h>

#include "map/map.h"
#include "verifier/env.h"

/* What neither survives the call nor is read after it must not make states differ. */
static void drop_dead(struct bpfu_env *env, struct bpfu_state *state)
{
	for (uint32_t d = 0; d < state->depth; d++) {
		uint32_t live = bpfu_vrf_live_regs(env, state, d, 0);

		for (int r = 0; r < BPF_REG_10; r++)
			if (!(live >> r & 1))
				bpfu_reg_init(&state->frame[d]->reg[r], BPFU_REG_NOT_INIT);
	}
}

/* ---- the call ---- */

static void set_args(struct bpfu_env *env, struct bpfu_state *state, const struct bpfu_reg *args,
		     int32_t helper, struct bpfu_map *map)
{
	struct bpfu_reg *regs = bpfu_state_top(state)->reg;

	if (helper == BPF_FUNC_loop) { /* (index, ctx) */
		bpfu_vrf_set_unknown(env, &regs[BPF_REG_1]);
		regs[BPF_REG_2] = args[BPF_REG_3];
		return;
	}
	/* (map, key, value, ctx) */
	regs[BPF_REG_1] = args[BPF_REG_1];
	bpfu_reg_init(&regs[BPF_REG_2], BPFU_REG_MAP_KEY);
	bpfu_reg_init(&regs[BPF_REG_3], BPFU_REG_MAP_VALUE);
	regs[BPF_REG_2].map = map;
	regs[BPF_REG_3].map = map;
	regs[BPF_REG_4] = args[BPF_REG_3];
}

static int new_entry(struct bpfu_env *env, uint32_t *idx)
{
	if (env->callback_cnt == env->callback_cap) {
		uint32_t cap = env->callback_cap ? env->callback_cap * 2 : 16;
		void *p = realloc(env->callback, cap * sizeof(*env->callback));

		if (!p)
			return -ENOMEM;
		env->callback = p;
		env->callback_cap = cap;
	}
	*idx = env->callback_cnt++;
	env->callback[*idx] = (struct bpfu_callback_entry){ .callsite = env->insn_idx };
	return 0;
}

/* Remember W, and queue an exploration of the body from it. */
static int explore_body(struct bpfu_env *env, struct bpfu_callback_entry *cb,
			struct bpfu_state *entry, uint32_t root)
{
	struct bpfu_state *run = bpfu_state_copy(entry);

	bpfu_state_free(cb->entry);
	cb->entry = entry;
	if (!run)
		return -ENOMEM;
	run->parent = cb->parent;
	run->root = root;
	return bpfu_vrf_push_state(env, run,
				   env->prog->subprogs[bpfu_state_top(run)->subprog].start);
}

static void note_inline(struct bpfu_env *env, uint32_t subprog)
{
	const struct bpfu_reg *flags = &bpfu_vrf_regs(env)[BPF_REG_4];
	struct bpfu_insn_aux *aux = &env->aux[env->insn_idx];
	struct bpfu_vinsn *vi = &env->vinsn[env->insn_idx];
	bool zero = bpfu_reg_is_null(flags);

	if (zero)
		bpfu_vrf_demand(env, flags);
	if (!vi->loop_seen) {
		aux->loop_inline = zero;
		aux->callback_subprog = subprog;
	} else if (!zero || aux->callback_subprog != subprog) {
		aux->loop_inline = false;
	}
	vi->loop_seen = true;
}

static int check_callback(struct bpfu_env *env, int32_t helper, const struct bpfu_map *map)
{
	if (env->cur->depth + 1 >= BPFU_MAX_CALL_FRAMES) {
		bpfu_vrf_log(env, "the call stack of %u frames is too deep\n", env->cur->depth + 2);
		return -E2BIG;
	}
	if (helper != BPF_FUNC_loop && (!map || !map->ops->for_each)) {
		bpfu_vrf_log(env, "callback function not allowed for map\n");
		return -524; /* ENOTSUPP */
	}
	return 0;
}

int bpfu_vrf_callback_call(struct bpfu_env *env, uint32_t subprog, int32_t helper,
			   struct bpfu_map *map)
{
	struct bpfu_reg *regs = bpfu_vrf_regs(env);
	struct bpfu_state *entry;
	uint32_t idx;
	int err = check_callback(env, helper, map);

	if (err)
		return err;
	env->prog->has_callbacks = true;
	if (helper == BPF_FUNC_loop) {
		note_inline(env, subprog);
		if (bpfu_reg_is_null(&regs[BPF_REG_1])) {
			bpfu_vrf_demand(env, &regs[BPF_REG_1]);
			return 0; /* never called */
		}
	}
	err = new_entry(env, &idx);
	if (err)
		return err;
	env->callback[idx].parent = env->cur->parent;
	entry = bpfu_state_copy(env->cur);
	if (!entry)
		return -ENOMEM;
	/* What a helper passes is not what the program's BTF could be held against. */
	env->prog->subprogs[subprog].unreliable = true;
	err = bpfu_state_push_frame(entry, subprog, (int32_t)env->insn_idx);
	if (err) {
		bpfu_state_free(entry);
		return err;
	}
	bpfu_state_top(entry)->callback = (int32_t)idx;
	set_args(env, entry, regs, helper, map);
	drop_dead(env, entry);
	return explore_body(env, &env->callback[idx], entry, env->cur->root);
}

/* ---- joining ---- */

/* Memory at its beginning, as a helper returned it: what a null check is about. */
static bool is_whole_object(const struct bpfu_reg *reg)
{
	return (reg->type == BPFU_REG_MAP_VALUE || reg->type == BPFU_REG_MEM) && !reg->ref_id &&
	       !reg->off && bpfu_range_is_zero(&reg->range);
}

/* The same object, null or not. */
static bool same_object(const struct bpfu_reg *a, const struct bpfu_reg *b)
{
	return is_whole_object(a) && is_whole_object(b) && a->type == b->type && a->map == b->map &&
	       a->size == b->size &&
	       (a->flags | BPFU_REG_MAYBE_NULL) == (b->flags | BPFU_REG_MAYBE_NULL);
}

struct null_users {
	uint32_t id, cnt;
};

static void count_null_user(struct bpfu_reg *reg, void *arg)
{
	struct null_users *users = arg;

	users->cnt += bpfu_reg_maybe_null(reg) && reg->id == users->id;
}

/* A maybe-null pointer that nothing else is tied to covers null and the object itself. */
static bool covers_null(struct bpfu_state *state, const struct bpfu_reg *w, const struct bpfu_reg *x)
{
	struct null_users users = { w->id, 0 };

	if (!bpfu_reg_maybe_null(w) || !is_whole_object(w) ||
	    !(bpfu_reg_is_null(x) || same_object(w, x)))
		return false;
	bpfu_state_each_reg(state, count_null_user, &users);
	return users.cnt == 1;
}

static bool join_null(struct bpfu_env *env, struct bpfu_reg *w, const struct bpfu_reg *x)
{
	struct bpfu_reg joined = bpfu_reg_is_pointer(w) ? *w : *x;

	if (!is_whole_object(&joined) ||
	    !(same_object(w, x) || bpfu_reg_is_null(w) || bpfu_reg_is_null(x)))
		return false;
	joined.flags |= BPFU_REG_MAYBE_NULL;
	joined.id = ++env->id_gen;
	*w = joined;
	return true;
}

static void join_reg(struct bpfu_env *env, struct bpfu_reg *w, const struct bpfu_reg *x)
{
	if (bpfu_reg_is_scalar(w) && bpfu_reg_is_scalar(x)) {
		bpfu_vrf_set_unknown(env, w);
		return;
	}
	if (!join_null(env, w, x))
		bpfu_reg_init(w, BPFU_REG_NOT_INIT);
}

static void join_slot(struct bpfu_env *env, struct bpfu_slot *w, const struct bpfu_slot *x)
{
	if (bpfu_slot_is_full_spill(w) && bpfu_slot_is_full_spill(x)) {
		join_reg(env, &w->reg, &x->reg);
		if (w->reg.type != BPFU_REG_NOT_INIT)
			return;
	}
	bpfu_slot_scrub(w);
	for (int i = 0; i < BPFU_SLOT_BYTES; i++)
		if (w->byte[i] != BPFU_BYTE_ZERO || x->byte[i] != BPFU_BYTE_ZERO)
			w->byte[i] = BPFU_BYTE_MISC;
}

/*
 * Compare the frames below the callback's with @x; @join: and widen @w where it does not cover @x.
 * Returns whether it covered all.
 */
static bool compare(struct bpfu_env *env, struct bpfu_state *w, const struct bpfu_state *x, bool join)
{
	static const struct bpfu_slot none;
	struct bpfu_idmap ids;
	bool covered = true;

	ids.cnt = 0;
	for (uint32_t d = 0; d <= x->depth; d++) {
		struct bpfu_frame *fw = w->frame[d], *fx = x->frame[d];

		for (int r = 0; r < BPF_REG_10; r++) {
			if (bpfu_vrf_match_reg(env, &fw->reg[r], &fx->reg[r], &ids,
					       BPFU_MATCH_COVERS) ||
			    covers_null(w, &fw->reg[r], &fx->reg[r]))
				continue;
			covered = false;
			if (join)
				join_reg(env, &fw->reg[r], &fx->reg[r]);
		}
		for (uint32_t s = 0; s < fw->slot_cnt; s++) {
			const struct bpfu_slot *sx = s < fx->slot_cnt ? &fx->slot[s] : &none;

			if (bpfu_vrf_match_slot(env, &fw->slot[s], sx, &ids, BPFU_MATCH_COVERS) ||
			    (bpfu_slot_is_full_spill(&fw->slot[s]) &&
			     bpfu_slot_is_full_spill(sx) &&
			     covers_null(w, &fw->slot[s].reg, &sx->reg)))
				continue;
			covered = false;
			if (join)
				join_slot(env, &fw->slot[s], sx);
		}
	}
	return covered;
}

/* ---- what the comparison depended on ---- */

static bool is_open(const struct bpfu_slot *w)
{
	for (int i = 0; i < BPFU_SLOT_BYTES; i++)
		if (w->byte[i] == BPFU_BYTE_ZERO || w->byte[i] == BPFU_BYTE_SPILL)
			return false;
	return true;
}

static void demand_covered(struct bpfu_env *env, const struct bpfu_state *w,
			   const struct bpfu_state *x)
{
	for (uint32_t d = 0; d <= x->depth; d++) {
		const struct bpfu_frame *fw = w->frame[d], *fx = x->frame[d];

		for (uint32_t s = 0; s < fw->slot_cnt && s < fx->slot_cnt; s++) {
			const struct bpfu_slot *sw = &fw->slot[s], *sx = &fx->slot[s];

			if (is_open(sw) || sw->written == sx->written)
				continue;
			bpfu_lineage_mark(&env->lineage, sx->node);
			if (bpfu_slot_is_spill(sx) &&
			    (!bpfu_reg_is_scalar(&sw->reg) || sw->reg.id ||
			     !bpfu_range_is_unknown(&sw->reg.range)))
				bpfu_vrf_demand(env, &sx->reg);
		}
	}
}

/* ---- the exit ---- */

/* Callbacks return 0 (go on) or 1 (stop). */
static int check_result(struct bpfu_env *env)
{
	const struct bpfu_reg *r0 = &bpfu_vrf_regs(env)[BPF_REG_0];
	int err = bpfu_vrf_read_reg(env, BPF_REG_0);

	if (err)
		return err;
	if (!bpfu_reg_is_scalar(r0)) {
		bpfu_vrf_log(env, "R0 not a scalar value\n");
		return -EACCES;
	}
	bpfu_vrf_demand(env, r0);
	if (r0->range.smin >= 0 && r0->range.smax <= 1)
		return 0;
	bpfu_vrf_log(env, "At callback return the register R0 has");
	if (r0->range.smin > INT64_MIN)
		bpfu_vrf_log(env, " smin=%lld", (long long)r0->range.smin);
	if (r0->range.smax < INT64_MAX)
		bpfu_vrf_log(env, " smax=%lld", (long long)r0->range.smax);
	if (r0->range.smin == INT64_MIN && r0->range.smax == INT64_MAX)
		bpfu_vrf_log(env, " unknown scalar value");
	bpfu_vrf_log(env, " should have been in [0, 1]\n");
	return -EINVAL;
}

/* An iteration must give back what it took, and nothing else. */
static int check_refs(struct bpfu_env *env, const struct bpfu_state *w, const struct bpfu_state *x)
{
	bool same = w->ref_cnt == x->ref_cnt;

	for (uint32_t i = 0; same && i < w->ref_cnt; i++)
		same = w->ref[i].id == x->ref[i].id;
	if (same)
		return 0;
	for (uint32_t i = 0; i < x->ref_cnt; i++)
		bpfu_vrf_log(env, "Unreleased reference id=%u alloc_insn=%u\n", x->ref[i].id,
			     x->ref[i].insn_idx);
	bpfu_vrf_log(env, "callback would lead to reference leak\n");
	return -EINVAL;
}

static int next_iteration(struct bpfu_env *env, struct bpfu_callback_entry *cb)
{
	struct bpfu_state *joined;

	if (!compare(env, cb->entry, env->cur, false)) {
		joined = bpfu_state_copy(cb->entry);
		if (!joined)
			return -ENOMEM;
		/* A join may break what was compared before it: repeat until it covers. */
		while (!compare(env, joined, env->cur, true))
			;
		demand_covered(env, joined, env->cur);
		return explore_body(env, cb, joined, ++env->root_gen);
	}
	demand_covered(env, cb->entry, env->cur);
	return 0;
}

int bpfu_vrf_callback_exit(struct bpfu_env *env, bool *done)
{
	struct bpfu_frame *callee = bpfu_state_top(env->cur);
	struct bpfu_callback_entry *cb = &env->callback[callee->callback];
	uint32_t callsite = cb->callsite;
	int err = check_result(env);

	*done = false;
	if (!err)
		err = check_refs(env, cb->entry, env->cur);
	if (err)
		return err;
	if (bpfu_vrf_logs(env)) {
		bpfu_vrf_log(env, "returning from callee:\n");
		bpfu_vrf_log_state(env, env->cur, env->cur->depth, true);
		bpfu_vrf_log(env, "to caller at %u:\n", callsite);
	}
	bpfu_state_pop_frame(env->cur);
	if (bpfu_vrf_logs(env))
		bpfu_vrf_log_state(env, env->cur, env->cur->depth, true);
	err = next_iteration(env, cb);
	if (err)
		return err;
	/* Or this was the last one. */
	bpfu_vrf_set_unknown(env, &bpfu_vrf_regs(env)[BPF_REG_0]);
	bpfu_vrf_touch_reg(env, BPF_REG_0);
	env->insn_idx = callsite + 1;
	env->print_whole_state = true;
	return 0;
}
