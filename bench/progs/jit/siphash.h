/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* SipHash-2-4 with key 0: additions, rotations and exclusive ors of four registers. */
#define SIP_ROUND                                                                                  \
	do {                                                                                       \
		a += b;                                                                            \
		c += d;                                                                            \
		b = JIT_ROTL(64, b, 13) ^ a;                                                       \
		d = JIT_ROTL(64, d, 16) ^ c;                                                       \
		a = JIT_ROTL(64, a, 32);                                                           \
		c += b;                                                                            \
		a += d;                                                                            \
		b = JIT_ROTL(64, b, 17) ^ c;                                                       \
		d = JIT_ROTL(64, d, 21) ^ a;                                                       \
		c = JIT_ROTL(64, c, 32);                                                           \
	} while (0)

JIT_KERNEL(siphash)
{
	__u64 a = 0x736f6d6570736575ull, b = 0x646f72616e646f6dull;
	__u64 c = 0x6c7967656e657261ull, d = 0x7465646279746573ull;
	__u64 last = (__u64)JIT_SIP_BYTES << 56;

	JIT_LOOP
	for (__u32 i = 0; i < JIT_SIP_BYTES / 8; i++) {
		__u64 m = jit_data.in64[i];

		d ^= m;
		SIP_ROUND;
		SIP_ROUND;
		a ^= m;
	}
	d ^= last;
	SIP_ROUND;
	SIP_ROUND;
	a ^= last;
	c ^= 0xff;
	SIP_ROUND;
	SIP_ROUND;
	SIP_ROUND;
	SIP_ROUND;
	return a ^ b ^ c ^ d;
}

JIT_DRIVER(siphash)
