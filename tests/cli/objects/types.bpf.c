// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* A program of each type that bpflab can measure, each with a return value of its own, and one more. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

SEC("raw_tp")
int my_raw_tp(void *ctx)
{
	return 11;
}

SEC("socket")
int my_socket(struct __sk_buff *skb)
{
	return 12;
}

SEC("syscall")
int my_syscall(void *ctx)
{
	return 13;
}

SEC("tc")
int my_tc(struct __sk_buff *skb)
{
	return skb->len == 64 ? 14 : 0;
}

SEC("xdp")
int my_xdp(struct xdp_md *ctx)
{
	return XDP_PASS;
}

SEC("kprobe/do_nothing")
int my_kprobe(void *ctx)
{
	return 0;
}
