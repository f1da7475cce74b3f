/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Bytes swapped while they are copied: 64, 32 and 16 bits, by load and by store. */
JIT_KERNEL(bswap)
{
	__u64 sum = 0;

	JIT_LOOP
	for (__u32 i = 0; i < 128; i++) {
		__u64 v = __builtin_bswap64(jit_data.in64[i]);

		jit_data.out64[i] = v;
		sum += v;
	}
	JIT_LOOP
	for (__u32 i = 256; i < 512; i++) {
		__u32 v = jit_data.in32[i] + 1;

		jit_data.out32[i] = __builtin_bswap32(v);
		sum ^= v;
	}
	JIT_LOOP
	for (__u32 i = 1024; i < 1280; i++) {
		__u16 v = __builtin_bswap16(jit_data.in16[i]);

		jit_data.out16[i] = v;
		sum += v;
	}
	return sum;
}

JIT_DRIVER(bswap)
