/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Copies: words, unaligned bytes, and half words with a stride. */
JIT_KERNEL(memcpy)
{
	JIT_LOOP
	for (__u32 i = 0; i < 256; i++)
		jit_data.out64[i] = jit_data.in64[i];
	JIT_LOOP
	for (__u32 i = 0; i < 509; i++)
		jit_data.out[2048 + i] = jit_data.in[2051 + i];
	JIT_LOOP
	for (__u32 i = 0; i < 256; i++)
		jit_data.out32[704 + i] = jit_data.in32[704 + i];
	return jit_data.out64[255] + jit_data.out[2556] + jit_data.out32[959];
}

JIT_DRIVER(memcpy)
