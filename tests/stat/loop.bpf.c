// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * A loop of LOOPS steps: compiled with 2000, 2020 and 2060 of them, what one costs more than another is
 * known. For that each step has to wait for the one before, and each run for the one before: runs that
 * do not depend on each other overlap in the processor, and 3 % more steps are then more than 3 % more
 * time. And runs have to be long: what drives them overlaps with them, and is subtracted all the same.
 *
 * With SUITE it is twenty such programs that differ in nothing.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "bench.bpf.h"

char LICENSE[] SEC("license") = "GPL";

__u64 state = 1;

static __always_inline int loop_of(__u64 *from)
{
	__u64 x = *from;

	for (__u32 i = 0; i < LOOPS; i++) {
		x = x * 1103515245 + i;
		bench_opaque(x);
	}
	*from = x;
	return 0;
}

#define PROGRAM(name)                                                                               \
	SEC("socket")                                                                               \
	int name(struct __sk_buff *skb)                                                             \
	{                                                                                           \
		return loop_of(&state);                                                             \
	}

#ifdef SUITE
PROGRAM(loop_01)
PROGRAM(loop_02)
PROGRAM(loop_03)
PROGRAM(loop_04)
PROGRAM(loop_05)
PROGRAM(loop_06)
PROGRAM(loop_07)
PROGRAM(loop_08)
PROGRAM(loop_09)
PROGRAM(loop_10)
PROGRAM(loop_11)
PROGRAM(loop_12)
PROGRAM(loop_13)
PROGRAM(loop_14)
PROGRAM(loop_15)
PROGRAM(loop_16)
PROGRAM(loop_17)
PROGRAM(loop_18)
PROGRAM(loop_19)
PROGRAM(loop_20)
#else
PROGRAM(loop)
#endif
