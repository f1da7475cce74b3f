// SPDX-License-Identifier: BSD-2-Clause
/*
 * What is attached to a function, at the function's entry (obj/patches.h). A function that is replaced
 * goes on in the program that replaces it, wherever that is entered at the moment:
 *
 *      direct:  br prog->direct_entry
 *
 * One that is traced is called from a frame with the context of the programs that trace it. x26, the
 * address of the count of tail calls, is kept by what is called:
 *
 *      direct:  | padding            |
 *               | [n] return value   |
 *               | [n-1] … [0]        | <- sp + 32 = ctx
 *               | [-1] n             |
 *               | [-2] function      |
 *               | x29, x30           | <- sp, x29
 *               enter(trace, ctx);  ctx[n] = call body;  leave(trace, ctx);  return ctx[n]
 *      body:    the function as it is
 */
#include <stddef.h>

#include "helper/func_ctx.h"
#include "jit/arm64/lower.h"

static uint32_t ctx_off(int idx)
{
	return (uint32_t)(32 + 8 * idx);
}

static void store(struct a64_jit *j, uint8_t reg, int idx)
{
	a64_emit(j, a64_ls_uimm(A64_STR, A64_D, reg, A64_SP, ctx_off(idx)));
}

static void load(struct a64_jit *j, uint8_t reg, int idx)
{
	a64_emit(j, a64_ls_uimm(A64_LDR, A64_D, reg, A64_SP, ctx_off(idx)));
}

static void call_handler(struct a64_jit *j, const struct bpfu_func_patch *patch,
			 uint64_t (*handler)(void *trace, uint64_t *ctx))
{
	bpfu_a64_mov_imm(j, A64_X0, bpfu_u64(patch->trace));
	a64_emit(j, a64_add_i(true, A64_X1, A64_SP, ctx_off(0)));
	bpfu_a64_mov_imm(j, A64_FAR, (uint64_t)(uintptr_t)handler);
	a64_emit(j, a64_blr(A64_FAR));
}

static void trace(struct a64_jit *j, uint32_t f, const struct bpfu_func_patch *patch)
{
	int32_t size = (int32_t)BPFU_ROUND_UP(ctx_off((int)patch->arg_cnt) + 8, 16);
	int ret = (int)patch->arg_cnt;

	a64_emit(j, a64_stp_pre(A64_FP, A64_LR, A64_SP, -size));
	a64_emit(j, a64_add_i(true, A64_FP, A64_SP, 0));
	for (int i = 0; i < ret; i++)
		store(j, a64_regmap[BPF_REG_1 + i], i);
	bpfu_a64_mov_imm(j, A64_TMP1, patch->ip);
	store(j, A64_TMP1, BPFU_FUNC_CTX_IP);
	bpfu_a64_mov_imm(j, A64_TMP1, patch->arg_cnt);
	store(j, A64_TMP1, BPFU_FUNC_CTX_CNT);
	store(j, A64_ZR, ret);
	call_handler(j, patch, patch->enter);
	for (int i = 0; i < ret; i++)
		load(j, a64_regmap[BPF_REG_1 + i], i);
	a64_emit(j, a64_bl(0));
	bpfu_layout_reloc(j->l, 4, A64_RELOC_CALL, BPFU_RELOC_LABEL, bpfu_jit_body_label(j->ctx, f));
	store(j, a64_regmap[BPF_REG_0], ret);
	call_handler(j, patch, patch->leave);
	/* C callers expect the result in x0, BPF callers where r0 is. */
	load(j, A64_X0, ret);
	a64_emit(j, a64_mov(true, a64_regmap[BPF_REG_0], A64_X0));
	a64_emit(j, a64_ldp_post(A64_FP, A64_LR, A64_SP, size));
	a64_emit(j, a64_ret());
}

void bpfu_a64_patch(struct a64_jit *j, uint32_t f)
{
	const struct bpfu_func_patch *patch = bpfu_jit_patch(j->ctx, f);

	if (patch->trace) {
		trace(j, f, patch);
		return;
	}
	bpfu_a64_mov_imm(j, A64_FAR, bpfu_u64(&patch->replacement->direct_entry));
	a64_emit(j, a64_ls_uimm(A64_LDR, A64_D, A64_FAR, A64_FAR, 0));
	a64_emit(j, a64_br(A64_FAR));
}
