/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Divisions: by constants of several kinds and by variables, in 32 and 64 bits. */
JIT_KERNEL(divmod)
{
	__u64 sum = 0;

	JIT_LOOP
	for (__u32 i = 0; i < JIT_DIVISIONS; i++) {
		__u64 x = jit_data.in64[i];
		__u32 y = jit_data.in32[i];
		__u32 by = y >> 20 | 1;

		sum += x / 10 + x % 1000;
		sum ^= y / 7 + y % 60;
		sum += (y >> 1) / by;
		sum ^= (x >> 3) % by;
	}
	return sum;
}

JIT_DRIVER(divmod)
