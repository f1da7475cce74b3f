/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The FNV-1a hash: a byte, an exclusive or and a multiplication a time. */
JIT_KERNEL(fnv)
{
	__u64 hash = 0xcbf29ce484222325ull;

	JIT_LOOP
	for (__u32 i = 0; i < JIT_FNV_BYTES; i++)
		hash = (hash ^ jit_data.in[i]) * 0x100000001b3ull;
	return hash;
}

JIT_DRIVER(fnv)
