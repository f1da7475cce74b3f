// SPDX-License-Identifier: BSD-2-Clause
/*
 * Calls between functions of the program, and the end of a function. A static function is explored
 * at each call with the caller's actual arguments: it gets a frame of its own, r1…r5 are passed, r6…r9
 * stay with the caller. A global function is explored once, for any arguments its prototype allows
 * (check.c); a call only checks the arguments against the prototype.
 */
#include <errno.h>

#include "prog_type/prog_type.h"
#include "verifier/env.h"

static void clear_caller_saved(struct bpfu_reg *regs)
{
	for (int r = BPF_REG_0; r <= BPF_REG_5; r++)
		bpfu_reg_init(&regs[r], BPFU_REG_NOT_INIT);
}

static void packet_gone(struct bpfu_reg *reg, void *arg)
{
	if (reg->type == BPFU_REG_PACKET || reg->type == BPFU_REG_PACKET_META ||
	    reg->type == BPFU_REG_PACKET_END)
		bpfu_vrf_set_unknown(arg, reg);
}

void bpfu_vrf_clear_packet_pointers(struct bpfu_env *env)
{
	bpfu_state_each_reg(env->cur, packet_gone, env);
}

/* ---- global functions ---- */

/* Memory of @size bytes, or NULL if the prototype allows it, that the callee may read and write. */
int bpfu_vrf_check_mem_reg(struct bpfu_env *env, uint32_t regno, uint32_t size)
{
	struct bpfu_reg *reg = &bpfu_vrf_regs(env)[regno], saved = *reg;
	int err;

	if (bpfu_reg_is_null(reg)) {
		bpfu_vrf_demand(env, reg);
		return 0;
	}
	/* A pointer that may be null is judged as if it were not. */
	if (bpfu_reg_maybe_null(reg))
		reg->flags &= ~BPFU_REG_MAYBE_NULL;
	err = bpfu_vrf_helper_mem(env, regno, (int)size, false, true, NULL);
	if (!err)
		err = bpfu_vrf_helper_mem(env, regno, (int)size, true, true, NULL);
	*reg = saved;
	return err;
}

static int check_global_arg(struct bpfu_env *env, uint32_t subprog, uint32_t i)
{
	const struct bpfu_vsubprog *sub = &env->sub[subprog];
	uint32_t regno = i + 1;
	struct bpfu_reg *reg = &bpfu_vrf_regs(env)[regno];
	int err = bpfu_vrf_read_reg(env, regno);

	if (err)
		return err;
	switch (sub->arg[i]) {
	case BPFU_GARG_SCALAR:
		if (bpfu_reg_is_scalar(reg))
			return 0;
		bpfu_vrf_log(env, "R%u is not a scalar\n", regno);
		return -EINVAL;
	case BPFU_GARG_CTX:
		if (reg->type != BPFU_REG_CTX) {
			bpfu_vrf_log(env, "arg#%u expected pointer to ctx, but got %s\n", i,
				     bpfu_reg_type_name(reg));
			return -EINVAL;
		}
		return bpfu_vrf_check_fixed_off(env, regno, false);
	case BPFU_GARG_MEM:
		break;
	}
	if (sub->nonnull[i] && (bpfu_reg_is_null(reg) || bpfu_reg_maybe_null(reg))) {
		bpfu_vrf_log(env, "arg#%u is expected to be non-NULL\n", i);
		return -EINVAL;
	}
	return bpfu_vrf_check_mem_reg(env, regno, sub->arg_size[i]);
}

static int call_global(struct bpfu_env *env, uint32_t subprog)
{
	const char *name = env->prog->subprogs[subprog].name;
	struct bpfu_reg *regs = bpfu_vrf_regs(env);
	int err = bpfu_vrf_global_args(env, subprog);

	for (uint32_t i = 0; !err && i < env->sub[subprog].arg_cnt; i++)
		err = check_global_arg(env, subprog, i);
	if (err) {
		bpfu_vrf_log(env, "Caller passes invalid args into func#%u ('%s')\n", subprog, name);
		return err;
	}
	if (bpfu_vrf_logs(env))
		bpfu_vrf_log(env, "Func#%u ('%s') is global and assumed valid.\n", subprog, name);
	env->sub[subprog].called |= !env->cur->speculative;
	if (env->sub[subprog].changes_pkt)
		bpfu_vrf_clear_packet_pointers(env);
	clear_caller_saved(regs);
	bpfu_vrf_set_unknown(env, &regs[BPF_REG_0]);
	bpfu_vrf_touch_reg(env, BPF_REG_0);
	env->insn_idx++;
	return 0;
}

/* ---- static functions ---- */

static int call_static(struct bpfu_env *env, uint32_t subprog)
{
	struct bpfu_state *state = env->cur;
	struct bpfu_frame *caller = bpfu_state_top(state);
	int err;

	if (state->depth + 1 >= BPFU_MAX_CALL_FRAMES) {
		bpfu_vrf_log(env, "the call stack of %u frames is too deep\n", state->depth + 2);
		return -E2BIG;
	}
	err = bpfu_state_push_frame(state, subprog, (int32_t)env->insn_idx);
	if (err)
		return err;
	for (int r = BPF_REG_1; r <= BPF_REG_5; r++)
		bpfu_state_top(state)->reg[r] = caller->reg[r];
	bpfu_vrf_check_reliable(env, subprog, caller->reg);
	clear_caller_saved(caller->reg);
	env->scratched_regs = 0x43e; /* r1…r5, r10 */
	env->insn_idx = env->prog->subprogs[subprog].start;
	if (bpfu_vrf_logs(env)) {
		bpfu_vrf_log(env, "caller:\n");
		bpfu_vrf_log_state(env, state, state->depth - 1, true);
		bpfu_vrf_log(env, "callee:\n");
		bpfu_vrf_log_state(env, state, state->depth, true);
	}
	return 0;
}

int bpfu_vrf_call(struct bpfu_env *env, const struct bpf_insn *insn)
{
	uint32_t subprog =
		(uint32_t)bpfu_vrf_subprog_at(env, (int64_t)env->insn_idx + insn->imm + 1);

	if (env->prog->subprogs[subprog].is_global)
		return call_global(env, subprog);
	return call_static(env, subprog);
}

/* ---- exit ---- */

static int return_to_caller(struct bpfu_env *env)
{
	struct bpfu_state *state = env->cur;
	struct bpfu_frame *callee = bpfu_state_top(state);
	struct bpfu_reg r0 = callee->reg[BPF_REG_0];
	uint32_t callsite = (uint32_t)callee->callsite;

	if (r0.type == BPFU_REG_STACK) {
		bpfu_vrf_log(env, "cannot return stack pointer to the caller\n");
		return -EINVAL;
	}
	if (bpfu_vrf_logs(env)) {
		bpfu_vrf_log(env, "returning from callee:\n");
		bpfu_vrf_log_state(env, state, state->depth, true);
		bpfu_vrf_log(env, "to caller at %u:\n", callsite + 1);
	}
	bpfu_state_pop_frame(state);
	bpfu_vrf_regs(env)[BPF_REG_0] = r0;
	if (bpfu_vrf_logs(env))
		bpfu_vrf_log_state(env, state, state->depth, true);
	env->insn_idx = callsite + 1;
	env->print_whole_state = true;
	return 0;
}

/*
 * The next program takes the function's place: it returns to the function's caller, with an r0 that is
 * its own affair, after it did with the packet what it liked.
 */
int bpfu_vrf_tail_return(struct bpfu_env *env)
{
	int err = 0;

	if (!bpfu_vrf_push(env, env->insn_idx, &err))
		return err;
	bpfu_vrf_clear_packet_pointers(env);
	bpfu_vrf_set_unknown(env, &bpfu_vrf_regs(env)[BPF_REG_0]);
	bpfu_vrf_touch_reg(env, BPF_REG_0);
	return return_to_caller(env);
}

static int check_leaks(struct bpfu_env *env)
{
	const struct bpfu_state *state = env->cur;

	for (uint32_t i = 0; i < state->ref_cnt; i++)
		bpfu_vrf_log(env, "Unreleased reference id=%u alloc_insn=%u\n", state->ref[i].id,
			     state->ref[i].insn_idx);
	if (!state->ref_cnt)
		return 0;
	bpfu_vrf_log(env, "BPF_EXIT instruction in main prog would lead to reference leak\n");
	return -EINVAL;
}

static void log_bad_return(struct bpfu_env *env, const struct bpfu_range *r, int32_t min,
			   int32_t max)
{
	bpfu_vrf_log(env, "At program exit the register R0 has");
	if (r->smin > INT64_MIN)
		bpfu_vrf_log(env, " smin=%lld", (long long)r->smin);
	if (r->smax < INT64_MAX)
		bpfu_vrf_log(env, " smax=%lld", (long long)r->smax);
	if (r->smin == INT64_MIN && r->smax == INT64_MAX)
		bpfu_vrf_log(env, " unknown scalar value");
	bpfu_vrf_log(env, " should have been in [%d, %d]\n", min, max);
}

static int check_return(struct bpfu_env *env)
{
	const struct bpfu_reg *r0 = &bpfu_vrf_regs(env)[BPF_REG_0];
	uint32_t subprog = bpfu_state_top(env->cur)->subprog;
	int32_t min = 0, max = 0;
	bool has = false;
	int err = bpfu_vrf_read_reg(env, BPF_REG_0);

	if (err)
		return err;
	if (subprog) { /* a global function */
		if (bpfu_reg_is_scalar(r0))
			return 0;
		bpfu_vrf_log(env,
			     "At subprogram exit the register R0 is not a scalar value (%s)\n",
			     bpfu_reg_type_name(r0));
		return -EINVAL;
	}
	if (env->prog->type_ops->retval_range)
		env->prog->type_ops->retval_range(env->prog, &has, &min, &max);
	if (!has)
		return 0;
	if (!bpfu_reg_is_scalar(r0)) {
		bpfu_vrf_log(env, "At program exit the register R0 is not a known value (%s)\n",
			     bpfu_reg_type_name(r0));
		return -EINVAL;
	}
	bpfu_vrf_demand(env, r0);
	if (r0->range.smin < min || r0->range.smax > max) {
		log_bad_return(env, &r0->range, min, max);
		return -EINVAL;
	}
	return 0;
}

int bpfu_vrf_exit(struct bpfu_env *env, bool *done)
{
	int err;

	*done = false;
	if (bpfu_state_top(env->cur)->callback >= 0)
		return bpfu_vrf_callback_exit(env, done);
	if (env->cur->depth)
		return return_to_caller(env);
	*done = true;
	err = check_leaks(env);
	return err ? err : check_return(env);
}
