// SPDX-License-Identifier: BSD-2-Clause
/* Inputs, contexts and packets of the program types. */
#include "gen.h"

#include <stddef.h>

struct field {
	uint16_t off;
	uint8_t size;
	bool writable;
	bool narrow; /* 32 bits wide in the kernel, too: of others it gets loads of upper halves wrong */
};

/* clang-format off */
#define SKB(name, writable, narrow) { offsetof(struct __sk_buff, name), 4, writable, narrow }
#define XDP(name) { offsetof(struct xdp_md, name), 4, false, false }

static const struct field skb_fields[] = {
	SKB(len, false, true),
	SKB(pkt_type, false, false),
	SKB(mark, true, true),
	SKB(queue_mapping, false, false),
	SKB(protocol, false, false),
	SKB(vlan_present, false, false),
	SKB(priority, true, true),
	SKB(tc_index, true, false),
	SKB(cb[0], true, true),
	SKB(cb[1], true, true),
	SKB(cb[4], true, true),
	SKB(tc_classid, true, false),
	SKB(gso_segs, false, false),
	{ offsetof(struct __sk_buff, tstamp), 8, true, false },
};

static const struct field xdp_fields[] = {
	XDP(rx_queue_index),
	XDP(ingress_ifindex),
};
/* clang-format on */

static void load_field(struct gen *g, int ctx, const struct field *f)
{
	int dst = pick_dst(g), off = f->off;
	uint8_t size = f->size == 8 ? BPF_DW : BPF_W;

	if (f->narrow && rng_percent(&g->rng, 25)) {
		size = rng_percent(&g->rng, 50) ? BPF_B : BPF_H;
		off += size == BPF_B ? rng_range(&g->rng, 0, 3) : 2 * rng_range(&g->rng, 0, 1);
	}
	emit(g, BPFU_INSN(BPF_LDX | BPF_MEM | size, dst, ctx, (int16_t)off, 0));
	set_scalar(g, dst);
}

static void store_field(struct gen *g, int ctx, const struct field *f)
{
	int src = scalar_src(g);
	uint8_t size = f->size == 8 ? BPF_DW : BPF_W;

	if (g->st.r[ctx].kind != K_CTX)
		return;
	if (rng_percent(&g->rng, 70))
		emit(g, BPFU_INSN(BPF_STX | BPF_MEM | size, ctx, src, (int16_t)f->off, 0));
	else
		emit(g, BPFU_INSN(BPF_ST | BPF_MEM | size, ctx, 0, (int16_t)f->off, rand_imm(g)));
}

void gen_ctx(struct gen *g)
{
	int ctx = pick_kind(g, K_CTX);
	const struct field *f;

	if (ctx < 0)
		return;
	switch (g->c->type) {
	case BPF_PROG_TYPE_XDP:
		load_field(g, ctx, &xdp_fields[rng_below(&g->rng, BPFU_ARRAY_SIZE(xdp_fields))]);
		break;
	case BPF_PROG_TYPE_SCHED_CLS:
		f = &skb_fields[rng_below(&g->rng, BPFU_ARRAY_SIZE(skb_fields))];
		if (f->writable && rng_percent(&g->rng, 40))
			store_field(g, ctx, f);
		else
			load_field(g, ctx, f);
		break;
	case BPF_PROG_TYPE_RAW_TRACEPOINT: {
		struct field arg = { (uint16_t)(8 * rng_below(&g->rng, 12)), 8, false, false };

		load_field(g, ctx, &arg);
		break;
	}
	default:
		break;
	}
}

/*
 * data and data_end, the comparison that proves a range, and a block with a packet pointer. All
 * forms of the comparison that compilers make.
 */
void gen_packet(struct gen *g)
{
	bool xdp = g->c->type == BPF_PROG_TYPE_XDP;
	int ctx = pick_kind(g, K_CTX), data = rng_range(&g->rng, 6, 9), tmp, end;
	uint16_t size = (uint16_t)rng_range(&g->rng, 1, 80);
	struct state before;
	uint32_t skip;

	if (ctx < 0 || (!xdp && g->c->type != BPF_PROG_TYPE_SCHED_CLS) || g->locked & 1u << data)
		return;
	tmp = rng_range(&g->rng, 0, 5);
	end = (tmp + 1 + rng_range(&g->rng, 0, 4)) % 6;
	if (ctx == data || ctx == tmp || g->locked & (1u << tmp | 1u << end))
		return;
	emit(g,
	     BPFU_INSN(BPF_LDX | BPF_MEM | BPF_W, data, ctx,
		       xdp ? offsetof(struct xdp_md, data) : offsetof(struct __sk_buff, data), 0));
	emit(g, BPFU_INSN(BPF_LDX | BPF_MEM | BPF_W, end, ctx,
			  xdp ? offsetof(struct xdp_md, data_end) :
				offsetof(struct __sk_buff, data_end),
			  0));
	emit(g, BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_X, tmp, data, 0, 0));
	emit(g, BPFU_INSN(BPF_ALU64 | BPF_ADD | BPF_K, tmp, 0, 0, size));
	g->st.r[data].kind = g->st.r[end].kind = g->st.r[tmp].kind = K_NONE;
	before = g->st;
	if (rng_percent(&g->rng, 50))
		skip = emit(g, BPFU_INSN(BPF_JMP | BPF_JGT | BPF_X, tmp, end, 0, 0));
	else
		skip = emit(g, BPFU_INSN(BPF_JMP | BPF_JLT | BPF_X, end, tmp, 0, 0));
	g->st.r[data] = (struct reg){ K_MEM, MEM_PACKET, 0, 0, size };
	gen_mem(g);
	gen_block(g, rng_range(&g->rng, 1, 4));
	jump_here(g, skip);
	merge(&g->st, &before);
}

/* Helpers that read, write or move the packet; the last two kinds end packet pointers. */
void gen_packet_helper(struct gen *g)
{
	bool xdp = g->c->type == BPF_PROG_TYPE_XDP;
	int ctx = pick_kind(g, K_CTX), area;
	uint32_t size = rng_range(&g->rng, 1, 16);

	if (ctx < 0 || (!xdp && g->c->type != BPF_PROG_TYPE_SCHED_CLS) || g->loops || g->depth)
		return;
	if (xdp && rng_percent(&g->rng, 30)) {
		if (ctx != 1)
			emit(g, BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_X, 1, ctx, 0, 0));
		emit(g,
		     BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_K, 2, 0, 0, rng_range(&g->rng, -24, 24)));
		emit(g, BPFU_INSN(BPF_JMP | BPF_CALL, 0, 0, 0,
				  rng_percent(&g->rng, 50) ? BPF_FUNC_xdp_adjust_head :
							     BPF_FUNC_xdp_adjust_tail));
	} else {
		bool store = rng_percent(&g->rng, 50);

		area = stack_area(g, 16);
		stack_fill(g, area, 16);
		if (g->st.r[ctx].kind != K_CTX)
			return;
		if (ctx != 1)
			emit(g, BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_X, 1, ctx, 0, 0));
		emit(g, BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_K, 2, 0, 0, rng_range(&g->rng, 0, 90)));
		emit(g, BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_X, 3, 10, 0, 0));
		emit(g, BPFU_INSN(BPF_ALU64 | BPF_ADD | BPF_K, 3, 0, 0, area));
		emit(g, BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_K, 4, 0, 0, (int32_t)size));
		emit(g, BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_K, 5, 0, 0, 0));
		if (xdp)
			emit(g,
			     BPFU_INSN(BPF_JMP | BPF_CALL, 0, 0, 0,
				       store ? BPF_FUNC_xdp_store_bytes : BPF_FUNC_xdp_load_bytes));
		else
			emit(g,
			     BPFU_INSN(BPF_JMP | BPF_CALL, 0, 0, 0,
				       store ? BPF_FUNC_skb_store_bytes : BPF_FUNC_skb_load_bytes));
	}
	clobber_call(g);
	forget(g, -1, MEM_PACKET);
}

void gen_input(struct gen *g)
{
	switch (g->c->type) {
	case BPF_PROG_TYPE_RAW_TRACEPOINT:
		g->c->input_size = 12 * 8;
		break;
	case BPF_PROG_TYPE_SYSCALL:
		g->c->input_size = 64;
		break;
	default:
		g->c->input_size = (uint32_t)rng_range(&g->rng, 14, 128);
	}
	for (uint32_t i = 0; i < g->c->input_size; i++)
		g->c->input[i] = (uint8_t)rng_next(&g->rng);
}
