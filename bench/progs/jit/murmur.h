/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* MurmurHash64A: 64-bit words, multiplications and shifts. */
JIT_KERNEL(murmur)
{
	const __u64 m = 0xc6a4a7935bd1e995ull;
	__u64 hash = 0x1234 ^ JIT_BYTES * m;

	JIT_LOOP
	for (__u32 i = 0; i < JIT_BYTES / 8; i++) {
		__u64 k = jit_data.in64[i] * m;

		k ^= k >> 47;
		hash = (hash ^ k * m) * m;
	}
	hash ^= hash >> 47;
	hash *= m;
	return hash ^ hash >> 47;
}

JIT_DRIVER(murmur)
