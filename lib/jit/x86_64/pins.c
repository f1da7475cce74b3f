// SPDX-License-Identifier: BSD-2-Clause
/*
 * Constants that stay in a register. LD_IMM64 takes ten bytes, and clang repeats it in every
 * iteration of a loop: addresses of maps and global variables, mostly, and often of the same map at
 * different offsets. Constants in loops that lie close together form a group; the groups with the
 * most uses get a register that the function does not use otherwise, loaded in the prologue. The
 * constant is then "pin + distance", which addresses absorb (value.c).
 */
#include "jit/x86_64/lower.h"

#include <string.h>

#define GROUPS 8               /* considered per function */
#define DISTANCE (1ll << 30)   /* of a constant to its pin: leaves room for offsets */

struct group {
	uint64_t value;
	uint32_t uses;
};

static bool is_big_constant(const struct bpf_insn *insn)
{
	uint64_t imm;

	if (!bpfu_insn_is_ld_imm64(insn) || bpfu_insn_is_pseudo_func(insn))
		return false;
	imm = bpfu_insn_imm64(insn);
	return imm != (uint32_t)imm && !x86_is_imm32((int64_t)imm);
}

static bool is_near(uint64_t a, uint64_t b)
{
	int64_t distance = (int64_t)(a - b);

	return distance > -DISTANCE && distance < DISTANCE;
}

static uint32_t count_use(struct group *groups, uint32_t cnt, uint64_t value)
{
	for (uint32_t i = 0; i < cnt; i++)
		if (is_near(value, groups[i].value)) {
			groups[i].uses++;
			return cnt;
		}
	if (cnt < GROUPS)
		groups[cnt++] = (struct group){ value, 1 };
	return cnt;
}

/* Backwards, an instruction is in a loop if some branch passed so far goes to it or above. */
static uint32_t find_groups(const struct x86_jit *j, struct group *groups)
{
	uint32_t lowest = UINT32_MAX, cnt = 0;

	for (uint32_t i = j->func->end; i-- > j->func->start;) {
		if (j->ctx->facts.flags[i] & BPFU_FACT_SECOND)
			continue;
		if (bpfu_facts_is_jump(&j->insns[i])) {
			uint32_t target = bpfu_insn_jump_target(j->insns, i);

			if (target <= i)
				lowest = BPFU_MIN(lowest, target);
		} else if (lowest <= i && is_big_constant(&j->insns[i])) {
			cnt = count_use(groups, cnt, bpfu_insn_imm64(&j->insns[i]));
		}
	}
	return cnt;
}

/* Registers that nothing else in the function touches, cheapest first. */
static unsigned free_regs(const struct x86_jit *j, uint8_t *regs)
{
	static const uint8_t scratch[] = { X86_RSI, X86_RDI, X86_RCX, X86_RDX,
					   X86_R8,  X86_R9,  X86_R10 };
	static const uint8_t kept[] = { X86_RBX, X86_R14, X86_R15, X86_R13, X86_R12 };
	const struct bpfu_func_facts *func = j->func;
	bool leaf = !func->has_call && !func->tail_reach;
	unsigned cnt = 0;

	for (size_t i = 0; i < sizeof(scratch) && leaf; i++) {
		uint8_t reg = scratch[i];

		if (j->bpf_of[reg] >= 0 || (reg == X86_RCX && !x86_has(j, X86_CPU_BMI2)) ||
		    (func->has_div && (reg == X86_RDX || reg == X86_SCRATCH_DX)) ||
		    ((func->has_div || func->has_atomic) && reg == X86_SCRATCH_AX))
			continue;
		regs[cnt++] = reg;
	}
	for (size_t i = 0; i < sizeof(kept); i++)
		if (j->bpf_of[kept[i]] < 0 && !(kept[i] == X86_SEGMENT && func->private_reach))
			regs[cnt++] = kept[i];
	return cnt;
}

static bool is_callee_saved(uint8_t reg)
{
	return reg == X86_RBX || reg >= X86_R12;
}

void bpfu_x86_plan_pins(struct x86_jit *j)
{
	struct group groups[GROUPS];
	uint8_t regs[12];
	uint32_t cnt;
	unsigned free;

	j->pin_cnt = 0;
	if (!j->func->has_loop)
		return;
	cnt = find_groups(j, groups);
	free = cnt ? free_regs(j, regs) : 0;
	for (unsigned n = 0; n < free && n < X86_PINS && n < cnt; n++) {
		struct group *best = &groups[0];

		for (uint32_t i = 1; i < cnt; i++)
			if (groups[i].uses > best->uses)
				best = &groups[i];
		j->pins[j->pin_cnt++] = (struct x86_pin){ best->value, regs[n] };
		best->uses = 0;
		if (is_callee_saved(regs[n]))
			j->save[j->save_cnt++] = regs[n];
	}
}

void bpfu_x86_load_pins(struct x86_jit *j)
{
	for (unsigned i = 0; i < j->pin_cnt; i++)
		bpfu_x86_mov_imm(j, j->pins[i].reg, j->pins[i].value);
}

bool bpfu_x86_pinned(const struct x86_jit *j, uint64_t imm, struct x86_val *v)
{
	for (unsigned i = 0; i < j->pin_cnt; i++)
		if (is_near(imm, j->pins[i].value)) {
			*v = (struct x86_val){ j->pins[i].reg, X86_NONE, 0, false,
					       (int32_t)(int64_t)(imm - j->pins[i].value) };
			return true;
		}
	return false;
}
