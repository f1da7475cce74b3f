/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * A program of the suite jit-* is a kernel, one file in jit/:
 *
 *	JIT_KERNEL(fnv) { … return result; }
 *	JIT_DRIVER(fnv)
 *
 * The driver calls the kernel once per operation; the kernel is a function of its own (a global one
 * for the verifier, which then checks it once). Loops are not unrolled by clang in either form:
 * JIT_LOOP in front of each says so. Native code that is unrolled would be held against BPF that is
 * not, and BPF that is cannot be told from a JIT that does it.
 */
#ifndef BPFLAB_JIT_BPF_H
#define BPFLAB_JIT_BPF_H

#include "jit_data.h"

#define JIT_LOOP _Pragma("clang loop unroll(disable)")

/*
 * Data and tables: libbpf takes the offsets of variables from symbols, which static ones lack; two
 * native objects must not both export them. @jit_data_of… hands out a native object's.
 */
#ifdef BENCH_NATIVE
#define JIT_KERNEL(name) static __noinline __u64 jit_##name(void)
#define JIT_TABLE static const
static struct jit_data jit_data JIT_ALIGNED;
struct jit_data *BENCH_PASTE(jit_data_of, BENCH_NATIVE)(void);
struct jit_data *BENCH_PASTE(jit_data_of, BENCH_NATIVE)(void)
{
	return &jit_data;
}
#else
#define JIT_KERNEL(name)                                                                           \
	__noinline __u64 jit_##name(void);                                                         \
	__noinline __u64 jit_##name(void)
#define JIT_TABLE const
struct jit_data jit_data JIT_ALIGNED;
#endif

#define JIT_DRIVER(name)                                                                           \
	static long jit_##name##_step(__u32 idx, void *unused)                                     \
	{                                                                                          \
		__u64 result = jit_##name();                                                       \
												   \
		bench_opaque(result);                                                              \
		jit_data.runs += 1;                                                                \
		jit_data.sum += result;                                                            \
		return 0;                                                                          \
	}                                                                                          \
	BENCH_PROGRAM("?raw_tp", jit_##name##_driver)                                              \
	{                                                                                          \
		return bpf_loop(ctx->ops, jit_##name##_step, (void *)0, 0);                        \
	}

#define JIT_ROTL(bits, x, n) ((x) << (n) | (x) >> ((bits) - (n)))

#endif
