// SPDX-License-Identifier: BSD-2-Clause
/*
 * Atomic operations. The processor has add, or, and, xor without result, add with result, exchange
 * and compare-exchange; the fetching forms of or, and, xor are loops of compare-exchange, unless
 * nobody reads the result. x86's memory model makes acquire and release plain moves.
 */
#include "jit/x86_64/lower.h"

#include <errno.h>

/*
 *      mov r10, rax             ; r0, or the operand or base if they live there
 *      mov rax, [m]
 *   1: mov r11, rax
 *      op  r11, src
 *      lock cmpxchg [m], r11    ; rax = [m] if another CPU was faster
 *      jne 1b
 *      mov src, rax
 *      mov rax, r10             ; not if src is r0, or nobody needs r0
 */
static void fetch_loop(struct x86_jit *j, const struct bpf_insn *insn, enum x86_alu op,
		       unsigned size)
{
	bool w = size == 8;
	uint8_t src = bpfu_x86_settle(j, insn->src_reg);
	struct x86_mem mem = bpfu_x86_addr(j, insn->dst_reg, insn->off);
	bool r0_operand = src == X86_RAX || mem.base == X86_RAX || mem.index == X86_RAX;
	uint8_t operand = src == X86_RAX ? X86_SCRATCH_AX : src;
	uint32_t again = bpfu_layout_new_label(j->l);
	bool keep;

	bpfu_x86_clobber(j, src); /* which may bring r0 into rax */
	keep = src != X86_RAX && x86_reg_busy(j, X86_RAX);
	bpfu_x86_clobber(j, X86_RAX);
	if (mem.base == X86_RAX)
		mem.base = X86_SCRATCH_AX;
	if (mem.index == X86_RAX)
		mem.index = X86_SCRATCH_AX;
	if (keep || r0_operand)
		x86_mov_rr(j->cb, true, X86_SCRATCH_AX, X86_RAX);
	x86_load(j->cb, size, X86_RAX, mem);
	bpfu_layout_set_label(j->l, again);
	x86_mov_rr(j->cb, w, X86_SCRATCH, X86_RAX);
	x86_alu_rr(j->cb, op, w, X86_SCRATCH, operand);
	x86_lock_cmpxchg(j->cb, size, mem, X86_SCRATCH);
	x86_branch(j, X86_CC_NE, again);
	if (src == X86_RAX)
		return;
	x86_mov_rr(j->cb, w, src, X86_RAX);
	if (keep)
		x86_mov_rr(j->cb, true, X86_RAX, X86_SCRATCH_AX);
}

static int lower_logic(struct x86_jit *j, const struct bpf_insn *insn, enum x86_alu op,
		       unsigned size)
{
	bool fetch = insn->imm & BPF_FETCH;
	uint8_t src;

	if (fetch && x86_is_wanted(j, insn->src_reg)) {
		fetch_loop(j, insn, op, size);
	} else {
		src = bpfu_x86_src(j, insn->src_reg, size == 8);
		x86_lock_alu_mr(j->cb, op, size, bpfu_x86_addr(j, insn->dst_reg, insn->off), src);
	}
	return 0;
}

static int lower_rmw(struct x86_jit *j, const struct bpf_insn *insn, unsigned size)
{
	uint8_t src = bpfu_x86_settle(j, insn->src_reg);
	struct x86_mem mem;

	if (insn->imm == BPF_CMPXCHG) {
		bpfu_x86_settle(j, BPF_REG_0);
		mem = bpfu_x86_addr(j, insn->dst_reg, insn->off);
		bpfu_x86_clobber(j, X86_RAX);
		x86_lock_cmpxchg(j->cb, size, mem, src);
		if (size == 4) /* success leaves rax, and its upper half, alone */
			x86_mov_rr(j->cb, false, X86_RAX, X86_RAX);
		return 0;
	}
	mem = bpfu_x86_addr(j, insn->dst_reg, insn->off);
	bpfu_x86_clobber(j, src);
	switch (insn->imm) {
	case BPF_ADD | BPF_FETCH:
		if (!x86_is_wanted(j, insn->src_reg))
			x86_lock_alu_mr(j->cb, X86_ADD, size, mem, src);
		else
			x86_lock_xadd(j->cb, size, mem, src);
		break;
	case BPF_XCHG:
		x86_xchg_mr(j->cb, size, mem, src);
		break;
	default:
		return -EINVAL;
	}
	return 0;
}

int bpfu_x86_lower_atomic(struct x86_jit *j, const struct bpf_insn *insn)
{
	unsigned size = x86_access_size(insn);
	struct x86_mem mem;
	uint8_t reg;

	if (insn->imm == BPF_LOAD_ACQ) {
		mem = bpfu_x86_addr(j, insn->src_reg, insn->off);
		x86_load(j->cb, size, x86_dst(j, insn->dst_reg), mem);
		return 0;
	}
	if (insn->imm == BPF_STORE_REL) {
		reg = bpfu_x86_src(j, insn->src_reg, size == 8);
		x86_store(j->cb, size, bpfu_x86_addr(j, insn->dst_reg, insn->off), reg);
		return 0;
	}
	if (size < 4)
		return -EINVAL;
	x86_flags_lost(j);
	switch (insn->imm & ~BPF_FETCH) {
	case BPF_OR:
		return lower_logic(j, insn, X86_OR, size);
	case BPF_AND:
		return lower_logic(j, insn, X86_AND, size);
	case BPF_XOR:
		return lower_logic(j, insn, X86_XOR, size);
	case BPF_ADD:
		if (!(insn->imm & BPF_FETCH))
			return lower_logic(j, insn, X86_ADD, size);
	}
	return lower_rmw(j, insn, size);
}
