// SPDX-License-Identifier: BSD-2-Clause
/* Internet checksums (RFC 1071, RFC 1624): differences and replacement of covered fields. */
#include <errno.h>
#include <string.h>

#include "helper/bodies.h"
#include "helper/net.h"
#include "util/bits.h"

#ifndef BPF_F_IPV6
#define BPF_F_IPV6 (1ull << 7)
#endif

#define MANGLED_0 0xffff /* an UDP checksum of 0 means "none" */

/* Ones' complement sum of 32-bit words. */
static uint32_t csum_add(uint32_t a, uint32_t b)
{
	uint64_t sum = (uint64_t)a + b;

	return (uint32_t)sum + (uint32_t)(sum >> 32);
}

static uint32_t csum_sub(uint32_t a, uint32_t b)
{
	return csum_add(a, ~b);
}

/* As if the bytes went on with zeros up to a whole word. */
static uint32_t csum_partial(const void *buf, uint32_t len, uint32_t sum)
{
	for (uint32_t i = 0; i < len; i += 4) {
		uint32_t word = 0;

		memcpy(&word, (const char *)buf + i, BPFU_MIN(len - i, 4u));
		sum = csum_add(sum, word);
	}
	return sum;
}

static uint16_t csum_16(uint32_t sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)((sum & 0xffff) + (sum >> 16));
}

uint64_t bpfu_helper_csum_diff(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	uint32_t from_size = (uint32_t)r2, to_size = (uint32_t)r4, sum = (uint32_t)r5;
	const void *from = bpfu_ptr(r1), *to = bpfu_ptr(r3);

	if (from_size && to_size)
		sum = csum_sub(csum_partial(to, to_size, sum), csum_partial(from, from_size, 0));
	else if (to_size)
		sum = csum_partial(to, to_size, sum);
	else if (from_size)
		sum = ~csum_partial(from, from_size, ~sum);
	return csum_16(sum);
}

/* Address of the 16-bit checksum at @off, NULL if it is not (all) in the packet. */
static uint8_t *csum_at(struct bpfu_skb *skb, uint32_t off)
{
	if (off > 0xffff || off % 2 || off + 2 > skb->md.len)
		return NULL;
	return skb->data + off;
}

/* Replace @from by @to (fields of @size bytes; 0: @to is a difference) under the checksum at @p. */
static int csum_replace(uint8_t *p, uint64_t from, uint64_t to, uint32_t size)
{
	uint16_t sum;
	uint32_t acc;

	memcpy(&sum, p, 2);
	acc = (uint16_t)~sum;
	switch (size) {
	case 0:
		if (from)
			return -EINVAL;
		acc = csum_add((uint32_t)to, ~(uint32_t)sum);
		break;
	case 2:
		acc = csum_16(csum_add(acc, (uint16_t)~from));
		acc = csum_16(csum_add(acc, (uint16_t)to));
		break;
	case 4:
		acc = csum_add(csum_sub(~(uint32_t)sum, (uint32_t)from), (uint32_t)to);
		break;
	default:
		return -EINVAL;
	}
	sum = (uint16_t)~csum_16(acc);
	memcpy(p, &sum, 2);
	return 0;
}

uint64_t bpfu_helper_l3_csum_replace(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4,
				     uint64_t r5)
{
	struct bpfu_skb *skb = bpfu_ptr(r1);
	uint8_t *p;

	if (r5 & ~(uint64_t)BPF_F_HDR_FIELD_MASK)
		return (int64_t)-EINVAL;
	p = csum_at(skb, (uint32_t)r2);
	if (!p)
		return (int64_t)-EFAULT;
	return (int64_t)csum_replace(p, r3, r4, (uint32_t)r5);
}

uint64_t bpfu_helper_l4_csum_replace(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4,
				     uint64_t r5)
{
	const uint64_t known = BPF_F_MARK_MANGLED_0 | BPF_F_MARK_ENFORCE | BPF_F_PSEUDO_HDR |
			       BPF_F_HDR_FIELD_MASK | BPF_F_IPV6;
	struct bpfu_skb *skb = bpfu_ptr(r1);
	const uint16_t mangled = MANGLED_0;
	uint16_t sum;
	uint8_t *p;
	int err;

	if (r5 & ~known)
		return (int64_t)-EINVAL;
	p = csum_at(skb, (uint32_t)r2);
	if (!p)
		return (int64_t)-EFAULT;
	memcpy(&sum, p, 2);
	if (r5 & BPF_F_MARK_MANGLED_0 && !(r5 & BPF_F_MARK_ENFORCE) && !sum)
		return 0;
	err = csum_replace(p, r3, r4, (uint32_t)(r5 & BPF_F_HDR_FIELD_MASK));
	if (err)
		return (int64_t)err;
	memcpy(&sum, p, 2);
	if (r5 & BPF_F_MARK_MANGLED_0 && !sum)
		memcpy(p, &mangled, 2);
	return 0;
}
