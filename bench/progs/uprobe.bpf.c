// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * What the trig-uprobe and trig-usdt benches attach: programs that count what they see and nothing else.
 * Each is loaded alone, for the bench that it is for. libbpf's section names of uprobe.multi are newer
 * than the oldest libbpf that this builds with; the bench says what they are for.
 */
#include "bench.bpf.h"

#include <linux/ptrace.h>
#include <stdbool.h>

#include <bpf/bpf_tracing.h>
#include <bpf/usdt.bpf.h>

char LICENSE[] SEC("license") = "GPL";

#define MAX_CPUS 256

/* Counters of the CPUs, 128 bytes apart: a neighbour's prefetched cache line would be shared. */
struct {
	__u64 value;
	__u64 pad[15];
} hits[MAX_CPUS] __attribute__((aligned(128)));

static __always_inline int count(void)
{
	hits[bpf_get_smp_processor_id() % MAX_CPUS].value += 1;
	return 0;
}

SEC("?uprobe")
int trigger_uprobe(void *ctx)
{
	return count();
}

SEC("?uretprobe")
int trigger_uretprobe(void *ctx)
{
	return count();
}

SEC("?kprobe")
int trigger_uprobe_multi(void *ctx)
{
	return count();
}

SEC("?usdt")
int trigger_usdt(void *ctx)
{
	return count();
}
