// SPDX-License-Identifier: BSD-2-Clause
/* The arm64 backend: dispatch over the program, branches and relocations, features. */
#include "jit/arm64/lower.h"

#include <errno.h>
#if defined(__aarch64__)
#include <sys/auxv.h>
#ifndef HWCAP_ATOMICS
#define HWCAP_ATOMICS (1 << 8)
#endif
#endif

static uint32_t cpu_features(void)
{
	uint32_t cpu = 0;

#if defined(__aarch64__)
	if (getauxval(AT_HWCAP) & HWCAP_ATOMICS)
		cpu |= A64_CPU_LSE;
#endif
	return cpu;
}

static int lower_insn(struct a64_jit *j, const struct bpf_insn *insn)
{
	switch (BPF_CLASS(insn->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		return bpfu_a64_lower_alu(j, insn);
	case BPF_JMP:
	case BPF_JMP32:
		return bpfu_a64_lower_jmp(j, insn);
	default:
		return bpfu_a64_lower_mem(j, insn);
	}
}

static int lower_func(struct a64_jit *j, uint32_t f)
{
	int err;

	bpfu_a64_prologue(j, f);
	for (j->idx = j->func->start; j->idx < j->func->end; j->idx++) {
		if (j->ctx->facts.flags[j->idx] & BPFU_FACT_INNER)
			bpfu_a64_wide_loop(j, j->idx);
		bpfu_layout_set_label(j->l, j->idx);
		if (j->skip) { /* part of a group that has been lowered */
			j->skip--;
			continue;
		}
		if (j->ctx->facts.flags[j->idx] & BPFU_FACT_SECOND)
			continue;
		if (bpfu_facts_is_dead(&j->ctx->facts, j->insns, j->idx) ||
		    bpfu_a64_fuse(j, &j->insns[j->idx]))
			continue;
		err = lower_insn(j, &j->insns[j->idx]);
		if (err)
			return err;
	}
	bpfu_a64_finish(j);
	return 0;
}

static int lower(struct bpfu_jit_ctx *ctx)
{
	struct a64_jit j = {
		.ctx = ctx,
		.l = &ctx->layout,
		.cb = &ctx->layout.code,
		.insns = ctx->insns,
	};
	int err = 0;

	for (uint32_t f = 0; f < ctx->facts.func_cnt && !err; f++)
		err = lower_func(&j, f);
	bpfu_layout_set_label(&ctx->layout, ctx->insn_cnt);
	return err;
}

static void put_word(uint8_t *p, uint32_t word)
{
	for (int i = 0; i < 4; i++)
		p[i] = (uint8_t)(word >> (8 * i));
}

static uint32_t get_word(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static uint32_t short_branch(uint8_t kind, bool invert, int32_t disp)
{
	if (kind & A64_BRANCH_CB) {
		bool nz = !!(kind & A64_BRANCH_CB_NZ) ^ invert;
		bool sf = kind & A64_BRANCH_CB_SF;
		uint8_t rt = kind & 31;

		return nz ? a64_cbnz(sf, rt, disp) : a64_cbz(sf, rt, disp);
	}
	if (kind == A64_AL)
		return a64_b(disp);
	return a64_b_cond(invert ? a64_cond_not(kind) : (enum a64_cond)kind, disp);
}

/* Out of reach of 19 bits: the opposite condition over an unconditional branch. */
static void write_branch(uint8_t *p, const struct bpfu_branch *branch, int32_t disp)
{
	if (!branch->is_long || branch->kind == A64_AL) {
		put_word(p, short_branch(branch->kind, false, disp));
		return;
	}
	put_word(p, short_branch(branch->kind, true, 8));
	put_word(p + 4, a64_b(disp - 4));
}

static bool write_reloc(uint8_t *p, uint8_t kind, uint64_t pc, uint64_t target)
{
	int64_t disp = (int64_t)(target - pc);
	int64_t pages = (int64_t)(target >> 12) - (int64_t)(pc >> 12);
	uint32_t word = get_word(p);

	switch (kind) {
	case A64_RELOC_CALL:
		if (!a64_imm26_fits(disp))
			return false;
		put_word(p, a64_bl((int32_t)disp));
		return true;
	case A64_RELOC_PAGE:
		if (pages != (int32_t)pages || pages >= 1 << 20 || pages < -(1 << 20))
			return false;
		put_word(p, a64_adrp(word & 31, (int32_t)pages));
		return true;
	default:
		put_word(p, a64_add_i(true, word & 31, word >> 5 & 31, target & 4095));
		return true;
	}
}

static void fill(uint8_t *p, size_t n)
{
	for (size_t i = 0; i + 4 <= n; i += 4)
		put_word(p + i, a64_brk(1));
}

const struct bpfu_jit_backend bpfu_jit_arm64 = {
	.name = "aarch64",
	.cpu_all = A64_CPU_LSE,
	.disp_from_end = false,
	.bytes_per_insn = 6,
	.cpu_features = cpu_features,
	.lower = lower,
	.writer = {
		.branch = write_branch,
		.reloc = write_reloc,
		.fill = fill,
	},
};
