/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Records of a packed format, whose little-endian fields lie at odd addresses: BPF has no unaligned
 * access, so that clang loads them byte by byte.
 */
struct tlv_record {
	__u8 type;
	__u32 length;
	__u16 flags;
	__u64 value;
} __attribute__((packed));

JIT_KERNEL(tlv)
{
	const struct tlv_record *records = (const void *)&jit_data.in[1];
	__u64 sum = 0;

	JIT_LOOP
	for (__u32 i = 0; i < JIT_TLV_RECORDS; i++) {
		const struct tlv_record *record = &records[i];

		sum += record->value ^ record->length;
		if (record->flags & 1)
			sum += record->type;
		sum = sum << 1 | sum >> 63;
	}
	return sum;
}

JIT_DRIVER(tlv)
