// SPDX-License-Identifier: BSD-2-Clause
/*
 * Loads, stores and 64-bit constants. Loads of the PROBE_MEM modes yield 0 when the access faults:
 * the exception table sends the fault to a piece of cold code.
 */
#include "jit/x86_64/lower.h"

#include <errno.h>

static void may_fault(struct x86_jit *j, struct bpfu_pos pos, uint8_t dst)
{
	struct x86_cold cold = { .kind = X86_COLD_ZERO, .dst = dst };

	cold.back = bpfu_layout_new_label(j->l);
	bpfu_layout_set_label(j->l, cold.back);
	bpfu_layout_ext(j->l, pos, bpfu_x86_cold(j, &cold));
}

static int lower_ldx(struct x86_jit *j, const struct bpf_insn *insn)
{
	unsigned mode = BPF_MODE(insn->code), size = x86_access_size(insn);
	bool sign = mode == BPF_MEMSX || mode == BPFU_PROBE_MEMSX;
	bool probe = mode == BPFU_PROBE_MEM || mode == BPFU_PROBE_MEMSX;
	struct x86_mem mem;
	struct bpfu_pos pos;
	uint8_t dst;

	if ((!sign && !probe && mode != BPF_MEM) || (sign && size == 8))
		return -EINVAL;
	mem = bpfu_x86_addr(j, insn->src_reg, insn->off);
	dst = x86_dst(j, insn->dst_reg);
	pos = bpfu_layout_here(j->l);
	if (sign)
		x86_load_sx(j->cb, true, size, dst, mem);
	else
		x86_load(j->cb, size, dst, mem);
	if (probe)
		may_fault(j, pos, dst);
	return 0;
}

static int lower_ld_imm64(struct x86_jit *j, const struct bpf_insn *insn)
{
	uint64_t imm = bpfu_insn_imm64(insn);
	struct x86_val v = { X86_NONE, X86_NONE, 0, false, (int32_t)(uint32_t)imm };
	int f;

	if (insn->src_reg != BPF_PSEUDO_FUNC) {
		v.zx = imm == (uint32_t)imm;
		if (v.zx || x86_is_imm32((int64_t)imm) || bpfu_x86_pinned(j, imm, &v))
			bpfu_x86_defer(j, insn->dst_reg, v);
		else
			bpfu_x86_mov_imm(j, x86_dst(j, insn->dst_reg), imm);
		return 0;
	}
	f = bpfu_facts_func_at(&j->ctx->facts, j->idx + 1 + (uint32_t)insn->imm);
	if (f < 0)
		return -EINVAL;
	/* lea dst, [rip + native] */
	x86_lea(j->cb, true, x86_dst(j, insn->dst_reg), x86_mem_bd(X86_RIP, 0));
	bpfu_layout_reloc(j->l, 4, X86_RELOC_REL32, BPFU_RELOC_LABEL,
			  bpfu_jit_native_label(j->ctx, (uint32_t)f));
	return 0;
}

static void store(struct x86_jit *j, const struct bpf_insn *insn)
{
	unsigned size = x86_access_size(insn);
	struct x86_mem mem;
	int32_t imm;
	uint8_t src;

	if (bpfu_x86_const(j, insn->src_reg, size == 8, &imm)) {
		x86_store_i(j->cb, size, bpfu_x86_addr(j, insn->dst_reg, insn->off), imm);
		return;
	}
	src = bpfu_x86_src(j, insn->src_reg, size == 8);
	mem = bpfu_x86_addr(j, insn->dst_reg, insn->off);
	x86_store(j->cb, size, mem, src);
}

int bpfu_x86_lower_mem(struct x86_jit *j, const struct bpf_insn *insn)
{
	switch (BPF_CLASS(insn->code)) {
	case BPF_LD:
		return bpfu_insn_is_ld_imm64(insn) ? lower_ld_imm64(j, insn) : -EINVAL;
	case BPF_LDX:
		return lower_ldx(j, insn);
	case BPF_ST:
		if (insn->code == (BPF_ST | BPFU_NOSPEC)) {
			x86_lfence(j->cb);
			return 0;
		}
		if (BPF_MODE(insn->code) != BPF_MEM)
			return -EINVAL;
		x86_store_i(j->cb, x86_access_size(insn), bpfu_x86_addr(j, insn->dst_reg, insn->off),
			    insn->imm);
		return 0;
	case BPF_STX:
		if (BPF_MODE(insn->code) == BPF_ATOMIC)
			return bpfu_x86_lower_atomic(j, insn);
		if (BPF_MODE(insn->code) != BPF_MEM)
			return -EINVAL;
		store(j, insn);
		return 0;
	default:
		return -EINVAL;
	}
}
