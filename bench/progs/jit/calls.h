/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Functions that call functions: three levels, with values that live across the calls. */
static __noinline __u64 calls_leaf(__u64 a, __u64 b)
{
	bench_opaque(a);
	return (a ^ b) + 3;
}

static __noinline __u64 calls_middle(__u64 a, __u64 b, __u32 n)
{
	__u64 x = calls_leaf(a, n);
	__u64 y = calls_leaf(b, x);

	return x * 5 + y + (n & 7);
}

JIT_KERNEL(calls)
{
	__u64 acc = 1;

	JIT_LOOP
	for (__u32 i = 0; i < JIT_CALLS; i++)
		acc = calls_middle(acc, jit_data.in32[i], i) ^ acc >> 7;
	return acc;
}

JIT_DRIVER(calls)
