/* SPDX-License-Identifier: BSD-2-Clause */
/* Private to probe/arm64/: the two kinds of thunks, and what they share. */
#ifndef BPFU_PROBE_ARM64_THUNK_H
#define BPFU_PROBE_ARM64_THUNK_H

#include <errno.h>
#include <string.h>

#include "jit/arm64/encode.h"
#include "jit/arm64/regs.h"
#include "probe/thunk.h"

#define BPFU_A64_REG_ARGS 8

void bpfu_a64_regs_thunk(struct bpfu_codebuf *cb, const struct bpfu_thunk *thunk, uint64_t base,
			 struct bpfu_thunk_frame *frame);

static inline void bpfu_a64_put(struct bpfu_codebuf *cb, uint32_t insn)
{
	uint8_t *p = bpfu_codebuf_room(cb);

	memcpy(p, &insn, sizeof(insn));
	bpfu_codebuf_commit(cb, p + sizeof(insn));
}

/* A constant, in as many instructions as it has halfwords that are not 0. */
static inline void bpfu_a64_const(struct bpfu_codebuf *cb, uint8_t rd, uint64_t value)
{
	bpfu_a64_put(cb, a64_movz(true, rd, (uint16_t)value, 0));
	for (uint8_t hw = 1; hw < 4; hw++)
		if ((uint16_t)(value >> 16 * hw))
			bpfu_a64_put(cb, a64_movk(true, rd, (uint16_t)(value >> 16 * hw), hw));
}

/* Words relative to the frame pointer: @off is a multiple of 8, at most 32760. */
static inline void bpfu_a64_load(struct bpfu_codebuf *cb, uint8_t rt, uint32_t off)
{
	bpfu_a64_put(cb, a64_ls_uimm(A64_LDR, A64_D, rt, A64_FP, off));
}

static inline void bpfu_a64_store(struct bpfu_codebuf *cb, uint8_t rt, uint32_t off)
{
	bpfu_a64_put(cb, a64_ls_uimm(A64_STR, A64_D, rt, A64_FP, off));
}

/* Push a frame of @size bytes, at most 512, that x29 points to; and the end of it. */
static inline void bpfu_a64_frame(struct bpfu_codebuf *cb, uint32_t size)
{
	bpfu_a64_put(cb, a64_stp_pre(A64_FP, A64_LR, A64_SP, -(int32_t)size));
	bpfu_a64_put(cb, a64_add_i(true, A64_FP, A64_SP, 0));
}

static inline void bpfu_a64_unframe(struct bpfu_codebuf *cb, uint32_t size,
				    struct bpfu_thunk_frame *frame)
{
	bpfu_a64_put(cb, a64_ldp_post(A64_FP, A64_LR, A64_SP, (int32_t)size));
	frame->left = cb->len;
}

/* Copy @cnt words of the caller's stack, behind the frame of @size bytes, to below this frame. */
static inline void bpfu_a64_push_copies(struct bpfu_codebuf *cb, uint32_t cnt, uint32_t size)
{
	if (cnt)
		bpfu_a64_put(cb, a64_sub_i(true, A64_SP, A64_SP, BPFU_ROUND_UP(8 * cnt, 16)));
	for (uint32_t i = 0; i < cnt; i++) {
		bpfu_a64_load(cb, A64_X16, size + 8 * i);
		bpfu_a64_put(cb, a64_ls_uimm(A64_STR, A64_D, A64_X16, A64_SP, 8 * i));
	}
}

static inline void bpfu_a64_pop_copies(struct bpfu_codebuf *cb, uint32_t cnt)
{
	if (cnt)
		bpfu_a64_put(cb, a64_add_i(true, A64_SP, A64_SP, BPFU_ROUND_UP(8 * cnt, 16)));
}

/* ---- running what is attached ---- */

#define BPFU_A64_LABEL_JUMPS 8

struct bpfu_a64_label {
	uint32_t cnt;
	uint32_t at[BPFU_A64_LABEL_JUMPS]; /* branches to where it will be */
};

struct bpfu_a64_single {
	const struct bpfu_thunk *thunk;
	bool is_leave;
	uint32_t ctx;  /* where in the frame the context is */
	uint32_t slot; /* a word of the frame: free, or with registers the call's epoch */
	uint32_t skip; /* where in the buffer to go if the handler says so, 0: it says nothing; not without
			* a list */

	struct bpfu_a64_label outer, slow; /* between the two parts */
	uint32_t done;
};

/* Run the one program there is, or what the handler runs. Clobbers what a call does. */
void bpfu_a64_single(struct bpfu_codebuf *cb, struct bpfu_a64_single *s);

/* The rest of it, behind the thunk's last instruction. */
void bpfu_a64_single_rest(struct bpfu_codebuf *cb, struct bpfu_a64_single *s);

#endif
