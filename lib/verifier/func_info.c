// SPDX-License-Identifier: BSD-2-Clause
/*
 * func_info and line_info against the code, the names and linkage of functions, and what the
 * prototype of a global function says of its arguments.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "btf/btf.h"
#include "prog_type/prog_type.h"
#include "verifier/env.h"

static const struct btf_type *func_of(const struct bpfu_prog *prog, uint32_t type_id)
{
	const struct btf_type *t = bpfu_btf_type(prog->btf, type_id);

	return t && BTF_INFO_KIND(t->info) == BTF_KIND_FUNC ? t : NULL;
}

static int check_func(struct bpfu_env *env, uint32_t i)
{
	struct bpfu_prog *prog = env->prog;
	const struct bpf_func_info *info = &prog->func_info[i];
	const struct btf_type *func;
	const char *name;

	if (!i && info->insn_off) {
		bpfu_vrf_log(env, "nonzero insn_off %u for the first func info record\n",
			     info->insn_off);
		return -EINVAL;
	}
	if (i && info->insn_off <= info[-1].insn_off) {
		bpfu_vrf_log(env,
			     "same or smaller insn offset (%u) than previous func info record (%u)\n",
			     info->insn_off, info[-1].insn_off);
		return -EINVAL;
	}
	if (info->insn_off != prog->subprogs[i].start) {
		bpfu_vrf_log(env,
			     "func_info BTF section doesn't match subprog layout in BPF program\n");
		return -EINVAL;
	}
	func = func_of(prog, info->type_id);
	if (!func) {
		bpfu_vrf_log(env, "invalid type id %d in func info\n", info->type_id);
		return -EINVAL;
	}
	name = bpfu_btf_name(prog->btf, func->name_off);
	snprintf(prog->subprogs[i].name, sizeof(prog->subprogs[i].name), "%s", name ? name : "");
	prog->subprogs[i].func_type_id = info->type_id;
	prog->subprogs[i].is_global = i && BTF_INFO_VLEN(func->info) == BTF_FUNC_GLOBAL;
	return 0;
}

static int check_funcs(struct bpfu_env *env)
{
	struct bpfu_prog *prog = env->prog;

	if (!prog->func_info_cnt)
		return 0;
	if (prog->func_info_cnt != prog->subprog_cnt) {
		bpfu_vrf_log(env,
			     "number of funcs in func_info doesn't match number of subprogs\n");
		return -EINVAL;
	}
	for (uint32_t i = 0; i < prog->func_info_cnt; i++) {
		int err = check_func(env, i);

		if (err)
			return err;
	}
	return 0;
}

static int check_line(struct bpfu_env *env, uint32_t i, uint32_t *sub)
{
	struct bpfu_prog *prog = env->prog;
	const struct bpf_line_info *line = &prog->line_info[i];

	if ((i && line->insn_off <= line[-1].insn_off) || line->insn_off >= env->insn_cnt) {
		bpfu_vrf_log(env, "Invalid line_info[%u].insn_off:%u (prev_offset:%u prog->len:%u)\n",
			     i, line->insn_off, i ? line[-1].insn_off : 0, env->insn_cnt);
		return -EINVAL;
	}
	if (!env->insns[line->insn_off].code) {
		bpfu_vrf_log(env, "Invalid insn code at line_info[%u].insn_off\n", i);
		return -EINVAL;
	}
	if (!bpfu_btf_name(prog->btf, line->line_off) ||
	    !bpfu_btf_name(prog->btf, line->file_name_off)) {
		bpfu_vrf_log(env, "Invalid line_info[%u].line_off or .file_name_off\n", i);
		return -EINVAL;
	}
	if (*sub < prog->subprog_cnt) {
		if (line->insn_off == prog->subprogs[*sub].start) {
			(*sub)++;
		} else if (line->insn_off > prog->subprogs[*sub].start) {
			bpfu_vrf_log(env, "missing bpf_line_info for func#%u\n", *sub);
			return -EINVAL;
		}
	}
	return 0;
}

static int check_lines(struct bpfu_env *env)
{
	uint32_t sub = 0;

	if (!env->prog->line_info_cnt)
		return 0;
	for (uint32_t i = 0; i < env->prog->line_info_cnt; i++) {
		int err = check_line(env, i, &sub);

		if (err)
			return err;
	}
	if (sub != env->prog->subprog_cnt) {
		bpfu_vrf_log(env, "missing line_info for %u funcs starting from func#%u\n",
			     env->prog->subprog_cnt - sub, sub);
		return -EINVAL;
	}
	return 0;
}

static bool is_int(const struct btf_type *t)
{
	uint32_t kind = BTF_INFO_KIND(t->info);

	return kind == BTF_KIND_INT || kind == BTF_KIND_ENUM || kind == BTF_KIND_ENUM64;
}

static bool returns_int(const struct bpfu_prog *prog, const struct bpfu_subprog *sub)
{
	const struct btf_type *func = func_of(prog, sub->func_type_id);
	const struct btf_type *proto = func ? bpfu_btf_type(prog->btf, func->type) : NULL;
	const struct btf_type *ret;

	if (!proto || BTF_INFO_KIND(proto->info) != BTF_KIND_FUNC_PROTO || !proto->type)
		return false;
	ret = bpfu_btf_skip_modifiers(prog->btf, proto->type, NULL);
	return ret && is_int(ret);
}

/* What a tail call leads to returns an int on the function's behalf. */
static int check_tail_callers(struct bpfu_env *env)
{
	const struct bpfu_prog *prog = env->prog;

	for (uint32_t i = 1; i < prog->subprog_cnt; i++) {
		if (!prog->subprogs[i].has_tail_call)
			continue;
		if (!prog->func_info_cnt) {
			bpfu_vrf_log(env, "tail_call is not allowed in subprogs without BTF\n");
			return -EINVAL;
		}
		if (!returns_int(prog, &prog->subprogs[i])) {
			bpfu_vrf_log(env, "tail_call is only allowed in functions that return 'int'.\n");
			return -EINVAL;
		}
	}
	return 0;
}

int bpfu_vrf_check_btf(struct bpfu_env *env)
{
	int err = 0;

	if (env->prog->btf)
		err = check_funcs(env);
	if (!err)
		err = check_tail_callers(env);
	if (!err && env->prog->btf)
		err = check_lines(env);
	return err;
}

/* ---- global functions ---- */

/* Name of the structure that programs of this type call their context. */
static const char *ctx_name(enum bpf_prog_type type)
{
	switch (type) {
	case BPF_PROG_TYPE_XDP:
		return "xdp_md";
	case BPF_PROG_TYPE_SOCKET_FILTER:
	case BPF_PROG_TYPE_SCHED_CLS:
	case BPF_PROG_TYPE_SCHED_ACT:
	case BPF_PROG_TYPE_CGROUP_SKB:
		return "__sk_buff";
	case BPF_PROG_TYPE_RAW_TRACEPOINT:
		return "bpf_raw_tracepoint_args";
	case BPF_PROG_TYPE_KPROBE:
		return "bpf_user_pt_regs_t";
	default:
		return NULL;
	}
}

static bool has_name(const struct bpfu_btf *btf, const struct btf_type *t, const char *name)
{
	const char *s = t->name_off ? bpfu_btf_name(btf, t->name_off) : NULL;

	return s && name && !strcmp(s, name);
}

/* "__arg_ctx" and "__arg_nonnull" of <bpf/bpf_helpers.h>: decl tags "arg:ctx", "arg:nonnull". */
static bool has_arg_tag(const struct bpfu_btf *btf, uint32_t func_id, uint32_t arg, const char *tag)
{
	for (uint32_t id = 1; id < btf->type_cnt; id++) {
		const struct btf_type *t = bpfu_btf_type(btf, id);
		const struct btf_decl_tag *decl = (const void *)(t + 1);

		if (BTF_INFO_KIND(t->info) == BTF_KIND_DECL_TAG && t->type == func_id &&
		    decl->component_idx == (int32_t)arg && has_name(btf, t, tag))
			return true;
	}
	return false;
}

/*
 * Is the type behind the pointer the context? Typedefs count by their own name (bpf_user_pt_regs_t),
 * and a syscall program's context is plain memory that only the tag can name.
 */
bool bpfu_vrf_points_to_ctx(const struct bpfu_btf *btf, enum bpf_prog_type type, uint32_t type_id)
{
	const char *name = ctx_name(type);
	const struct btf_type *t = bpfu_btf_type(btf, type_id);

	for (int depth = 0; t && depth < 32; depth++) {
		uint32_t kind = BTF_INFO_KIND(t->info);

		if ((kind == BTF_KIND_STRUCT || kind == BTF_KIND_TYPEDEF) && has_name(btf, t, name))
			return true;
		if (kind != BTF_KIND_TYPEDEF && kind != BTF_KIND_CONST && kind != BTF_KIND_VOLATILE)
			return false;
		t = bpfu_btf_type(btf, t->type);
	}
	return false;
}

static int global_arg(struct bpfu_env *env, uint32_t subprog, uint32_t i, uint32_t type_id)
{
	const struct bpfu_btf *btf = env->prog->btf;
	struct bpfu_vsubprog *sub = &env->sub[subprog];
	uint32_t func_id = env->prog->subprogs[subprog].func_type_id;
	const struct btf_type *t = bpfu_btf_skip_modifiers(btf, type_id, NULL);
	int64_t size;

	if (t && is_int(t)) {
		sub->arg[i] = BPFU_GARG_SCALAR;
		return 0;
	}
	if (!t || BTF_INFO_KIND(t->info) != BTF_KIND_PTR) {
		bpfu_vrf_log(env, "Arg#%u type %s in %s() is not supported yet.\n", i,
			     t && t->name_off ? bpfu_btf_name(btf, t->name_off) : "UNKNOWN",
			     env->prog->subprogs[subprog].name);
		return -EINVAL;
	}
	if (has_arg_tag(btf, func_id, i, "arg:ctx") ||
	    bpfu_vrf_points_to_ctx(btf, bpfu_prog_acts_as(env->prog), t->type)) {
		sub->arg[i] = BPFU_GARG_CTX;
		return 0;
	}
	size = t->type ? bpfu_btf_size(btf, t->type) : -EINVAL;
	if (size <= 0 || size > INT32_MAX) {
		bpfu_vrf_log(env, "arg#%u reference type('UNKNOWN ') size cannot be determined: -22\n",
			     i);
		return -EINVAL;
	}
	sub->arg[i] = BPFU_GARG_MEM;
	sub->arg_size[i] = (uint32_t)size;
	sub->nonnull[i] = has_arg_tag(btf, func_id, i, "arg:nonnull");
	return 0;
}

/* The prototype of @subprog, if it takes no more than registers and returns an int. */
static const struct btf_type *plain_proto(const struct bpfu_prog *prog, uint32_t subprog)
{
	const struct btf_type *func = func_of(prog, prog->subprogs[subprog].func_type_id);
	const struct btf_type *proto = func ? bpfu_btf_type(prog->btf, func->type) : NULL;

	if (!proto || BTF_INFO_KIND(proto->info) != BTF_KIND_FUNC_PROTO ||
	    BTF_INFO_VLEN(proto->info) > 5 || !returns_int(prog, &prog->subprogs[subprog]))
		return NULL;
	return proto;
}

/*
 * Are the arguments what the prototype says? Of a static function it has to be plain numbers and contexts,
 * as nothing else was checked when it was compiled, and compilers drop arguments.
 */
static bool args_match(const struct bpfu_env *env, uint32_t subprog, const struct bpfu_reg *regs)
{
	const struct bpfu_prog *prog = env->prog;
	const struct btf_type *proto = plain_proto(prog, subprog);
	uint32_t id = prog->subprogs[subprog].func_type_id;
	const struct btf_param *param;

	if (!proto)
		return false;
	param = (const void *)(proto + 1);
	for (uint32_t i = 0; i < BTF_INFO_VLEN(proto->info); i++) {
		const struct btf_type *t = bpfu_btf_skip_modifiers(prog->btf, param[i].type, NULL);
		const struct bpfu_reg *reg = &regs[i + 1];
		bool is_ctx;

		if (t && is_int(t)) {
			if (reg->type != BPFU_REG_SCALAR)
				return false;
			continue;
		}
		is_ctx = t && BTF_INFO_KIND(t->info) == BTF_KIND_PTR &&
			 (has_arg_tag(prog->btf, id, i, "arg:ctx") ||
			  bpfu_vrf_points_to_ctx(prog->btf, bpfu_prog_acts_as(prog), t->type));
		if (!is_ctx || reg->type != BPFU_REG_CTX)
			return false;
	}
	return true;
}

void bpfu_vrf_check_reliable(struct bpfu_env *env, uint32_t subprog, const struct bpfu_reg *regs)
{
	struct bpfu_subprog *sub = &env->prog->subprogs[subprog];

	if (!sub->unreliable && sub->func_type_id)
		sub->unreliable = !args_match(env, subprog, regs);
	/* Main is called with a context and nothing else. */
	if (!subprog && !sub->unreliable && sub->func_type_id)
		sub->unreliable = BTF_INFO_VLEN(plain_proto(env->prog, 0)->info) != 1;
}

int bpfu_vrf_global_args(struct bpfu_env *env, uint32_t subprog)
{
	const struct bpfu_btf *btf = env->prog->btf;
	struct bpfu_vsubprog *sub = &env->sub[subprog];
	const char *name = env->prog->subprogs[subprog].name;
	const struct btf_type *func, *proto, *ret;
	const struct btf_param *param;

	if (sub->args_known)
		return 0;
	func = func_of(env->prog, env->prog->subprogs[subprog].func_type_id);
	proto = func ? bpfu_btf_type(btf, func->type) : NULL;
	if (!proto || BTF_INFO_KIND(proto->info) != BTF_KIND_FUNC_PROTO)
		return -EINVAL;
	sub->arg_cnt = BTF_INFO_VLEN(proto->info);
	if (sub->arg_cnt > 5) {
		bpfu_vrf_log(env, "Global function %s() with %u > 5 args. Buggy compiler.\n", name,
			     sub->arg_cnt);
		return -EINVAL;
	}
	ret = proto->type ? bpfu_btf_skip_modifiers(btf, proto->type, NULL) : NULL;
	if (!ret || !is_int(ret)) {
		bpfu_vrf_log(env,
			     "Global function %s() doesn't return scalar. Only those are supported.\n",
			     name);
		return -EINVAL;
	}
	param = (const void *)(proto + 1);
	for (uint32_t i = 0; i < sub->arg_cnt; i++) {
		int err = global_arg(env, subprog, i, param[i].type);

		if (err)
			return err;
	}
	sub->args_known = true;
	return 0;
}
