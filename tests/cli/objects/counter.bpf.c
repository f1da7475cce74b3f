// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* A program that does not do the same in every run. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

__u64 runs;

SEC("socket")
int counts(struct __sk_buff *skb)
{
	return ++runs;
}
