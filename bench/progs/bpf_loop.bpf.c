// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * bpf-loop and its control. One operation is one loop of ctx->param iterations of an empty callback,
 * once through bpf_loop() and once called directly from an open-coded loop. The runner subtracts a
 * loop from one of twice the length: entering and leaving a loop, and the branch misprediction at the
 * end of a long one, are then in both.
 *
 * What a loop executed is summed up in a register: a sum in memory would chain one operation to the
 * next, and part of the loop would be hidden behind that chain.
 *
 * The number of iterations is never a constant of the program: the verifier removes a callback that
 * it knows will never run, and with it the loop.
 *
 * Compiled to native code as well (native.h), where bpf_loop() is a loop around the call.
 */
#include "bench.bpf.h"

BENCH_LICENSE("GPL");

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

static long loop_chunk(__u32 idx, void *data)
{
	struct loop_data *d = data;
	__u64 nr_loops = d->nr_loops, done = 0;

	for (__u32 i = 0; i < BENCH_CHUNK; i++) {
		done += bpf_loop(nr_loops, empty_callback, (void *)0, 0);
		bench_opaque(i);
	}
	d->done += done;
	return 0;
}

BENCH_PROGRAM("raw_tp", bpf_loop_driver)
{
	struct loop_data d = { .nr_loops = ctx->param };
	__u64 ops = ctx->ops, done = 0;
	__u32 rest = ops % BENCH_CHUNK;

	bpf_loop(ops / BENCH_CHUNK, loop_chunk, &d, 0);
	for (__u32 i = 0; i < rest && i < BENCH_CHUNK; i++) {
		done += bpf_loop(d.nr_loops, empty_callback, (void *)0, 0);
		bench_opaque(i);
	}
	return d.done + done;
}

/* BENCH_CHUNK direct calls: an open-coded loop of any length, in pieces the verifier can walk. */
static long direct_piece(__u32 idx, void *data)
{
	for (__u32 i = 0; i < BENCH_CHUNK; i++) {
		if (empty_callback(i, (void *)0))
			return 1;
		bench_opaque(i);
	}
	return 0;
}

/* One operation. */
static long direct_op(__u32 idx, void *data)
{
	struct loop_data *d = data;
	__u64 nr_loops = d->nr_loops;
	__u32 rest = nr_loops % BENCH_CHUNK;
	__u32 i = 0;
	long pieces = bpf_loop(nr_loops / BENCH_CHUNK, direct_piece, (void *)0, 0);

	while (i < rest && i < BENCH_CHUNK) {
		if (empty_callback(i, (void *)0))
			break;
		i++;
		bench_opaque(i);
	}
	d->done += pieces * BENCH_CHUNK + i;
	return 0;
}

BENCH_PROGRAM("raw_tp", bpf_loop_direct_driver)
{
	struct loop_data d = { .nr_loops = ctx->param };

	bpf_loop(ctx->ops, direct_op, &d, 0);
	return d.done;
}
