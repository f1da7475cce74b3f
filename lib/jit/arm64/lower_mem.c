// SPDX-License-Identifier: BSD-2-Clause
/*
 * Loads, stores, atomics and 64-bit immediates. Accesses to the BPF frame go through sp, or the
 * segment of private stack, whose distance to r10 is known, so that most take the scaled unsigned offset.
 */
#include "jit/arm64/lower.h"

#include <errno.h>

static enum a64_size size_of(uint8_t code)
{
	switch (BPF_SIZE(code)) {
	case BPF_B:
		return A64_B;
	case BPF_H:
		return A64_H;
	case BPF_W:
		return A64_W;
	default:
		return A64_D;
	}
}

/* Base register and offset of r + off. */
static uint8_t address(struct a64_jit *j, unsigned r, int32_t *off)
{
	if (r != BPF_REG_10)
		return a64_regmap[r];
	*off += j->fp_disp;
	return j->fp_base;
}

/* One load or store of rt at r + off. Clobbers TMP1. */
static void access(struct a64_jit *j, enum a64_ls op, enum a64_size size, uint8_t rt, unsigned r,
		   int32_t off)
{
	uint8_t base = address(j, r, &off);

	if (a64_ls_uimm_fits(size, off)) {
		a64_emit(j, a64_ls_uimm(op, size, rt, base, (uint32_t)off));
	} else if (a64_ls_simm9_fits(off)) {
		a64_emit(j, a64_ls_simm9(op, size, rt, base, off));
	} else {
		bpfu_a64_mov_imm(j, A64_TMP1, (uint64_t)(int64_t)off);
		a64_emit(j, a64_ls_reg(op, size, rt, base, A64_TMP1));
	}
}

/*
 * A load that yields 0 on a fault: the register is zero before, and the fixup goes on after the
 * access, which is the last instruction of those that access() emits.
 */
static void probe(struct a64_jit *j, enum a64_ls op, enum a64_size size, uint8_t dst, unsigned r,
		  int32_t off)
{
	uint8_t rt = r != BPF_REG_10 && dst == a64_regmap[r] ? A64_TMP2 : dst;
	uint32_t after = bpfu_layout_new_label(j->l);
	struct bpfu_pos pos;

	a64_emit(j, a64_movz(true, rt, 0, 0));
	access(j, op, size, rt, r, off);
	pos = bpfu_layout_here(j->l);
	pos.raw -= 4;
	bpfu_layout_ext(j->l, pos, after);
	bpfu_layout_set_label(j->l, after);
	if (rt != dst)
		a64_emit(j, a64_mov(true, dst, rt));
}

static int lower_ldx(struct a64_jit *j, const struct bpf_insn *insn)
{
	enum a64_size size = size_of(insn->code);
	uint8_t dst = a64_dst(insn->dst_reg), mode = BPF_MODE(insn->code);

	if (size == A64_D && (mode == BPF_MEMSX || mode == BPFU_PROBE_MEMSX))
		return -EINVAL;
	switch (mode) {
	case BPF_MEM:
		access(j, A64_LDR, size, dst, insn->src_reg, insn->off);
		return 0;
	case BPF_MEMSX:
		access(j, A64_LDRS, size, dst, insn->src_reg, insn->off);
		return 0;
	case BPFU_PROBE_MEM:
		probe(j, A64_LDR, size, dst, insn->src_reg, insn->off);
		return 0;
	case BPFU_PROBE_MEMSX:
		probe(j, A64_LDRS, size, dst, insn->src_reg, insn->off);
		return 0;
	}
	return -EINVAL;
}

static void lower_ld_imm64(struct a64_jit *j, const struct bpf_insn *insn)
{
	uint8_t dst = a64_dst(insn->dst_reg), pin;
	uint32_t label;

	if (!bpfu_insn_is_pseudo_func(insn) && bpfu_a64_pinned(j, bpfu_insn_imm64(insn), &pin)) {
		a64_emit(j, a64_mov(true, dst, pin));
		return;
	}
	if (!bpfu_insn_is_pseudo_func(insn)) {
		bpfu_a64_mov_imm(j, dst, bpfu_insn_imm64(insn));
		return;
	}
	label = bpfu_jit_native_label(
		j->ctx, (uint32_t)bpfu_facts_func_at(&j->ctx->facts,
						     j->idx + 1 + (uint32_t)insn->imm));
	a64_emit(j, a64_adrp(dst, 0));
	bpfu_layout_reloc(j->l, 4, A64_RELOC_PAGE, BPFU_RELOC_LABEL, label);
	a64_emit(j, a64_add_i(true, dst, dst, 0));
	bpfu_layout_reloc(j->l, 4, A64_RELOC_PAGEOFF, BPFU_RELOC_LABEL, label);
}

int bpfu_a64_lower_mem(struct a64_jit *j, const struct bpf_insn *insn)
{
	uint8_t value = A64_ZR;

	switch (BPF_CLASS(insn->code)) {
	case BPF_LD:
		if (!bpfu_insn_is_ld_imm64(insn))
			return -EINVAL;
		lower_ld_imm64(j, insn);
		return 0;
	case BPF_LDX:
		return lower_ldx(j, insn);
	case BPF_ST:
		if (insn->code == (BPF_ST | BPFU_NOSPEC)) {
			bpfu_a64_barrier(j);
			return 0;
		}
		if (BPF_MODE(insn->code) != BPF_MEM)
			return -EINVAL;
		if (insn->imm) {
			value = A64_TMP2;
			bpfu_a64_mov_insn_imm(j, value, BPF_SIZE(insn->code) == BPF_DW, insn->imm);
		}
		access(j, A64_STR, size_of(insn->code), value, insn->dst_reg, insn->off);
		return 0;
	}
	if (BPF_MODE(insn->code) == BPF_ATOMIC)
		return bpfu_a64_lower_atomic(j, insn);
	if (BPF_MODE(insn->code) != BPF_MEM)
		return -EINVAL;
	value = a64_src(j, insn->src_reg, A64_TMP2);
	access(j, A64_STR, size_of(insn->code), value, insn->dst_reg, insn->off);
	return 0;
}

/* r + off as one register, which the exclusive and atomic forms want. May clobber TMP1. */
static uint8_t plain_address(struct a64_jit *j, unsigned r, int32_t off)
{
	uint8_t base = address(j, r, &off);

	if (!off && base != A64_SP)
		return base;
	if (a64_addsub_imm_fits(off)) {
		a64_emit(j, a64_add_i(true, A64_TMP1, base, (uint32_t)off));
	} else if (a64_addsub_imm_fits(-(int64_t)off)) {
		a64_emit(j, a64_sub_i(true, A64_TMP1, base, (uint32_t)-off));
	} else {
		bpfu_a64_mov_imm(j, A64_TMP1, (uint64_t)(int64_t)off);
		a64_emit(j, a64_add(true, A64_TMP1, A64_TMP1, base));
	}
	return A64_TMP1;
}

static uint32_t modify(uint8_t op, bool sf, uint8_t dst, uint8_t old, uint8_t src)
{
	switch (op) {
	case BPF_ADD:
		return a64_add(sf, dst, old, src);
	case BPF_AND:
		return a64_logic(A64_AND, sf, dst, old, src);
	case BPF_OR:
		return a64_logic(A64_ORR, sf, dst, old, src);
	default:
		return a64_logic(A64_EOR, sf, dst, old, src);
	}
}

/*
 * Load-exclusive, store-exclusive:
 *
 *   retry: ldxr old, [addr]
 *          op new, old, src             ; xchg stores src itself
 *          st[l]xr status, new, [addr]
 *          cbnz status, retry
 *          dmb ish                      ; fetch forms: fully ordered
 */
static void ll_sc(struct a64_jit *j, const struct bpf_insn *insn, uint8_t addr, uint8_t src)
{
	enum a64_size size = size_of(insn->code);
	bool sf = size == A64_D, fetch = insn->imm & BPF_FETCH;
	uint8_t value = insn->imm == BPF_XCHG ? src : A64_TMP3;
	uint32_t retry = bpfu_layout_new_label(j->l);

	bpfu_layout_set_label(j->l, retry);
	a64_emit(j, a64_ldxr(size, A64_TMP2, addr));
	if (insn->imm != BPF_XCHG)
		a64_emit(j, modify(BPF_OP((uint8_t)insn->imm), sf, A64_TMP3, A64_TMP2, src));
	a64_emit(j, fetch ? a64_stlxr(size, A64_TMP4, value, addr) :
			    a64_stxr(size, A64_TMP4, value, addr));
	a64_branch_cb(j, true, false, A64_TMP4, retry);
	if (fetch) {
		a64_emit(j, a64_dmb_ish());
		a64_emit(j, a64_mov(sf, src, A64_TMP2));
	}
}

/*
 *   retry: ldxr old, [addr]
 *          eor diff, old, r0
 *          cbnz diff, out
 *          stlxr status, src, [addr]
 *          cbnz status, retry
 *   out:   dmb ish
 *          mov r0, old
 */
static void ll_sc_cmpxchg(struct a64_jit *j, enum a64_size size, uint8_t addr, uint8_t src)
{
	uint32_t retry = bpfu_layout_new_label(j->l), out = bpfu_layout_new_label(j->l);
	uint8_t r0 = a64_regmap[BPF_REG_0];
	bool sf = size == A64_D;

	bpfu_layout_set_label(j->l, retry);
	a64_emit(j, a64_ldxr(size, A64_TMP2, addr));
	a64_emit(j, a64_logic(A64_EOR, sf, A64_TMP3, A64_TMP2, r0));
	a64_branch_cb(j, true, sf, A64_TMP3, out);
	a64_emit(j, a64_stlxr(size, A64_TMP4, src, addr));
	a64_branch_cb(j, true, false, A64_TMP4, retry);
	bpfu_layout_set_label(j->l, out);
	a64_emit(j, a64_dmb_ish());
	a64_emit(j, a64_mov(sf, r0, A64_TMP2));
}

static int lse(struct a64_jit *j, const struct bpf_insn *insn, uint8_t addr, uint8_t src)
{
	enum a64_size size = size_of(insn->code);
	bool fetch = insn->imm & BPF_FETCH;
	uint8_t operand = src, old = fetch ? src : A64_ZR;
	enum a64_lse op;

	switch (insn->imm & ~BPF_FETCH) {
	case BPF_ADD:
		op = A64_LDADD;
		break;
	case BPF_AND: /* memory & src: clear the bits that are not in src */
		op = A64_LDCLR;
		operand = A64_TMP2;
		a64_emit(j, a64_mvn(size == A64_D, operand, src));
		break;
	case BPF_OR:
		op = A64_LDSET;
		break;
	case BPF_XOR:
		op = A64_LDEOR;
		break;
	case BPF_XCHG & ~BPF_FETCH:
		op = A64_SWP;
		break;
	default:
		return -EINVAL;
	}
	a64_emit(j, a64_lse_op(op, fetch, size, operand, old, addr));
	return 0;
}

/* Read-modify-write; load-acquire and store-release take all sizes. */
static bool is_rmw(const struct bpf_insn *insn, enum a64_size size)
{
	switch (insn->imm) {
	case BPF_ADD:
	case BPF_AND:
	case BPF_OR:
	case BPF_XOR:
	case BPF_ADD | BPF_FETCH:
	case BPF_AND | BPF_FETCH:
	case BPF_OR | BPF_FETCH:
	case BPF_XOR | BPF_FETCH:
	case BPF_XCHG:
	case BPF_CMPXCHG:
		return size == A64_W || size == A64_D;
	}
	return false;
}

int bpfu_a64_lower_atomic(struct a64_jit *j, const struct bpf_insn *insn)
{
	enum a64_size size = size_of(insn->code);
	uint8_t addr, src;

	if (insn->imm != BPF_LOAD_ACQ && insn->imm != BPF_STORE_REL && !is_rmw(insn, size))
		return -EINVAL;
	if (insn->imm == BPF_LOAD_ACQ) {
		addr = plain_address(j, insn->src_reg, insn->off);
		a64_emit(j, a64_ldar(size, a64_dst(insn->dst_reg), addr));
		return 0;
	}
	addr = plain_address(j, insn->dst_reg, insn->off);
	src = a64_src(j, insn->src_reg, A64_TMP3);
	if (insn->imm == BPF_STORE_REL) {
		a64_emit(j, a64_stlr(size, src, addr));
		return 0;
	}
	/* The operand of the LL/SC loop must outlive TMP3; a frame pointer as operand is rare. */
	if (src == A64_TMP3) {
		a64_emit(j, a64_mov(true, A64_FAR, src));
		src = A64_FAR;
	}
	if (insn->imm == BPF_CMPXCHG) {
		if (a64_has(j, A64_CPU_LSE))
			a64_emit(j, a64_casal(size, a64_regmap[BPF_REG_0], src, addr));
		else
			ll_sc_cmpxchg(j, size, addr, src);
		return 0;
	}
	if (a64_has(j, A64_CPU_LSE))
		return lse(j, insn, addr, src);
	ll_sc(j, insn, addr, src);
	return 0;
}
