// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * A loop of LOOPS steps: compiled with 2000, 2020 and 2060 of them, what one costs more than another is
 * known. For that each step has to wait for the one before, and each run for the one before: runs that
 * do not depend on each other overlap in the processor, and 3 % more steps are then more than 3 % more
 * time. And runs have to be long: what drives them overlaps with them, and is subtracted all the same.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "bench.bpf.h"

char LICENSE[] SEC("license") = "GPL";

__u64 state = 1;

SEC("socket")
int loop(struct __sk_buff *skb)
{
	__u64 x = state;

	for (__u32 i = 0; i < LOOPS; i++) {
		x = x * 1103515245 + i;
		bench_opaque(x);
	}
	state = x;
	return 0;
}
