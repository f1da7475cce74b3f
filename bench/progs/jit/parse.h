/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Headers of packets: Ethernet with or without a VLAN tag, IPv4 with options or IPv6, TCP or UDP. What
 * is found is put into a flow key and hashed; everything else is counted as an error.
 */
struct parse_eth { __u8 dst[6], src[6]; __u16 proto; };
struct parse_vlan { __u16 tci, proto; };
struct parse_ip4 { __u8 ver_ihl, tos; __u16 len, id, frag; __u8 ttl, proto; __u16 check; __u32 src, dst; };
struct parse_ip6 { __u32 flow; __u16 len; __u8 next, hops; __u32 src[4], dst[4]; };
struct parse_ports { __u16 src, dst; };

static __always_inline __u64 parse_ports(const __u8 *p, __u32 at, __u32 proto, __u32 addrs)
{
	const struct parse_ports *ports = (const void *)(p + at);

	if (proto != 6 && proto != 17)
		return 1;
	return ((__u64)addrs << 32 | (__u32)__builtin_bswap16(ports->src) << 16 |
		__builtin_bswap16(ports->dst)) * 0x9e3779b97f4a7c15ull ^ proto;
}

static __always_inline __u64 parse_packet(const __u8 *p)
{
	const struct parse_eth *eth = (const void *)p;
	__u16 proto = eth->proto;
	__u32 at = sizeof(*eth);

	if (proto == __builtin_bswap16(0x8100)) {
		proto = ((const struct parse_vlan *)(p + at))->proto;
		at += sizeof(struct parse_vlan);
	}
	if (proto == __builtin_bswap16(0x0800)) {
		const struct parse_ip4 *ip = (const void *)(p + at);
		__u32 ihl = (ip->ver_ihl & 15) * 4;

		if (ip->ver_ihl >> 4 != 4 || ihl < sizeof(*ip) || ip->ttl <= 1)
			return 2;
		return parse_ports(p, at + ihl, ip->proto, ip->src ^ ip->dst);
	}
	if (proto == __builtin_bswap16(0x86dd)) {
		const struct parse_ip6 *ip = (const void *)(p + at);
		__u32 addrs = ip->src[0] ^ ip->src[3] ^ ip->dst[0] ^ ip->dst[3];

		if ((ip->flow & 0xf0) != 0x60 || ip->hops <= 1)
			return 2;
		return parse_ports(p, at + sizeof(*ip), ip->next, addrs);
	}
	return 3;
}

JIT_KERNEL(parse)
{
	__u64 sum = 0;

	JIT_LOOP
	for (__u32 i = 0; i < JIT_PACKETS; i++)
		sum = sum * 31 + parse_packet(&jit_data.packets[i * JIT_PACKET + 2]);
	return sum;
}

JIT_DRIVER(parse)
