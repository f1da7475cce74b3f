// SPDX-License-Identifier: BSD-2-Clause
/* Helpers that read and change a struct bpfu_xdp. */
#include <errno.h>
#include <string.h>

#include "helper/bodies.h"
#include "helper/net.h"
#include "util/bits.h"

uint64_t bpfu_helper_xdp_adjust_head(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4,
				     uint64_t r5)
{
	struct bpfu_xdp *xdp = bpfu_ptr(r1);
	int64_t off = (int32_t)r2, meta_len = xdp->data - xdp->data_meta;
	int64_t min = xdp->hard_start + BPFU_XDP_FRAME_SIZE + meta_len - xdp->data;
	int64_t max = xdp->data_end - BPFU_ETH_HLEN - xdp->data;

	if (off < min || off > max)
		return (int64_t)-EINVAL;
	memmove(xdp->data_meta + off, xdp->data_meta, (size_t)meta_len);
	xdp->data_meta += off;
	xdp->data += off;
	return 0;
}

/* Fragments but the last hold a page each. */
static uint32_t last_frag_len(const struct bpfu_xdp *xdp)
{
	return (xdp->frags_len - 1) % BPFU_PAGE_SIZE + 1;
}

static int adjust_frags(struct bpfu_xdp *xdp, int64_t off)
{
	uint32_t cut;

	if (off > 0) {
		if (off > (int64_t)xdp->frag_room - last_frag_len(xdp))
			return -EINVAL;
		memset(xdp->data_end + xdp->frags_len, 0, (size_t)off);
		xdp->frags_len += (uint32_t)off;
		return 0;
	}
	if (-off > (int64_t)bpfu_xdp_len(xdp) - BPFU_ETH_HLEN)
		return -EINVAL;
	cut = BPFU_MIN((uint32_t)-off, xdp->frags_len);
	xdp->frags_len -= cut;
	xdp->data_end -= -off - cut;
	return 0;
}

uint64_t bpfu_helper_xdp_adjust_tail(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4,
				     uint64_t r5)
{
	struct bpfu_xdp *xdp = bpfu_ptr(r1);
	int64_t off = (int32_t)r2;

	if (xdp->frags_len)
		return (int64_t)adjust_frags(xdp, off);
	if (off > xdp->hard_end - xdp->data_end ||
	    off < BPFU_ETH_HLEN - (xdp->data_end - xdp->data))
		return (int64_t)-EINVAL;
	if (off > 0)
		memset(xdp->data_end, 0, (size_t)off);
	xdp->data_end += off;
	return 0;
}

uint64_t bpfu_helper_xdp_adjust_meta(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4,
				     uint64_t r5)
{
	struct bpfu_xdp *xdp = bpfu_ptr(r1);
	int64_t off = (int32_t)r2, meta_len = xdp->data - xdp->data_meta - off;

	if (off < xdp->hard_start + BPFU_XDP_FRAME_SIZE - xdp->data_meta || meta_len < 0)
		return (int64_t)-EINVAL;
	if (bpfu_xdp_metalen_invalid((uint64_t)meta_len))
		return (int64_t)-EACCES;
	xdp->data_meta += off;
	return 0;
}

uint64_t bpfu_helper_xdp_get_buff_len(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4,
				      uint64_t r5)
{
	return bpfu_xdp_len(bpfu_ptr(r1));
}

/* Address of @len bytes at @off in *@p: 0, -EFAULT or -EINVAL. Fragments follow the linear part. */
static int xdp_range(const struct bpfu_xdp *xdp, uint32_t off, uint32_t len, uint8_t **p)
{
	if (off > 0xffff || len > 0xffff)
		return -EFAULT;
	if (off + len > bpfu_xdp_len(xdp))
		return -EINVAL;
	*p = xdp->data + off;
	return 0;
}

uint64_t bpfu_helper_xdp_load_bytes(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	uint8_t *p;
	int err = xdp_range(bpfu_ptr(r1), (uint32_t)r2, (uint32_t)r4, &p);

	if (!err)
		memcpy(bpfu_ptr(r3), p, (uint32_t)r4);
	return (int64_t)err;
}

uint64_t bpfu_helper_xdp_store_bytes(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4,
				     uint64_t r5)
{
	uint8_t *p;
	int err = xdp_range(bpfu_ptr(r1), (uint32_t)r2, (uint32_t)r4, &p);

	if (!err)
		memcpy(p, bpfu_ptr(r3), (uint32_t)r4);
	return (int64_t)err;
}
