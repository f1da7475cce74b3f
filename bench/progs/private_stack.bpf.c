// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * private-stack and no-private-stack: what private stacks cost where they cost most, in functions
 * that do nothing else. One operation is one event: a function that writes to its frame and calls
 * three times another one, which writes to its own. The event is a function of its own, so that a
 * driver of another kind can cause it, too.
 *
 * Frames of 64 bytes and more of a program of this type have private stacks by the kernel's rule, if
 * the program makes no tail calls. So no_private_stack has one, which is never reached; no other
 * function is different. In all, the frames have less than 512 bytes, which is what both allow.
 */
#include "bench.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define EVENT_FRAME 128
#define NOOP_FRAME 256

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} nowhere SEC(".maps");

/* Writes to the far end of a frame of @bytes. clang would make an array as small as what is used. */
#define use_frame(bytes)                                                                           \
	asm volatile("*(u64 *)(r10 - %[off]) = %[zero]"                                            \
		     :                                                                             \
		     : [off] "i"(bytes), [zero] "r"(0ull)                                          \
		     : "memory")

/* Uses its frame; 0, but clang may not know. */
static __attribute__((noinline)) __u64 noop(void)
{
	__u64 zero = 0;

	use_frame(NOOP_FRAME);
	bench_opaque(zero);
	return zero;
}

/* One event, as the program itself counts it: once. */
static __attribute__((noinline)) __u64 event(void)
{
	__u64 count = 1;

	use_frame(EVENT_FRAME);
	count += noop();
	count += noop();
	count += noop();
	return count;
}

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
