// SPDX-License-Identifier: BSD-2-Clause
/*
 * Calls of kernel functions: of functions of libbpfu that are marked for it (BPFU_FUNC_KFUNC), named
 * by their id in libbpfu's BTF. Arguments are plain numbers; results are, or point to one. What a verified
 * program calls is a number beyond those of helpers (helper/helper.h), so that nothing behind the verifier
 * needs to know of two kinds of calls.
 */
#include <errno.h>

#include "btf/func.h"
#include "helper/helper.h"
#include "verifier/env.h"

static bool is_kfunc_call(const struct bpf_insn *insn)
{
	return insn->code == (BPF_JMP | BPF_CALL) && insn->src_reg == BPF_PSEUDO_KFUNC_CALL;
}

static const struct bpfu_func *kfunc_of(const struct bpf_insn *insn)
{
	const struct bpfu_func *func = insn->imm > 0 && !insn->off ?
					       bpfu_func_by_id((uint32_t)insn->imm) : NULL;

	return func && func->flags & BPFU_FUNC_KFUNC ? func : NULL;
}

int bpfu_vrf_kfunc_known(struct bpfu_env *env, uint32_t idx)
{
	if (!is_kfunc_call(&env->insns[idx]) || kfunc_of(&env->insns[idx]))
		return 0;
	bpfu_vrf_log(env, "calling kernel functions is not supported, insn %u\n", idx);
	return -EINVAL;
}

static bool may_call(const struct bpfu_func *func, const struct bpfu_prog *prog)
{
	return !(func->flags & BPFU_FUNC_SESSION) || bpfu_prog_is_session(prog);
}

static void set_result(struct bpfu_env *env, const struct bpfu_value *ret)
{
	struct bpfu_reg *r0 = &bpfu_vrf_regs(env)[BPF_REG_0];

	if (ret->is_pointer) {
		bpfu_reg_init(r0, BPFU_REG_MEM);
		r0->size = ret->pointee;
	} else if (ret->size) {
		bpfu_vrf_set_unknown(env, r0);
	}
}

int bpfu_vrf_kfunc_call(struct bpfu_env *env, const struct bpf_insn *insn)
{
	const struct bpfu_func *func = kfunc_of(insn);
	struct bpfu_reg *regs = bpfu_vrf_regs(env);

	if (!func)
		return -EINVAL;
	if (!may_call(func, env->prog)) {
		bpfu_vrf_log(env, "calling kernel function %s is not allowed\n", func->decl.name);
		return -EACCES;
	}
	for (uint32_t i = 0; i < func->decl.arg_cnt; i++) {
		uint32_t regno = BPF_REG_1 + i;
		int err = bpfu_vrf_read_reg(env, regno);

		if (err)
			return err;
		if (regs[regno].type != BPFU_REG_SCALAR) {
			bpfu_vrf_log(env, "R%u is not a scalar\n", regno);
			return -EINVAL;
		}
	}
	for (int r = BPF_REG_0; r <= BPF_REG_5; r++)
		bpfu_reg_init(&regs[r], BPFU_REG_NOT_INIT);
	bpfu_vrf_touch_reg(env, BPF_REG_0);
	set_result(env, &func->decl.ret);
	env->insn_idx++;
	return 0;
}

void bpfu_vrf_kfunc_resolve(struct bpfu_env *env)
{
	struct bpf_insn *insns = env->prog->insns;

	for (uint32_t i = 0; i < env->insn_cnt; i++) {
		if (!is_kfunc_call(&insns[i]))
			continue;
		insns[i].src_reg = 0;
		insns[i].imm = BPFU_CALL_KFUNC + (int32_t)kfunc_of(&insns[i])->kfunc_idx;
	}
}
