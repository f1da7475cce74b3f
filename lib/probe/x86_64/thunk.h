/* SPDX-License-Identifier: BSD-2-Clause */
/* Private to probe/x86_64/: the two kinds of thunks, and what they share. */
#ifndef BPFU_PROBE_X86_64_THUNK_H
#define BPFU_PROBE_X86_64_THUNK_H

#include <errno.h>

#include "jit/x86_64/encode.h"
#include "probe/thunk.h"

void bpfu_x86_regs_thunk(struct bpfu_codebuf *cb, const struct bpfu_thunk *thunk, uint64_t base,
			 struct bpfu_thunk_frame *frame);

/* ---- forward branches ---- */

#define BPFU_X86_LABEL_JUMPS 8

struct bpfu_x86_label {
	uint32_t cnt;
	struct bpfu_x86_branch {
		uint32_t end; /* of the branch in the buffer */
		uint8_t cc;
	} at[BPFU_X86_LABEL_JUMPS];
};

/* Branch to where bpfu_x86_land() will put the label. */
void bpfu_x86_jump(struct bpfu_codebuf *cb, unsigned cc, struct bpfu_x86_label *to);
void bpfu_x86_land(struct bpfu_codebuf *cb, struct bpfu_x86_label *label);

/* ---- running what is attached ---- */

struct bpfu_x86_single {
	const struct bpfu_thunk *thunk;
	uint64_t base;       /* where the buffer will lie */
	bool is_leave;
	struct x86_mem ctx;  /* the context, rbp- or rsp-based */
	struct x86_mem slot; /* a word of the frame: free, or with registers the call's epoch */
	uint32_t skip;       /* where in the buffer to go if the handler says so, 0: it says nothing; not
			      * without a list */

	struct bpfu_x86_label outer, slow; /* between the two parts */
	uint32_t done;
};

/* Run the one program there is, or what the handler runs. Clobbers what a call does. */
void bpfu_x86_single(struct bpfu_codebuf *cb, struct bpfu_x86_single *s);

/* The rest of it, behind the thunk's last instruction. */
void bpfu_x86_single_rest(struct bpfu_codebuf *cb, struct bpfu_x86_single *s);

#endif
