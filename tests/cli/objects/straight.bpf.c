// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Programs without a branch: each of their instructions is executed once a run. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

#define MIX(x) asm volatile("%0 *= 3\n\t%0 ^= 0x55" : "+r"(x))

SEC("socket")
int shorter(struct __sk_buff *skb)
{
	__u64 x = skb->len;

	MIX(x);
	return x;
}

SEC("socket")
int longer(struct __sk_buff *skb)
{
	__u64 x = skb->len;

	MIX(x);
	MIX(x);
	MIX(x);
	return x;
}
