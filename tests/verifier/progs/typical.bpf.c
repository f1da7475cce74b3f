// SPDX-License-Identifier: BSD-2-Clause
/*
 * What people write: parsers, counters, histograms, string work, tables, in plain C. Built for every
 * -mcpu by the compilers at hand; all of it must be accepted.
 */
#include "../expect.h"
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_endian.h>

#define noinline __attribute__((noinline))
#define inline_always static __attribute__((always_inline)) inline

struct flow {
	__u32 src, dst;
	__u16 sport, dport;
	__u8 proto, pad[3];
};

struct stats {
	__u64 packets, bytes;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, struct flow);
	__type(value, struct stats);
	__uint(max_entries, 1024);
} flows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__type(key, __u32);
	__type(value, struct stats);
	__uint(max_entries, 256);
} protos SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, __u64);
	__uint(max_entries, 64);
} hist SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, char[16]);
	__type(value, __u64);
	__uint(max_entries, 64);
} by_comm SEC(".maps");

struct cursor {
	void *pos, *end;
};

inline_always int parse_eth(struct cursor *c, __u16 *proto)
{
	struct ethhdr *eth = c->pos;

	if ((void *)(eth + 1) > c->end)
		return -1;
	c->pos = eth + 1;
	*proto = eth->h_proto;
	for (int i = 0; i < 2; i++) {
		struct {
			__be16 tci, proto;
		} *vlan = c->pos;

		if (*proto != bpf_htons(ETH_P_8021Q))
			break;
		if ((void *)(vlan + 1) > c->end)
			return -1;
		*proto = vlan->proto;
		c->pos = vlan + 1;
	}
	return 0;
}

inline_always int parse_ip(struct cursor *c, struct flow *f)
{
	struct iphdr *ip = c->pos;
	int len;

	if ((void *)(ip + 1) > c->end)
		return -1;
	len = ip->ihl * 4;
	if (len < (int)sizeof(*ip))
		return -1;
	if (c->pos + len > c->end)
		return -1;
	f->src = ip->saddr;
	f->dst = ip->daddr;
	f->proto = ip->protocol;
	c->pos += len;
	return 0;
}

inline_always int parse_ports(struct cursor *c, struct flow *f)
{
	if (f->proto == IPPROTO_TCP) {
		struct tcphdr *tcp = c->pos;

		if ((void *)(tcp + 1) > c->end)
			return -1;
		f->sport = tcp->source;
		f->dport = tcp->dest;
	} else if (f->proto == IPPROTO_UDP) {
		struct udphdr *udp = c->pos;

		if ((void *)(udp + 1) > c->end)
			return -1;
		f->sport = udp->source;
		f->dport = udp->dest;
	}
	return 0;
}

inline_always void account(struct flow *f, __u64 bytes)
{
	__u32 proto = f->proto;
	struct stats *s = bpf_map_lookup_elem(&flows, f), *p;

	if (s) {
		__sync_fetch_and_add(&s->packets, 1);
		__sync_fetch_and_add(&s->bytes, bytes);
	} else {
		struct stats first = { 1, bytes };

		bpf_map_update_elem(&flows, f, &first, BPF_ANY);
	}
	p = bpf_map_lookup_elem(&protos, &proto);
	if (p) {
		p->packets++;
		p->bytes += bytes;
	}
}

SEC("xdp") __success __retval(2) int typical_xdp(struct xdp_md *ctx)
{
	struct cursor c = { (void *)(long)ctx->data, (void *)(long)ctx->data_end };
	struct flow f = {};
	__u16 proto;

	if (parse_eth(&c, &proto))
		return XDP_PASS;
	if (proto != bpf_htons(ETH_P_IP))
		return XDP_PASS;
	if (parse_ip(&c, &f) || parse_ports(&c, &f))
		return XDP_DROP;
	account(&f, ctx->data_end - ctx->data);
	return XDP_PASS;
}

SEC("tc") __success __retval(0) int typical_tc(struct __sk_buff *skb)
{
	struct cursor c = { (void *)(long)skb->data, (void *)(long)skb->data_end };
	struct flow f = {};
	__u16 proto;

	if (parse_eth(&c, &proto) || proto != bpf_htons(ETH_P_IP) || parse_ip(&c, &f))
		return TC_ACT_OK;
	if (parse_ports(&c, &f))
		return TC_ACT_SHOT;
	skb->mark = f.dport;
	account(&f, skb->len);
	return TC_ACT_OK;
}

inline_always __u16 fold(__u64 sum)
{
	for (int i = 0; i < 4; i++)
		if (sum >> 16)
			sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

SEC("xdp") __success __retval(1) int typical_swap_and_checksum(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = data;
	struct iphdr *ip = data + sizeof(*eth);
	__u8 mac[ETH_ALEN];

	if ((void *)(ip + 1) > end)
		return XDP_DROP;
	__builtin_memcpy(mac, eth->h_source, ETH_ALEN);
	__builtin_memcpy(eth->h_source, eth->h_dest, ETH_ALEN);
	__builtin_memcpy(eth->h_dest, mac, ETH_ALEN);
	ip->check = 0;
	ip->check = fold(bpf_csum_diff(NULL, 0, (__be32 *)ip, sizeof(*ip), 0));
	return ip->check ? XDP_DROP : XDP_PASS;
}

inline_always __u32 log2_of(__u64 v)
{
	__u32 r = 0;

	for (int shift = 32; shift; shift >>= 1)
		if (v >> shift) {
			v >>= shift;
			r += shift;
		}
	return r;
}

SEC("raw_tp") __success __retval(0) int typical_histogram(void *ctx)
{
	__u64 ns = bpf_ktime_get_ns() >> 3;
	__u32 slot = log2_of(ns);
	__u64 *cnt;

	if (slot >= 64)
		slot = 63;
	cnt = bpf_map_lookup_elem(&hist, &slot);
	if (cnt)
		__sync_fetch_and_add(cnt, 1);
	return 0;
}

SEC("raw_tp") __success __retval(0) int typical_by_comm(void *ctx)
{
	char comm[16] = {};
	__u64 *cnt, one = 1;

	bpf_get_current_comm(comm, sizeof(comm));
	cnt = bpf_map_lookup_elem(&by_comm, comm);
	if (cnt)
		(*cnt)++;
	else
		bpf_map_update_elem(&by_comm, comm, &one, BPF_NOEXIST);
	return 0;
}

inline_always int same(const char *a, const char *b, int n)
{
	for (int i = 0; i < n; i++) {
		if (a[i] != b[i])
			return 0;
		if (!a[i])
			return 1;
	}
	return 1;
}

SEC("raw_tp") __success int typical_string_compare(void *ctx)
{
	char comm[16];

	if (bpf_get_current_comm(comm, sizeof(comm)))
		return 0;
	return same(comm, "run_objects", 12);
}

static noinline __u32 hash_bytes(const __u8 *p, __u32 len)
{
	__u32 h = 2166136261u;

	for (__u32 i = 0; i < 64; i++) {
		if (i >= len)
			break;
		h = (h ^ p[i]) * 16777619;
	}
	return h;
}

__u8 buffer[64];
__u32 lengths[8] = { 1, 2, 3, 4, 5, 6, 7, 64 };

SEC("syscall") __success int typical_hash(void *ctx)
{
	__u32 h = 0;

	for (int i = 0; i < 8; i++)
		h ^= hash_bytes(buffer, lengths[i]);
	return h & 1;
}

struct matrix {
	__s32 v[4][4];
};

struct matrix ma, mb, mc;

SEC("syscall") __success __retval(0) int typical_matrix(void *ctx)
{
	for (int i = 0; i < 4; i++)
		for (int j = 0; j < 4; j++) {
			__s32 sum = 0;

			for (int k = 0; k < 4; k++)
				sum += ma.v[i][k] * mb.v[k][j];
			mc.v[i][j] = sum;
		}
	return 0;
}

__s32 numbers[32];

static noinline int find(__s32 want)
{
	__u32 lo = 0, hi = 32;

	for (int i = 0; i < 6 && lo < hi; i++) {
		__u32 mid = (lo + hi) / 2;

		if (mid >= 32)
			return -1;
		if (numbers[mid] == want)
			return mid;
		if (numbers[mid] < want)
			lo = mid + 1;
		else
			hi = mid;
	}
	return -1;
}

SEC("syscall") __success int typical_binary_search(void *ctx)
{
	return find(5) < 0 ? 0 : 1;
}

enum op { OP_ADD, OP_SUB, OP_MUL, OP_AND, OP_OR, OP_XOR, OP_SHL, OP_SHR, OP_MAX };

__u8 code[128];

SEC("syscall") __success __retval(0) int typical_little_machine(void *ctx)
{
	__u64 acc = 0;

	for (int pc = 0; pc < 60; pc++) {
		__u8 op = code[pc * 2], arg = code[pc * 2 + 1];

		switch (op) {
		case OP_ADD:
			acc += arg;
			break;
		case OP_SUB:
			acc -= arg;
			break;
		case OP_MUL:
			acc *= arg;
			break;
		case OP_AND:
			acc &= arg;
			break;
		case OP_OR:
			acc |= arg;
			break;
		case OP_XOR:
			acc ^= arg;
			break;
		case OP_SHL:
			acc <<= arg & 63;
			break;
		case OP_SHR:
			acc >>= arg & 63;
			break;
		default:
			return 1;
		}
	}
	return (int)acc;
}

SEC("syscall") __success __retval(2) int typical_signed_math(void *ctx)
{
	__s64 a = (__s64)bpf_get_prandom_u32() - 1000, b = (__s32)bpf_get_prandom_u32() | 1;
	__s32 c = (__s32)a;
	__s16 d = (__s16)c;
	__s8 e = (__s8)d;
	__u32 q = (__u32)c / 7, r = (__u32)c % 7;

	if (q * 7 + r != (__u32)c)
		return 1;
	return (a ^ b ^ d ^ e) == 123456789012345 ? 3 : 2;
}

struct event {
	__u64 ts;
	__u32 pid, tgid;
	char comm[16];
	__u8 data[40];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__type(key, __u32);
	__type(value, struct event);
	__uint(max_entries, 1);
} scratch SEC(".maps");

SEC("raw_tp") __success __retval(0) int typical_scratch(void *ctx)
{
	__u32 zero = 0;
	__u64 id = bpf_get_current_pid_tgid();
	struct event *e = bpf_map_lookup_elem(&scratch, &zero);
	long n;

	if (!e)
		return 0;
	e->ts = bpf_ktime_get_ns();
	e->pid = (__u32)id;
	e->tgid = id >> 32;
	bpf_get_current_comm(e->comm, sizeof(e->comm));
	n = bpf_probe_read_kernel_str(e->data, sizeof(e->data), e->comm);
	if (n > 0 && n < (long)sizeof(e->data))
		e->data[n] = '!';
	return 0;
}

SEC("xdp") __success __retval(2) int typical_ipv6_extensions(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct ipv6hdr *ip6 = data + sizeof(struct ethhdr);
	void *pos = ip6 + 1;
	__u8 next;

	if (pos > end)
		return XDP_DROP;
	next = ip6->nexthdr;
	for (int i = 0; i < 6; i++) {
		struct {
			__u8 next, len;
		} *opt = pos;

		if (next != IPPROTO_HOPOPTS && next != IPPROTO_ROUTING && next != IPPROTO_DSTOPTS)
			break;
		if ((void *)(opt + 1) > end)
			return XDP_DROP;
		next = opt->next;
		pos += (opt->len + 1) * 8;
	}
	return XDP_PASS;
}
