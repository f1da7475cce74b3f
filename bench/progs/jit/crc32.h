/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* CRC-32 with a table of 16 entries: dependent loads from read-only data. */
JIT_TABLE __u32 crc32_nibbles[16] = {
	0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
	0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
	0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
};

JIT_KERNEL(crc32)
{
	__u32 crc = ~0u;

	JIT_LOOP
	for (__u32 i = 0; i < JIT_CRC_BYTES; i++) {
		crc ^= jit_data.in[i];
		crc = crc >> 4 ^ crc32_nibbles[crc & 15];
		crc = crc >> 4 ^ crc32_nibbles[crc & 15];
	}
	return ~crc;
}

JIT_DRIVER(crc32)
