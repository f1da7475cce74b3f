// SPDX-License-Identifier: BSD-2-Clause
/*
 * Conditional jumps: is the outcome known, and if not, what does each outcome teach? Scalars get
 * sharper bounds (and with them all that are linked by id), a pointer compared with 0 loses its
 * "or null", a packet pointer compared with the packet's end gets a range:
 *
 *   r3 = r2 (pkt, id 0) + 14          if r3 > r4 (pkt_end) goto out
 *   every packet pointer with r3's id may now be read up to 14 bytes from its base
 */
#include <errno.h>

#include "verifier/env.h"

#define MAX_PACKET_OFF 0xffff

/* ---- prediction ---- */

static bool never_null(const struct bpfu_reg *reg)
{
	return bpfu_reg_is_pointer(reg) && !bpfu_reg_maybe_null(reg) &&
	       (reg->type == BPFU_REG_MAP_VALUE || reg->type == BPFU_REG_MAP_PTR ||
		reg->type == BPFU_REG_MAP_KEY || reg->type == BPFU_REG_MEM ||
		bpfu_reg_is_trusted(reg));
}

/* 1 taken, 0 not, -1 unknown. */
static int predict(const struct bpfu_reg *dst, const struct bpfu_reg *src, uint8_t op, bool is64)
{
	if (bpfu_reg_is_scalar(dst) && bpfu_reg_is_scalar(src))
		return bpfu_range_cmp(&dst->range, &src->range, op, is64);
	if (is64 && bpfu_reg_is_null(src) && never_null(dst)) {
		if (op == BPF_JEQ)
			return 0;
		if (op == BPF_JNE)
			return 1;
	}
	return -1;
}

/* ---- linked scalars ---- */

struct sync_arg {
	struct bpfu_env *env;
	const struct bpfu_reg *known;
	const struct bpfu_reg *self;
};

/* Let @reg (tied to @known) know what follows from @known: reg = known + delta. */
static void follow_link(struct bpfu_reg *reg, const struct bpfu_reg *known)
{
	int64_t delta = (int64_t)reg->off - known->off;
	struct bpfu_range r = known->range, diff;

	if (reg->flags == known->flags && !delta) {
		reg->range = r;
		return;
	}
	bpfu_range_set_const(&diff, (uint64_t)delta);
	if (known->flags & BPFU_REG_ADD_CONST32 || reg->flags & BPFU_REG_ADD_CONST32) {
		/* The tie is one of low halves. */
		bpfu_range_alu(&r, &diff, BPF_ADD, false);
		if (reg->flags & BPFU_REG_ADD_CONST32)
			reg->range = r;
		else
			bpfu_range_meet_low(&reg->range, &r);
		return;
	}
	bpfu_range_alu(&r, &diff, BPF_ADD, true);
	reg->range = r;
}

static void sync_one(struct bpfu_reg *reg, void *arg)
{
	struct sync_arg *a = arg;

	if (reg == a->self || !bpfu_reg_is_scalar(reg) || reg->id != a->known->id)
		return;
	follow_link(reg, a->known);
	reg->node = bpfu_lineage_new(&a->env->lineage, reg->node, a->known->node);
}

/* @reg (in @state) was just sharpened: its copies know the same. */
static void sync_linked(struct bpfu_env *env, struct bpfu_state *state, struct bpfu_reg *reg)
{
	struct bpfu_reg known = *reg;
	struct sync_arg arg = { env, &known, reg };

	if (reg->id && bpfu_reg_is_scalar(reg))
		bpfu_state_each_reg(state, sync_one, &arg);
}

/* The path on which the comparison came out as @taken. */
static void learn_scalars(struct bpfu_env *env, struct bpfu_state *state,
			  const struct bpf_insn *insn, const struct bpfu_reg *src_const, bool taken)
{
	struct bpfu_reg *dst = &bpfu_state_top(state)->reg[insn->dst_reg];
	bool by_reg = BPF_SRC(insn->code) == BPF_X;
	struct bpfu_reg *src = by_reg ? &bpfu_state_top(state)->reg[insn->src_reg] : NULL;
	struct bpfu_reg a = *dst, b = by_reg ? *src : *src_const;
	bool is64 = BPF_CLASS(insn->code) == BPF_JMP;

	bpfu_range_assume(&a.range, &b.range, BPF_OP(insn->code), taken, is64);
	if (src == dst) /* compared with itself: both are right */
		bpfu_range_assume(&a.range, &b.range, BPF_JEQ, true, true);
	/* A contradiction that prediction did not see: know nothing rather than something wrong. */
	if (!bpfu_range_is_valid(&a.range))
		bpfu_range_set_unknown(&a.range);
	if (!bpfu_range_is_valid(&b.range))
		bpfu_range_set_unknown(&b.range);
	if (by_reg && src != dst && a.node != b.node)
		a.node = b.node = bpfu_lineage_new(&env->lineage, a.node, b.node);
	*dst = a;
	if (by_reg && src != dst) {
		*src = b;
		sync_linked(env, state, src);
	}
	sync_linked(env, state, dst);
}

/* ---- null checks ---- */

struct null_arg {
	struct bpfu_env *env;
	uint32_t id;
	bool is_null;
};

static void null_one(struct bpfu_reg *reg, void *arg)
{
	struct null_arg *a = arg;

	if (!bpfu_reg_maybe_null(reg) || reg->id != a->id)
		return;
	if (a->is_null) {
		bpfu_vrf_set_const(a->env, reg, 0);
		return;
	}
	reg->flags &= ~BPFU_REG_MAYBE_NULL;
	/* The id keeps its meaning only for what has to be released. */
	reg->id = 0;
}

static void learn_null(struct bpfu_env *env, struct bpfu_state *state, uint32_t regno, bool is_null)
{
	const struct bpfu_reg *reg = &bpfu_state_top(state)->reg[regno];
	struct null_arg arg = { env, reg->id, is_null };

	/* Nothing was reserved if the reservation failed. */
	if (is_null && reg->ref_id)
		bpfu_state_release(state, reg->ref_id);
	bpfu_state_each_reg(state, null_one, &arg);
}

/*
 * Equal to a pointer that is none, a pointer is not null; others that are null together with it stay as
 * they are. @taken, @other: as below.
 */
static void learn_not_null(const struct bpf_insn *insn, const struct bpfu_reg *dst,
			   const struct bpfu_reg *src, struct bpfu_state *taken,
			   struct bpfu_state *other)
{
	uint8_t op = BPF_OP(insn->code);
	struct bpfu_reg *regs;

	if (op != BPF_JEQ && op != BPF_JNE)
		return;
	regs = bpfu_state_top(op == BPF_JEQ ? taken : other)->reg;
	if (bpfu_reg_maybe_null(dst) && never_null(src))
		regs[insn->dst_reg].flags &= ~BPFU_REG_MAYBE_NULL;
	else if (bpfu_reg_maybe_null(src) && never_null(dst))
		regs[insn->src_reg].flags &= ~BPFU_REG_MAYBE_NULL;
}

/* ---- packet pointers ---- */

struct packet_arg {
	uint8_t type;
	uint32_t id, size;
};

static void packet_one(struct bpfu_reg *reg, void *arg)
{
	const struct packet_arg *a = arg;

	if (reg->type == a->type && reg->id == a->id && reg->size < a->size)
		reg->size = a->size;
}

/* @ptr <= the end (@strict: < the end) in @state. */
static void learn_packet(struct bpfu_state *state, const struct bpfu_reg *ptr, bool strict)
{
	struct packet_arg arg = { ptr->type, ptr->id, (uint32_t)ptr->off + strict };

	if (ptr->off < 0 || (!ptr->off && !strict))
		return;
	if (ptr->range.umax > MAX_PACKET_OFF || ptr->range.umax + ptr->off > MAX_PACKET_OFF)
		return;
	bpfu_state_each_reg(state, packet_one, &arg);
}

/* The end against which a pointer into the packet or its metadata may be compared. */
static bool is_end_of(const struct bpfu_reg *end, const struct bpfu_reg *ptr)
{
	if (ptr->type == BPFU_REG_PACKET)
		return end->type == BPFU_REG_PACKET_END;
	/* Metadata ends where the packet begins. */
	return ptr->type == BPFU_REG_PACKET_META && end->type == BPFU_REG_PACKET && !end->id &&
	       !end->off && bpfu_range_is_zero(&end->range);
}

/* @taken, @other: the states after the jump and after falling through. */
static void learn_packets(const struct bpf_insn *insn, const struct bpfu_reg *dst,
			  const struct bpfu_reg *src, struct bpfu_state *taken,
			  struct bpfu_state *other)
{
	bool ptr_first = is_end_of(src, dst);
	struct bpfu_reg ptr = ptr_first ? *dst : *src;
	uint8_t op = BPF_OP(insn->code);

	if (!ptr_first && !is_end_of(dst, src))
		return;
	switch (op) {
	case BPF_JGT: /* ptr > end: the other way ptr <= end; end > ptr: taken, ptr < end */
		learn_packet(ptr_first ? other : taken, &ptr, !ptr_first);
		break;
	case BPF_JGE: /* ptr >= end: the other way ptr < end; end >= ptr */
		learn_packet(ptr_first ? other : taken, &ptr, ptr_first);
		break;
	case BPF_JLT: /* ptr < end; end < ptr: the other way ptr <= end */
		learn_packet(ptr_first ? taken : other, &ptr, ptr_first);
		break;
	case BPF_JLE: /* ptr <= end; end <= ptr: the other way ptr < end */
		learn_packet(ptr_first ? taken : other, &ptr, !ptr_first);
		break;
	default:
		break;
	}
}

/* ---- the instruction ---- */

static void note_outcome(struct bpfu_env *env, int pred)
{
	struct bpfu_insn_aux *aux = &env->aux[env->insn_idx];

	if (!env->vinsn[env->insn_idx].branch_seen)
		aux->branch_known = (int8_t)pred;
	else if (aux->branch_known != pred)
		aux->branch_known = -1;
	env->vinsn[env->insn_idx].branch_seen = true;
}

static int read_operands(struct bpfu_env *env, const struct bpf_insn *insn, struct bpfu_reg *src)
{
	int err = 0;

	if (BPF_SRC(insn->code) == BPF_X) {
		err = bpfu_vrf_read_reg(env, insn->src_reg);
		*src = bpfu_vrf_regs(env)[insn->src_reg];
	} else {
		bpfu_reg_init(src, BPFU_REG_SCALAR);
		bpfu_range_set_const(&src->range, (uint64_t)(int64_t)insn->imm);
	}
	return err ? err : bpfu_vrf_read_reg(env, insn->dst_reg);
}

static int fork_path(struct bpfu_env *env, const struct bpf_insn *insn, const struct bpfu_reg *src)
{
	struct bpfu_reg dst = bpfu_vrf_regs(env)[insn->dst_reg];
	bool is64 = BPF_CLASS(insn->code) == BPF_JMP;
	uint8_t op = BPF_OP(insn->code);
	struct bpfu_state *taken;
	int err = 0;

	taken = bpfu_vrf_push(env, env->insn_idx + insn->off + 1, &err);
	if (!taken)
		return err;
	if (bpfu_reg_is_scalar(&dst) && bpfu_reg_is_scalar(src)) {
		learn_scalars(env, taken, insn, src, true);
		learn_scalars(env, env->cur, insn, src, false);
	} else if (is64 && BPF_SRC(insn->code) == BPF_K && !insn->imm &&
		   (op == BPF_JEQ || op == BPF_JNE) && bpfu_reg_maybe_null(&dst)) {
		learn_null(env, taken, insn->dst_reg, op == BPF_JEQ);
		learn_null(env, env->cur, insn->dst_reg, op == BPF_JNE);
	} else if (is64 && BPF_SRC(insn->code) == BPF_X) {
		learn_not_null(insn, &dst, src, taken, env->cur);
		learn_packets(insn, &dst, src, taken, env->cur);
	}
	return 0;
}

int bpfu_vrf_branch(struct bpfu_env *env, const struct bpf_insn *insn)
{
	struct bpfu_reg src;
	int pred, err = read_operands(env, insn, &src);

	if (err)
		return err;
	pred = predict(&bpfu_vrf_regs(env)[insn->dst_reg], &src, BPF_OP(insn->code),
		       BPF_CLASS(insn->code) == BPF_JMP);
	note_outcome(env, pred);
	if (pred >= 0) {
		bpfu_vrf_demand(env, &bpfu_vrf_regs(env)[insn->dst_reg]);
		if (BPF_SRC(insn->code) == BPF_X)
			bpfu_vrf_demand(env, &src);
		err = bpfu_vrf_speculate(env, insn,
					 env->insn_idx + 1 + (pred ? 0 : (uint32_t)insn->off));
	} else {
		err = fork_path(env, insn, &src);
	}
	if (!err)
		env->insn_idx += pred == 1 ? insn->off + 1 : 1;
	return err;
}
