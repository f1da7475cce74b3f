/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The sieve of Eratosthenes over odd numbers: bytes stored with a stride. */
JIT_KERNEL(sieve)
{
	__u32 primes = 1; /* 2 */

	JIT_LOOP
	for (__u32 i = 0; i < JIT_SIEVE; i++)
		jit_data.out[i] = i & 1;
	JIT_LOOP
	for (__u32 i = 3; i * i < JIT_SIEVE; i += 2) {
		if (!jit_data.out[i])
			continue;
		JIT_LOOP
		for (__u32 k = i * i; k < JIT_SIEVE; k += 2 * i)
			jit_data.out[k] = 0;
	}
	JIT_LOOP
	for (__u32 i = 3; i < JIT_SIEVE; i++)
		primes += jit_data.out[i];
	return primes;
}

JIT_DRIVER(sieve)
