/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * What the programs of the suite jit-* work on, seen by the programs and by the bench that checks
 * them. A kernel reads the inputs, may write @out, and returns a
 * number that depends on what it read.
 */
#ifndef BPFLAB_JIT_DATA_H
#define BPFLAB_JIT_DATA_H

#define JIT_ALIGNED __attribute__((aligned(64)))

/* Sizes that kernels and their expectations agree on. */
#define JIT_BYTES 4096
#define JIT_TEXT 1024
#define JIT_PACKET 128 /* bytes a packet has, beginning 2 bytes in so that IP is aligned */
#define JIT_PACKETS 32
#define JIT_FNV_BYTES 1024
#define JIT_SIP_BYTES 2048
#define JIT_CRC_BYTES 1024
#define JIT_CSUM_BYTES 1500
#define JIT_SIEVE 2048
#define JIT_SORT 40
#define JIT_SWITCH_STEPS 512
#define JIT_DIVISIONS 256
#define JIT_FSM_BYTES 512
#define JIT_CALLS 256
#define JIT_MAP_SLOTS 256
#define JIT_MAP_STEPS 1024
#define JIT_TLV_RECORDS 64
#define JIT_NEEDLE "needle"
#define JIT_NEEDLE_LEN 6

struct jit_data {
	union { /* random */
		__u8 in[JIT_BYTES];
		__u16 in16[JIT_BYTES / 2];
		__u32 in32[JIT_BYTES / 4];
		__u64 in64[JIT_BYTES / 8];
	};
	union {
		__u8 out[JIT_BYTES];
		__u16 out16[JIT_BYTES / 2];
		__u32 out32[JIT_BYTES / 4];
		__u64 out64[JIT_BYTES / 8];
	};
	__u8 packets[JIT_PACKETS * JIT_PACKET];
	__u8 text[JIT_TEXT + 8]; /* words; some are JIT_NEEDLE */
	__u64 runs;              /* of kernels, counted by their drivers, */
	__u64 sum;               /* … and the sum of what they returned */
};

#endif
