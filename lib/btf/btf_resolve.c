// SPDX-License-Identifier: BSD-2-Clause
/*
 * BTF check, phase RESOLVE: follow the references of every type until its size is known, or it is
 * known to have none. The walk keeps its path on an explicit stack (32 deep); a type met again
 * while it is on the path is a loop.
 *
 *   typedef -> const -> struct A { struct B *p; int n[4]; }       push typedef, const, A, array …
 *                                  |
 *                                  pointers end the walk inside a struct: B is resolved in its own
 *                                  turn, so structs may point at each other
 *
 * A struct is left with next_member set when a member has to be resolved first, and taken up there.
 */
#include <errno.h>
#include <stdlib.h>

#include "btf/btf_check.h"
#include "util/bits.h"

#define PTR_SIZE 8

#define REJECT(env, t, ...) (bpfu_btf_log_type(env, t, __VA_ARGS__), -EINVAL)

#define KINDS_1(a) (1u << BTF_KIND_##a)
#define KINDS_2(a, b) (KINDS_1(a) | KINDS_1(b))
#define KINDS_3(a, b, c) (KINDS_2(a, b) | KINDS_1(c))

static bool is_kind(const struct btf_type *t, uint32_t mask)
{
	return mask >> bpfu_btf_kind(t) & 1;
}

static bool is_void(const struct btf_type *t)
{
	return bpfu_btf_kind(t) == BTF_KIND_UNKN;
}

static bool is_nosize(const struct btf_type *t)
{
	return !t || is_void(t) ||
	       is_kind(t, KINDS_3(FWD, FUNC, FUNC_PROTO) | KINDS_1(DECL_TAG));
}

/* Nothing may refer to these as a type. */
static bool is_source_only(const struct btf_type *t)
{
	return is_kind(t, KINDS_3(VAR, DECL_TAG, DATASEC));
}

static bool needs_resolve(const struct btf_type *t)
{
	return bpfu_btf_is_modifier(t) || bpfu_btf_is_struct(t) ||
	       is_kind(t, KINDS_3(PTR, ARRAY, VAR) | KINDS_3(FUNC, DECL_TAG, DATASEC));
}

/* ---- the stack ---- */

static bool is_sink(const struct bpfu_btf_env *env, const struct btf_type *t)
{
	switch (env->mode) {
	case BPFU_BTF_PTR:
		return !bpfu_btf_is_modifier(t) && !is_kind(t, KINDS_1(PTR));
	case BPFU_BTF_STRUCT_OR_ARRAY:
		return !bpfu_btf_is_modifier(t) && !bpfu_btf_is_struct(t) &&
		       !is_kind(t, KINDS_1(ARRAY));
	default:
		return !needs_resolve(t);
	}
}

static bool is_resolved(const struct bpfu_btf_env *env, uint32_t id)
{
	return env->visit[id] == BPFU_BTF_RESOLVED;
}

static bool must_wait(const struct bpfu_btf_env *env, const struct btf_type *t, uint32_t id)
{
	return !is_sink(env, t) && !is_resolved(env, id);
}

static int push(struct bpfu_btf_env *env, const struct btf_type *t, uint32_t id)
{
	if (env->depth == BPFU_BTF_MAX_DEPTH)
		return -E2BIG;
	if (env->visit[id] != BPFU_BTF_NOT_VISITED)
		return -EEXIST;
	env->visit[id] = BPFU_BTF_VISITED;
	env->stack[env->depth++] = (struct bpfu_btf_vertex){ .t = t, .id = id };
	if (env->mode == BPFU_BTF_TBD) {
		if (is_kind(t, KINDS_1(PTR)))
			env->mode = BPFU_BTF_PTR;
		else if (bpfu_btf_is_struct(t) || is_kind(t, KINDS_1(ARRAY)))
			env->mode = BPFU_BTF_STRUCT_OR_ARRAY;
	}
	return 0;
}

static int pop(struct bpfu_btf_env *env, uint32_t resolved_id, uint32_t size)
{
	uint32_t id = env->stack[--env->depth].id;

	env->resolved_id[id] = resolved_id;
	env->resolved_size[id] = size;
	env->visit[id] = BPFU_BTF_RESOLVED;
	return 0;
}

/* ---- what is known about a type ---- */

static const struct btf_type *resolve_id(const struct bpfu_btf_env *env, uint32_t *id)
{
	*id = env->resolved_id[*id];
	return bpfu_btf_type(env->btf, *id);
}

const struct btf_type *bpfu_btf_sized_type(const struct bpfu_btf_env *env, uint32_t *id,
					   uint32_t *size)
{
	const struct btf_type *t = bpfu_btf_type(env->btf, *id);
	uint32_t size_id = *id;

	if (is_nosize(t))
		return NULL;
	if (bpfu_btf_is_modifier(t) || is_kind(t, KINDS_1(VAR))) {
		t = resolve_id(env, &size_id);
		if (is_nosize(t))
			return NULL;
	}
	if (is_kind(t, KINDS_3(INT, STRUCT, UNION) | KINDS_3(ENUM, ENUM64, FLOAT) |
			       KINDS_1(DATASEC)))
		*size = t->size;
	else if (is_kind(t, KINDS_1(ARRAY)))
		*size = env->resolved_size[size_id];
	else if (is_kind(t, KINDS_1(PTR)))
		*size = PTR_SIZE;
	else
		return NULL;
	*id = size_id;
	return t;
}

bool bpfu_btf_is_regular_int(const struct btf_type *t)
{
	uint32_t data = *(const uint32_t *)(t + 1), bits = BTF_INT_BITS(data), bytes = bits / 8;

	return bits % 8 == 0 && !BTF_INT_OFFSET(data) &&
	       (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16);
}

/* ---- resolve ---- */

int bpfu_btf_resolve_none(struct bpfu_btf_env *env, struct bpfu_btf_vertex *v)
{
	bpfu_btf_log_basic(env, v->t, "Unsupported resolve");
	return -EINVAL;
}

/* A modifier or pointer may end at a type without size that has a meaning. */
static bool may_end_at(const struct btf_type *t)
{
	return is_void(t) || is_kind(t, KINDS_2(FWD, FUNC_PROTO));
}

/*
 * A modifier that was resolved inside a struct may have stopped at a pointer; outside of one the
 * pointer has to be resolved too. True if @next leads to such a pointer, then in *@t and *@id.
 */
static bool stopped_at_pointer(const struct bpfu_btf_env *env, const struct btf_type *next,
			       uint32_t next_id, const struct btf_type **t, uint32_t *id)
{
	if (!bpfu_btf_is_modifier(next))
		return false;
	*id = next_id;
	*t = resolve_id(env, id);
	return is_kind(*t, KINDS_1(PTR)) && must_wait(env, *t, *id);
}

static int finish_reference(struct bpfu_btf_env *env, struct bpfu_btf_vertex *v,
			    const struct btf_type *next, uint32_t id)
{
	uint32_t size;

	if (!bpfu_btf_sized_type(env, &id, &size)) {
		if (is_resolved(env, id))
			next = resolve_id(env, &id);
		if (!may_end_at(next))
			return REJECT(env, v->t, "Invalid type_id");
	}
	return pop(env, id, 0);
}

int bpfu_btf_resolve_modifier(struct bpfu_btf_env *env, struct bpfu_btf_vertex *v)
{
	uint32_t id = v->t->type;
	const struct btf_type *next = bpfu_btf_type(env->btf, id);

	if (!next || is_source_only(next))
		return REJECT(env, v->t, "Invalid type_id");
	if (must_wait(env, next, id))
		return push(env, next, id);
	return finish_reference(env, v, next, id);
}

int bpfu_btf_resolve_ptr(struct bpfu_btf_env *env, struct bpfu_btf_vertex *v)
{
	uint32_t id = v->t->type, ptr_id;
	const struct btf_type *next = bpfu_btf_type(env->btf, id), *ptr;

	if (!next || is_source_only(next))
		return REJECT(env, v->t, "Invalid type_id");
	if (must_wait(env, next, id))
		return push(env, next, id);
	if (stopped_at_pointer(env, next, id, &ptr, &ptr_id))
		return push(env, ptr, ptr_id);
	return finish_reference(env, v, next, id);
}

int bpfu_btf_resolve_var(struct bpfu_btf_env *env, struct bpfu_btf_vertex *v)
{
	uint32_t id = v->t->type, ptr_id, size;
	const struct btf_type *next = bpfu_btf_type(env->btf, id), *ptr;

	if (!next || is_source_only(next))
		return REJECT(env, v->t, "Invalid type_id");
	if (must_wait(env, next, id))
		return push(env, next, id);
	if (stopped_at_pointer(env, next, id, &ptr, &ptr_id))
		return push(env, ptr, ptr_id);
	if (!bpfu_btf_sized_type(env, &id, &size))
		return REJECT(env, v->t, "Invalid type_id");
	return pop(env, id, size);
}

int bpfu_btf_resolve_array(struct bpfu_btf_env *env, struct bpfu_btf_vertex *v)
{
	const struct btf_array *array = (const struct btf_array *)(v->t + 1);
	uint32_t id = array->index_type, size;
	const struct btf_type *t = bpfu_btf_type(env->btf, id);

	if (is_nosize(t) || is_source_only(t))
		return REJECT(env, v->t, "Invalid index");
	if (must_wait(env, t, id))
		return push(env, t, id);
	t = bpfu_btf_sized_type(env, &id, &size);
	if (!t || !is_kind(t, KINDS_1(INT)) || !bpfu_btf_is_regular_int(t))
		return REJECT(env, v->t, "Invalid index");

	id = array->type;
	t = bpfu_btf_type(env->btf, id);
	if (is_nosize(t) || is_source_only(t))
		return REJECT(env, v->t, "Invalid elem");
	if (must_wait(env, t, id))
		return push(env, t, id);
	t = bpfu_btf_sized_type(env, &id, &size);
	if (!t)
		return REJECT(env, v->t, "Invalid elem");
	if (is_kind(t, KINDS_1(INT)) && !bpfu_btf_is_regular_int(t))
		return REJECT(env, v->t, "Invalid array of int");
	if (array->nelems && size > UINT32_MAX / array->nelems)
		return REJECT(env, v->t, "Array size overflows U32_MAX");
	return pop(env, id, size * array->nelems);
}

int bpfu_btf_resolve_struct(struct bpfu_btf_env *env, struct bpfu_btf_vertex *v)
{
	const struct btf_member *members = (const struct btf_member *)(v->t + 1);
	int err;

	/* The member that had to be resolved first. */
	if (v->next_member) {
		err = bpfu_btf_check_member(env, v->t, &members[v->next_member - 1]);
		if (err)
			return err;
	}
	for (uint32_t i = v->next_member; i < bpfu_btf_vlen(v->t); i++) {
		uint32_t id = members[i].type;
		const struct btf_type *mt = bpfu_btf_type(env->btf, id);

		if (is_nosize(mt) || is_source_only(mt)) {
			bpfu_btf_log_member(env, v->t, &members[i], "Invalid member");
			return -EINVAL;
		}
		if (must_wait(env, mt, id)) {
			v->next_member = i + 1;
			return push(env, mt, id);
		}
		err = bpfu_btf_check_member(env, v->t, &members[i]);
		if (err)
			return err;
	}
	return pop(env, 0, 0);
}

static int check_var(struct bpfu_btf_env *env, const struct btf_type *sec,
		     const struct btf_var_secinfo *info, const struct btf_type *var)
{
	uint32_t id = var->type, size;

	if (!bpfu_btf_sized_type(env, &id, &size)) {
		bpfu_btf_log_var(env, sec, info, "Invalid type");
		return -EINVAL;
	}
	if (info->size < size) {
		bpfu_btf_log_var(env, sec, info, "Invalid size");
		return -EINVAL;
	}
	return 0;
}

int bpfu_btf_resolve_datasec(struct bpfu_btf_env *env, struct bpfu_btf_vertex *v)
{
	const struct btf_var_secinfo *vars = (const struct btf_var_secinfo *)(v->t + 1);

	env->mode = BPFU_BTF_TBD;
	for (uint32_t i = v->next_member; i < bpfu_btf_vlen(v->t); i++) {
		uint32_t id = vars[i].type;
		const struct btf_type *var = bpfu_btf_type(env->btf, id);

		if (!var || !is_kind(var, KINDS_1(VAR))) {
			bpfu_btf_log_var(env, v->t, &vars[i], "Not a VAR kind member");
			return -EINVAL;
		}
		if (must_wait(env, var, id)) {
			v->next_member = i + 1;
			return push(env, var, id);
		}
		if (check_var(env, v->t, &vars[i], var))
			return -EINVAL;
	}
	return pop(env, 0, 0);
}

int bpfu_btf_resolve_func(struct bpfu_btf_env *env, struct bpfu_btf_vertex *v)
{
	const struct btf_type *proto = bpfu_btf_type(env->btf, v->t->type);
	const struct btf_param *p;

	if (!proto || !is_kind(proto, KINDS_1(FUNC_PROTO)))
		return REJECT(env, v->t, "Invalid type_id");
	p = (const struct btf_param *)(proto + 1);
	for (uint32_t i = 0; i < bpfu_btf_vlen(proto); i++)
		if (!p[i].name_off && p[i].type)
			return REJECT(env, v->t, "Invalid arg#%u", i + 1);
	return pop(env, v->t->type, 0);
}

int bpfu_btf_resolve_decl_tag(struct bpfu_btf_env *env, struct bpfu_btf_vertex *v)
{
	int32_t idx = ((const struct btf_decl_tag *)(v->t + 1))->component_idx;
	uint32_t id = v->t->type;
	const struct btf_type *next = bpfu_btf_type(env->btf, id), *list;

	if (!next || !is_kind(next, KINDS_3(FUNC, STRUCT, UNION) | KINDS_2(VAR, TYPEDEF)))
		return REJECT(env, v->t, "Invalid type_id");
	if (must_wait(env, next, id))
		return push(env, next, id);
	if (idx != -1) {
		if (is_kind(next, KINDS_2(VAR, TYPEDEF)))
			return REJECT(env, v->t, "Invalid component_idx");
		list = bpfu_btf_is_struct(next) ? next : bpfu_btf_type(env->btf, next->type);
		if ((uint32_t)idx >= bpfu_btf_vlen(list))
			return REJECT(env, v->t, "Invalid component_idx");
	}
	return pop(env, id, 0);
}

/* ---- all types ---- */

/* What resolving left behind makes sense for the kind. */
static bool is_state_valid(const struct bpfu_btf_env *env, const struct btf_type *t, uint32_t id)
{
	uint32_t size = 0;

	if (!is_resolved(env, id))
		return false;
	if (bpfu_btf_is_struct(t) || is_kind(t, KINDS_1(DATASEC)))
		return !env->resolved_id[id] && !env->resolved_size[id];
	if (is_kind(t, KINDS_2(DECL_TAG, FUNC)))
		return env->resolved_id[id] && !env->resolved_size[id];
	if (is_kind(t, KINDS_1(ARRAY))) {
		const struct btf_array *array = (const struct btf_array *)(t + 1);
		uint32_t elem_id = array->type;
		const struct btf_type *elem = bpfu_btf_sized_type(env, &elem_id, &size);

		return elem && !bpfu_btf_is_modifier(elem) &&
		       array->nelems * size == env->resolved_size[id];
	}
	t = resolve_id(env, &id);
	return t && !bpfu_btf_is_modifier(t) && !is_kind(t, KINDS_2(VAR, DATASEC));
}

static int resolve(struct bpfu_btf_env *env, const struct btf_type *t, uint32_t id)
{
	uint32_t saved_id = env->log_id;
	int err;

	env->mode = BPFU_BTF_TBD;
	env->depth = 0;
	err = push(env, t, id);
	while (!err && env->depth) {
		struct bpfu_btf_vertex *v = &env->stack[env->depth - 1];

		env->log_id = v->id;
		err = bpfu_btf_kind_ops(bpfu_btf_kind(v->t))->resolve(env, v);
	}
	env->log_id = saved_id;
	if (err == -E2BIG)
		bpfu_btf_log_type(env, t, "Exceeded max resolving depth:%u", BPFU_BTF_MAX_DEPTH);
	else if (err == -EEXIST)
		bpfu_btf_log_type(env, t, "Loop detected");
	else if (!err && !is_state_valid(env, t, id))
		err = REJECT(env, t, "Invalid resolve state");
	return err;
}

/* A return or parameter type: *@ok says whether it has a size; else what resolving it said. */
static int resolve_signature_type(struct bpfu_btf_env *env, uint32_t id, bool *ok)
{
	const struct btf_type *t = bpfu_btf_type(env->btf, id);
	uint32_t size;
	int err = 0;

	*ok = t && !is_source_only(t);
	if (*ok && needs_resolve(t) && !is_resolved(env, id))
		err = resolve(env, t, id);
	if (*ok && !err)
		*ok = bpfu_btf_sized_type(env, &id, &size);
	return err;
}

static int check_param(struct bpfu_btf_env *env, const struct btf_type *t,
		       const struct btf_param *p, uint32_t number)
{
	const struct btf_type *type = bpfu_btf_type(env->btf, p->type);
	bool ok = type && !is_source_only(type) && bpfu_btf_name_off_valid(env, p->name_off) &&
		  bpfu_btf_is_optional_name(env, p->name_off);
	int err = 0;

	if (ok)
		err = resolve_signature_type(env, p->type, &ok);
	if (!err && !ok)
		err = REJECT(env, t, "Invalid arg#%u", number);
	return err;
}

static int check_func_proto(struct bpfu_btf_env *env, const struct btf_type *t)
{
	const struct btf_param *p = (const struct btf_param *)(t + 1);
	uint32_t cnt = bpfu_btf_vlen(t);
	bool ok = true;
	int err = 0;

	if (t->type)
		err = resolve_signature_type(env, t->type, &ok);
	if (!err && !ok)
		err = REJECT(env, t, "Invalid return type");
	if (!err && cnt && !p[cnt - 1].type) {
		if (p[cnt - 1].name_off)
			return REJECT(env, t, "Invalid arg#%u", cnt);
		cnt--;
	}
	for (uint32_t i = 0; !err && i < cnt; i++)
		err = check_param(env, t, &p[i], i + 1);
	return err;
}

int bpfu_btf_resolve_all(struct bpfu_btf_env *env)
{
	uint32_t cnt = env->btf->type_cnt;
	int err = 0;

	env->visit = calloc(cnt, sizeof(*env->visit));
	env->resolved_id = calloc(cnt, sizeof(*env->resolved_id));
	env->resolved_size = calloc(cnt, sizeof(*env->resolved_size));
	if (!env->visit || !env->resolved_id || !env->resolved_size)
		return -ENOMEM;
	env->resolving = true;
	for (uint32_t id = 1; !err && id < cnt; id++) {
		const struct btf_type *t = bpfu_btf_type(env->btf, id);

		env->log_id = id;
		if (needs_resolve(t) && !is_resolved(env, id))
			err = resolve(env, t, id);
		if (!err && is_kind(t, KINDS_1(FUNC_PROTO)))
			err = check_func_proto(env, t);
	}
	return err;
}
