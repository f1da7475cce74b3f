/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * What a benchmark program needs to be compiled to native code instead of BPF: the same C source is
 * then the limit that a JIT can be held against. Included by bench.bpf.h if BENCH_NATIVE is set; its
 * value is appended to the names of what the object exports, as one source becomes several objects.
 *
 * Helpers are what a perfect JIT would inline: bpf_loop() is a loop around a direct call.
 */
#ifndef BPFLAB_NATIVE_H
#define BPFLAB_NATIVE_H

typedef __UINT8_TYPE__ __u8;
typedef __UINT16_TYPE__ __u16;
typedef __UINT32_TYPE__ __u32;
typedef __UINT64_TYPE__ __u64;

#define SEC(name)
#define __always_inline inline __attribute__((always_inline))
#define __noinline __attribute__((noinline))

#define BENCH_PASTE_(a, b) a##b
#define BENCH_PASTE(a, b) BENCH_PASTE_(a, b)

#define BPF_MAX_LOOPS (8u << 20)

static __always_inline long bpf_loop(__u32 nr_loops, long (*callback)(__u32 idx, void *ctx), void *ctx,
				     __u64 flags)
{
	__u32 i = 0;

	if (nr_loops > BPF_MAX_LOOPS)
		return -7; /* -E2BIG */
	while (i < nr_loops)
		if (callback(i++, ctx))
			break;
	return i;
}

#endif
