// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * A loop of LOOPS steps that each wait for the one before: compiled with 100, 101 and 103 of them, what
 * one costs more than another is known.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "bench.bpf.h"

char LICENSE[] SEC("license") = "GPL";

SEC("socket")
int loop(struct __sk_buff *skb)
{
	__u64 x = skb->len;

	for (__u32 i = 0; i < LOOPS; i++) {
		x = x * 3 + i;
		bench_opaque(x);
	}
	return x & 1;
}
