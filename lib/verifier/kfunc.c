// SPDX-License-Identifier: BSD-2-Clause
/*
 * Calls of kernel functions: of functions of libbpfu that are marked for it (BPFU_FUNC_KFUNC), named
 * by their id in libbpfu's BTF. A row of the table below says what is special about one; without a row
 * arguments are plain numbers, results are, or point to one, and every program may call (those of
 * sessions, every session). What a verified program calls is a number beyond those of helpers
 * (helper/helper.h), so that nothing behind the verifier needs to know of two kinds of calls.
 */
#include <errno.h>
#include <string.h>

#include "btf/func.h"
#include "btf/record.h"
#include "helper/helper.h"
#include "map/object.h"
#include "verifier/env.h"

enum kfunc_arg {
	ARG_NUMBER,
	ARG_TYPE_ID, /* known: a structure of the program's BTF */
	ARG_OBJECT,  /* of its owner */
	ARG_IGNORED,
};

enum kfunc_ret {
	RET_BY_PROTO, /* a number, or nothing */
	RET_OBJECT,   /* a new one, or NULL, of the type that ARG_TYPE_ID names */
};

enum kfunc_flags {
	KFUNC_ACQUIRE = 1u << 0, /* the program owns the result, and has to release it */
	KFUNC_RELEASE = 1u << 1, /* the ARG_OBJECT */
};

#define TYPE(name) (1ull << BPF_PROG_TYPE_##name)
#define OBJECT_TYPES                                                                               \
	(TYPE(SCHED_CLS) | TYPE(XDP) | TYPE(CGROUP_SKB) | TYPE(SYSCALL) | TYPE(TRACEPOINT) |       \
	 TYPE(PERF_EVENT) | TYPE(TRACING))

struct kfunc_rule {
	const char *name;
	uint64_t prog_types; /* that may call it, a bit each; 0: all */
	uint32_t flags;
	enum kfunc_ret ret;
	enum kfunc_arg arg[5];
};

static const struct kfunc_rule rules[] = {
	{ "bpf_obj_new_impl", OBJECT_TYPES, KFUNC_ACQUIRE, RET_OBJECT, { ARG_TYPE_ID, ARG_IGNORED } },
	{ "bpf_obj_drop_impl", OBJECT_TYPES, KFUNC_RELEASE, RET_BY_PROTO,
	  { ARG_OBJECT, ARG_IGNORED } },
};

static const struct kfunc_rule *rule_of(const struct bpfu_func *func)
{
	static const struct kfunc_rule plain;

	for (size_t i = 0; i < BPFU_ARRAY_SIZE(rules); i++)
		if (!strcmp(rules[i].name, func->decl.name))
			return &rules[i];
	return &plain;
}

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

/* ---- arguments ---- */

struct kcall {
	uint32_t type_id;     /* ARG_TYPE_ID */
	uint32_t object_size;
	uint32_t release_id;
};

static int arg_number(struct bpfu_env *env, uint32_t regno)
{
	int err = bpfu_vrf_read_reg(env, regno);

	if (err)
		return err;
	if (bpfu_reg_is_scalar(&bpfu_vrf_regs(env)[regno]))
		return 0;
	bpfu_vrf_log(env, "R%u is not a scalar\n", regno);
	return -EINVAL;
}

static int arg_type_id(struct bpfu_env *env, struct kcall *c, uint32_t regno)
{
	const struct bpfu_reg *reg = &bpfu_vrf_regs(env)[regno];
	const struct bpfu_btf *btf = env->prog->btf;
	const struct btf_type *t;
	int err = arg_number(env, regno);

	if (err)
		return err;
	if (!bpfu_range_is_const(&reg->range)) {
		bpfu_vrf_log(env, "R%u must be a known constant\n", regno);
		return -EINVAL;
	}
	bpfu_vrf_demand(env, reg);
	if (reg->range.var.value > UINT32_MAX) {
		bpfu_vrf_log(env, "local type ID argument must be in range [0, U32_MAX]\n");
		return -EINVAL;
	}
	c->type_id = (uint32_t)reg->range.var.value;
	if (!btf) {
		bpfu_vrf_log(env, "bpf_obj_new/bpf_percpu_obj_new requires prog BTF\n");
		return -EINVAL;
	}
	t = bpfu_btf_type(btf, c->type_id);
	if (!t || bpfu_btf_kind(t) != BTF_KIND_STRUCT) {
		bpfu_vrf_log(env,
			     "bpf_obj_new/bpf_percpu_obj_new type ID argument must be of a struct\n");
		return -EINVAL;
	}
	if (bpfu_btf_struct_is_special(btf, c->type_id)) {
		bpfu_vrf_log(env,
			     "objects with locks, lists, trees, counts or kptrs in them are not "
			     "supported\n");
		return -EOPNOTSUPP;
	}
	c->object_size = t->size;
	return bpfu_objects_prepare();
}

static int arg_object(struct bpfu_env *env, struct kcall *c, uint32_t regno, uint32_t i)
{
	const struct bpfu_reg *reg = &bpfu_vrf_regs(env)[regno];
	int err = bpfu_vrf_read_reg(env, regno);

	if (err)
		return err;
	if (bpfu_reg_is_null(reg) || bpfu_reg_maybe_null(reg)) {
		bpfu_vrf_demand(env, reg);
		bpfu_vrf_log(env, "Possibly NULL pointer passed to trusted arg%u\n", i);
		return -EACCES;
	}
	if (!bpfu_reg_is_trusted(reg) || !reg->ref_id) {
		bpfu_vrf_log(env, "R%u must be referenced or trusted\n", regno);
		return -EINVAL;
	}
	if (reg->off) {
		bpfu_vrf_log(env,
			     "R%u must have zero offset when passed to release func or trusted arg "
			     "to kfunc\n",
			     regno);
		return -EINVAL;
	}
	c->release_id = reg->ref_id;
	return bpfu_vrf_check_fixed_off(env, regno, false);
}

static int check_args(struct bpfu_env *env, const struct bpfu_func *func,
		      const struct kfunc_rule *rule, struct kcall *c)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < func->decl.arg_cnt; i++) {
		switch (rule->arg[i]) {
		case ARG_NUMBER:
			err = arg_number(env, BPF_REG_1 + i);
			break;
		case ARG_TYPE_ID:
			err = arg_type_id(env, c, BPF_REG_1 + i);
			break;
		case ARG_OBJECT:
			err = arg_object(env, c, BPF_REG_1 + i, i);
			break;
		case ARG_IGNORED:
			break;
		}
	}
	return err;
}

/* ---- the call ---- */

static int set_object(struct bpfu_env *env, const struct kcall *c, struct bpfu_reg *r0)
{
	struct bpfu_insn_aux *aux = &env->aux[env->insn_idx];

	/* Paths may differ in the type: all get room for the largest. */
	aux->makes_object = true;
	aux->object_size = BPFU_MAX(aux->object_size, c->object_size);
	bpfu_reg_init(r0, BPFU_REG_BTF);
	r0->flags = BPFU_REG_ALLOC | BPFU_REG_MAYBE_NULL;
	r0->btf = env->prog->btf;
	r0->type_id = c->type_id;
	return 0;
}

static int set_result(struct bpfu_env *env, const struct bpfu_func *func,
		      const struct kfunc_rule *rule, const struct kcall *c)
{
	struct bpfu_reg *regs = bpfu_vrf_regs(env), *r0 = &regs[BPF_REG_0];
	int err = 0;

	for (int r = BPF_REG_0; r <= BPF_REG_5; r++)
		bpfu_reg_init(&regs[r], BPFU_REG_NOT_INIT);
	bpfu_vrf_touch_reg(env, BPF_REG_0);
	switch (rule->ret) {
	case RET_BY_PROTO:
		if (func->decl.ret.is_pointer) {
			bpfu_reg_init(r0, BPFU_REG_MEM);
			r0->size = func->decl.ret.pointee;
		} else if (func->decl.ret.size) {
			bpfu_vrf_set_unknown(env, r0);
		}
		break;
	case RET_OBJECT:
		err = set_object(env, c, r0);
		break;
	}
	if (!err && rule->flags & KFUNC_ACQUIRE)
		err = bpfu_vrf_acquire(env, r0);
	return err;
}

static bool may_call(const struct bpfu_prog *prog, const struct bpfu_func *func,
		     const struct kfunc_rule *rule)
{
	if (func->flags & BPFU_FUNC_SESSION)
		return bpfu_prog_is_session(prog);
	return !rule->prog_types || rule->prog_types >> bpfu_prog_acts_as(prog) & 1;
}

int bpfu_vrf_kfunc_call(struct bpfu_env *env, const struct bpf_insn *insn)
{
	const struct bpfu_func *func = kfunc_of(insn);
	const struct kfunc_rule *rule;
	struct kcall c = { 0 };
	int err;

	if (!func)
		return -EINVAL;
	rule = rule_of(func);
	if (!may_call(env->prog, func, rule)) {
		bpfu_vrf_log(env, "calling kernel function %s is not allowed\n", func->decl.name);
		return -EACCES;
	}
	err = check_args(env, func, rule, &c);
	if (err)
		return err;
	if (rule->flags & KFUNC_RELEASE)
		bpfu_vrf_release(env, c.release_id);
	err = set_result(env, func, rule, &c);
	env->insn_idx++;
	return err;
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
