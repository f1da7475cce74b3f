// SPDX-License-Identifier: BSD-2-Clause
/*
 * Pointer arithmetic: pointer ± scalar. The known part of an offset is kept in off, the rest in
 * the pointer's range. No offset may reach BPFU_MAX_VAR_OFF in either direction, so that the sums
 * that bounds checks compute later cannot overflow.
 */
#include <errno.h>

#include "verifier/env.h"

static const char *kind_name(const struct bpfu_reg *reg)
{
	return bpfu_reg_type_name(reg);
}

/* A scalar about to be added, or the variable part of a pointer. */
static int check_sane(struct bpfu_env *env, const struct bpfu_reg *reg, const struct bpfu_reg *ptr)
{
	const struct bpfu_range *r = &reg->range;
	bool known = bpfu_range_is_const(r);

	if (known && (r->smin >= BPFU_MAX_VAR_OFF || r->smin <= -BPFU_MAX_VAR_OFF)) {
		bpfu_vrf_log(env, "math between %s pointer and %lld is not allowed\n",
			     kind_name(ptr), (long long)r->smin);
		return -EINVAL;
	}
	if (reg->type != BPFU_REG_SCALAR &&
	    (reg->off >= BPFU_MAX_VAR_OFF || reg->off <= -BPFU_MAX_VAR_OFF)) {
		bpfu_vrf_log(env, "%s pointer offset %d is not allowed\n", kind_name(ptr), reg->off);
		return -EINVAL;
	}
	if (r->smin == INT64_MIN) {
		bpfu_vrf_log(env,
			     "math between %s pointer and register with unbounded min value is not "
			     "allowed\n",
			     kind_name(ptr));
		return -EINVAL;
	}
	if (r->smin >= BPFU_MAX_VAR_OFF || r->smin <= -BPFU_MAX_VAR_OFF) {
		bpfu_vrf_log(env, "value %lld makes %s pointer be out of bounds\n",
			     (long long)r->smin, kind_name(ptr));
		return -EINVAL;
	}
	return 0;
}

static int check_kind(struct bpfu_env *env, const struct bpf_insn *insn, const struct bpfu_reg *ptr,
		      const struct bpfu_reg *off)
{
	if (bpfu_reg_maybe_null(ptr)) {
		bpfu_vrf_log(env, "R%d pointer arithmetic on %s prohibited, null-check it first\n",
			     insn->dst_reg, kind_name(ptr));
		return -EACCES;
	}
	switch (ptr->type) {
	case BPFU_REG_CTX:
	case BPFU_REG_MAP_VALUE:
	case BPFU_REG_MAP_KEY:
	case BPFU_REG_STACK:
	case BPFU_REG_PACKET:
	case BPFU_REG_PACKET_META:
	case BPFU_REG_MEM:
	case BPFU_REG_BTF:
		return 0;
	case BPFU_REG_MAP_PTR:
		/* Compilers add nothing to the address of a map, sometimes explicitly. */
		if (BPF_OP(insn->code) == BPF_ADD && bpfu_range_is_zero(&off->range))
			return 0;
		break;
	default:
		break;
	}
	bpfu_vrf_log(env, "R%d pointer arithmetic on %s prohibited\n", insn->dst_reg, kind_name(ptr));
	return -EACCES;
}

static bool is_packet(const struct bpfu_reg *reg)
{
	return reg->type == BPFU_REG_PACKET || reg->type == BPFU_REG_PACKET_META;
}

/* dst is a copy of ptr. */
static void apply(struct bpfu_env *env, struct bpfu_reg *dst, const struct bpfu_reg *off,
		  uint8_t op)
{
	int64_t known = off->range.smin, sum;

	if (bpfu_range_is_const(&off->range)) {
		sum = op == BPF_ADD ? dst->off + known : dst->off - known;
		if (sum == (int32_t)sum) {
			dst->off = (int32_t)sum;
			return;
		}
	}
	bpfu_range_alu(&dst->range, &off->range, op, true);
	if (is_packet(dst)) {
		/* Another unknown part: what was learnt of the packet's size is about the old one. */
		dst->id = ++env->id_gen;
		dst->size = 0;
	}
}

static int check_op(struct bpfu_env *env, const struct bpf_insn *insn, const struct bpfu_reg *ptr,
		    bool swapped)
{
	uint8_t op = BPF_OP(insn->code);

	switch (op) {
	case BPF_ADD:
		return 0;
	case BPF_SUB:
		if (swapped) {
			bpfu_vrf_log(env, "R%d tried to subtract pointer from scalar\n",
				     insn->dst_reg);
			return -EACCES;
		}
		if (ptr->type == BPFU_REG_STACK) {
			bpfu_vrf_log(env, "R%d subtraction from stack pointer prohibited\n",
				     insn->dst_reg);
			return -EACCES;
		}
		return 0;
	case BPF_AND:
	case BPF_OR:
	case BPF_XOR:
		bpfu_vrf_log(env, "R%d bitwise operator %s on pointer prohibited\n", insn->dst_reg,
			     bpfu_vrf_alu_symbol(op));
		return -EACCES;
	default:
		bpfu_vrf_log(env, "R%d pointer arithmetic with %s operator prohibited\n",
			     insn->dst_reg, bpfu_vrf_alu_symbol(op));
		return -EACCES;
	}
}

int bpfu_vrf_pointer_alu(struct bpfu_env *env, const struct bpf_insn *insn, struct bpfu_reg *dst,
			 const struct bpfu_reg *ptr, const struct bpfu_reg *off)
{
	bool swapped = bpfu_reg_is_scalar(dst);
	uint8_t op = BPF_OP(insn->code);
	int err;

	if (BPF_CLASS(insn->code) != BPF_ALU64) {
		if (op == BPF_SUB) { /* a distance modulo 2^32 */
			bpfu_vrf_set_unknown(env, dst);
			bpfu_range_zext32(&dst->range);
			return 0;
		}
		bpfu_vrf_log(env, "R%d 32-bit pointer arithmetic prohibited\n", insn->dst_reg);
		return -EACCES;
	}
	bpfu_vrf_demand(env, off);
	err = check_kind(env, insn, ptr, off);
	if (!err)
		err = check_sane(env, off, ptr);
	if (!err)
		err = check_sane(env, ptr, ptr);
	if (!err)
		err = check_op(env, insn, ptr, swapped);
	if (err)
		return err;
	if (env->harden && BPF_SRC(insn->code) == BPF_X)
		env->aux[env->insn_idx].nospec = true; /* speculate.c */
	*dst = *ptr;
	apply(env, dst, off, op);
	return check_sane(env, dst, ptr);
}
