// SPDX-License-Identifier: BSD-2-Clause
/* Programs of every kind that note the stack they see (stack.c). */
#include <linux/bpf.h>
#include <linux/ptrace.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "../stack.h"

char LICENSE[] SEC("license") = "GPL";

struct stacks kernel, user, other;
__s64 id, id_of_thread[STACK_THREADS];
__u64 runs, differ;

struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, __u64[STACK_DEPTH]);
} ids SEC(".maps");

static __always_inline int note(void *ctx)
{
	kernel.size = bpf_get_stack(ctx, kernel.ips, sizeof(kernel.ips), 0);
	user.size = bpf_get_stack(ctx, user.ips, sizeof(user.ips), BPF_F_USER_STACK);
	id = bpf_get_stackid(ctx, &ids, BPF_F_REUSE_STACKID);
	__sync_fetch_and_add(&runs, 1);
	return 0;
}

/* The same, from where another function of the program, and a callback, are in between. */
static __noinline int note_other(void *ctx)
{
	other.size = bpf_get_stack(ctx, other.ips, sizeof(other.ips), 0);
	return 0;
}

static long in_callback(__u32 idx, void **ctx)
{
	note_other(*ctx);
	return 0;
}

SEC("?fentry/stack_probed")
int on_fentry(void *ctx)
{
	return note(ctx);
}

SEC("?fexit/stack_probed")
int on_fexit(void *ctx)
{
	return note(ctx);
}

SEC("?fmod_ret/stack_probed")
int on_fmod_ret(void *ctx)
{
	return note(ctx);
}

SEC("?fexit/stack_inner")
int on_inner_fexit(void *ctx)
{
	return 0;
}

SEC("?fentry/stack_probed")
int on_fentry_deep(void *ctx)
{
	note_other(ctx);
	return note(ctx);
}

SEC("?kprobe")
int on_kprobe(struct pt_regs *ctx)
{
	note_other(ctx);
	return note(ctx);
}

SEC("?kprobe")
int on_kprobe_empty(struct pt_regs *ctx)
{
	return 0;
}

SEC("?raw_tp/stack_event")
int on_raw_tp(void *ctx)
{
	return note(ctx);
}

SEC("?tp/house/stack_event")
int on_tp(void *ctx)
{
	return note(ctx);
}

/* Each thread has one stack, so it always gets the same id. */
SEC("?fentry/stack_probed")
int BPF_PROG(on_threads, __u64 thread)
{
	__s64 now = bpf_get_stackid(ctx, &ids, 0);

	if (thread >= STACK_THREADS)
		return 0;
	if (now < 0 || (id_of_thread[thread] && id_of_thread[thread] != now + 1))
		__sync_fetch_and_add(&differ, 1);
	id_of_thread[thread] = now + 1;
	__sync_fetch_and_add(&runs, 1);
	return 0;
}
