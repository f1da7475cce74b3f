// SPDX-License-Identifier: BSD-2-Clause
/* What an ordinary BPF application uses: global data, maps, tail calls, loops, packets. */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

/* ---- global data ---- */

const volatile __u32 factor = 1; /* .rodata, set by the loader before the load */
__u32 initial = 7;		 /* .data */
__u64 sum;			 /* .bss */
static volatile __u8 bytes[16];	 /* .bss, of this file */

SEC("raw_tp")
int globals(struct bpf_raw_tracepoint_args *ctx)
{
	sum += ctx->args[0] * factor;
	initial++;
	bytes[ctx->args[0] & 15] = initial;
	return initial + bytes[ctx->args[0] & 15];
}

/* ---- maps ---- */

struct pair {
	__u64 a;
	__u32 b;
	__u32 c;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, __u32);
	__type(value, struct pair);
} hash SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 8);
	__type(key, __u32);
	__type(value, __u64);
} array SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} percpu_array SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 16);
	__type(key, __u32);
	__type(value, __u64);
} percpu_hash SEC(".maps");

SEC("raw_tp")
int maps(struct bpf_raw_tracepoint_args *ctx)
{
	__u32 key = ctx->args[0], idx = key & 7;
	struct pair fresh = { .a = key, .b = 1, .c = 0xabcd }, *found;
	__u64 *slot;

	found = bpf_map_lookup_elem(&hash, &key);
	if (found)
		found->b++;
	else if (bpf_map_update_elem(&hash, &key, &fresh, BPF_NOEXIST))
		return -1;
	slot = bpf_map_lookup_elem(&array, &idx);
	if (!slot)
		return -2;
	*slot += key;
	if (key == 13)
		return bpf_map_delete_elem(&hash, &key);
	return found ? found->b : 1;
}

/* Everything that several CPUs may count in. */
__u64 atomic_count;

SEC("raw_tp")
int count(struct bpf_raw_tracepoint_args *ctx)
{
	__u32 key = 0;
	__u64 one = 1, *value;

	__sync_fetch_and_add(&atomic_count, 1);
	value = bpf_map_lookup_elem(&percpu_array, &key);
	if (!value)
		return -1;
	(*value)++;
	key = ctx->args[0] & 7;
	value = bpf_map_lookup_elem(&percpu_hash, &key);
	if (value)
		(*value)++;
	else if (bpf_map_update_elem(&percpu_hash, &key, &one, BPF_NOEXIST)) {
		/* Another CPU made it: now it is there. */
		value = bpf_map_lookup_elem(&percpu_hash, &key);
		if (!value)
			return -2;
		(*value)++;
	}
	return 0;
}

/* ---- tail calls ---- */

int tail_target(struct bpf_raw_tracepoint_args *ctx);
int tail_again(struct bpf_raw_tracepoint_args *ctx);

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 4);
	__uint(key_size, 4);
	__array(values, int(void *));
} progs SEC(".maps") = {
	.values = { [0] = (void *)&tail_target, [1] = (void *)&tail_again },
};

__u32 tail_depth;

SEC("raw_tp")
int tail_entry(struct bpf_raw_tracepoint_args *ctx)
{
	tail_depth = 0;
	bpf_tail_call(ctx, &progs, (__u32)ctx->args[0]);
	return 1000; /* no such program */
}

SEC("raw_tp")
int tail_target(struct bpf_raw_tracepoint_args *ctx)
{
	tail_depth++;
	return 42 + (int)ctx->args[1];
}

SEC("raw_tp")
int tail_again(struct bpf_raw_tracepoint_args *ctx)
{
	tail_depth++;
	bpf_tail_call(ctx, &progs, 1);
	return 2000; /* the limit */
}

/* ---- functions and loops ---- */

static __noinline __u64 square(__u64 x)
{
	return x * x;
}

__noinline int twice(int x) /* global: verified on its own */
{
	return x * 2;
}

struct loop_ctx {
	__u64 total;
	__u32 stop_at;
};

static long add_square(__u32 i, void *data)
{
	struct loop_ctx *ctx = data;

	if (i == ctx->stop_at)
		return 1;
	ctx->total += square(i);
	return 0;
}

__u64 loop_total;

SEC("raw_tp")
int loops(struct bpf_raw_tracepoint_args *ctx)
{
	struct loop_ctx data = { .stop_at = ctx->args[1] };
	long done = bpf_loop(ctx->args[0], add_square, &data, 0);

	loop_total = data.total;
	for (int i = 0; i < 10; i++)
		loop_total += twice(i);
	return done;
}

static long visit(void *map, __u32 *key, __u64 *value, __u64 *total)
{
	*total += *value;
	return 0;
}

SEC("raw_tp")
int for_each(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 total = 0;
	long visited = bpf_for_each_map_elem(&array, visit, &total, 0);

	sum = total;
	return visited;
}

/* ---- packets ---- */

__u64 packet_bytes;

SEC("xdp")
int xdp_swap(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = data;
	__u8 mac[ETH_ALEN];

	if (data + sizeof(*eth) > end)
		return XDP_DROP;
	packet_bytes += end - data;
	if (eth->h_proto != bpf_htons(ETH_P_IP))
		return XDP_PASS;
	__builtin_memcpy(mac, eth->h_source, ETH_ALEN);
	__builtin_memcpy(eth->h_source, eth->h_dest, ETH_ALEN);
	__builtin_memcpy(eth->h_dest, mac, ETH_ALEN);
	return XDP_TX;
}

SEC("tc")
int tc_mark(struct __sk_buff *skb)
{
	__u8 proto;

	if (skb->len < 40 || bpf_skb_load_bytes(skb, 23, &proto, 1))
		return TC_ACT_SHOT;
	skb->mark = proto;
	proto ^= 0xff;
	if (bpf_skb_store_bytes(skb, 23, &proto, 1, 0))
		return TC_ACT_SHOT;
	packet_bytes = skb->len;
	return TC_ACT_OK;
}

/* ---- arithmetic that newer instruction sets have instructions for ---- */

struct arith {
	__s64 a64, b64;
	__s32 a32, b32;
	__u64 out[8];
} arith;

SEC("raw_tp")
int compute(void *ctx)
{
	struct arith *v = &arith;

	v->out[0] = __builtin_bswap64(v->a64);
	v->out[1] = __builtin_bswap32(v->a32);
	v->out[2] = __builtin_bswap16(v->a32);
	v->out[3] = (__s8)v->a64 + (__s16)v->b32;
	v->out[4] = (__s64)v->a32 * (__s32)v->b64;
#if defined(__BPF_CPU_VERSION__) && __BPF_CPU_VERSION__ >= 4
	v->out[5] = v->a64 / v->b64;
	v->out[6] = (__u32)(v->a32 % v->b32);
	v->out[7] = 4;
#else
	v->out[7] = 3;
#endif
	return 0;
}
