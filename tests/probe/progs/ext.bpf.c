// SPDX-License-Identifier: BSD-2-Clause
/* Programs on functions of those of ext_host.bpf.c. ext.c says which is loaded for which. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "../ext.h"

char LICENSE[] SEC("license") = "GPL";

struct ext_seen entry, leave;
int hits, steps;
__u64 far;

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, __u32);
} targets SEC(".maps");

/* ---- in place of functions ---- */

SEC("?freplace") int plus_ten(struct __sk_buff *skb, int x)
{
	hits++;
	return x + 10;
}

SEC("?freplace") int plus_twenty(struct __sk_buff *skb, int x)
{
	return x + 20;
}

SEC("?freplace") long plus_long(struct __sk_buff *skb, int x)
{
	return x + 10;
}

SEC("?freplace") int second_of(struct ext_pair *p)
{
	return p ? p->b : 0;
}

SEC("?freplace") int length(struct __sk_buff *skb)
{
	return skb->len;
}

SEC("?freplace") int all_five(int a, int b, int c, int d, int e)
{
	return a * 10000 + b * 1000 + c * 100 + d * 10 + e;
}

SEC("?freplace") int deeper(int x)
{
	volatile char room[300];

	for (int i = 0; i < (int)sizeof(room); i++)
		room[i] = (char)(x + 1);
	hits++;
	return room[200];
}

SEC("?freplace") int jump_on(struct __sk_buff *skb)
{
	steps++;
	bpf_tail_call(skb, &targets, 0);
	return 2;
}

SEC("?freplace") int seven(struct __sk_buff *skb, int x)
{
	return 7;
}

SEC("?freplace") int move_head(struct xdp_md *ctx)
{
	return bpf_xdp_adjust_head(ctx, 4);
}

SEC("?freplace") int beyond_ctx(struct xdp_md *ctx)
{
	return *(int *)((char *)ctx + 400);
}

SEC("?freplace") int pass_more(struct xdp_md *ctx)
{
	return 7000;
}

SEC("?freplace") int count_raw(int x)
{
	hits += x;
	return 0;
}

SEC("?freplace") int raw_far(struct bpf_raw_tracepoint_args *ctx)
{
	hits += ctx->args[0] != 0;
	return 0;
}

SEC("?freplace") int some_raw(int x)
{
	return x;
}

SEC("?freplace") int too_few(struct __sk_buff *skb)
{
	return 1;
}

SEC("?freplace") void no_result(struct __sk_buff *skb, int x)
{
	hits++;
}

SEC("?freplace") int wide(struct __sk_buff *skb, long x)
{
	return 1;
}

SEC("?freplace") int other_ctx(struct xdp_md *ctx, int x)
{
	return 1;
}

SEC("?freplace") int no_pointer(int skb, int x)
{
	return 1;
}

SEC("?freplace") int number(int x)
{
	return x;
}

/* ---- around them ---- */

static __always_inline void note(struct ext_seen *s, __u64 *ctx)
{
	s->hits++;
	s->arg_cnt = bpf_get_func_arg_cnt(ctx);
	s->ip = bpf_get_func_ip(ctx);
	s->cookie = bpf_get_attach_cookie(ctx);
	for (int i = 0; i < 5; i++) {
		s->args[i] = 0;
		bpf_get_func_arg(ctx, i, &s->args[i]);
	}
}

SEC("?fentry") int on_entry(__u64 *ctx)
{
	note(&entry, ctx);
	return 0;
}

SEC("?fexit") int on_exit(__u64 *ctx)
{
	note(&leave, ctx);
	bpf_get_func_ret(ctx, &leave.ret);
	return 0;
}

__u64 total;

SEC("?fentry") int count_all(__u64 *ctx)
{
	__sync_fetch_and_add(&total, 1);
	return 0;
}

SEC("?fentry") int read_second(__u64 *ctx)
{
	far = ctx[1];
	return 0;
}

SEC("?fexit") int read_far(__u64 *ctx)
{
	far = ctx[3];
	return 0;
}

SEC("?fexit") int read_far_away(__u64 *ctx)
{
	far = ctx[5];
	return 0;
}

SEC("?fentry") int read_first(__u64 *ctx)
{
	far = ctx[0];
	return 0;
}

SEC("?fmod_ret") int modify(__u64 *ctx)
{
	return 0;
}

SEC("?fentry") int nested(__u64 *ctx)
{
	hits++;
	return 0;
}

SEC("?freplace") int replace_tracer(__u64 *ctx)
{
	return 0;
}
