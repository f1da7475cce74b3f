// SPDX-License-Identifier: BSD-2-Clause
/*
 * What is attached to a function, at the function's entry (obj/patches.h). A function that is replaced
 * goes on in the program that replaces it, wherever that is entered at the moment:
 *
 *      direct:  jmp *prog->direct_entry
 *
 * One that is traced is called from a frame with the context of the programs that trace it:
 *
 *      direct:  | caller's rbp       | <- rbp
 *               | padding            |
 *               | counter            |    of tail calls, where the function needs it
 *               | [n] return value   |
 *               | [n-1] … [0]        | <- rsp + 16 = ctx
 *               | [-1] n             |
 *               | [-2] function      | <- rsp
 *               enter(trace, ctx);  ctx[n] = call body;  leave(trace, ctx);  return ctx[n]
 *      body:    the function as it is
 */
#include <stddef.h>

#include "helper/func_ctx.h"
#include "jit/x86_64/lower.h"

static struct x86_mem ctx_word(int idx)
{
	return x86_mem_bd(X86_RSP, 16 + 8 * idx);
}

static void call_handler(struct x86_jit *j, const struct bpfu_func_patch *patch,
			 uint64_t (*handler)(void *trace, uint64_t *ctx))
{
	bpfu_x86_mov_imm(j, X86_RDI, bpfu_u64(patch->trace));
	x86_lea(j->cb, true, X86_RSI, ctx_word(0));
	if (j->ctx->target.far_calls) {
		bpfu_x86_mov_imm(j, X86_RAX, (uintptr_t)handler);
		x86_call_r(j->cb, X86_RAX);
		return;
	}
	x86_call_rel32(j->cb, 0);
	bpfu_layout_reloc(j->l, 4, X86_RELOC_REL32, BPFU_RELOC_ADDRESS, (uintptr_t)handler);
}

static void trace(struct x86_jit *j, uint32_t f, const struct bpfu_func_patch *patch)
{
	struct x86_mem ret = ctx_word((int)patch->arg_cnt), counter = ctx_word((int)patch->arg_cnt + 1);

	x86_push(j->cb, X86_RBP);
	x86_mov_rr(j->cb, true, X86_RBP, X86_RSP);
	x86_alu_ri(j->cb, X86_SUB, true, X86_RSP,
		   (int32_t)BPFU_ROUND_UP(8 * (4 + patch->arg_cnt), 16));
	if (j->func->tail_reach)
		x86_store(j->cb, 8, counter, X86_RAX);
	for (uint32_t i = 0; i < patch->arg_cnt; i++)
		x86_store(j->cb, 8, ctx_word((int)i), x86_regmap[BPF_REG_1 + i]);
	bpfu_x86_mov_imm(j, X86_RAX, patch->ip);
	x86_store(j->cb, 8, ctx_word(BPFU_FUNC_CTX_IP), X86_RAX);
	x86_store_i(j->cb, 8, ctx_word(BPFU_FUNC_CTX_CNT), (int32_t)patch->arg_cnt);
	x86_store_i(j->cb, 8, ret, 0);
	call_handler(j, patch, patch->enter);
	for (uint32_t i = 0; i < patch->arg_cnt; i++)
		x86_load(j->cb, 8, x86_regmap[BPF_REG_1 + i], ctx_word((int)i));
	if (j->func->tail_reach)
		x86_load(j->cb, 8, X86_RAX, counter);
	x86_call_rel32(j->cb, 0);
	bpfu_layout_reloc(j->l, 4, X86_RELOC_REL32, BPFU_RELOC_LABEL, bpfu_jit_body_label(j->ctx, f));
	x86_store(j->cb, 8, ret, X86_RAX);
	call_handler(j, patch, patch->leave);
	x86_load(j->cb, 8, X86_RAX, ret);
	x86_leave(j->cb);
	x86_ret(j->cb);
}

void bpfu_x86_patch(struct x86_jit *j, uint32_t f)
{
	const struct bpfu_func_patch *patch = bpfu_jit_patch(j->ctx, f);

	if (patch->trace) {
		trace(j, f, patch);
		return;
	}
	bpfu_x86_mov_imm(j, X86_SCRATCH, bpfu_u64(&patch->replacement->direct_entry));
	x86_jmp_m(j->cb, x86_mem_bd(X86_SCRATCH, 0));
}
