// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a processor may do that the program does not (option harden). Three things ask for a barrier:
 *
 *   - A branch whose outcome is known may be predicted wrongly. The other direction is explored as well,
 *     as a *speculative* path; what would be refused there gets a barrier in front, at which the path
 *     ends (Spectre v1: a number used as a pointer, say).
 *   - Arithmetic of a pointer with a number in a register: the number may be another than the one that
 *     the checks before it let through (Spectre v1). The barrier waits for these checks.
 *   - A store to the stack that puts a pointer there, or covers bytes that were never written or hold
 *     a pointer: a load after it may yet see what was there before (Spectre v4). The barrier follows
 *     the store.
 *
 * The first and the third are the kernel's rules for programs of unprivileged users; where it masks the
 * number in the second case, this waits. A path ends after as many instructions as no processor has in
 * flight, the kernel's does not. Speculative paths learn nothing about the program: all that is
 * noted of an instruction but the barrier is as it was without them.
 */
#include <errno.h>

#include "verifier/env.h"

#define PENDING_MAX (BPFU_MAX_PENDING / 4)
#define BUDGET_BASE 32768
#define BUDGET_PER_INSN 8
#define WINDOW 1024 /* instructions; more than any processor has in flight */

/*
 * Speculative paths multiply with every branch. When they have taken their share, each of them ends at a
 * barrier where it is: one barrier more is better than to take for ever, or to refuse the program.
 */
static bool is_used_up(const struct bpfu_env *env)
{
	return env->pending_cnt > PENDING_MAX ||
	       env->spec_processed > BUDGET_BASE + BUDGET_PER_INSN * env->insn_cnt;
}

/* What was compared is not what the path says it is. */
static void forget(struct bpfu_env *env, struct bpfu_state *state, uint32_t regno)
{
	struct bpfu_reg *reg = &bpfu_state_top(state)->reg[regno];

	if (bpfu_reg_is_scalar(reg))
		bpfu_vrf_set_unknown(env, reg);
}

int bpfu_vrf_speculate(struct bpfu_env *env, const struct bpf_insn *insn, uint32_t insn_idx)
{
	struct bpfu_state *state;
	int err;

	if (!env->harden)
		return 0;
	if (is_used_up(env)) {
		env->aux[insn_idx].nospec = true;
		return 0;
	}
	state = bpfu_vrf_push(env, insn_idx, &err);
	if (!state)
		return err;
	state->speculative = true;
	forget(env, state, insn->dst_reg);
	if (BPF_SRC(insn->code) == BPF_X)
		forget(env, state, insn->src_reg);
	return 0;
}

bool bpfu_vrf_spec_ends(struct bpfu_env *env)
{
	struct bpfu_insn_aux *aux = &env->aux[env->insn_idx];

	if (!env->cur->speculative)
		return false;
	if (++env->cur->spec_len > WINDOW)
		return true;
	env->spec_processed++;
	aux->nospec |= is_used_up(env);
	return aux->nospec;
}

/* The end of a callback leads into the helper that calls it, which is not explored. */
static bool leaves_callback(const struct bpfu_env *env)
{
	return env->insns[env->insn_idx].code == (BPF_JMP | BPF_EXIT) &&
	       bpfu_state_top(env->cur)->callback >= 0;
}

static bool is_refusal(int err)
{
	return err == -EPERM || err == -EACCES || err == -EINVAL;
}

int bpfu_vrf_spec_step(struct bpfu_env *env, bool *done,
		       int (*step)(struct bpfu_env *env, bool *done))
{
	struct bpfu_insn_aux *aux = &env->aux[env->insn_idx], noted = *aux;
	struct bpfu_vinsn *vinsn = &env->vinsn[env->insn_idx], vnoted = *vinsn;
	uint32_t max_ctx_offset = env->prog->max_ctx_offset;
	int err = leaves_callback(env) ? -EINVAL : step(env, done);

	noted.nospec = aux->nospec;
	noted.nospec_after = aux->nospec_after;
	*aux = noted;
	vnoted.states = vinsn->states;
	*vinsn = vnoted;
	env->prog->max_ctx_offset = max_ctx_offset;
	if (is_refusal(err)) {
		aux->nospec = true;
		*done = true;
		return 0;
	}
	if (!err && noted.nospec_after)
		*done = true;
	return err;
}
