/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Drivers of the benchmark programs. A driver is a raw_tp program that BPF_PROG_TEST_RUN runs once per
 * trigger; the trigger passes the work in the context, so that batch sizes change without a reload,
 * and gets back, as the program's return value, the number of events the program executed.
 *
 * bpf_loop() drives chunks of BENCH_CHUNK operations: a plain bounded loop long enough for a batch of
 * 200 us would be walked iteration by iteration by the verifier and refused. What the driver costs
 * per operation is the same in a null program and is subtracted with it.
 */
#ifndef BPFLAB_BENCH_BPF_H
#define BPFLAB_BENCH_BPF_H

#ifdef BENCH_NATIVE
#include "native.h"
#else
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#endif

#define BENCH_CHUNK 64

struct bench_ctx {
	__u64 ops;   /* operations asked for */
	__u64 param; /* what the bench makes of it: nr_loops, say */
};

/* Keeps clang from unrolling, merging or deleting the iterations of a loop over @counter. */
#define bench_opaque(counter) asm volatile("" : "+r"(counter) : : "memory")

/* The head of a driver's definition: a program in section @sec, or a function of the native object. */
#ifdef BENCH_NATIVE
#define BENCH_LICENSE(text) _Static_assert(1, text)
#define BENCH_PROGRAM(sec, name)                                                                   \
	__u64 BENCH_PASTE(name, BENCH_NATIVE)(struct bench_ctx *ctx);                              \
	__u64 BENCH_PASTE(name, BENCH_NATIVE)(struct bench_ctx *ctx)
#else
#define BENCH_LICENSE(text) char LICENSE[] SEC("license") = text
#define BENCH_PROGRAM(sec, name) SEC(sec) int name(struct bench_ctx *ctx)
#endif

/*
 * The raw_tp program @name executes @body once per operation:
 *
 *	bpf_loop(ops / BENCH_CHUNK, { for (BENCH_CHUNK times) body })
 *	for (ops % BENCH_CHUNK times) body
 *
 * and returns the operations executed, as bpf_loop() and the second loop counted them.
 */
#define BENCH_DRIVER(name, body) BENCH_DRIVER_IN("raw_tp", name, body)

#define BENCH_DRIVER_IN(sec, name, body)                                                           \
	static long name##_chunk(__u32 chunk_idx, void *unused)                                    \
	{                                                                                          \
		for (__u32 i = 0; i < BENCH_CHUNK; i++) {                                          \
			body;                                                                      \
			bench_opaque(i);                                                           \
		}                                                                                  \
		return 0;                                                                          \
	}                                                                                          \
	SEC(sec)                                                                                   \
	int name(struct bench_ctx *ctx)                                                            \
	{                                                                                          \
		__u64 ops = ctx->ops;                                                              \
		__u32 rest = ops % BENCH_CHUNK;                                                    \
		__u32 i = 0;                                                                       \
		long chunks = bpf_loop(ops / BENCH_CHUNK, name##_chunk, (void *)0, 0);             \
												   \
		if (chunks < 0)                                                                    \
			return 0;                                                                  \
		while (i < rest && i < BENCH_CHUNK) {                                              \
			body;                                                                      \
			i++;                                                                       \
			bench_opaque(i);                                                           \
		}                                                                                  \
		return chunks * BENCH_CHUNK + i;                                                   \
	}

#endif
