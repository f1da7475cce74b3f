// SPDX-License-Identifier: BSD-2-Clause
/* kprobe programs, single and multi, on functions of the test (kprobe.c). */
#include <linux/bpf.h>
#include <linux/ptrace.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "GPL";

__u64 entry_hits, return_hits, multi_hits, multi_return_hits, cookies, ip, args[6], ret, sp;

SEC("kprobe/probe_sum")
int BPF_KPROBE(on_sum, long a, long b, long c, long d, long e)
{
	args[0] = a;
	args[1] = b;
	args[2] = c;
	args[3] = d;
	args[4] = e;
	sp = PT_REGS_SP(ctx);
	ip = bpf_get_func_ip(ctx);
	cookies = bpf_get_attach_cookie(ctx);
	__sync_fetch_and_add(&entry_hits, 1);
	return 0;
}

SEC("kretprobe/probe_sum")
int BPF_KRETPROBE(on_sum_return, long result)
{
	ret = result;
	ip = bpf_get_func_ip(ctx);
	cookies = bpf_get_attach_cookie(ctx);
	__sync_fetch_and_add(&return_hits, 1);
	return 0;
}

SEC("kprobe/probe_recurse")
int on_recurse(struct pt_regs *ctx)
{
	__sync_fetch_and_add(&entry_hits, 1);
	return 0;
}

SEC("kretprobe/probe_recurse")
int on_recurse_return(struct pt_regs *ctx)
{
	__sync_fetch_and_add(&return_hits, 1);
	return 0;
}

SEC("kprobe.multi/probe_many_*")
int on_many(struct pt_regs *ctx)
{
	__sync_fetch_and_add(&multi_hits, 1);
	__sync_fetch_and_add(&cookies, bpf_get_attach_cookie(ctx));
	return 0;
}

SEC("kretprobe.multi/probe_many_*")
int on_many_return(struct pt_regs *ctx)
{
	__sync_fetch_and_add(&multi_return_hits, 1);
	__sync_fetch_and_add(&ret, PT_REGS_RC(ctx));
	return 0;
}

SEC("kprobe/bpf_get_numa_node_id")
int on_helper(struct pt_regs *ctx)
{
	__sync_fetch_and_add(&entry_hits, 1);
	bpf_get_numa_node_id(); /* would run this program again */
	return 0;
}

SEC("raw_tp")
int driver(void *ctx)
{
	for (int i = 0; i < 100; i++)
		bpf_get_numa_node_id();
	return 0;
}
