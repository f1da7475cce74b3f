// SPDX-License-Identifier: BSD-2-Clause
/* Branches past tests; see thread.h. */
#include "jit/thread.h"

static bool is_zero_test(const struct bpf_insn *insn, unsigned r)
{
	unsigned op = BPF_OP(insn->code);

	return bpfu_facts_is_jump(insn) && BPF_SRC(insn->code) == BPF_K && insn->dst_reg == r &&
	       (op == BPF_JEQ || op == BPF_JNE) && !insn->imm;
}

static bool sets_zero(const struct bpf_insn *insn)
{
	return (insn->code == (BPF_ALU64 | BPF_MOV | BPF_K) ||
		insn->code == (BPF_ALU | BPF_MOV | BPF_K)) && !insn->imm;
}

/* Where the branch at @idx can go; its target if no further. */
static uint32_t final_target(const struct bpf_insn *insns, uint32_t idx, const struct bpfu_facts *facts)
{
	uint32_t target = bpfu_insn_jump_target(insns, idx), next = target + 1;
	const struct bpf_insn *test = &insns[target];
	int64_t off;

	if (facts->flags[idx] & BPFU_FACT_TARGET || facts->flags[idx - 1] & BPFU_FACT_SECOND ||
	    target <= idx || !sets_zero(&insns[idx - 1]) || !is_zero_test(test, insns[idx - 1].dst_reg))
		return target;
	if (BPF_OP(test->code) == BPF_JEQ)
		next = bpfu_insn_jump_target(insns, target);
	off = (int64_t)next - idx - 1;
	return off >= INT16_MIN && off <= INT16_MAX ? next : target;
}

static bool can_go_further(const struct bpf_insn *insns, uint32_t idx, const struct bpfu_facts *facts)
{
	unsigned class = BPF_CLASS(insns[idx].code), op = BPF_OP(insns[idx].code);

	return (class == BPF_JMP || class == BPF_JMP32) && idx && op != BPF_JA && op != BPF_JCOND &&
	       bpfu_facts_is_jump(&insns[idx]) && !(facts->flags[idx] & BPFU_FACT_SECOND) &&
	       final_target(insns, idx, facts) != bpfu_insn_jump_target(insns, idx);
}

uint32_t bpfu_thread_find(const struct bpf_insn *insns, uint32_t insn_cnt, uint32_t from,
			  const struct bpfu_facts *facts)
{
	while (from < insn_cnt && !can_go_further(insns, from, facts))
		from++;
	return from;
}

void bpfu_thread_branches(struct bpf_insn *insns, uint32_t insn_cnt, uint32_t first,
			  struct bpfu_facts *facts)
{
	for (uint32_t i = first; i < insn_cnt; i = bpfu_thread_find(insns, insn_cnt, i + 1, facts)) {
		uint32_t target = final_target(insns, i, facts);

		/* If that is backwards, the test goes there as well, and has marked a loop. */
		insns[i].off = (int16_t)((int64_t)target - i - 1);
		facts->flags[target] |= BPFU_FACT_TARGET;
	}
}
