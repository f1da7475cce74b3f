// SPDX-License-Identifier: BSD-2-Clause
/* Programs of the three kinds on tracepoints (tracepoint.c), and a driver that fires one of them. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "GPL";

__u64 raw_hits, typed_hits, record_hits, args[3], cookies;
signed char narrow; /* of a plain one the machines differ in the sign */
short narrow2;

SEC("raw_tp/probe_opened")
int on_raw(struct bpf_raw_tracepoint_args *ctx)
{
	args[0] = ctx->args[0];
	args[1] = ctx->args[1];
	args[2] = ctx->args[2];
	cookies = bpf_get_attach_cookie(ctx);
	__sync_fetch_and_add(&raw_hits, 1);
	return 0;
}

SEC("tp_btf/probe_opened")
int BPF_PROG(on_typed, char a, short b, void *c)
{
	narrow = a;
	narrow2 = b;
	args[2] = (__u64)c;
	cookies = bpf_get_attach_cookie(ctx);
	__sync_fetch_and_add(&typed_hits, 1);
	return 7; /* any value */
}

struct record {
	__u64 hidden;
	char a;
	short b;
	void *c;
};

SEC("tp/house/probe_opened")
int on_record(struct record *r)
{
	narrow = r->a;
	narrow2 = r->b;
	args[2] = (__u64)r->c;
	cookies = bpf_get_attach_cookie(r);
	__sync_fetch_and_add(&record_hits, 1);
	return 0;
}

struct long_record {
	__u64 words[4];
};

SEC("?tp/house/probe_opened")
int reads_too_much(struct long_record *r)
{
	return r->words[3] != 0;
}

SEC("?raw_tp/probe_opened")
int reads_an_argument_too_many(struct bpf_raw_tracepoint_args *ctx)
{
	return ctx->args[3] != 0;
}

/* ---- the kernel's tracepoint for tests ---- */

extern int bpf_modify_return_test_tp(int nonce) __ksym __weak;

__u64 nonces, trigger_hits;
int kfunc_result, modified;

SEC("tp_btf/bpf_trigger_tp")
int BPF_PROG(on_trigger, int nonce)
{
	nonces += nonce;
	__sync_fetch_and_add(&trigger_hits, 1);
	bpf_modify_return_test_tp(5); /* would run this program again */
	return 0;
}

SEC("fmod_ret/bpf_modify_return_test_tp")
int BPF_PROG(on_modify, int nonce, int ret)
{
	return modified;
}

SEC("raw_tp")
int driver(void *ctx)
{
	for (int i = 1; i <= 10; i++)
		kfunc_result = bpf_modify_return_test_tp(i);
	return 0;
}

/* ---- a cookie that is not the inner program's ---- */

__u64 inner_cookie;

SEC("fentry/bpf_get_numa_node_id")
int BPF_PROG(inner)
{
	inner_cookie = bpf_get_attach_cookie(ctx);
	return 0;
}

SEC("raw_tp/probe_opened")
int outer(void *ctx)
{
	bpf_get_numa_node_id();
	return 0;
}
