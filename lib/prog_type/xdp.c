// SPDX-License-Identifier: BSD-2-Clause
/*
 * BPF_PROG_TYPE_XDP: context, access rules and test runs. Packets longer than what fits a page
 * beside its head and tail room, or than the data_end of the given context, continue in page-sized
 * fragments (helper/net.h). Live frames (BPF_F_TEST_XDP_LIVE_FRAMES) would go to the network; there
 * is none here: -ENOTSUPP.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "helper/net.h"
#include "insn/insn.h"
#include "obj/prog.h"
#include "prog_type/families.h"
#include "prog_type/test_run.h"
#include "util/uaccess.h"

#ifndef BPF_F_TEST_XDP_LIVE_FRAMES
#define BPF_F_TEST_XDP_LIVE_FRAMES (1U << 1)
#endif

#define HEADROOM 256  /* XDP_PACKET_HEADROOM */
#define MAX_FRAGS 17  /* MAX_SKB_FRAGS */
#define LO_IFINDEX 1
#define ENOTSUPP_ 524 /* the kernel's ENOTSUPP has no name in user space */

static bool is_valid_access(int off, int size, bool write, const struct bpfu_prog *prog,
			    struct bpfu_ctx_access *info)
{
	info->kind = BPFU_CTX_SCALAR;
	if (write || off < 0 || off >= (int)sizeof(struct xdp_md) || off % size ||
	    size != sizeof(uint32_t))
		return false;
	switch (off) {
	case offsetof(struct xdp_md, data):
		info->kind = BPFU_CTX_PACKET;
		return !info->is_ldsx;
	case offsetof(struct xdp_md, data_meta):
		info->kind = BPFU_CTX_PACKET_META;
		return !info->is_ldsx;
	case offsetof(struct xdp_md, data_end):
		info->kind = BPFU_CTX_PACKET_END;
		return !info->is_ldsx;
	case offsetof(struct xdp_md, egress_ifindex):
		return prog->expected_attach_type == BPF_XDP_DEVMAP;
	default:
		return true;
	}
}

static int convert_ctx_access(const struct bpf_insn *insn, struct bpf_insn *buf,
			      const struct bpfu_prog *prog, uint32_t *target_size)
{
	size_t off;

	switch (insn->off) {
	case offsetof(struct xdp_md, data):
		off = offsetof(struct bpfu_xdp, data);
		break;
	case offsetof(struct xdp_md, data_meta):
		off = offsetof(struct bpfu_xdp, data_meta);
		break;
	case offsetof(struct xdp_md, data_end):
		off = offsetof(struct bpfu_xdp, data_end);
		break;
	default:
		return 0;
	}
	buf[0] = BPFU_INSN(BPF_LDX | BPF_MEM | BPF_DW, insn->dst_reg, insn->src_reg, (int16_t)off,
			   0);
	*target_size = sizeof(uint32_t);
	return 1;
}

static bool helper_allowed(const struct bpfu_helper *helper, int32_t id,
			   const struct bpfu_prog *prog)
{
	return bpfu_helper_in(helper, BPFU_HELPER_XDP);
}

/* Interface and queue of a given context: 0, -EINVAL or -ENODEV. */
static int check_device(const struct xdp_md *md)
{
	if (md->egress_ifindex || (!md->ingress_ifindex && md->rx_queue_index))
		return -EINVAL;
	if (!md->ingress_ifindex)
		return 0;
	if (!bpfu_test_has_netdev(md->ingress_ifindex))
		return -ENODEV;
	/* Every interface has a queue 0; how many more is not ours to know. */
	return md->rx_queue_index ? -EINVAL : 0;
}

/* Allocate the frame and copy the packet: headroom with meta data, linear part, fragments. */
static int packet_in(struct bpfu_xdp *xdp, const union bpf_attr *attr, const struct xdp_md *ctx)
{
	uint32_t headroom = HEADROOM - ctx->data;
	uint32_t max = BPFU_PAGE_SIZE - headroom - BPFU_SHARED_INFO_SIZE;
	uint32_t size = attr->test.data_size_in, linear = BPFU_MIN(ctx->data_end, max);
	uint32_t frags = size - linear;

	if (size - ctx->data < BPFU_ETH_HLEN)
		return -EINVAL;
	if (frags > MAX_FRAGS * BPFU_PAGE_SIZE)
		return -ENOMEM;
	/* A last fragment may grow to a page. */
	xdp->hard_start = calloc(1, BPFU_PAGE_SIZE + BPFU_ROUND_UP(frags, BPFU_PAGE_SIZE));
	if (!xdp->hard_start)
		return -ENOMEM;
	xdp->data_meta = xdp->hard_start + headroom;
	xdp->data_end = xdp->data_meta + linear;
	xdp->hard_end = xdp->data_meta + max;
	xdp->frags_len = frags;
	xdp->frag_room = BPFU_PAGE_SIZE;
	return bpfu_copy_from_user(xdp->data_meta, attr->test.data_in, size);
}

static int run(struct bpfu_prog *prog, union bpf_attr *attr, struct bpfu_xdp *xdp,
	       struct xdp_md *ctx)
{
	uint32_t retval, duration;
	int err;

	bpfu_redirect = (struct bpfu_redirect){ .xdp = true };
	bpfu_test_repeat(prog, xdp, attr, &retval, &duration);
	ctx->data = (uint32_t)(xdp->data - xdp->data_meta);
	ctx->data_end = (uint32_t)(xdp->data_end - xdp->data_meta);
	err = bpfu_test_finish(attr, xdp->data_meta, ctx->data + bpfu_xdp_len(xdp), retval,
			       duration);
	if (!err)
		err = bpfu_test_ctx_out(attr, ctx, sizeof(*ctx));
	return err;
}

static int test_run(struct bpfu_prog *prog, union bpf_attr *attr)
{
	struct bpfu_xdp xdp = { .md.ingress_ifindex = LO_IFINDEX };
	struct xdp_md ctx;
	bool given;
	int err;

	if (prog->expected_attach_type == BPF_XDP_DEVMAP ||
	    prog->expected_attach_type == BPF_XDP_CPUMAP)
		return -EINVAL;
	if (attr->test.flags & ~BPF_F_TEST_XDP_LIVE_FRAMES)
		return -EINVAL;
	if (attr->test.flags)
		return -ENOTSUPP_;
	if (attr->test.batch_size)
		return -EINVAL;
	err = bpfu_test_ctx_in(attr, &ctx, sizeof(ctx), &given);
	if (err)
		return err;
	if (!given)
		ctx.data_end = attr->test.data_size_in;
	/* The packet's first ctx.data bytes are meta data, which lie in the headroom. */
	if (ctx.data_meta || ctx.data_end > attr->test.data_size_in || ctx.data > ctx.data_end ||
	    ctx.data > HEADROOM - BPFU_XDP_FRAME_SIZE || bpfu_xdp_metalen_invalid(ctx.data))
		return -EINVAL;
	err = packet_in(&xdp, attr, &ctx);
	if (!err)
		err = check_device(&ctx);
	if (!err) {
		xdp.data = xdp.data_meta + ctx.data;
		if (ctx.ingress_ifindex)
			xdp.md.ingress_ifindex = ctx.ingress_ifindex;
		err = run(prog, attr, &xdp, &ctx);
	}
	free(xdp.hard_start);
	return err;
}

const struct bpfu_prog_type bpfu_type_xdp = {
	.type = BPF_PROG_TYPE_XDP,
	.name = "xdp",
	.is_valid_access = is_valid_access,
	.convert_ctx_access = convert_ctx_access,
	.helper_allowed = helper_allowed,
	.may_write_packet = true,
	.test_run = test_run,
};
