// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Programs for functions of other programs, which nothing loads here. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

SEC("?freplace/f")
int replaces(struct __sk_buff *skb)
{
	return 7;
}

SEC("?fentry")
int traces(void *ctx)
{
	return 0;
}
