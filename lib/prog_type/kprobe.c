// SPDX-License-Identifier: BSD-2-Clause
/*
 * BPF_PROG_TYPE_KPROBE and BPF_PROG_TYPE_TRACEPOINT. A kprobe's context is the saved registers of
 * the probed function; a tracepoint's is the event record, whose first eight bytes are hidden.
 * Neither can be run by BPF_PROG_TEST_RUN.
 */
#include <asm/ptrace.h>

#include "obj/prog.h"
#include "prog_type/families.h"

#if defined(__x86_64__)
#define REGS_SIZE sizeof(struct pt_regs)
#else
#define REGS_SIZE sizeof(struct user_pt_regs)
#endif

#define RECORD_SIZE 8192 /* PERF_MAX_TRACE_SIZE */

static bool kprobe_access(int off, int size, bool write, const struct bpfu_prog *prog,
			  struct bpfu_ctx_access *info)
{
	info->kind = BPFU_CTX_SCALAR;
	return off >= 0 && off + size <= (int)REGS_SIZE && off % size == 0 && !write;
}

static bool tracepoint_access(int off, int size, bool write, const struct bpfu_prog *prog,
			      struct bpfu_ctx_access *info)
{
	info->kind = BPFU_CTX_SCALAR;
	return off >= (int)sizeof(void *) && off < RECORD_SIZE && off % size == 0 && !write;
}

static bool helper_allowed(const struct bpfu_helper *helper, int32_t id,
			   const struct bpfu_prog *prog)
{
	return bpfu_helper_in(helper, BPFU_HELPER_TRACING);
}

/* What a session program returns at an entry says whether it wants to see the return. */
static void kprobe_retval_range(const struct bpfu_prog *prog, bool *has, int32_t *min, int32_t *max)
{
	*has = bpfu_prog_is_session(prog);
	*min = 0;
	*max = 1;
}

const struct bpfu_prog_type bpfu_type_kprobe = {
	.type = BPF_PROG_TYPE_KPROBE,
	.name = "kprobe",
	.is_valid_access = kprobe_access,
	.helper_allowed = helper_allowed,
	.retval_range = kprobe_retval_range,
};

const struct bpfu_prog_type bpfu_type_tracepoint = {
	.type = BPF_PROG_TYPE_TRACEPOINT,
	.name = "tracepoint",
	.is_valid_access = tracepoint_access,
	.helper_allowed = helper_allowed,
};
