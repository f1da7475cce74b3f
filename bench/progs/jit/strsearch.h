/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Occurrences of a string in a text, tried at each position. */
JIT_TABLE __u8 strsearch_needle[] = JIT_NEEDLE;

JIT_KERNEL(strsearch)
{
	__u64 found = 0;

	JIT_LOOP
	for (__u32 i = 0; i < JIT_TEXT; i++) {
		__u32 k = 0;

		JIT_LOOP
		while (k < JIT_NEEDLE_LEN && jit_data.text[i + k] == strsearch_needle[k])
			k++;
		if (k == JIT_NEEDLE_LEN)
			found += 0x10000 + i;
	}
	return found;
}

JIT_DRIVER(strsearch)
