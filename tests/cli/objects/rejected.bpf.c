// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* A program that the verifier refuses. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

SEC("raw_tp")
int reads_anywhere(__u64 *ctx)
{
	return *(volatile int *)ctx[0];
}
