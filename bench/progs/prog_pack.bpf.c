// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * prog-pack: many small programs run in random order. A trigger starts a chain: each program notes that
 * it ran and tail-calls the next of `order`, so that nothing but the programs themselves runs between
 * them. pack_member is loaded once per program, with its own number in place of PACK_NUMBER.
 *
 * What they note is a polynomial of the numbers in the order in which they ran: it comes out right only
 * if exactly these programs ran in exactly this order.
 */
#include "bench.bpf.h"
#include "prog_pack.h"

char LICENSE[] SEC("license") = "GPL";

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, PACK_MAX_PROGRAMS);
	__type(key, __u32);
	__type(value, __u32);
} members SEC(".maps");

struct pack_state state;
__u16 order[PACK_ORDER_LEN];

SEC("raw_tp")
int pack_member(struct bench_ctx *ctx)
{
	__u64 pos = state.pos + 1;

	state.pos = pos;
	state.hash = state.hash * PACK_FACTOR + PACK_NUMBER;
	if (++state.ran >= state.asked)
		return state.ran;
	bpf_tail_call(ctx, &members, order[pos % PACK_ORDER_LEN]);
	return 0;
}

SEC("raw_tp")
int pack_driver(struct bench_ctx *ctx)
{
	state.ran = 0;
	state.asked = ctx->ops;
	bpf_tail_call(ctx, &members, order[state.pos % PACK_ORDER_LEN]);
	return 0;
}

/* The trigger without programs. */
SEC("raw_tp")
int pack_null(struct bench_ctx *ctx)
{
	return ctx->ops;
}
