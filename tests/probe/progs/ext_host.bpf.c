// SPDX-License-Identifier: BSD-2-Clause
/* Programs whose functions others replace and trace (ext.c). */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "../ext.h"

char LICENSE[] SEC("license") = "GPL";

int raw_hits;

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, __u32);
} jumps SEC(".maps");

/* Each takes its arguments from wherever the caller put them, and the compiler knows nothing of it. */
__attribute__((noinline)) int plus_one(struct __sk_buff *skb, int x)
{
	asm volatile("" : "+r"(x) : "r"(skb));
	return x + 1;
}

static __attribute__((noinline)) int static_two(int x)
{
	asm volatile("" : "+r"(x));
	return x + 2;
}

/* Its type has a pointer that nobody checks, so that programs on it are told five words. */
static __attribute__((noinline)) int static_mem(struct ext_pair *p, int x)
{
	asm volatile("" : "+r"(x) : "r"(p));
	return p->a + x;
}

__attribute__((noinline)) int first_of(struct ext_pair *p)
{
	if (!p)
		return 3;
	asm volatile("" ::"r"(p));
	return p->a;
}

/* No instruction of it reads what it is passed: what takes its place does. */
__attribute__((noinline)) int deaf(int a, int b, int c, int d, int e)
{
	int ret = 0;

	asm volatile("" : "+r"(ret) : "r"(a), "r"(b), "r"(c), "r"(d), "r"(e));
	return ret;
}

/* Leaves its mark in a frame of its own, a large one. */
__attribute__((noinline)) int deep(int x)
{
	volatile char room[200];

	for (int i = 0; i < (int)sizeof(room); i++)
		room[i] = (char)x;
	return room[100];
}

SEC("tc") int host(struct __sk_buff *skb)
{
	struct ext_pair p = { 7, 8 };

	return plus_one(skb, 5) * 1000 + static_two(skb->len) + first_of(&p) * 100000 +
	       static_mem(&p, 0) - 7;
}

SEC("tc") int second(struct __sk_buff *skb)
{
	return plus_one(skb, 6) * 1000;
}

SEC("tc") int five(struct __sk_buff *skb)
{
	int len = skb->len, kept = len * 3;

	return deaf(len, 2, len + 3, 4, len * 5) + kept;
}

static long in_turn(__u32 i, void *arg)
{
	int *sum = arg;

	*sum += deep((int)i & 31);
	return 0;
}

SEC("tc") int looping(struct __sk_buff *skb)
{
	int sum = 0;

	bpf_loop(10 + (skb->len > 1000), in_turn, &sum, 0);
	return sum + deep(3);
}

/* A tail call may come of it, so what replaces it may make one. */
__attribute__((noinline)) int jump(struct __sk_buff *skb)
{
	int ret = 1;

	bpf_tail_call(skb, &jumps, 1);
	asm volatile("" : "+r"(ret));
	return ret;
}

SEC("tc") int jumping(struct __sk_buff *skb)
{
	int ret = jump(skb);

	return ret * 10 + jump(skb);
}

SEC("tc") int landing(struct __sk_buff *skb)
{
	return 4;
}

SEC("tc") int member(struct __sk_buff *skb)
{
	bpf_tail_call(skb, &jumps, 0);
	return plus_one(skb, 1);
}

__attribute__((noinline)) int verdict(struct __sk_buff *skb, int x)
{
	asm volatile("" : "+r"(x) : "r"(skb));
	return x & 1;
}

SEC("cgroup_skb/ingress") int cgroup(struct __sk_buff *skb)
{
	return verdict(skb, 5) & 1;
}

SEC("xdp") int xhost(struct xdp_md *ctx)
{
	return XDP_PASS;
}

__attribute__((noinline)) int raw_count(int x)
{
	asm volatile("" : "+r"(x));
	raw_hits += x;
	return 0;
}

SEC("raw_tp/bpf_test_finish") int raw_host(struct bpf_raw_tracepoint_args *ctx)
{
	return raw_count(1);
}
