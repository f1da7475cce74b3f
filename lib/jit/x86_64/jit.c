// SPDX-License-Identifier: BSD-2-Clause
/*
 * The x86-64 backend: the walk over the program, and what the driver needs. Lowering proper is in
 * lower_*.c, frames in frame.c, the register map in regs.h, instructions' bytes in encode.h.
 */
#include "jit/x86_64/lower.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>

#define CPUID_1_ECX_MOVBE (1u << 22)
#define CPUID_7_EBX_BMI2 (1u << 8)

/* cpuid traps under a hypervisor, which takes longer than a compilation: ask once. */
static uint32_t cpu_features(void)
{
	static _Atomic uint32_t known; /* bit 31: asked */
	uint32_t features = atomic_load_explicit(&known, memory_order_relaxed);
	unsigned a, b, c, d;

	if (features)
		return features & ~(1u << 31);
	if (__get_cpuid(1, &a, &b, &c, &d) && c & CPUID_1_ECX_MOVBE)
		features |= X86_CPU_MOVBE;
	if (__get_cpuid_count(7, 0, &a, &b, &c, &d) && b & CPUID_7_EBX_BMI2)
		features |= X86_CPU_BMI2;
	atomic_store_explicit(&known, features | 1u << 31, memory_order_relaxed);
	return features;
}
#else
static uint32_t cpu_features(void)
{
	return 0;
}
#endif

#define X86_SHORT_LOOP 32 /* instructions; those of more take more than a cache line */

static int lower_insn(struct x86_jit *j, const struct bpf_insn *insn)
{
	switch (BPF_CLASS(insn->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		return bpfu_x86_lower_alu(j, insn);
	case BPF_JMP:
	case BPF_JMP32:
		return bpfu_x86_lower_jmp(j, insn);
	default:
		return bpfu_x86_lower_mem(j, insn);
	}
}

/*
 * Where the loop at @start ends, if it is one whose time is that of fetching and running its few instructions.
 * One that crosses a cache line takes 8 % longer on Zen 3; that of one that calls is the calls'.
 */
static uint32_t loop_end(const struct x86_jit *j, uint32_t start)
{
	uint32_t last = j->ctx->facts.back_from[start];

	for (uint32_t i = start; i <= last; i++)
		if (i - start > X86_SHORT_LOOP || j->insns[i].code == (BPF_JMP | BPF_CALL))
			return BPFU_LOOP_ANYWHERE;
	return last + 1;
}

static int lower_func(struct x86_jit *j, uint32_t f)
{
	const struct bpfu_facts *facts = &j->ctx->facts;

	bpfu_x86_prologue(j, f);
	j->deferred = 0;
	for (uint32_t i = j->func->start; i < j->func->end; i++) {
		if (facts->flags[i] & BPFU_FACT_TARGET) {
			bpfu_x86_flush(j, facts->live_in[i]);
			j->deferred = 0;
			j->zext = facts->zext_in[i];
			x86_flags_lost(j);
		}
		if (facts->flags[i] & BPFU_FACT_INNER && !bpfu_x86_wide_loop(j, i))
			bpfu_layout_align_loop(j->l, loop_end(j, i));
		bpfu_layout_set_label(j->l, i);
		if (facts->flags[i] & BPFU_FACT_SECOND)
			continue;
		if (j->skip) { /* part of a group that has been lowered */
			j->skip--;
			j->zext = bpfu_insn_zext(&j->insns[i], j->zext);
			continue;
		}
		if (bpfu_facts_is_dead(facts, j->insns, i))
			continue;
		j->idx = i;
		j->wanted = bpfu_facts_live_out(facts, j->insns, i);
		j->live = j->wanted & (uint16_t)~bpfu_insn_def(&j->insns[i]);
		if (!bpfu_x86_fuse(j, &j->insns[i])) {
			int err = lower_insn(j, &j->insns[i]);

			if (err)
				return err;
		}
		j->zext = bpfu_insn_zext(&j->insns[i], j->zext);
	}
	bpfu_x86_flush_cold(j);
	return 0;
}

static int lower(struct bpfu_jit_ctx *ctx)
{
	struct x86_jit j = {
		.ctx = ctx, .l = &ctx->layout, .cb = &ctx->layout.code, .insns = ctx->insns,
	};
	int err = 0;

	for (uint32_t f = 0; f < ctx->facts.func_cnt && !err; f++)
		err = lower_func(&j, f);
	bpfu_layout_set_label(j.l, ctx->insn_cnt);
	free(j.cold);
	return err;
}

static void write_branch(uint8_t *p, const struct bpfu_branch *branch, int32_t disp)
{
	x86_put_branch(p, branch->kind, branch->is_long, disp);
}

static bool write_reloc(uint8_t *p, uint8_t kind, uint64_t pc, uint64_t target)
{
	int64_t rel = (int64_t)(target - (pc + 4)); /* from the end of the field */

	(void)kind; /* there is only one */
	if (!x86_is_imm32(rel))
		return false;
	x86_put_i32(p, (int32_t)rel);
	return true;
}

static void fill(uint8_t *p, size_t n)
{
	memset(p, X86_INT3_BYTE, n);
}

const struct bpfu_jit_backend bpfu_jit_x86_64 = {
	.name = "x86_64",
	.cpu_all = X86_CPU_BMI2 | X86_CPU_MOVBE,
	.disp_from_end = true,
	.uses_zext = true,
	.bytes_per_insn = 5,
	.cpu_features = cpu_features,
	.lower = lower,
	.writer = { .branch = write_branch, .nops = x86_put_nops, .reloc = write_reloc, .fill = fill },
};
