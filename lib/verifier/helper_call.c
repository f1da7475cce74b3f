// SPDX-License-Identifier: BSD-2-Clause
/*
 * Calls of helpers: may the program make the call, does each argument fit the prototype, and what is
 * known afterwards. Arguments are judged in order, as later ones refer to earlier ones (the size of a
 * buffer, the map of a key).
 */
#include <errno.h>

#include "bpfu/bpfu.h"
#include "btf/percpu_var.h"
#include "btf/record.h"
#include "helper/bodies.h"
#include "helper/helper.h"
#include "helper/stack.h"
#include "map/map.h"
#include "prog_type/prog_type.h"
#include "verifier/env.h"

#define ENOTSUPP_ 524 /* the kernel's ENOTSUPP has no name in user space */

#define MAX_ERRNO 4095
#define HELPER_ID_END 212 /* __BPF_FUNC_MAX_ID of Linux 6.18 */

struct call {
	const struct bpfu_helper *helper;
	int32_t id;
	struct bpfu_map *map;      /* CONST_MAP_PTR */
	uint32_t mem_regno;        /* buffer whose size comes next, 0: none */
	bool mem_write;
	uint64_t max_size;         /* of the last sized buffer */
	uint32_t alloc_size;
	uint32_t release_id;
	int callback;              /* subprogram, -1: none */
	const struct bpfu_percpu_var *var;
	const struct bpfu_btf_field *kptr; /* KPTR_DEST */
	const struct bpfu_btf *kptr_btf;
	bool key_known;
	uint64_t key;
	/* Stack that the helper writes, to be forgotten once all arguments are judged. */
	struct {
		uint32_t regno;
		int size;
	} write[5];
	uint32_t write_cnt;
};

/* ---- memory ---- */

static int ctx_as_memory(struct bpfu_env *env, uint32_t regno, int size, bool write)
{
	struct bpfu_ctx_access info;
	int err = bpfu_vrf_check_fixed_off(env, regno, false);

	if (err)
		return err;
	/* Bytes as they are; only where nothing is converted. */
	for (int i = 0; i < size; i++) {
		info = (struct bpfu_ctx_access){ 0 };
		if (!env->prog->type_ops->is_valid_access(i, 1, write, env->prog, &info)) {
			bpfu_vrf_log(env, "invalid bpf_context access off=%d size=%d\n", i, 1);
			return -EACCES;
		}
	}
	env->prog->max_ctx_offset = BPFU_MAX(env->prog->max_ctx_offset, (uint32_t)size);
	return 0;
}

static int packet_as_memory(struct bpfu_env *env, uint32_t regno, int size, bool write,
			    bool zero_ok, const struct bpfu_helper *helper)
{
	/* A global function may do with the memory what the program may do. */
	if (!bpfu_vrf_may_use_packet(env, helper, write)) {
		bpfu_vrf_log(env, "helper access to the packet is not allowed\n");
		return -EACCES;
	}
	return bpfu_vrf_check_packet(env, regno, 0, size, zero_ok);
}

static int cannot_write(struct bpfu_env *env, uint32_t regno)
{
	bpfu_vrf_log(env, "R%u cannot write into %s\n", regno,
		     bpfu_reg_type_name(&bpfu_vrf_regs(env)[regno]));
	return -EACCES;
}

int bpfu_vrf_helper_mem(struct bpfu_env *env, uint32_t regno, int size, bool write, bool zero_ok,
			const struct bpfu_helper *helper)
{
	struct bpfu_reg *reg = &bpfu_vrf_regs(env)[regno];
	int err;

	if (bpfu_reg_maybe_null(reg))
		goto bad_type;
	switch (reg->type) {
	case BPFU_REG_STACK:
		return bpfu_vrf_stack_helper(env, regno, size, write, zero_ok);
	case BPFU_REG_MAP_VALUE:
		err = bpfu_vrf_check_map_flags(env, reg, reg->off, size, write);
		if (!err)
			err = bpfu_vrf_check_region(env, regno, 0, size, reg->map->value_size,
						    zero_ok);
		return err ? err : bpfu_vrf_map_fields(env, regno, 0, size, false);
	case BPFU_REG_MAP_KEY:
		return write ? cannot_write(env, regno) :
			       bpfu_vrf_check_region(env, regno, 0, size, reg->map->key_size,
						     zero_ok);
	case BPFU_REG_MEM:
		if (write && reg->flags & BPFU_REG_RDONLY)
			return cannot_write(env, regno);
		return bpfu_vrf_check_region(env, regno, 0, size, reg->size, zero_ok);
	case BPFU_REG_PACKET:
	case BPFU_REG_PACKET_META:
		return packet_as_memory(env, regno, size, write, zero_ok, helper);
	case BPFU_REG_BTF: /* for a function of the program */
		return bpfu_vrf_btf_access(env, regno, 0, size, write);
	case BPFU_REG_CTX:
		if (!env->prog->type_ops->convert_ctx_access)
			return ctx_as_memory(env, regno, size, write);
		break;
	default:
		break;
	}
bad_type:
	bpfu_vrf_log(env, "R%u type=%s expected=fp\n", regno, bpfu_reg_type_name(reg));
	return -EACCES;
}

/* A buffer of known size. What a helper writes to the stack happens after all arguments are read. */
static int arg_mem(struct bpfu_env *env, struct call *c, uint32_t regno, int size, bool write,
		   bool zero_ok)
{
	if (!write || bpfu_vrf_regs(env)[regno].type != BPFU_REG_STACK)
		return bpfu_vrf_helper_mem(env, regno, size, write, zero_ok, c->helper);
	c->write[c->write_cnt].regno = regno;
	c->write[c->write_cnt++].size = size;
	return bpfu_vrf_stack_check(env, regno, size, true, zero_ok);
}

/* ---- arguments ---- */

struct arg_rule {
	uint32_t types; /* 1 << enum bpfu_reg_type */
	const char *expected;
};

#define T(t) (1u << BPFU_REG_##t)
#define MEM_TYPES (T(STACK) | T(PACKET) | T(PACKET_META) | T(MAP_KEY) | T(MAP_VALUE) | T(MEM))
#define MEM_NAMES \
	"fp, pkt, pkt_meta, map_key, map_value, mem, ringbuf_mem, buf, trusted_ptr_"

static const struct arg_rule arg_rules[] = {
	[BPFU_ARG_CONST_MAP_PTR] = { T(MAP_PTR), "map_ptr" },
	[BPFU_ARG_PTR_TO_MAP_KEY] = { MEM_TYPES, MEM_NAMES },
	[BPFU_ARG_PTR_TO_MAP_VALUE] = { MEM_TYPES, MEM_NAMES },
	[BPFU_ARG_PTR_TO_UNINIT_MAP_VALUE] = { MEM_TYPES, MEM_NAMES },
	[BPFU_ARG_PTR_TO_MEM] = { MEM_TYPES, MEM_NAMES },
	[BPFU_ARG_PTR_TO_UNINIT_MEM] = { MEM_TYPES, MEM_NAMES },
	[BPFU_ARG_PTR_TO_MEM_WRITE] = { MEM_TYPES, MEM_NAMES },
	[BPFU_ARG_CONST_SIZE] = { T(SCALAR), "scalar" },
	[BPFU_ARG_CONST_SIZE_OR_ZERO] = { T(SCALAR), "scalar" },
	[BPFU_ARG_CONST_ALLOC_SIZE_OR_ZERO] = { T(SCALAR), "scalar" },
	[BPFU_ARG_PTR_TO_CTX] = { T(CTX), "ctx" },
	[BPFU_ARG_PTR_TO_FUNC] = { T(FUNC), "func" },
	[BPFU_ARG_PTR_TO_STACK] = { T(STACK), "fp" },
	[BPFU_ARG_PTR_TO_CONST_STR] = { T(MAP_VALUE), "map_value" },
	[BPFU_ARG_PTR_TO_LONG] = { MEM_TYPES, MEM_NAMES },
	[BPFU_ARG_PTR_TO_RINGBUF_MEM] = { T(MEM), "ringbuf_mem" },
	[BPFU_ARG_KPTR_DEST] = { T(MAP_VALUE) | T(BTF), "map_value, ptr_" },
	[BPFU_ARG_KPTR_SRC] = { T(BTF), "ptr_, trusted_ptr_, rcu_ptr_" },
	[BPFU_ARG_PTR_TO_PERCPU_BTF_ID] = { T(PERCPU),
					    "percpu_ptr_, percpu_rcu_ptr_, percpu_trusted_ptr_" },
};

static int check_arg_type(struct bpfu_env *env, uint32_t regno, uint32_t kind)
{
	const struct bpfu_reg *reg = &bpfu_vrf_regs(env)[regno];
	const struct arg_rule *rule = &arg_rules[kind];

	/* Only buffers that helpers read are declared as such. */
	if (rule->types >> reg->type & 1 &&
	    (!bpfu_reg_maybe_null(reg) || kind == BPFU_ARG_KPTR_SRC) &&
	    (!(reg->flags & BPFU_REG_RDONLY) || reg->type != BPFU_REG_MEM ||
	     kind == BPFU_ARG_PTR_TO_MEM) &&
	    (kind != BPFU_ARG_PTR_TO_RINGBUF_MEM || reg->flags & BPFU_REG_RINGBUF))
		return 0;
	bpfu_vrf_log(env, "R%u type=%s expected=%s\n", regno, bpfu_reg_type_name(reg),
		     rule->expected);
	return -EACCES;
}

static int arg_size(struct bpfu_env *env, struct call *c, uint32_t regno, bool zero_ok)
{
	struct bpfu_reg *reg = &bpfu_vrf_regs(env)[regno];
	const struct bpfu_range *r = &reg->range;
	int err;

	c->max_size = r->umax;
	if (r->smin < 0) {
		bpfu_vrf_log(env,
			     "R%u min value is negative, either use unsigned or 'var &= const'\n",
			     regno);
		return -EACCES;
	}
	if (!r->umin && !zero_ok) {
		bpfu_vrf_log(env, "R%u invalid zero-sized read: u64=[%lld,%lld]\n", regno,
			     (long long)r->umin, (long long)r->umax);
		return -EACCES;
	}
	if (r->umax >= BPFU_MAX_VAR_OFF) {
		bpfu_vrf_log(env,
			     "R%u unbounded memory access, use 'var &= const' or 'if (var < const)'\n",
			     regno);
		return -EACCES;
	}
	bpfu_vrf_demand(env, reg);
	/* No buffer was given: then there must be no bytes either. */
	if (bpfu_reg_is_null(&bpfu_vrf_regs(env)[c->mem_regno])) {
		bpfu_vrf_demand(env, &bpfu_vrf_regs(env)[c->mem_regno]);
		if (!r->umax)
			return 0;
	}
	err = arg_mem(env, c, c->mem_regno, (int)r->umax, c->mem_write, zero_ok);
	c->mem_regno = 0;
	return err;
}

static int arg_key(struct bpfu_env *env, struct call *c, uint32_t regno)
{
	if (!c->map) {
		bpfu_vrf_log(env, "invalid map_ptr to access map->key\n");
		return -EACCES;
	}
	if (bpfu_vrf_stack_const(env, &bpfu_vrf_regs(env)[regno], c->map->key_size, &c->key))
		c->key_known = true;
	return arg_mem(env, c, regno, (int)c->map->key_size, false, false);
}

static int arg_value(struct bpfu_env *env, struct call *c, uint32_t regno, bool write)
{
	if (!c->map) {
		bpfu_vrf_log(env, "invalid map_ptr to access map->value\n");
		return -EACCES;
	}
	return arg_mem(env, c, regno, (int)c->map->value_size, write, false);
}

/* Where a helper puts a number, which C wants aligned. */
static int arg_long(struct bpfu_env *env, struct call *c, uint32_t regno)
{
	struct bpfu_access a = { .regno = regno, .size = sizeof(int64_t), .write = true, .atomic = true };
	int err = arg_mem(env, c, regno, a.size, true, false);

	return err ? err : bpfu_vrf_check_alignment(env, &a);
}

static int arg_string(struct bpfu_env *env, struct call *c, uint32_t regno)
{
	const struct bpfu_reg *reg = &bpfu_vrf_regs(env)[regno];
	struct bpfu_map *map = reg->map;
	uint64_t addr;
	uint32_t off;
	int err;

	if (!(map->map_flags & BPF_F_RDONLY_PROG) || !atomic_load(&map->frozen) ||
	    atomic_load(&map->writers)) {
		bpfu_vrf_log(env, "R%u does not point to a readonly map'\n", regno);
		return -EACCES;
	}
	if (!bpfu_range_is_const(&reg->range)) {
		bpfu_vrf_log(env, "R%u is not a constant address'\n", regno);
		return -EACCES;
	}
	if (!map->ops->direct_value_addr) {
		bpfu_vrf_log(env, "no direct value access support for this map type\n");
		return -EACCES;
	}
	off = (uint32_t)(reg->off + (int)reg->range.var.value);
	err = bpfu_vrf_check_region(env, regno, 0, (int)(map->value_size - off), map->value_size,
				    false);
	if (err)
		return err;
	err = map->ops->direct_value_addr(map, &addr, off);
	if (err) {
		bpfu_vrf_log(env, "direct value access on string failed\n");
		return err;
	}
	for (uint32_t i = off; i < map->value_size; i++)
		if (!((const char *)bpfu_ptr(addr))[i - off])
			return 0;
	bpfu_vrf_log(env, "string is not zero-terminated\n");
	return -EINVAL;
}

static int arg_alloc_size(struct bpfu_env *env, struct call *c, uint32_t regno)
{
	const struct bpfu_reg *reg = &bpfu_vrf_regs(env)[regno];

	if (!bpfu_range_is_const(&reg->range)) {
		bpfu_vrf_log(env, "R%u is not a known constant'\n", regno);
		return -EACCES;
	}
	bpfu_vrf_demand(env, reg);
	if (reg->range.umax > INT32_MAX) {
		bpfu_vrf_log(env, "R%u unbounded memory access\n", regno);
		return -EACCES;
	}
	c->alloc_size = (uint32_t)reg->range.umax;
	return 0;
}

static int arg_release(struct bpfu_env *env, struct call *c, uint32_t regno)
{
	const struct bpfu_reg *reg = &bpfu_vrf_regs(env)[regno];

	if (reg->off || !bpfu_range_is_zero(&reg->range)) {
		bpfu_vrf_log(env,
			     "R%u must have zero offset when passed to release func or trusted arg "
			     "to kfunc\n",
			     regno);
		return -EINVAL;
	}
	if (!reg->ref_id) {
		bpfu_vrf_log(env, "R%u must be referenced when passed to release function\n", regno);
		return -EINVAL;
	}
	c->release_id = reg->ref_id;
	return 0;
}

static int check_arg(struct bpfu_env *env, struct call *c, uint32_t i)
{
	uint32_t arg = c->helper->arg[i], kind = arg & ~(uint32_t)BPFU_ARG_MAYBE_NULL;
	uint32_t regno = i + 1;
	struct bpfu_reg *reg = &bpfu_vrf_regs(env)[regno];
	int err;

	if (kind == BPFU_ARG_NONE)
		return 0;
	err = bpfu_vrf_read_reg(env, regno);
	if (err || kind == BPFU_ARG_ANYTHING)
		return err;
	if ((reg->type == BPFU_REG_PACKET || reg->type == BPFU_REG_PACKET_META) &&
	    !bpfu_vrf_may_use_packet(env, c->helper, false)) {
		bpfu_vrf_log(env, "helper access to the packet is not allowed\n");
		return -EACCES;
	}
	if (kind == BPFU_ARG_PTR_TO_MEM || kind == BPFU_ARG_PTR_TO_UNINIT_MEM ||
	    kind == BPFU_ARG_PTR_TO_MEM_WRITE) {
		c->mem_regno = regno;
		c->mem_write = kind != BPFU_ARG_PTR_TO_MEM;
	}
	if (arg & BPFU_ARG_MAYBE_NULL && bpfu_reg_is_null(reg)) {
		bpfu_vrf_demand(env, reg);
		return 0;
	}
	err = check_arg_type(env, regno, kind);
	if (err)
		return err;
	switch (kind) {
	case BPFU_ARG_CONST_MAP_PTR:
		c->map = reg->map;
		return 0;
	case BPFU_ARG_PTR_TO_MAP_KEY:
		return arg_key(env, c, regno);
	case BPFU_ARG_PTR_TO_MAP_VALUE:
		return arg_value(env, c, regno, false);
	case BPFU_ARG_PTR_TO_UNINIT_MAP_VALUE:
		return arg_value(env, c, regno, true);
	case BPFU_ARG_CONST_SIZE:
		return arg_size(env, c, regno, false);
	case BPFU_ARG_CONST_SIZE_OR_ZERO:
		return arg_size(env, c, regno, true);
	case BPFU_ARG_CONST_ALLOC_SIZE_OR_ZERO:
		return arg_alloc_size(env, c, regno);
	case BPFU_ARG_PTR_TO_CTX:
		return bpfu_vrf_check_fixed_off(env, regno, false);
	case BPFU_ARG_PTR_TO_FUNC:
		c->callback = reg->frame;
		return 0;
	case BPFU_ARG_PTR_TO_PERCPU_BTF_ID:
		c->var = bpfu_percpu_var_at(reg->frame);
		return 0;
	case BPFU_ARG_PTR_TO_STACK:
		return 0;
	case BPFU_ARG_PTR_TO_CONST_STR:
		return arg_string(env, c, regno);
	case BPFU_ARG_PTR_TO_LONG:
		return arg_long(env, c, regno);
	case BPFU_ARG_PTR_TO_RINGBUF_MEM:
		return arg_release(env, c, regno);
	case BPFU_ARG_KPTR_DEST:
		return bpfu_vrf_kptr_dest(env, regno, &c->kptr, &c->kptr_btf);
	case BPFU_ARG_KPTR_SRC:
		err = bpfu_vrf_kptr_src(env, regno, c->kptr, c->kptr_btf);
		return err ? err : arg_release(env, c, regno);
	default:
		return 0;
	}
}

/* ---- facts for rewrite/ ---- */

static void note_map(struct bpfu_env *env, const struct call *c)
{
	struct bpfu_insn_aux *aux = &env->aux[env->insn_idx];
	struct bpfu_vinsn *vi = &env->vinsn[env->insn_idx];
	bool keyed = c->key_known && c->key <= UINT32_MAX;

	if (!c->map)
		return;
	if (!vi->map_seen)
		aux->map = c->map;
	else if (aux->map != c->map)
		aux->map_ptr_poison = true;
	if (aux->map_ptr_poison)
		aux->map = NULL;
	vi->map_seen = true;

	if (!keyed || (vi->key_seen && aux->const_key != c->key))
		vi->key_varies = true;
	aux->const_key = (uint32_t)c->key;
	vi->key_seen = true;
	aux->is_const_map_key = !vi->key_varies && !aux->map_ptr_poison;
}

/* ---- the result ---- */

/* Lookups of a constant index that exists never fail. */
static bool lookup_cannot_fail(const struct call *c)
{
	return c->id == BPF_FUNC_map_lookup_elem && c->key_known &&
	       (c->map->type == BPF_MAP_TYPE_ARRAY || c->map->type == BPF_MAP_TYPE_PERCPU_ARRAY) &&
	       c->map->key_size == sizeof(uint32_t) && c->key < c->map->max_entries;
}

static int set_map_value(struct bpfu_env *env, const struct call *c, struct bpfu_reg *r0)
{
	if (!c->map) {
		bpfu_vrf_log(env, "kernel subsystem misconfigured verifier\n");
		return -EINVAL;
	}
	bpfu_reg_init(r0, BPFU_REG_MAP_VALUE);
	r0->map = c->map;
	if (!lookup_cannot_fail(c)) {
		r0->flags |= BPFU_REG_MAYBE_NULL;
		r0->id = ++env->id_gen;
	}
	return 0;
}

int bpfu_vrf_acquire(struct bpfu_env *env, struct bpfu_reg *r0)
{
	int err;

	env->id_gen++; /* the kernel has one for "or null" first, and logs show ids */
	r0->id = r0->ref_id = ++env->id_gen;
	err = bpfu_state_acquire(env->cur, r0->ref_id, env->insn_idx);
	if (err != -ENOSPC)
		return err;
	bpfu_vrf_log(env, "too many references\n");
	return -E2BIG;
}

static int set_memory(struct bpfu_env *env, const struct call *c, struct bpfu_reg *r0)
{
	int err = 0;

	bpfu_reg_init(r0, BPFU_REG_MEM);
	r0->flags |= BPFU_REG_MAYBE_NULL;
	r0->size = c->alloc_size;
	r0->id = ++env->id_gen;
	if (c->id == BPF_FUNC_ringbuf_reserve) {
		r0->flags |= BPFU_REG_RINGBUF;
		err = bpfu_vrf_acquire(env, r0);
	}
	return err;
}

/* The object that was in the map. */
static int set_kptr(struct bpfu_env *env, const struct call *c, struct bpfu_reg *r0)
{
	bpfu_reg_init(r0, BPFU_REG_BTF);
	r0->flags = BPFU_REG_ALLOC | BPFU_REG_MAYBE_NULL;
	r0->btf = c->kptr_btf;
	r0->type_id = c->kptr->type_id;
	return bpfu_vrf_acquire(env, r0);
}

static void set_percpu_copy(struct bpfu_env *env, const struct call *c, struct bpfu_reg *r0, bool null)
{
	bpfu_reg_init(r0, BPFU_REG_MEM);
	r0->flags |= BPFU_REG_RDONLY;
	r0->size = c->var->size;
	if (null) {
		r0->flags |= BPFU_REG_MAYBE_NULL;
		r0->id = ++env->id_gen;
	}
}

/* Helpers whose result is bounded. */
static void refine_result(struct bpfu_env *env, const struct call *c, struct bpfu_reg *r0)
{
	switch (c->id) {
	case BPF_FUNC_get_smp_processor_id:
		r0->range.umax = bpfu_possible_cpus() - 1;
		bpfu_range_sync(&r0->range);
		break;
	case BPF_FUNC_probe_read_str:
	case BPF_FUNC_probe_read_kernel_str:
	case BPF_FUNC_probe_read_user_str:
	case BPF_FUNC_get_stack:
		r0->range.smin = -MAX_ERRNO;
		r0->range.smax = (int64_t)c->max_size;
		bpfu_range_sync(&r0->range);
		break;
	default:
		break;
	}
}

struct release_arg {
	struct bpfu_env *env;
	uint32_t ref_id;
};

static void released(struct bpfu_reg *reg, void *arg)
{
	const struct release_arg *a = arg;

	if (bpfu_reg_is_pointer(reg) && reg->ref_id == a->ref_id)
		bpfu_vrf_set_unknown(a->env, reg);
}

void bpfu_vrf_release(struct bpfu_env *env, uint32_t ref_id)
{
	struct release_arg arg = { env, ref_id };

	bpfu_state_release(env->cur, ref_id);
	bpfu_state_each_reg(env->cur, released, &arg);
}

static int set_result(struct bpfu_env *env, const struct call *c)
{
	struct bpfu_reg *regs = bpfu_vrf_regs(env), *r0 = &regs[BPF_REG_0];

	for (int r = BPF_REG_0; r <= BPF_REG_5; r++)
		bpfu_reg_init(&regs[r], BPFU_REG_NOT_INIT);
	bpfu_vrf_touch_reg(env, BPF_REG_0);
	switch (c->helper->ret) {
	case BPFU_RET_VOID:
		return 0;
	case BPFU_RET_INTEGER:
		bpfu_vrf_set_unknown(env, r0);
		refine_result(env, c, r0);
		return 0;
	case BPFU_RET_PTR_TO_MAP_VALUE_OR_NULL:
		return set_map_value(env, c, r0);
	case BPFU_RET_PTR_TO_MEM_OR_NULL:
		return set_memory(env, c, r0);
	case BPFU_RET_KPTR_OR_NULL:
		return set_kptr(env, c, r0);
	case BPFU_RET_PTR_TO_PERCPU_VAR:
	case BPFU_RET_PTR_TO_PERCPU_VAR_OR_NULL:
		set_percpu_copy(env, c, r0, c->helper->ret == BPFU_RET_PTR_TO_PERCPU_VAR_OR_NULL);
		return 0;
	}
	return -EINVAL;
}

/* ---- the call ---- */

static int check_allowed(struct bpfu_env *env, int32_t id, const struct bpfu_helper **helper)
{
	const struct bpfu_helper *h = bpfu_helper_by_id(id);
	const struct bpfu_prog *prog = env->prog;

	if (id < 0 || id >= HELPER_ID_END) {
		bpfu_vrf_log(env, "invalid func %s#%d\n", bpfu_helper_name(id), id);
		return -EINVAL;
	}
	if (!h || !prog->type_ops->helper_allowed(h, id, prog)) {
		bpfu_vrf_log(env, "program of this type cannot use helper %s#%d\n",
			     bpfu_helper_name(id), id);
		return -EINVAL;
	}
	if (!prog->gpl_compatible && h->flags & BPFU_HELPER_GPL_ONLY) {
		bpfu_vrf_log(env,
			     "cannot call GPL-restricted function from non-GPL compatible program\n");
		return -EINVAL;
	}
	if (h->flags & BPFU_HELPER_MIGHT_SLEEP && !env->sleepable) {
		bpfu_vrf_log(env, "helper call might sleep in a non-sleepable prog\n");
		return -EINVAL;
	}
	/* What it reads is in front of the contexts of programs on functions only. */
	if (id == BPF_FUNC_get_func_ip && prog->type == BPF_PROG_TYPE_TRACING &&
	    prog->expected_attach_type == BPF_TRACE_RAW_TP) {
		bpfu_vrf_log(env, "func %s#%d supported only for fentry/fexit/fmod_ret programs\n",
			     bpfu_helper_name(id), id);
		return -ENOTSUPP_;
	}
	if (id == BPF_FUNC_get_func_ip && prog->type != BPF_PROG_TYPE_TRACING &&
	    prog->type != BPF_PROG_TYPE_KPROBE) {
		bpfu_vrf_log(env, "func %s#%d not supported for program type %d\n",
			     bpfu_helper_name(id), id, prog->type);
		return -ENOTSUPP_;
	}
	if (id == BPF_FUNC_get_attach_cookie || id == BPF_FUNC_tail_call)
		env->prog->reads_cookie = true;
	if ((id == BPF_FUNC_get_stackid || id == BPF_FUNC_get_stack) &&
	    prog->type == BPF_PROG_TYPE_KPROBE)
		env->prog->ctx_words |= BPFU_STACK_CTX_WORDS;
	*helper = h;
	return 0;
}

static int check_tail_call(struct bpfu_env *env)
{
	if (env->cur->ref_cnt) {
		bpfu_vrf_log(env, "tail_call would lead to reference leak\n");
		return -EINVAL;
	}
	/* It would leave the helper that runs the callback. */
	for (uint32_t i = 0; i <= env->cur->depth; i++)
		if (env->cur->frame[i]->callback >= 0) {
			bpfu_vrf_log(env, "cannot tail call within callback\n");
			return -EINVAL;
		}
	return 0;
}

/* Constant formats are checked now, so that the mistake is seen before the program runs. */
static int check_format(struct bpfu_env *env, uint32_t fmt_regno, uint32_t size_regno)
{
	const struct bpfu_reg *fmt = &bpfu_vrf_regs(env)[fmt_regno];
	const struct bpfu_reg *size = &bpfu_vrf_regs(env)[size_regno];
	uint32_t off = (uint32_t)(fmt->off + (int)fmt->range.var.value);
	uint64_t addr;
	int err;

	if (!bpfu_range_is_const(&size->range) ||
	    fmt->map->ops->direct_value_addr(fmt->map, &addr, off))
		return 0;
	err = bpfu_format_check(bpfu_ptr(addr), fmt->map->value_size - off,
				(uint32_t)(size->range.umax / 8));
	if (err)
		bpfu_vrf_log(env, "Invalid format string\n");
	return err;
}

static int check_special(struct bpfu_env *env, struct call *c)
{
	if (c->id == BPF_FUNC_tail_call)
		return check_tail_call(env);
	if (c->id == BPF_FUNC_snprintf)
		return check_format(env, BPF_REG_3, BPF_REG_5);
	return 0;
}

static int check_args(struct bpfu_env *env, struct call *c)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < 5; i++)
		err = check_arg(env, c, i);
	if (!err && c->id == BPF_FUNC_tail_call && c->map->type != BPF_MAP_TYPE_PROG_ARRAY) {
		bpfu_vrf_log(env, "expected prog array map for tail call\n");
		err = -EINVAL;
	}
	if (!err && c->map)
		err = bpfu_vrf_helper_map_ok(env, c->map, c->id);
	if (!err)
		err = check_special(env, c);
	for (uint32_t i = 0; !err && i < c->write_cnt; i++)
		err = bpfu_vrf_stack_helper(env, c->write[i].regno, c->write[i].size, true, true);
	return err;
}

int bpfu_vrf_helper_call(struct bpfu_env *env, const struct bpf_insn *insn)
{
	struct call c = { .id = insn->imm, .callback = -1 };
	int err = check_allowed(env, c.id, &c.helper);

	if (!err)
		err = check_args(env, &c);
	if (err)
		return err;
	note_map(env, &c);
	if (c.release_id)
		bpfu_vrf_release(env, c.release_id);
	if (c.helper->flags & BPFU_HELPER_CHANGES_PKT)
		bpfu_vrf_clear_packet_pointers(env);
	if (c.callback >= 0) {
		err = bpfu_vrf_callback_call(env, (uint32_t)c.callback, c.id, c.map);
		if (err)
			return err;
	}
	err = set_result(env, &c);
	env->insn_idx++;
	if (!err && c.id == BPF_FUNC_tail_call && env->cur->depth)
		err = bpfu_vrf_tail_return(env);
	return err;
}
