// SPDX-License-Identifier: BSD-2-Clause
/* USDT programs on static probes of the test (usdt.c). */
#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/usdt.bpf.h>

char LICENSE[] SEC("license") = "GPL";

__u64 hits, cookie, arg_cnt;
long first, second, third;

SEC("usdt")
int BPF_USDT(on_usdt, long a, int b, short c)
{
	first = a;
	second = b;
	third = c;
	arg_cnt = (__u64)bpf_usdt_arg_cnt(ctx);
	cookie = (__u64)bpf_usdt_cookie(ctx);
	__sync_fetch_and_add(&hits, 1);
	return 0;
}
