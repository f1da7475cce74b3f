// SPDX-License-Identifier: BSD-2-Clause
/*
 * What verifier/ and rewrite/ would leave behind for a program that needs neither: the list of
 * subprograms, each said to use its whole frame.
 */
#include "prog.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "insn/insn.h"
#include "insn/opcode.h"
#include "interp/interp.h"
#include "jit/jit.h"

static int by_start(const void *a, const void *b)
{
	return *(const uint32_t *)a < *(const uint32_t *)b ? -1 : 1;
}

static void add_start(uint32_t *starts, uint32_t *cnt, uint32_t max, uint32_t start)
{
	for (uint32_t i = 0; i < *cnt; i++)
		if (starts[i] == start)
			return;
	if (*cnt < max)
		starts[(*cnt)++] = start;
}

uint32_t find_subprogs(const struct bpf_insn *insns, uint32_t cnt, uint32_t *starts, uint32_t max)
{
	uint32_t found = 0;

	add_start(starts, &found, max, 0);
	for (uint32_t i = 0; i < cnt; i++) {
		if (bpfu_insn_is_pseudo_call(&insns[i]) || bpfu_insn_is_pseudo_func(&insns[i]))
			add_start(starts, &found, max, i + 1 + insns[i].imm);
		if (bpfu_insn_is_ld_imm64(&insns[i]))
			i++;
	}
	qsort(starts, found, sizeof(*starts), by_start);
	return found;
}

static void fill_subprogs(struct bpfu_prog *prog, const uint32_t *starts)
{
	for (uint32_t i = 0; i < prog->subprog_cnt; i++) {
		struct bpfu_subprog *sub = &prog->subprogs[i];
		uint32_t end = i + 1 < prog->subprog_cnt ? starts[i + 1] : prog->insn_cnt;

		sub->start = starts[i];
		sub->stack_depth = BPFU_STACK_SIZE;
		for (uint32_t k = starts[i]; k < end; k++)
			if (prog->insns[k].code == BPFU_OP_TAIL_CALL)
				sub->has_tail_call = true;
		for (uint32_t k = 0; k < prog->insn_cnt; k++)
			if (bpfu_insn_is_pseudo_func(&prog->insns[k]) &&
			    k + 1 + prog->insns[k].imm == starts[i])
				sub->is_cb = prog->has_callbacks = true;
	}
}

static bool calls_into_tail_call(const struct bpfu_prog *prog, uint32_t sub)
{
	uint32_t end = sub + 1 < prog->subprog_cnt ? prog->subprogs[sub + 1].start : prog->insn_cnt;

	for (uint32_t k = prog->subprogs[sub].start; k < end; k++) {
		if (!bpfu_insn_is_pseudo_call(&prog->insns[k]))
			continue;
		for (uint32_t i = 0; i < prog->subprog_cnt; i++)
			if (prog->subprogs[i].start == k + 1 + prog->insns[k].imm &&
			    prog->subprogs[i].tail_call_reachable)
				return true;
	}
	return false;
}

static void spread_tail_calls(struct bpfu_prog *prog)
{
	bool changed = true;

	for (uint32_t i = 0; i < prog->subprog_cnt; i++)
		prog->subprogs[i].tail_call_reachable = prog->subprogs[i].has_tail_call;
	while (changed) {
		changed = false;
		for (uint32_t i = 0; i < prog->subprog_cnt; i++) {
			struct bpfu_subprog *sub = &prog->subprogs[i];

			if (sub->tail_call_reachable || !calls_into_tail_call(prog, i))
				continue;
			sub->tail_call_reachable = changed = true;
		}
	}
}

int test_prog_new(const struct bpf_insn *insns, uint32_t cnt, enum backend backend,
		  struct bpfu_prog **out)
{
	uint32_t starts[BPFU_MAX_SUBPROGS];
	struct bpfu_prog *prog = calloc(1, sizeof(*prog));
	int err = -ENOMEM;

	if (!prog)
		return err;
	prog->insn_cnt = prog->orig_insn_cnt = cnt;
	prog->options.jit = backend == BACKEND_JIT;
	prog->subprog_cnt = find_subprogs(insns, cnt, starts, BPFU_MAX_SUBPROGS);
	prog->insns = malloc(cnt * sizeof(*insns));
	prog->subprogs = calloc(prog->subprog_cnt, sizeof(*prog->subprogs));
	if (!prog->insns || !prog->subprogs)
		goto err_free;
	memcpy(prog->insns, insns, cnt * sizeof(*insns));
	fill_subprogs(prog, starts);
	spread_tail_calls(prog);
	err = backend == BACKEND_JIT ? bpfu_jit_compile(prog) : bpfu_interp_prepare(prog);
	if (err)
		goto err_free;
	*out = prog;
	return 0;

err_free:
	free(prog->subprogs);
	free(prog->insns);
	free(prog);
	return err;
}

void test_prog_free(struct bpfu_prog *prog)
{
	if (prog->jit)
		bpfu_jit_release(prog);
	else
		bpfu_interp_release(prog);
	free(prog->subprogs);
	free(prog->insns);
	free(prog);
}
