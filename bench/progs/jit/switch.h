/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Dispatch of the bytecode of a small machine. Native code has a table of jumps for it. */
JIT_KERNEL(switch)
{
	__u64 acc = 1, other = 0x5555;

	JIT_LOOP
	for (__u32 i = 0; i < JIT_SWITCH_STEPS; i++) {
		__u32 op = jit_data.in[i];

		switch (op & 15) {
		case 0:
			acc += other;
			break;
		case 1:
			acc ^= other << 3;
			break;
		case 2:
			acc -= op;
			break;
		case 3:
			other += acc >> 5;
			break;
		case 4:
			acc *= 9;
			break;
		case 5:
			other ^= acc;
			break;
		case 6:
			acc = ~acc;
			break;
		case 7:
			acc = JIT_ROTL(64, acc, 7);
			break;
		case 8:
			other -= 77;
			break;
		case 9:
			acc |= 1;
			break;
		case 10:
			other = acc + op;
			break;
		case 11:
			acc &= ~0xffull;
			break;
		case 12:
			acc += acc >> 11;
			break;
		case 13:
			other <<= 1;
			break;
		case 14:
			acc ^= 0x1234567;
			break;
		case 15:
			other = JIT_ROTL(64, other, 23);
			break;
		}
	}
	return acc ^ other;
}

JIT_DRIVER(switch)
