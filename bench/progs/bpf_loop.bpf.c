// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * bpf-loop and its control. One operation is one loop of ctx->param iterations of an empty callback,
 * once through bpf_loop() and once called directly from an open-coded loop. The null of both is the
 * same program with no iterations, which keeps the cost of entering the loop out of the figure: so
 * one iteration costs the same whether a loop has one of them or a million.
 *
 * The number of iterations is never a constant of the program: the verifier removes a callback that
 * it knows will never run, and with it the loop.
 */
#include "bench.bpf.h"

char LICENSE[] SEC("license") = "GPL";

struct loop_data {
	__u64 nr_loops;
	__u64 done;
};

/* The one function that both programs call. Its result is 0, but clang may not know. */
static __attribute__((noinline)) long empty_callback(__u32 idx, void *data)
{
	long again = 0;

	bench_opaque(again);
	return again;
}

static long loop_op(__u32 idx, void *data)
{
	struct loop_data *d = data;

	d->done += bpf_loop(d->nr_loops, empty_callback, (void *)0, 0);
	return 0;
}

SEC("raw_tp")
int bpf_loop_driver(struct bench_ctx *ctx)
{
	struct loop_data d = { .nr_loops = ctx->param };

	bpf_loop(ctx->ops, loop_op, &d, 0);
	return d.done;
}

/* BENCH_CHUNK direct calls: an open-coded loop of any length, in pieces the verifier can walk. */
static long direct_chunk(__u32 idx, void *data)
{
	for (__u32 i = 0; i < BENCH_CHUNK; i++) {
		if (empty_callback(i, (void *)0))
			return 1;
		bench_opaque(i);
	}
	return 0;
}

static long direct_op(__u32 idx, void *data)
{
	struct loop_data *d = data;
	__u64 nr_loops = d->nr_loops;
	__u32 rest = nr_loops % BENCH_CHUNK;
	__u32 i = 0;
	long chunks = bpf_loop(nr_loops / BENCH_CHUNK, direct_chunk, (void *)0, 0);

	while (i < rest && i < BENCH_CHUNK) {
		if (empty_callback(i, (void *)0))
			break;
		i++;
		bench_opaque(i);
	}
	d->done += chunks * BENCH_CHUNK + i;
	return 0;
}

SEC("raw_tp")
int bpf_loop_direct_driver(struct bench_ctx *ctx)
{
	struct loop_data d = { .nr_loops = ctx->param };

	bpf_loop(ctx->ops, direct_op, &d, 0);
	return d.done;
}
