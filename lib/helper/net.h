/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The packets that networking programs see. Their contexts are laid out so that most fields sit
 * where the user-visible struct has them: only the packet pointers, 32 bits wide in the uapi and 64
 * here, are converted by prog_type/.
 */
#ifndef BPFU_HELPER_NET_H
#define BPFU_HELPER_NET_H

#include <stdbool.h>
#include <stdint.h>

#include "util/uapi.h"

#define BPFU_ETH_HLEN 14
#define BPFU_PAGE_SIZE 4096
/* Bytes the kernel keeps behind a packet (struct skb_shared_info) and before one (xdp_frame). */
#define BPFU_SHARED_INFO_SIZE 320
#define BPFU_XDP_FRAME_SIZE 40
#define BPFU_XDP_META_MAX 252

/* Longest packet that skb_change_tail() and _head() make (BPF_SKB_MAX_LEN). */
#define BPFU_SKB_MAX_LEN (4 * BPFU_PAGE_SIZE - BPFU_SHARED_INFO_SIZE)
#define BPFU_SKB_BUF_SIZE (3 * BPFU_SKB_MAX_LEN)

/*
 * A packet of the socket filter, tc and cgroup types; always linear.
 *
 *   head     mac       data        data_end                       head + BPFU_SKB_BUF_SIZE
 *   |  room   | L2 hdr  | ...        |   room                       |
 *
 * data is at mac for tc (L2) and at network for the others. A packet starts in the middle third.
 */
struct bpfu_skb {
	struct __sk_buff md; /* first: programs access its fields in place; len is kept current */
	uint8_t *data;
	uint8_t *data_end;
	uint8_t *data_meta;
	uint8_t *head;
	uint8_t *mac;
	uint8_t *network;
};

/*
 * A packet of the XDP type. Beyond one page it continues in fragments of a page each, which are
 * not reachable through data_end; they lie in memory right behind data_end.
 *
 *   hard_start   data_meta  data        data_end          hard_end
 *   |  headroom     | meta    | linear      | tailroom       |        frags_len == 0
 *   |               | meta    | linear      | frags ...               otherwise
 */
struct bpfu_xdp {
	struct xdp_md md; /* first: interfaces and queue are accessed in place */
	uint8_t *data;
	uint8_t *data_end;
	uint8_t *data_meta;
	uint8_t *hard_start;
	uint8_t *hard_end;
	uint32_t frags_len;
	uint32_t frag_room; /* bytes that the last fragment may grow to */
};

/* What bpf_redirect() asked for; of the calling thread's last run. */
struct bpfu_redirect {
	bool xdp; /* set by who runs the program: whose return codes apply */
	uint32_t ifindex;
	uint64_t flags;
};
extern __thread struct bpfu_redirect bpfu_redirect;

static inline uint32_t bpfu_xdp_len(const struct bpfu_xdp *xdp)
{
	return (uint32_t)(xdp->data_end - xdp->data) + xdp->frags_len;
}

static inline bool bpfu_xdp_metalen_invalid(uint64_t len)
{
	return len % 4 || len > BPFU_XDP_META_MAX;
}

#endif
