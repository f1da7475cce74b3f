// SPDX-License-Identifier: BSD-2-Clause
/*
 * BPF_PROG_TEST_RUN of the skb types. The packet is an Ethernet frame that came in on the loopback
 * interface (or on ctx.ifindex). tc programs see all of it; socket filters and cgroup programs see
 * it from the network header on, and get a zeroed Ethernet header back.
 */
#include "prog_type/skb_run.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "helper/net.h"
#include "obj/prog.h"
#include "prog_type/families.h"
#include "prog_type/test_run.h"
#include "util/uaccess.h"

#define HEADROOM 64               /* NET_SKB_PAD */
#define LO_IFINDEX 1
#define GSO_MAX_LEN 65536u        /* GSO_LEGACY_MAX_SIZE */
#define GSO_MAX_SEGS 65535u
#define ETH_P_802_3_MIN_LEN 0x600 /* smaller type fields are lengths */

static bool is_tc(const struct bpfu_prog *prog)
{
	return prog->type == BPF_PROG_TYPE_SCHED_CLS || prog->type == BPF_PROG_TYPE_SCHED_ACT;
}

static bool is_zero(const struct __sk_buff *ctx, size_t from, size_t to)
{
	const uint8_t *bytes = (const uint8_t *)ctx;

	for (size_t i = from; i < to; i++)
		if (bytes[i])
			return false;
	return true;
}

#define START(m) offsetof(struct __sk_buff, m)
#define END(m) BPFU_FIELD_END(struct __sk_buff, m)

/* Only some fields may be given: mark, priority … ifindex, cb, tstamp … gso_segs, gso_size, hwtstamp. */
static int check_ctx(const struct __sk_buff *ctx, uint32_t len)
{
	if (!is_zero(ctx, 0, START(mark)) || !is_zero(ctx, END(mark), START(priority)) ||
	    !is_zero(ctx, END(ifindex), START(cb)) || !is_zero(ctx, END(cb), START(tstamp)) ||
	    !is_zero(ctx, END(gso_segs), START(gso_size)) ||
	    !is_zero(ctx, END(gso_size), START(hwtstamp)) ||
	    !is_zero(ctx, END(hwtstamp), sizeof(*ctx)))
		return -EINVAL;
	if (ctx->wire_len && (ctx->wire_len < len || ctx->wire_len > GSO_MAX_LEN))
		return -EINVAL;
	if (ctx->gso_segs > GSO_MAX_SEGS)
		return -EINVAL;
	return 0;
}

/* Type of the frame, and how its address relates to loopback's own and broadcast: all zero. */
static void classify(struct bpfu_skb *skb)
{
	const struct ethhdr *eth = (const struct ethhdr *)skb->mac;
	static const uint8_t zero[ETH_ALEN];

	skb->md.pkt_type = !memcmp(eth->h_dest, zero, ETH_ALEN) ? PACKET_HOST :
			   eth->h_dest[0] & 1			? PACKET_MULTICAST :
								  PACKET_OTHERHOST;
	if (ntohs(eth->h_proto) >= ETH_P_802_3_MIN_LEN)
		skb->md.protocol = eth->h_proto;
	else if (skb->data_end - skb->network >= 2 && skb->network[0] == 0xff &&
		 skb->network[1] == 0xff)
		skb->md.protocol = htons(ETH_P_802_3);
	else
		skb->md.protocol = htons(ETH_P_802_2);
}

/*
 * The socket that cgroup programs see: addresses as in the packet, no ports. -EINVAL if the packet is
 * shorter than the header it announces.
 */
static int set_socket_fields(struct bpfu_skb *skb)
{
	size_t len = (size_t)(skb->data_end - skb->network);
	const uint8_t *ip = skb->network; /* not aligned */

	if (skb->md.protocol == htons(ETH_P_IP)) {
		if (len < sizeof(struct iphdr))
			return -EINVAL;
		skb->md.family = AF_INET;
		memcpy(&skb->md.local_ip4, ip + offsetof(struct iphdr, saddr), 4);
		memcpy(&skb->md.remote_ip4, ip + offsetof(struct iphdr, daddr), 4);
	} else if (skb->md.protocol == htons(ETH_P_IPV6)) {
		if (len < sizeof(struct ip6_hdr))
			return -EINVAL;
		skb->md.family = AF_INET6;
		memcpy(skb->md.local_ip6, ip + offsetof(struct ip6_hdr, ip6_src), 16);
		memcpy(skb->md.remote_ip6, ip + offsetof(struct ip6_hdr, ip6_dst), 16);
	}
	return 0;
}

static int packet_in(struct bpfu_skb *skb, const union bpf_attr *attr)
{
	uint32_t size = attr->test.data_size_in;

	if (size < BPFU_ETH_HLEN || size > BPFU_PAGE_SIZE - HEADROOM - BPFU_SHARED_INFO_SIZE)
		return -EINVAL;
	skb->head = malloc(BPFU_SKB_BUF_SIZE);
	if (!skb->head)
		return -ENOMEM;
	skb->mac = skb->head + BPFU_SKB_MAX_LEN;
	skb->network = skb->mac + BPFU_ETH_HLEN;
	skb->data_end = skb->mac + size;
	return bpfu_copy_from_user(skb->mac, attr->test.data_in, size);
}

static void apply_ctx(struct bpfu_skb *skb, const struct __sk_buff *ctx)
{
	skb->md.mark = ctx->mark;
	skb->md.priority = ctx->priority;
	skb->md.ingress_ifindex = ctx->ingress_ifindex;
	skb->md.ifindex = ctx->ifindex > LO_IFINDEX ? ctx->ifindex : LO_IFINDEX;
	memcpy(skb->md.cb, ctx->cb, sizeof(ctx->cb));
	skb->md.tstamp = ctx->tstamp;
	skb->md.wire_len = ctx->wire_len ? ctx->wire_len : skb->md.len;
	skb->md.gso_segs = ctx->gso_segs;
	skb->md.gso_size = ctx->gso_size & 0xffff;
	skb->md.hwtstamp = ctx->hwtstamp;
}

static void ctx_from_skb(struct __sk_buff *ctx, const struct bpfu_skb *skb)
{
	ctx->mark = skb->md.mark;
	ctx->priority = skb->md.priority;
	ctx->ingress_ifindex = skb->md.ingress_ifindex;
	ctx->ifindex = skb->md.ifindex;
	memcpy(ctx->cb, skb->md.cb, sizeof(ctx->cb));
	ctx->tstamp = skb->md.tstamp;
	ctx->wire_len = skb->md.wire_len;
	ctx->gso_segs = skb->md.gso_segs;
	ctx->hwtstamp = skb->md.hwtstamp;
}

static int run(struct bpfu_prog *prog, union bpf_attr *attr, struct bpfu_skb *skb,
	       struct __sk_buff *ctx)
{
	uint32_t retval, duration;
	uint8_t *start;
	int err;

	bpfu_redirect = (struct bpfu_redirect){ .xdp = false };
	bpfu_test_repeat(prog, skb, attr, &retval, &duration);
	start = skb->data;
	if (!is_tc(prog)) {
		start -= BPFU_ETH_HLEN;
		memset(start, 0, BPFU_ETH_HLEN);
	}
	ctx_from_skb(ctx, skb);
	err = bpfu_test_finish(attr, start, (uint32_t)(skb->data_end - start), retval, duration);
	if (!err)
		err = bpfu_test_ctx_out(attr, ctx, sizeof(*ctx));
	return err;
}

int bpfu_skb_test_run(struct bpfu_prog *prog, union bpf_attr *attr)
{
	struct bpfu_skb skb = { 0 };
	struct __sk_buff ctx;
	bool given;
	int err;

	if (attr->test.flags || attr->test.cpu || attr->test.batch_size)
		return -EINVAL;
	err = packet_in(&skb, attr);
	if (!err)
		err = bpfu_test_ctx_in(attr, &ctx, sizeof(ctx), &given);
	if (err)
		goto free_head;
	if (ctx.ifindex > LO_IFINDEX && !bpfu_test_has_netdev(ctx.ifindex)) {
		err = -ENODEV;
		goto free_head;
	}
	skb.data = is_tc(prog) ? skb.mac : skb.network;
	skb.data_meta = skb.data;
	skb.md.len = (uint32_t)(skb.data_end - skb.data);
	classify(&skb);
	err = set_socket_fields(&skb);
	if (!err)
		err = check_ctx(&ctx, skb.md.len);
	if (!err) {
		apply_ctx(&skb, &ctx);
		err = run(prog, attr, &skb, &ctx);
	}
free_head:
	free(skb.head);
	return err;
}
