// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Nothing that can be measured. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

SEC("kprobe/do_nothing")
int my_kprobe(void *ctx)
{
	return 0;
}
