// SPDX-License-Identifier: BSD-2-Clause
/*
 * Loads and stores, by what the base register points to. Each kind of memory says how far it reaches;
 * an access is judged by both ends of the interval that base, offset and the pointer's variable part
 * span. stack.c has the stack.
 */
#include <errno.h>
#include <string.h>

#include "helper/helper.h"
#include "insn/opcode.h"
#include "map/map.h"
#include "prog_type/prog_type.h"
#include "verifier/env.h"

static bool is_packet(const struct bpfu_reg *reg)
{
	return reg->type == BPFU_REG_PACKET || reg->type == BPFU_REG_PACKET_META;
}

/* ---- bounds ---- */

/* One end of an access; @off includes the register's. */
static int check_end(struct bpfu_env *env, uint32_t regno, int64_t off, int size, uint32_t mem_size,
		     bool zero_ok)
{
	const struct bpfu_reg *reg = &bpfu_vrf_regs(env)[regno];
	bool size_ok = size > 0 || (!size && zero_ok);

	if (size_ok && off >= 0 && off + size <= (int64_t)mem_size)
		return 0;
	switch (reg->type) {
	case BPFU_REG_MAP_KEY:
		bpfu_vrf_log(env, "invalid access to map key, key_size=%u off=%d size=%d\n",
			     mem_size, (int)off, size);
		break;
	case BPFU_REG_MAP_VALUE:
		bpfu_vrf_log(env, "invalid access to map value, value_size=%u off=%d size=%d\n",
			     mem_size, (int)off, size);
		break;
	case BPFU_REG_PACKET:
	case BPFU_REG_PACKET_META:
		bpfu_vrf_log(env,
			     "invalid access to packet, off=%d size=%d, R%u(id=%u,off=%d,r=%u)\n",
			     (int)off, size, regno, reg->id, (int)off, mem_size);
		break;
	default:
		bpfu_vrf_log(env, "invalid access to memory, mem_size=%u off=%d size=%d\n", mem_size,
			     (int)off, size);
		break;
	}
	return -EACCES;
}

int bpfu_vrf_check_region(struct bpfu_env *env, uint32_t regno, int off, int size,
			  uint32_t mem_size, bool zero_ok)
{
	const struct bpfu_reg *reg = &bpfu_vrf_regs(env)[regno];
	int64_t base = (int64_t)off + reg->off, low;
	int err;

	if (reg->range.smin < 0 &&
	    (reg->range.smin < -BPFU_MAX_VAR_OFF || base + reg->range.smin < 0)) {
		bpfu_vrf_log(env,
			     "R%u min value is negative, either use unsigned index or do a if "
			     "(index >=0) check.\n",
			     regno);
		return -EACCES;
	}
	/* A minimum this large fails the checks of both ends. */
	low = BPFU_MIN(reg->range.smin, (int64_t)BPFU_MAX_VAR_OFF * 2);
	err = check_end(env, regno, base + low, size, mem_size, zero_ok);
	if (err) {
		bpfu_vrf_log(env, "R%u min value is outside of the allowed memory range\n", regno);
		return err;
	}
	if (reg->range.umax >= BPFU_MAX_VAR_OFF) {
		bpfu_vrf_log(env,
			     "R%u unbounded memory access, make sure to bounds check any such access\n",
			     regno);
		return -EACCES;
	}
	err = check_end(env, regno, base + (int64_t)reg->range.umax, size, mem_size, zero_ok);
	if (err)
		bpfu_vrf_log(env, "R%u max value is outside of the allowed memory range\n", regno);
	return err;
}

int bpfu_vrf_check_fixed_off(struct bpfu_env *env, uint32_t regno, bool off_ok)
{
	const struct bpfu_reg *reg = &bpfu_vrf_regs(env)[regno];
	const char *name = bpfu_reg_type_name(reg);
	char text[48];

	if (reg->off < 0) {
		bpfu_vrf_log(env, "negative offset %s ptr R%u off=%d disallowed\n", name, regno,
			     reg->off);
		return -EACCES;
	}
	if (!off_ok && reg->off) {
		bpfu_vrf_log(env, "dereference of modified %s ptr R%u off=%d disallowed\n", name,
			     regno, reg->off);
		return -EACCES;
	}
	if (!bpfu_range_is_zero(&reg->range)) {
		bpfu_vrf_log(env, "variable %s access var_off=%s disallowed\n", name,
			     bpfu_vrf_tnum_text(reg->range.var, text));
		return -EACCES;
	}
	return 0;
}

/* ---- packets ---- */

bool bpfu_vrf_may_use_packet(const struct bpfu_env *env, const struct bpfu_helper *helper,
			     bool write)
{
	switch (bpfu_prog_acts_as(env->prog)) {
	case BPF_PROG_TYPE_SOCKET_FILTER:
	case BPF_PROG_TYPE_CGROUP_SKB:
	case BPF_PROG_TYPE_SCHED_CLS:
	case BPF_PROG_TYPE_SCHED_ACT:
	case BPF_PROG_TYPE_XDP:
		if (write && !env->prog->type_ops->may_write_packet)
			return false;
		return !helper || helper->flags & BPFU_HELPER_PKT_ACCESS;
	default:
		return false;
	}
}

int bpfu_vrf_check_packet(struct bpfu_env *env, uint32_t regno, int off, int size, bool zero_ok)
{
	const struct bpfu_reg *reg = &bpfu_vrf_regs(env)[regno];
	int err;

	/*
	 * The range was measured from the register's variable part, which is therefore not added
	 * here; it must only be sane.
	 */
	if (reg->range.smin < 0) {
		bpfu_vrf_log(env,
			     "R%u min value is negative, either use unsigned index or do a if "
			     "(index >=0) check.\n",
			     regno);
		return -EACCES;
	}
	err = check_end(env, regno, (int64_t)off + reg->off, size, reg->size, zero_ok);
	if (err)
		bpfu_vrf_log(env, "R%u offset is outside of the packet\n", regno);
	return err;
}

static int access_packet(struct bpfu_env *env, const struct bpfu_access *a)
{
	if (a->write && !bpfu_vrf_may_use_packet(env, NULL, true)) {
		bpfu_vrf_log(env, "cannot write into packet\n");
		return -EACCES;
	}
	return bpfu_vrf_check_packet(env, a->regno, a->off, a->size, false);
}

/* ---- maps ---- */

int bpfu_vrf_check_map_flags(struct bpfu_env *env, const struct bpfu_reg *reg, int off, int size,
			     bool write)
{
	const struct bpfu_map *map = reg->map;

	if (write && map->map_flags & BPF_F_RDONLY_PROG) {
		bpfu_vrf_log(env, "write into map forbidden, value_size=%u off=%lld size=%d\n",
			     map->value_size, (long long)reg->range.smin + off, size);
		return -EACCES;
	}
	if (!write && map->map_flags & BPF_F_WRONLY_PROG) {
		bpfu_vrf_log(env, "read from map forbidden, value_size=%u off=%lld size=%d\n",
			     map->value_size, (long long)reg->range.smin + off, size);
		return -EACCES;
	}
	return 0;
}

/* A frozen read-only map never changes: its contents are as good as immediates. */
static bool map_constant(const struct bpfu_reg *reg, int off, int size, bool sign, uint64_t *value)
{
	struct bpfu_map *map = reg->map;
	uint64_t addr, v = 0;

	if (!(map->map_flags & BPF_F_RDONLY_PROG) || !atomic_load(&map->frozen) ||
	    atomic_load(&map->writers) || !map->ops->direct_value_addr ||
	    !bpfu_range_is_const(&reg->range))
		return false;
	off += reg->off + (int)reg->range.var.value;
	if (map->ops->direct_value_addr(map, &addr, (uint32_t)off))
		return false;
	memcpy(&v, bpfu_ptr(addr), (size_t)size);
	if (sign)
		v = (uint64_t)((int64_t)(v << (64 - 8 * size)) >> (64 - 8 * size));
	*value = v;
	return true;
}

static int access_map_value(struct bpfu_env *env, const struct bpfu_access *a,
			    struct bpfu_reg *loaded)
{
	const struct bpfu_reg *reg = &bpfu_vrf_regs(env)[a->regno];
	const struct bpfu_btf_field *field;
	uint64_t value;
	int err = bpfu_vrf_check_map_flags(env, reg, a->off + reg->off, a->size, a->write);

	if (!err)
		err = bpfu_vrf_check_region(env, a->regno, a->off, a->size, reg->map->value_size,
					    false);
	if (!err)
		err = bpfu_vrf_map_fields(env, a->regno, a->off, a->size, true);
	field = err ? NULL : bpfu_vrf_kptr_at(reg, a->off);
	if (field)
		return bpfu_vrf_kptr_access(env, a, field, loaded);
	if (!err && loaded && map_constant(reg, a->off, a->size, a->sign, &value))
		bpfu_vrf_set_const(env, loaded, value);
	return err;
}

/* ---- context ---- */

static bool ctx_access_valid(struct bpfu_env *env, const struct bpfu_access *a,
			     struct bpfu_ctx_access *info)
{
	const struct bpfu_prog_type *ops = env->prog->type_ops;

	if (ops->is_valid_access(a->off, a->size, a->write, env->prog, info))
		return true;
	/* Once more for the reason, on a line of its own. */
	bpfu_vrf_log_close(env);
	info->log = env->log;
	ops->is_valid_access(a->off, a->size, a->write, env->prog, info);
	return false;
}

static int access_ctx(struct bpfu_env *env, const struct bpfu_access *a, struct bpfu_reg *loaded)
{
	struct bpfu_insn_aux *aux = &env->aux[env->insn_idx];
	struct bpfu_ctx_access info = { .is_ldsx = a->sign };
	int err = bpfu_vrf_check_fixed_off(env, a->regno, false);

	if (err)
		return err;
	if (!ctx_access_valid(env, a, &info)) {
		bpfu_vrf_log(env, "invalid bpf_context access off=%d size=%d\n", a->off, a->size);
		return -EACCES;
	}
	aux->ctx_access = true;
	aux->ctx_field_size = info.ctx_field_size;
	aux->ctx_narrow = !a->write && info.ctx_field_size && (uint32_t)a->size < info.ctx_field_size;
	if (a->off >= 0 && a->off < 512) /* aligned: in one word */
		env->prog->ctx_words |= 1ull << a->off / 8;
	env->prog->max_ctx_offset =
		BPFU_MAX(env->prog->max_ctx_offset, (uint32_t)(a->off + a->size));
	if (!loaded || info.kind == BPFU_CTX_SCALAR)
		return 0;
	bpfu_reg_init(loaded, info.kind == BPFU_CTX_PACKET      ? BPFU_REG_PACKET :
			      info.kind == BPFU_CTX_PACKET_META ? BPFU_REG_PACKET_META :
								  BPFU_REG_PACKET_END);
	return 0;
}

/* ---- all kinds ---- */

int bpfu_vrf_check_alignment(struct bpfu_env *env, const struct bpfu_access *a)
{
	const struct bpfu_reg *reg = &bpfu_vrf_regs(env)[a->regno];
	/* Slots are tracked in units, so the stack is always strict. */
	bool strict = env->strict_alignment || a->atomic || reg->type == BPFU_REG_STACK;
	const char *what = reg->type == BPFU_REG_STACK	   ? "stack " :
			   reg->type == BPFU_REG_CTX	   ? "context " :
			   reg->type == BPFU_REG_MAP_VALUE ? "value " :
			   reg->type == BPFU_REG_MAP_KEY   ? "key " :
							     "";
	/* Packets begin two bytes off, so that the IP header is aligned. */
	int ip_align = is_packet(reg) ? 2 : 0;
	struct bpfu_tnum off;
	char text[48];

	if (!strict || a->size == 1)
		return 0;
	off = bpfu_tnum_add(reg->range.var,
			    bpfu_tnum_const((uint64_t)(int64_t)(reg->off + a->off + ip_align)));
	if (bpfu_tnum_is_aligned(off, (uint64_t)a->size))
		return 0;
	if (is_packet(reg))
		bpfu_vrf_log(env, "misaligned packet access off %d+%s+%d+%d size %d\n", ip_align,
			     bpfu_vrf_tnum_text(reg->range.var, text), reg->off, a->off, a->size);
	else
		bpfu_vrf_log(env, "misaligned %saccess off %s+%d+%d size %d\n", what,
			     bpfu_vrf_tnum_text(reg->range.var, text), reg->off, a->off, a->size);
	return -EACCES;
}

static int access_kind(struct bpfu_env *env, const struct bpfu_access *a, struct bpfu_reg *loaded)
{
	const struct bpfu_reg *reg = &bpfu_vrf_regs(env)[a->regno];

	if (bpfu_reg_maybe_null(reg))
		goto invalid;
	switch (reg->type) {
	case BPFU_REG_CTX:
		return access_ctx(env, a, loaded);
	case BPFU_REG_MAP_VALUE:
		return access_map_value(env, a, loaded);
	case BPFU_REG_MAP_KEY:
		if (a->write) {
			bpfu_vrf_log(env, "write to change key R%u not allowed\n", a->regno);
			return -EACCES;
		}
		return bpfu_vrf_check_region(env, a->regno, a->off, a->size, reg->map->key_size,
					     false);
	case BPFU_REG_MEM:
		if (a->write && reg->flags & BPFU_REG_RDONLY) {
			bpfu_vrf_log(env, "R%u cannot write into %s\n", a->regno,
				     bpfu_reg_type_name(reg));
			return -EACCES;
		}
		return bpfu_vrf_check_region(env, a->regno, a->off, a->size, reg->size, false);
	case BPFU_REG_BTF:
		return bpfu_vrf_btf_access(env, a->regno, a->off, a->size, a->write);
	case BPFU_REG_PACKET:
	case BPFU_REG_PACKET_META:
		return access_packet(env, a);
	default:
		break;
	}
invalid:
	bpfu_vrf_log(env, "R%u invalid mem access '%s'\n", a->regno, bpfu_reg_type_name(reg));
	return -EACCES;
}

int bpfu_vrf_access(struct bpfu_env *env, const struct bpfu_access *a)
{
	const struct bpfu_reg *reg = &bpfu_vrf_regs(env)[a->regno];
	struct bpfu_reg loaded;
	int err = bpfu_vrf_check_alignment(env, a);

	if (err)
		return err;
	if (reg->type == BPFU_REG_STACK)
		return a->write ? bpfu_vrf_stack_write(env, a) : bpfu_vrf_stack_read(env, a);
	if (a->write || a->value_regno < 0)
		return access_kind(env, a, NULL);
	bpfu_reg_init(&loaded, BPFU_REG_SCALAR);
	bpfu_vrf_set_unknown(env, &loaded);
	err = access_kind(env, a, &loaded);
	if (err)
		return err;
	if (bpfu_reg_is_scalar(&loaded)) {
		if (a->sign)
			bpfu_range_sext(&loaded.range, (unsigned int)a->size);
		else
			bpfu_range_trunc(&loaded.range, (unsigned int)a->size);
	}
	bpfu_vrf_regs(env)[a->value_regno] = loaded;
	return 0;
}

/* ---- instructions ---- */

static int access_size(const struct bpf_insn *insn)
{
	switch (BPF_SIZE(insn->code)) {
	case BPF_B:
		return 1;
	case BPF_H:
		return 2;
	case BPF_W:
		return 4;
	default:
		return 8;
	}
}

/*
 * Accesses of the context are rewritten, so an instruction that accesses it must never access anything
 * else. The kernel rewrites those of structures, too.
 */
static int note_base(struct bpfu_env *env, uint32_t regno)
{
	uint8_t type = bpfu_vrf_regs(env)[regno].type, *seen = &env->vinsn[env->insn_idx].base_type;

	if (*seen && *seen != type &&
	    (*seen == BPFU_REG_CTX || type == BPFU_REG_CTX || *seen == BPFU_REG_BTF ||
	     type == BPFU_REG_BTF)) {
		bpfu_vrf_log(env, "same insn cannot be used with different pointers\n");
		return -EINVAL;
	}
	*seen = type;
	return 0;
}

static int do_load(struct bpfu_env *env, const struct bpf_insn *insn, bool atomic)
{
	struct bpfu_access a = {
		.regno = insn->src_reg,
		.off = insn->off,
		.size = access_size(insn),
		.sign = BPF_MODE(insn->code) == BPF_MEMSX,
		.atomic = atomic,
		.value_regno = insn->dst_reg,
	};
	int err = bpfu_vrf_read_reg(env, insn->src_reg);

	if (!err && insn->dst_reg == BPF_REG_10)
		err = bpfu_vrf_write_reg(env, insn->dst_reg);
	if (err)
		return err;
	err = note_base(env, insn->src_reg);
	if (err)
		return err;
	bpfu_vrf_touch_reg(env, insn->dst_reg);
	return bpfu_vrf_access(env, &a);
}

static int do_store(struct bpfu_env *env, const struct bpf_insn *insn, bool atomic)
{
	bool imm = BPF_CLASS(insn->code) == BPF_ST;
	struct bpfu_access a = {
		.regno = insn->dst_reg,
		.off = insn->off,
		.size = access_size(insn),
		.write = true,
		.atomic = atomic,
		.value_regno = imm ? -1 : insn->src_reg,
		.st = imm ? insn : NULL,
	};
	int err = imm ? 0 : bpfu_vrf_read_reg(env, insn->src_reg);

	if (!err)
		err = bpfu_vrf_read_reg(env, insn->dst_reg);
	if (!err)
		err = note_base(env, insn->dst_reg);
	return err ? err : bpfu_vrf_access(env, &a);
}

/* Memory that atomics must not touch: what is not plain memory, and packets. */
static int check_atomic_base(struct bpfu_env *env, const struct bpf_insn *insn)
{
	const struct bpfu_reg *reg = &bpfu_vrf_regs(env)[insn->dst_reg];

	if (reg->type != BPFU_REG_CTX && !is_packet(reg))
		return 0;
	bpfu_vrf_log(env, "BPF_ATOMIC stores into R%u %s is not allowed\n", insn->dst_reg,
		     bpfu_reg_type_name(reg));
	return -EACCES;
}

static int atomic_rmw(struct bpfu_env *env, const struct bpf_insn *insn)
{
	struct bpfu_reg *regs = bpfu_vrf_regs(env), base, old;
	int load = insn->imm == BPF_CMPXCHG ? BPF_REG_0 :
		   insn->imm & BPF_FETCH    ? insn->src_reg :
					      -1;
	struct bpfu_access a = { .regno = insn->dst_reg,
				 .off = insn->off,
				 .size = access_size(insn),
				 .atomic = true,
				 .value_regno = load };
	int err = bpfu_vrf_read_reg(env, insn->src_reg);

	if (!err)
		err = bpfu_vrf_read_reg(env, insn->dst_reg);
	if (!err && insn->imm == BPF_CMPXCHG)
		err = bpfu_vrf_read_reg(env, BPF_REG_0);
	if (!err && load == BPF_REG_10)
		err = bpfu_vrf_write_reg(env, BPF_REG_10);
	if (!err)
		err = check_atomic_base(env, insn);
	if (!err)
		err = note_base(env, insn->dst_reg);
	if (err)
		return err;
	/* The old value may go into the register that holds the address. */
	base = regs[insn->dst_reg];
	err = bpfu_vrf_access(env, &a);
	if (err)
		return err;
	if (load >= 0) {
		old = regs[load];
		regs[insn->dst_reg] = base;
		bpfu_vrf_touch_reg(env, (uint32_t)load);
	}
	a.write = true;
	a.value_regno = -1;
	err = bpfu_vrf_access(env, &a);
	if (load >= 0)
		regs[load] = old;
	return err;
}

static int do_atomic(struct bpfu_env *env, const struct bpf_insn *insn)
{
	struct bpf_insn plain = *insn;
	int err;

	if (insn->imm == BPFU_ATOMIC_LOAD_ACQ) {
		const struct bpfu_reg *reg = &bpfu_vrf_regs(env)[insn->src_reg];

		err = bpfu_vrf_read_reg(env, insn->src_reg);
		if (err)
			return err;
		if (reg->type == BPFU_REG_CTX || is_packet(reg)) {
			bpfu_vrf_log(env, "BPF_ATOMIC loads from R%u %s is not allowed\n",
				     insn->src_reg, bpfu_reg_type_name(reg));
			return -EACCES;
		}
		plain.code = BPF_LDX | BPF_MEM | BPF_SIZE(insn->code);
		return do_load(env, &plain, true);
	}
	if (insn->imm == BPFU_ATOMIC_STORE_REL) {
		err = bpfu_vrf_read_reg(env, insn->dst_reg);
		if (!err)
			err = check_atomic_base(env, insn);
		plain.code = BPF_STX | BPF_MEM | BPF_SIZE(insn->code);
		return err ? err : do_store(env, &plain, true);
	}
	return atomic_rmw(env, insn);
}

int bpfu_vrf_load_store(struct bpfu_env *env, const struct bpf_insn *insn)
{
	if (BPF_CLASS(insn->code) == BPF_LDX)
		return do_load(env, insn, false);
	if (BPF_CLASS(insn->code) == BPF_STX && BPF_MODE(insn->code) == BPF_ATOMIC)
		return do_atomic(env, insn);
	return do_store(env, insn, false);
}
