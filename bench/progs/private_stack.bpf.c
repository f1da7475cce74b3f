// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * private-stack and no-private-stack: what private stacks cost where they cost most, in functions
 * that do nothing else. One operation is one event (private_stack.h); no function of the two programs
 * but the main one is different.
 */
#include "bench.bpf.h"
#include "private_stack.h"

char LICENSE[] SEC("license") = "GPL";

struct events {
	__u64 counted;
};

static long event_chunk(__u32 idx, void *data)
{
	struct events *events = data;
	__u64 counted = 0;

	for (__u32 i = 0; i < BENCH_CHUNK; i++) {
		counted += event();
		bench_opaque(i);
	}
	events->counted += counted;
	return 0;
}

static __always_inline __u64 cause_events(__u64 ops)
{
	struct events events = { 0 };
	__u32 rest = ops % BENCH_CHUNK;
	__u64 counted = 0;

	bpf_loop(ops / BENCH_CHUNK, event_chunk, &events, 0);
	for (__u32 i = 0; i < rest && i < BENCH_CHUNK; i++) {
		counted += event();
		bench_opaque(i);
	}
	return events.counted + counted;
}

SEC("raw_tp")
int private_stack(struct bench_ctx *ctx)
{
	return cause_events(ctx->ops);
}

SEC("raw_tp")
int no_private_stack(struct bench_ctx *ctx)
{
	if (ctx->param)
		bpf_tail_call(ctx, &nowhere, 0);
	return cause_events(ctx->ops);
}

BENCH_DRIVER(driver_alone, )
