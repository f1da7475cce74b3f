// SPDX-License-Identifier: BSD-2-Clause
/*
 * Sessions on functions of the test (session.c). Each program checks that the return it sees is that of the
 * entry it has seen: what it left in its eight bytes at the entry is the function's argument.
 */
#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "../session.h"

char LICENSE[] SEC("license") = "GPL";

extern bool bpf_session_is_return(void) __ksym;
extern __u64 *bpf_session_cookie(void) __ksym;

struct seen first, second, third, plain;
__u64 ignored;  /* the argument whose return the first does not want to see */
__u64 sequence; /* which ran, the latest in the lowest four bits */

static __always_inline void note(int which)
{
	sequence = sequence << 4 | which;
}

static __always_inline int session(struct pt_regs *ctx, struct seen *s, int which)
{
	__u64 *kept = bpf_session_cookie();
	__u64 arg = PT_REGS_PARM1(ctx);

	note(which);
	if (bpf_session_is_return()) {
		__sync_fetch_and_add(&s->left, 1);
		if (PT_REGS_RC(ctx) != SESSION_RESULT(*kept))
			__sync_fetch_and_add(&s->wrong, 1);
		s->left_ip = bpf_get_func_ip(ctx);
		s->left_cookie = bpf_get_attach_cookie(ctx);
		return 1; /* of no meaning */
	}
	__sync_fetch_and_add(&s->entered, 1);
	if (*kept)
		__sync_fetch_and_add(&s->wrong, 1);
	*kept = arg;
	s->ip = bpf_get_func_ip(ctx);
	s->cookie = bpf_get_attach_cookie(ctx);
	return 0;
}

SEC("kprobe.multi")
int on_first(struct pt_regs *ctx)
{
	bool is_ignored = !bpf_session_is_return() && PT_REGS_PARM1(ctx) == ignored;

	return session(ctx, &first, 1) | is_ignored;
}

SEC("kprobe.multi")
int on_second(struct pt_regs *ctx)
{
	return session(ctx, &second, 2);
}

/* Reads no registers that have to be saved for it: the first argument and the return value only. */
SEC("kprobe.multi")
int on_third(struct pt_regs *ctx)
{
	return session(ctx, &third, 3);
}

/* Reads one. */
SEC("kprobe.multi")
int on_all(struct pt_regs *ctx)
{
	int ret = session(ctx, &third, 4);

	if (PT_REGS_SP(ctx) == 1)
		third.wrong++;
	return ret;
}

SEC("kprobe.multi")
int on_entry(struct pt_regs *ctx)
{
	note(8);
	__sync_fetch_and_add(&plain.entered, 1);
	return 0;
}

SEC("kprobe.multi")
int on_return(struct pt_regs *ctx)
{
	note(9);
	__sync_fetch_and_add(&plain.left, 1);
	return 0;
}

SEC("fentry/session_fn")
int on_fentry(void *ctx)
{
	note(10);
	return 0;
}

SEC("fexit/session_fn")
int on_fexit(void *ctx)
{
	note(11);
	return 0;
}

/* Calls what it is attached to. */
SEC("kprobe.multi")
int on_helper(struct pt_regs *ctx)
{
	if (bpf_session_is_return())
		plain.left++;
	else
		plain.entered++;
	bpf_get_numa_node_id();
	return 0;
}

SEC("raw_tp")
int driver(void *ctx)
{
	for (int i = 0; i < 100; i++)
		bpf_get_numa_node_id();
	return 0;
}
