// SPDX-License-Identifier: BSD-2-Clause
/*
 * The verifier from above: the order of its checks, and the exploration of all paths. One path is
 * followed at a time; branches wait on a stack (prune.c), and a path ends at an exit, at a state that
 * is known to be safe, or with an error that refuses the program.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "btf/percpu_var.h"
#include "helper/helper.h"
#include "map/map.h"
#include "prog_type/prog_type.h"
#include "verifier/env.h"

/* ---- access to registers ---- */

int bpfu_vrf_read_reg(struct bpfu_env *env, uint32_t regno)
{
	bpfu_vrf_touch_reg(env, regno);
	if (bpfu_vrf_regs(env)[regno].type != BPFU_REG_NOT_INIT)
		return 0;
	bpfu_vrf_log(env, "R%u !read_ok\n", regno);
	return -EACCES;
}

int bpfu_vrf_write_reg(struct bpfu_env *env, uint32_t regno)
{
	bpfu_vrf_touch_reg(env, regno);
	if (regno == BPF_REG_10) {
		bpfu_vrf_log(env, "frame pointer is read only\n");
		return -EACCES;
	}
	bpfu_vrf_set_unknown(env, &bpfu_vrf_regs(env)[regno]);
	return 0;
}

void bpfu_vrf_set_unknown(struct bpfu_env *env, struct bpfu_reg *reg)
{
	bpfu_reg_init(reg, BPFU_REG_SCALAR);
	bpfu_range_set_unknown(&reg->range);
	reg->node = bpfu_lineage_new(&env->lineage, 0, 0);
}

void bpfu_vrf_set_const(struct bpfu_env *env, struct bpfu_reg *reg, uint64_t v)
{
	bpfu_reg_init(reg, BPFU_REG_SCALAR);
	bpfu_range_set_const(&reg->range, v);
	reg->node = bpfu_lineage_new(&env->lineage, 0, 0);
}

void bpfu_vrf_link_scalar(struct bpfu_env *env, struct bpfu_reg *reg)
{
	if (!bpfu_reg_is_scalar(reg))
		return;
	if (reg->flags)
		bpfu_reg_unlink(reg);
	/* Constants need no link: all that is to be known is known. */
	if (!reg->id && !bpfu_range_is_const(&reg->range))
		reg->id = ++env->id_gen;
}

/* ---- one instruction ---- */

static int ld_imm64(struct bpfu_env *env, const struct bpf_insn *insn)
{
	const struct bpfu_insn_aux *aux = &env->aux[env->insn_idx];
	struct bpfu_reg *dst = &bpfu_vrf_regs(env)[insn->dst_reg];
	int err = bpfu_vrf_write_reg(env, insn->dst_reg);
	int sub;

	if (err)
		return err;
	switch (insn->src_reg) {
	case 0:
		bpfu_vrf_set_const(env, dst, bpfu_insn_imm64(insn));
		break;
	case BPF_PSEUDO_FUNC:
		sub = bpfu_vrf_subprog_at(env, (int64_t)env->insn_idx + insn->imm + 1);
		if (!env->prog->func_info_cnt) {
			bpfu_vrf_log(env, "missing btf func_info\n");
			return -EINVAL;
		}
		if (env->prog->subprogs[sub].is_global || !sub) {
			bpfu_vrf_log(env, "callback function not static\n");
			return -EINVAL;
		}
		bpfu_reg_init(dst, BPFU_REG_FUNC);
		dst->frame = (uint16_t)sub;
		break;
	case BPF_PSEUDO_BTF_ID:
		bpfu_reg_init(dst, BPFU_REG_PERCPU);
		dst->frame = (uint16_t)bpfu_percpu_var_idx(
			bpfu_percpu_var_by_id((uint32_t)insn->imm));
		break;
	case BPF_PSEUDO_MAP_FD:
	case BPF_PSEUDO_MAP_IDX:
		bpfu_reg_init(dst, BPFU_REG_MAP_PTR);
		dst->map = aux->map;
		break;
	default: /* MAP_VALUE, MAP_IDX_VALUE: resolve.c refused the rest */
		bpfu_reg_init(dst, BPFU_REG_MAP_VALUE);
		dst->map = aux->map;
		dst->off = insn[1].imm;
		break;
	}
	env->insn_idx += 2;
	return 0;
}

static int step_jump(struct bpfu_env *env, const struct bpf_insn *insn, bool *done)
{
	bool is32 = BPF_CLASS(insn->code) == BPF_JMP32;

	env->jmps++;
	switch (BPF_OP(insn->code)) {
	case BPF_CALL:
		if (insn->src_reg == BPF_PSEUDO_KFUNC_CALL)
			return bpfu_vrf_kfunc_call(env, insn);
		return bpfu_insn_is_pseudo_call(insn) ? bpfu_vrf_call(env, insn) :
							bpfu_vrf_helper_call(env, insn);
	case BPF_EXIT:
		return bpfu_vrf_exit(env, done);
	case BPF_JA:
		env->insn_idx += (is32 ? insn->imm : insn->off) + 1;
		return 0;
	case BPF_JCOND:
		bpfu_vrf_log(env, "may_goto is not supported\n");
		return -EINVAL;
	default:
		return bpfu_vrf_branch(env, insn);
	}
}

static int step(struct bpfu_env *env, bool *done)
{
	const struct bpf_insn *insn = &env->insns[env->insn_idx];
	char msg[128];
	int err;

	err = bpfu_insn_check(env->insns, env->insn_cnt, env->insn_idx, msg, sizeof(msg));
	if (err) {
		bpfu_vrf_log(env, "%s\n", msg);
		return err;
	}
	env->aux[env->insn_idx].seen = true;
	switch (BPF_CLASS(insn->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		err = bpfu_vrf_alu(env, insn);
		break;
	case BPF_LDX:
	case BPF_ST:
	case BPF_STX:
		err = bpfu_vrf_load_store(env, insn);
		break;
	case BPF_LD:
		if (bpfu_insn_is_ld_imm64(insn))
			return ld_imm64(env, insn);
		bpfu_vrf_log(env, "BPF_LD_[ABS|IND] instructions are not supported\n");
		return -EINVAL;
	default:
		return step_jump(env, insn, done);
	}
	if (!err)
		env->insn_idx++;
	return err;
}

/* ---- exploration ---- */

static void log_pruned(struct bpfu_env *env)
{
	if (!bpfu_vrf_logs(env))
		return;
	if (env->print_whole_state)
		bpfu_vrf_log(env, "\nfrom %u to %u: safe\n", env->prev_idx, env->insn_idx);
	else
		bpfu_vrf_log(env, "%u: safe\n", env->insn_idx);
}

static void log_before(struct bpfu_env *env)
{
	if (!bpfu_vrf_logs(env))
		return;
	if (env->print_whole_state && env->log->level & BPFU_LOG_LEVEL2) {
		bpfu_vrf_log(env, "\nfrom %u to %u:", env->prev_idx, env->insn_idx);
		bpfu_vrf_log_state(env, env->cur, env->cur->depth, true);
	}
	env->print_whole_state = false;
	if (env->scratched_regs || env->scratched_slots)
		bpfu_vrf_log_insn_state(env);
	bpfu_vrf_log_insn(env, env->insn_idx);
}

/* Follow the current path by one instruction; *@done: it has ended. */
static int follow(struct bpfu_env *env, bool *done)
{
	uint32_t idx = env->insn_idx;
	int err;

	*done = false;
	if (++env->processed > BPFU_MAX_INSNS) {
		bpfu_vrf_log(env, "BPF program is too large. Processed %u insn\n", env->processed);
		return -E2BIG;
	}
	if (bpfu_vrf_spec_ends(env)) {
		*done = true;
		return 0;
	}
	if (env->vinsn[idx].prune_point) {
		err = bpfu_vrf_visit(env, idx);
		/* A speculative path that goes round in circles does no harm on the way. */
		if (err == -EINVAL && env->cur->speculative)
			err = 1;
		if (err < 0)
			return err;
		if (err) {
			log_pruned(env);
			*done = true;
			return 0;
		}
	}
	log_before(env);
	err = env->cur->speculative ? bpfu_vrf_spec_step(env, done, step) : step(env, done);
	env->prev_idx = idx;
	if (!err && env->lineage.nomem)
		err = -ENOMEM;
	return err;
}

static int explore(struct bpfu_env *env)
{
	bool done;
	int err;

	for (;;) {
		err = follow(env, &done);
		if (err)
			return err;
		if (!done)
			continue;
		bpfu_vrf_path_done(env, env->cur);
		env->scratched_regs = UINT32_MAX;
		env->scratched_slots = UINT64_MAX;
		if (!bpfu_vrf_pop(env))
			return 0;
		env->print_whole_state = true;
	}
}

static int init_args(struct bpfu_env *env, uint32_t subprog)
{
	struct bpfu_reg *regs = bpfu_vrf_regs(env);
	struct bpfu_vsubprog *sub = &env->sub[subprog];
	int err;

	if (!subprog && env->prog->type != BPF_PROG_TYPE_EXT) {
		bpfu_reg_init(&regs[BPF_REG_1], BPFU_REG_CTX);
		bpfu_vrf_check_reliable(env, 0, regs);
		return 0;
	}
	err = bpfu_vrf_global_args(env, subprog);
	if (err)
		return err;
	for (uint32_t i = 0; i < sub->arg_cnt; i++) {
		struct bpfu_reg *reg = &regs[i + 1];

		switch (sub->arg[i]) {
		case BPFU_GARG_SCALAR:
			bpfu_vrf_set_unknown(env, reg);
			break;
		case BPFU_GARG_CTX:
			bpfu_reg_init(reg, BPFU_REG_CTX);
			break;
		case BPFU_GARG_MEM:
			bpfu_reg_init(reg, BPFU_REG_MEM);
			reg->size = sub->arg_size[i];
			if (!sub->nonnull[i]) {
				reg->flags |= BPFU_REG_MAYBE_NULL;
				reg->id = ++env->id_gen;
			}
			break;
		}
	}
	return 0;
}

static void release_run(struct bpfu_env *env)
{
	bpfu_vrf_forget_pending(env);
	bpfu_vrf_forget_states(env);
	for (uint32_t i = 0; i < env->callback_cnt; i++)
		bpfu_state_free(env->callback[i].entry);
	env->callback_cnt = 0;
	bpfu_lineage_release(&env->lineage);
}

/* The program, or a global function for itself. */
static int run(struct bpfu_env *env, uint32_t subprog)
{
	uint64_t log_pos;
	int err = -ENOMEM;

	bpfu_lineage_init(&env->lineage);
	env->prev_line = NULL;
	/* The main function of an extension is one that is called, too. */
	if (bpfu_vrf_logs(env) && (subprog || env->prog->type == BPF_PROG_TYPE_EXT))
		bpfu_vrf_log(env, "Validating %s() func#%u...\n", env->prog->subprogs[subprog].name,
			     subprog);
	log_pos = env->log->total;
	env->cur = bpfu_state_new();
	if (env->cur)
		err = bpfu_state_push_frame(env->cur, subprog, -1);
	if (!err)
		err = init_args(env, subprog);
	if (!err) {
		env->insn_idx = env->prog->subprogs[subprog].start;
		env->prev_idx = env->insn_idx;
		env->print_whole_state = false;
		env->scratched_regs = UINT32_MAX;
		env->scratched_slots = UINT64_MAX;
		err = explore(env);
	}
	bpfu_vrf_log_close(env);
	/* Level 1 keeps the log of a failure only. */
	if (!err && !(env->log->level & BPFU_LOG_LEVEL2))
		bpfu_log_reset(env->log, log_pos);
	release_run(env);
	return err;
}

/* Global functions that something calls, and those that they call. */
static int run_globals(struct bpfu_env *env)
{
	bool again = true;

	while (again) {
		again = false;
		for (uint32_t i = 1; i < env->prog->subprog_cnt; i++) {
			const struct bpfu_subprog *sub = &env->prog->subprogs[i];
			int err;

			if (!sub->is_global || !env->sub[i].called || env->sub[i].verified)
				continue;
			err = run(env, i);
			if (err)
				return err;
			env->sub[i].verified = true;
			again = true;
			if (bpfu_vrf_logs(env))
				bpfu_vrf_log(env,
					     "Func#%u ('%s') is safe for any args that match its "
					     "prototype\n",
					     i, sub->name);
		}
	}
	return 0;
}

/* ---- the whole ---- */

static int check_all(struct bpfu_env *env, uint64_t fd_array)
{
	int err = bpfu_vrf_find_subprogs(env);

	if (!err)
		err = bpfu_vrf_check_jumps(env);
	if (!err)
		err = bpfu_vrf_check_btf(env);
	if (!err)
		err = bpfu_vrf_resolve(env, fd_array);
	if (!err)
		err = bpfu_vrf_check_cfg(env);
	if (!err)
		bpfu_vrf_find_pkt_changes(env);
	if (!err)
		err = bpfu_vrf_check_attach(env);
	if (!err)
		err = bpfu_vrf_liveness(env);
	if (err)
		return err;
	err = run(env, 0);
	if (!err)
		err = run_globals(env);
	if (!err)
		err = bpfu_vrf_check_stack_depth(env);
	if (!err)
		bpfu_vrf_kfunc_resolve(env);
	return err;
}

static uint64_t now_usec(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/* What an instruction was loaded as, before rewrite/ moves it. */
static void number_insns(struct bpfu_env *env)
{
	for (uint32_t i = 0; i < env->insn_cnt; i++)
		env->aux[i].orig_idx = i;
}

int bpfu_verify(struct bpfu_prog *prog, uint64_t fd_array, struct bpfu_log *log,
		struct bpfu_insn_aux **aux)
{
	struct bpfu_log silent = { 0 };
	struct bpfu_env env = {
		.prog = prog,
		.insns = prog->insns,
		.insn_cnt = prog->orig_insn_cnt,
		.log = log ? log : &silent,
		.sleepable = prog->prog_flags & BPF_F_SLEEPABLE,
		.strict_alignment = prog->prog_flags & BPF_F_STRICT_ALIGNMENT &&
				    !(prog->prog_flags & BPF_F_ANY_ALIGNMENT),
		.store_often = prog->prog_flags & BPF_F_TEST_STATE_FREQ,
		.harden = prog->options.harden,
	};
	uint64_t start = now_usec();
	int err = -ENOMEM;

	if (!env.insn_cnt || env.insn_cnt > BPFU_MAX_INSNS)
		return -E2BIG;
	env.aux = calloc(env.insn_cnt, sizeof(*env.aux));
	env.vinsn = calloc(env.insn_cnt, sizeof(*env.vinsn));
	if (env.aux && env.vinsn) {
		number_insns(&env);
		err = check_all(&env, fd_array);
	}
	bpfu_vrf_log_stats(&env, now_usec() - start);
	prog->verified_insns = env.processed;
	free(env.vinsn);
	free(env.sub);
	free(env.subprog_of);
	free(env.callback);
	if (err) {
		free(env.aux);
		return err;
	}
	*aux = env.aux;
	return 0;
}
