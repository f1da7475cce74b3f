// SPDX-License-Identifier: BSD-2-Clause
/* Helpers that read and change a struct bpfu_skb, and redirection. */
#include <errno.h>
#include <linux/pkt_cls.h>
#include <string.h>

#include "helper/bodies.h"
#include "helper/net.h"
#include "util/bits.h"

__thread struct bpfu_redirect bpfu_redirect;

static uint64_t load_failed(uint64_t to, uint32_t len)
{
	memset(bpfu_ptr(to), 0, len);
	return (int64_t)-EFAULT;
}

uint64_t bpfu_helper_skb_load_bytes(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	const struct bpfu_skb *skb = bpfu_ptr(r1);
	uint32_t off = (uint32_t)r2, len = (uint32_t)r4;

	if (off > INT32_MAX || (uint64_t)off + len > skb->md.len)
		return load_failed(r3, len);
	memcpy(bpfu_ptr(r3), skb->data + off, len);
	return 0;
}

uint64_t bpfu_helper_skb_load_bytes_relative(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4,
					     uint64_t r5)
{
	const struct bpfu_skb *skb = bpfu_ptr(r1);
	uint32_t off = (uint32_t)r2, len = (uint32_t)r4;
	const uint8_t *start;

	if ((uint32_t)r5 == BPF_HDR_START_MAC)
		start = skb->mac;
	else if ((uint32_t)r5 == BPF_HDR_START_NET)
		start = skb->network;
	else
		return load_failed(r3, len);
	if (off > 0xffff || (uint64_t)off + len > (uint64_t)(skb->data_end - start))
		return load_failed(r3, len);
	memcpy(bpfu_ptr(r3), start + off, len);
	return 0;
}

uint64_t bpfu_helper_skb_store_bytes(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4,
				     uint64_t r5)
{
	struct bpfu_skb *skb = bpfu_ptr(r1);
	uint32_t off = (uint32_t)r2, len = (uint32_t)r4;

	if (r5 & ~(uint64_t)(BPF_F_RECOMPUTE_CSUM | BPF_F_INVALIDATE_HASH))
		return (int64_t)-EINVAL;
	if (off > INT32_MAX || (uint64_t)off + len > skb->md.len)
		return (int64_t)-EFAULT;
	memcpy(skb->data + off, bpfu_ptr(r3), len);
	if (r5 & BPF_F_INVALIDATE_HASH)
		skb->md.hash = 0;
	return 0;
}

/* The packet is linear and ours: nothing to pull. */
uint64_t bpfu_helper_skb_pull_data(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	const struct bpfu_skb *skb = bpfu_ptr(r1);

	return (uint32_t)r2 > skb->md.len ? (int64_t)-ENOMEM : 0;
}

uint64_t bpfu_helper_skb_change_tail(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4,
				     uint64_t r5)
{
	struct bpfu_skb *skb = bpfu_ptr(r1);
	int64_t min_len = skb->network - skb->data;
	uint32_t len = (uint32_t)r2;

	if (r3 || len > BPFU_SKB_MAX_LEN || len < min_len)
		return (int64_t)-EINVAL;
	if (len > skb->md.len)
		memset(skb->data_end, 0, len - skb->md.len);
	skb->data_end = skb->data + len;
	skb->data_meta = skb->data;
	skb->md.len = len;
	return 0;
}

/* Bring the packet back to the middle of its buffer. */
static void recentre(struct bpfu_skb *skb)
{
	uint8_t *to = skb->head + BPFU_SKB_MAX_LEN;
	int64_t by = to - skb->data;

	memmove(to, skb->data, skb->md.len);
	skb->data += by;
	skb->data_end += by;
	skb->mac += by;
	skb->network += by;
}

uint64_t bpfu_helper_skb_change_head(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4,
				     uint64_t r5)
{
	struct bpfu_skb *skb = bpfu_ptr(r1);
	uint32_t room = (uint32_t)r2;
	uint64_t len = (uint64_t)skb->md.len + room;

	if (r3 || len > BPFU_SKB_MAX_LEN)
		return (int64_t)-EINVAL;
	if (room > skb->data - skb->head)
		recentre(skb);
	skb->data -= room;
	memset(skb->data, 0, room);
	skb->mac = skb->data;
	skb->data_meta = skb->data;
	skb->md.len = (uint32_t)len;
	return 0;
}

uint64_t bpfu_helper_redirect(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	bool xdp = bpfu_redirect.xdp;

	if (r2 & ~(uint64_t)(xdp ? 0 : BPF_F_INGRESS))
		return xdp ? XDP_ABORTED : TC_ACT_SHOT;
	bpfu_redirect.ifindex = (uint32_t)r1;
	bpfu_redirect.flags = r2;
	return xdp ? XDP_REDIRECT : TC_ACT_REDIRECT;
}
