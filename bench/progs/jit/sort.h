/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Exchange sort on the stack. Of half words, which verifiers do not track: they would walk each order
 * of words apart.
 */
JIT_KERNEL(sort)
{
	__u16 words[JIT_SORT];
	__u64 hash = 0;

	JIT_LOOP
	for (__u32 i = 0; i < JIT_SORT; i++)
		words[i] = jit_data.in16[i];
	JIT_LOOP
	for (__u32 i = 1; i < JIT_SORT; i++) {
		JIT_LOOP
		for (__u32 k = 0; k < JIT_SORT - i; k++) {
			__u16 low = words[k], high = words[k + 1];

			if (low <= high)
				continue;
			bench_opaque(low); /* a branch, not two choices */
			words[k] = high;
			words[k + 1] = low;
		}
	}
	JIT_LOOP
	for (__u32 i = 0; i < JIT_SORT; i++)
		hash = hash * 31 + words[i];
	return hash;
}

JIT_DRIVER(sort)
