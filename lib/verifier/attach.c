// SPDX-License-Identifier: BSD-2-Clause
/*
 * What programs may be attached to: which may sleep where, and functions of BPF programs as targets. An
 * extension (EXT) has to look to its callers like the global function that it replaces; fentry and fexit
 * programs are told what the BTF says of the function, or, where it cannot be relied upon, five words.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "btf/btf.h"
#include "btf/func.h"
#include "prog_type/prog_type.h"
#include "util/bits.h"
#include "verifier/env.h"

/* ---- prototypes ---- */

static const char *kind_name(const struct btf_type *t)
{
	static const char *const names[] = {
		"UNKNOWN", "INT", "PTR", "ARRAY", "STRUCT", "UNION", "ENUM", "FWD", "TYPEDEF",
		"VOLATILE", "CONST", "RESTRICT", "FUNC", "FUNC_PROTO", "VAR", "DATASEC", "FLOAT",
		"DECL_TAG", "TYPE_TAG", "ENUM64",
	};
	uint32_t kind = bpfu_btf_kind(t);

	return names[kind < BPFU_ARRAY_SIZE(names) ? kind : 0];
}

static bool is_int(const struct btf_type *t)
{
	uint32_t kind = bpfu_btf_kind(t);

	return kind == BTF_KIND_INT || kind == BTF_KIND_ENUM || kind == BTF_KIND_ENUM64;
}

static bool has_size(const struct btf_type *t)
{
	return is_int(t) || bpfu_btf_is_struct(t) || bpfu_btf_kind(t) == BTF_KIND_FLOAT ||
	       bpfu_btf_kind(t) == BTF_KIND_DATASEC;
}

/* A FUNC and what it is written in. */
struct side {
	const struct bpfu_btf *btf;
	const struct btf_type *func, *proto;
	const char *name;
};

static bool side_init(struct side *s, const struct bpfu_btf *btf, uint32_t id)
{
	s->btf = btf;
	s->func = btf ? bpfu_btf_type(btf, id) : NULL;
	if (!s->func || bpfu_btf_kind(s->func) != BTF_KIND_FUNC)
		return false;
	s->name = bpfu_btf_name(btf, s->func->name_off);
	s->proto = bpfu_btf_type(btf, s->func->type);
	return s->name && s->proto && bpfu_btf_kind(s->proto) == BTF_KIND_FUNC_PROTO;
}

static const struct btf_type *arg_type(const struct side *s, uint32_t i)
{
	const struct btf_param *param = (const void *)(s->proto + 1);

	return bpfu_btf_skip_modifiers(s->btf, param[i].type, NULL);
}

/* Pointers have to lead to structures of one name; what is in them is compared nowhere. */
static int compare_pointers(const struct side *ext, const struct side *dst, uint32_t i,
			    struct bpfu_log *log)
{
	const struct btf_type *a = bpfu_btf_skip_modifiers(ext->btf, arg_type(ext, i)->type, NULL);
	const struct btf_type *b = bpfu_btf_skip_modifiers(dst->btf, arg_type(dst, i)->type, NULL);
	bool a_ok = a && bpfu_btf_is_struct(a), b_ok = b && bpfu_btf_is_struct(b);
	const char *a_name, *b_name;

	if (!a_ok || !b_ok) {
		bpfu_log_printf(log, "arg%u in %s() is not a pointer to context\n", i,
				a_ok ? dst->name : ext->name);
		return -EINVAL;
	}
	a_name = bpfu_btf_name(ext->btf, a->name_off);
	b_name = bpfu_btf_name(dst->btf, b->name_off);
	if (a_name && b_name && !strcmp(a_name, b_name))
		return 0;
	bpfu_log_printf(log, "arg%u %s(struct %s *) doesn't match %s(struct %s *)\n", i, ext->name,
			a_name ? a_name : "", dst->name, b_name ? b_name : "");
	return -EINVAL;
}

static int compare_args(const struct side *ext, const struct side *dst, uint32_t i,
			struct bpfu_log *log)
{
	const struct btf_type *a = arg_type(ext, i), *b = arg_type(dst, i);

	if (a->info != b->info) {
		bpfu_log_printf(log, "arg%u in %s() is %s while %s() has %s\n", i, ext->name,
				kind_name(a), dst->name, kind_name(b));
		return -EINVAL;
	}
	if (has_size(a) && a->size != b->size) {
		bpfu_log_printf(log, "arg%u in %s() has size %u while %s() has %u\n", i, ext->name,
				a->size, dst->name, b->size);
		return -EINVAL;
	}
	if (is_int(a))
		return 0;
	if (bpfu_btf_kind(a) != BTF_KIND_PTR) {
		bpfu_log_printf(log, "arg%u in %s() has unrecognized type\n", i, ext->name);
		return -EINVAL;
	}
	return compare_pointers(ext, dst, i, log);
}

static int compare_funcs(const struct side *ext, const struct side *dst, struct bpfu_log *log)
{
	uint32_t ext_cnt = bpfu_btf_vlen(ext->proto), dst_cnt = bpfu_btf_vlen(dst->proto);
	const struct btf_type *a, *b;

	if (bpfu_btf_vlen(ext->func) != BTF_FUNC_GLOBAL || bpfu_btf_vlen(dst->func) != BTF_FUNC_GLOBAL) {
		bpfu_log_printf(log, "%s() is not a global function\n",
				bpfu_btf_vlen(ext->func) != BTF_FUNC_GLOBAL ? ext->name : dst->name);
		return -EINVAL;
	}
	if (ext_cnt != dst_cnt) {
		bpfu_log_printf(log, "%s() has %u args while %s() has %u args\n", ext->name, ext_cnt,
				dst->name, dst_cnt);
		return -EINVAL;
	}
	a = bpfu_btf_skip_modifiers(ext->btf, ext->proto->type, NULL);
	b = bpfu_btf_skip_modifiers(dst->btf, dst->proto->type, NULL);
	if (a->info != b->info) {
		bpfu_log_printf(log, "Return type %s of %s() doesn't match type %s of %s()\n",
				kind_name(a), ext->name, kind_name(b), dst->name);
		return -EINVAL;
	}
	for (uint32_t i = 0; i < ext_cnt; i++) {
		int err = compare_args(ext, dst, i, log);

		if (err)
			return err;
	}
	return 0;
}

/* ---- what programs that trace a function are told ---- */

/* False: the type is not one that fits into a register. */
static bool describe(const struct bpfu_prog *dst, uint32_t type_id, struct bpfu_value *value)
{
	const struct btf_type *t = bpfu_btf_skip_modifiers(dst->btf, type_id, NULL), *to;

	memset(value, 0, sizeof(*value));
	if (!t)
		return false;
	if (is_int(t)) {
		value->size = (uint8_t)t->size;
		return t->size <= sizeof(uint64_t);
	}
	if (bpfu_btf_kind(t) != BTF_KIND_PTR)
		return false;
	value->size = sizeof(uint64_t);
	value->is_pointer = true;
	to = bpfu_btf_skip_modifiers(dst->btf, t->type, NULL);
	value->is_opaque = t->type && !(to && bpfu_btf_kind(to) == BTF_KIND_INT) &&
			   !bpfu_vrf_points_to_ctx(dst->btf, bpfu_prog_acts_as(dst), t->type);
	return true;
}

static int describe_all(const struct bpfu_prog *dst, const struct side *s, struct bpfu_log *log,
			struct bpfu_decl *decl)
{
	const struct btf_param *param = (const void *)(s->proto + 1);

	decl->arg_cnt = bpfu_btf_vlen(s->proto);
	if (decl->arg_cnt > 5) {
		bpfu_log_printf(log, "The function %s has %u arguments. Too many.\n", s->name,
				decl->arg_cnt);
		return -EINVAL;
	}
	if (s->proto->type && !describe(dst, s->proto->type, &decl->ret)) {
		bpfu_log_printf(log, "The function %s return type %s is unsupported.\n", s->name,
				kind_name(bpfu_btf_type(s->btf, s->proto->type)));
		return -EINVAL;
	}
	for (uint32_t i = 0; i < decl->arg_cnt; i++) {
		if (describe(dst, param[i].type, &decl->args[i]))
			continue;
		bpfu_log_printf(log, "The function %s arg%u has type %s is unsupported.\n", s->name, i,
				kind_name(bpfu_btf_type(s->btf, param[i].type)));
		return -EINVAL;
	}
	return 0;
}

static int make_func(const struct bpfu_prog *dst, uint32_t subprog, uint32_t btf_id,
		     const struct side *s, struct bpfu_log *log, struct bpfu_func **out)
{
	struct bpfu_func *func = calloc(1, sizeof(*func));
	struct bpfu_decl *decl;
	int err = 0;

	if (!func)
		return -ENOMEM;
	decl = &func->decl;
	snprintf(decl->name, sizeof(decl->name), "%s", s->name);
	func->btf_id = btf_id;
	if (dst->subprogs[subprog].unreliable) {
		decl->arg_cnt = 5;
		decl->ret.size = sizeof(uint64_t);
		for (uint32_t i = 0; i < decl->arg_cnt; i++)
			decl->args[i].size = sizeof(uint64_t);
	} else {
		err = describe_all(dst, s, log, decl);
	}
	if (err)
		free(func);
	else
		*out = func;
	return err;
}

/* ---- the checks ---- */

static int find_subprog(const struct bpfu_prog *dst, uint32_t btf_id, struct bpfu_log *log,
			uint32_t *subprog)
{
	const struct btf_type *t;
	const char *name;

	if (!btf_id) {
		bpfu_log_printf(log, "Tracing programs must provide btf_id\n");
		return -EINVAL;
	}
	if (!dst->btf) {
		bpfu_log_printf(log, "FENTRY/FEXIT program can only be attached to another program "
				     "annotated with BTF\n");
		return -EINVAL;
	}
	t = bpfu_btf_type(dst->btf, btf_id);
	if (!t) {
		bpfu_log_printf(log, "attach_btf_id %u is invalid\n", btf_id);
		return -EINVAL;
	}
	name = t->name_off ? bpfu_btf_name(dst->btf, t->name_off) : NULL;
	if (!name) {
		bpfu_log_printf(log, "attach_btf_id %u doesn't have a name\n", btf_id);
		return -EINVAL;
	}
	for (uint32_t i = 0; i < dst->subprog_cnt; i++) {
		if (dst->subprogs[i].func_type_id != btf_id)
			continue;
		*subprog = i;
		return 0;
	}
	bpfu_log_printf(log, "Subprog %s doesn't exist\n", name);
	return -EINVAL;
}

/* Both sides have to be run by the same means: calls between them know nothing of the other. */
static int check_ext(const struct bpfu_prog *prog, const struct bpfu_prog *dst, uint32_t subprog,
		     struct bpfu_log *log)
{
	const char *why = NULL;

	if (dst->subprogs[subprog].unreliable)
		why = "Cannot replace static functions";
	else if (!prog->options.jit && dst->jited)
		why = "Extension programs should be JITed";
	else if (prog->subprogs[0].changes_pkt && !dst->subprogs[subprog].changes_pkt)
		why = "Extension program changes packet data, while original does not";
	else if (prog->options.jit && !dst->jited)
		why = "Can attach to only JITed progs";
	else if (dst->type == BPF_PROG_TYPE_EXT)
		why = "Cannot recursively attach";
	else if (dst->type == BPF_PROG_TYPE_TRACING &&
		 (dst->expected_attach_type == BPF_TRACE_FENTRY ||
		  dst->expected_attach_type == BPF_TRACE_FEXIT))
		why = "Cannot extend fentry/fexit";
	if (!why)
		return 0;
	bpfu_log_printf(log, "%s\n", why);
	return -EINVAL;
}

static int check_tracing(const struct bpfu_prog *prog, const struct bpfu_prog *dst,
			 struct bpfu_log *log)
{
	const char *why;

	if (dst->traces_tracing)
		why = "Cannot nest tracing program attach more than once";
	else if (prog->expected_attach_type == BPF_TRACE_RAW_TP)
		why = "Only FENTRY/FEXIT progs are attachable to another BPF prog";
	else if (prog->expected_attach_type == BPF_MODIFY_RETURN)
		why = "can't modify return codes of BPF programs";
	else
		return 0;
	bpfu_log_printf(log, "%s\n", why);
	return -EINVAL;
}

static int compare_ext(const struct bpfu_prog *prog, const struct side *dst, struct bpfu_log *log)
{
	struct side ext;

	if (!prog->func_info_cnt) {
		bpfu_log_printf(log, "Program extension doesn't have BTF\n");
		return -EINVAL;
	}
	return side_init(&ext, prog->btf, prog->subprogs[0].func_type_id) ?
		       compare_funcs(&ext, dst, log) : -EFAULT;
}

int bpfu_verify_target(const struct bpfu_prog *prog, const struct bpfu_prog *dst, uint32_t btf_id,
		       struct bpfu_log *log, uint32_t *subprog, struct bpfu_func **func)
{
	bool is_ext = prog->type == BPF_PROG_TYPE_EXT;
	struct side s;
	int err;

	err = find_subprog(dst, btf_id, log, subprog);
	if (!err)
		err = is_ext ? check_ext(prog, dst, *subprog, log) : check_tracing(prog, dst, log);
	if (err)
		return err;
	if (!is_ext && prog->expected_attach_type != BPF_TRACE_FENTRY &&
	    prog->expected_attach_type != BPF_TRACE_FEXIT)
		return -EINVAL;
	if (!side_init(&s, dst->btf, btf_id))
		return -EINVAL;
	if (is_ext)
		err = compare_ext(prog, &s, log);
	/* Another target than that of the load has to be of the same kind. */
	if (!err && prog->dst_type &&
	    (prog->dst_type != dst->type || prog->dst_attach_type != dst->expected_attach_type))
		err = -EINVAL;
	if (!err && func)
		err = make_func(dst, *subprog, btf_id, &s, log, func);
	return err;
}

/* From here on @prog is verified as what it extends. */
static int take_target(struct bpfu_prog *prog, struct bpfu_log *log)
{
	const struct bpfu_prog *dst = prog->dst_prog;
	bool is_ext = prog->type == BPF_PROG_TYPE_EXT;
	uint32_t subprog;
	int err = bpfu_verify_target(prog, dst, prog->attach_btf_id, log, &subprog,
				     is_ext ? NULL : &prog->target);

	if (err)
		return err;
	prog->dst_type = dst->type;
	prog->dst_attach_type = dst->expected_attach_type;
	if (is_ext) {
		prog->type_ops = dst->type_ops;
		prog->expected_attach_type = dst->expected_attach_type;
		prog->target = dst->owns_target ? NULL : dst->target;
	} else {
		prog->owns_target = true;
		prog->traces_tracing = dst->type == BPF_PROG_TYPE_TRACING;
	}
	return 0;
}

int bpfu_vrf_check_attach(struct bpfu_env *env)
{
	struct bpfu_prog *prog = env->prog;

	if (prog->type == BPF_PROG_TYPE_SYSCALL) {
		if (env->sleepable)
			return 0;
		bpfu_vrf_log(env, "Syscall programs can only be sleepable\n");
		return -EINVAL;
	}
	if (env->sleepable && prog->type != BPF_PROG_TYPE_KPROBE) {
		bpfu_vrf_log(env, "Only fentry/fexit/fmod_ret, lsm, iter, uprobe, and struct_ops "
				  "programs can be sleepable\n");
		return -EINVAL;
	}
	if (prog->dst_prog)
		return take_target(prog, env->log);
	if (prog->type != BPF_PROG_TYPE_EXT)
		return 0;
	bpfu_vrf_log(env, prog->attach_btf_id ? "Cannot replace kernel functions\n" :
						"Tracing programs must provide btf_id\n");
	return -EINVAL;
}
