// SPDX-License-Identifier: BSD-2-Clause
/*
 * Constants that stay in a register. LD_IMM64 takes up to four instructions, and clang repeats it in every
 * iteration of a loop: addresses of maps and global variables, mostly. The constants with the most uses in
 * loops get a register that the function does not use otherwise, loaded in the prologue.
 */
#include "jit/arm64/lower.h"

#define CANDIDATES 8 /* considered per function */

struct candidate {
	uint64_t value;
	uint32_t uses;
};

static bool is_worthwhile(const struct bpf_insn *insn)
{
	uint64_t imm;

	if (!bpfu_insn_is_ld_imm64(insn) || bpfu_insn_is_pseudo_func(insn))
		return false;
	imm = bpfu_insn_imm64(insn);
	return imm > UINT16_MAX && imm < (uint64_t)-UINT16_MAX; /* others are one instruction */
}

static uint32_t count_use(struct candidate *c, uint32_t cnt, uint64_t value)
{
	for (uint32_t i = 0; i < cnt; i++)
		if (c[i].value == value) {
			c[i].uses++;
			return cnt;
		}
	if (cnt < CANDIDATES)
		c[cnt++] = (struct candidate){ value, 1 };
	return cnt;
}

/* Backwards, an instruction is in a loop if some branch passed so far goes to it or above. */
static uint32_t find_candidates(const struct a64_jit *j, struct candidate *c)
{
	const struct bpfu_facts *facts = &j->ctx->facts;
	uint32_t lowest = UINT32_MAX, cnt = 0;

	for (uint32_t i = j->func->end; i-- > j->func->start;) {
		if (facts->flags[i] & BPFU_FACT_SECOND)
			continue;
		if (bpfu_facts_is_jump(&j->insns[i])) {
			uint32_t target = bpfu_insn_jump_target(j->insns, i);

			if (target <= i)
				lowest = BPFU_MIN(lowest, target);
		} else if (lowest <= i && is_worthwhile(&j->insns[i]) &&
			   !bpfu_facts_is_dead(facts, j->insns, i)) {
			cnt = count_use(c, cnt, bpfu_insn_imm64(&j->insns[i]));
		}
	}
	return cnt;
}

void bpfu_a64_plan_pins(struct a64_jit *j)
{
	static const uint8_t scratch[] = { A64_X5, A64_X6, A64_X8, A64_X14 };
	static const uint8_t kept[] = { A64_X23, A64_X24, A64_X27, A64_X28 };
	bool calls = j->func->has_call || j->func->tail_reach;
	struct candidate c[CANDIDATES];
	uint32_t cnt;

	j->pin_cnt = 0;
	if (!j->func->has_loop || j->ctx->blind_start)
		return;
	cnt = find_candidates(j, c);
	while (j->pin_cnt < A64_PINS && j->pin_cnt < cnt) {
		uint8_t reg = calls ? kept[j->pin_cnt] : scratch[j->pin_cnt];
		struct candidate *best = &c[0];

		for (uint32_t i = 1; i < cnt; i++)
			if (c[i].uses > best->uses)
				best = &c[i];
		j->pins[j->pin_cnt++] = (struct a64_pin){ best->value, reg };
		best->uses = 0;
		if (calls)
			j->save[j->save_cnt++] = reg;
	}
}

void bpfu_a64_load_pins(struct a64_jit *j)
{
	for (unsigned i = 0; i < j->pin_cnt; i++)
		bpfu_a64_mov_imm(j, j->pins[i].reg, j->pins[i].value);
}

bool bpfu_a64_pinned(const struct a64_jit *j, uint64_t imm, uint8_t *reg)
{
	for (unsigned i = 0; i < j->pin_cnt; i++)
		if (j->pins[i].value == imm) {
			*reg = j->pins[i].reg;
			return true;
		}
	return false;
}
