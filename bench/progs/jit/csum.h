/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The Internet checksum, by 16-bit words. */
JIT_KERNEL(csum)
{
	__u64 sum = 0;

	JIT_LOOP
	for (__u32 i = 0; i < JIT_CSUM_BYTES / 2; i++)
		sum += jit_data.in16[i];
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (__u16)~sum;
}

JIT_DRIVER(csum)
