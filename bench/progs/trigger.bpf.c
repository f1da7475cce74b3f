// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * The trigger benches: programs attached to a function that a driver calls once per operation, the
 * helper bpf_get_numa_node_id(). An attached program counts what it sees and nothing else. The null
 * program calls the same function with nothing attached and counts in its own loop, so that the
 * counting is subtracted with the call.
 *
 * Each attached program is loaded alone, for the bench that it is for.
 */
#include "bench.bpf.h"
#include "private_stack.h"

#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "GPL";

#define MAX_CPUS 256

/* Counters of the CPUs, 128 bytes apart: a neighbour's prefetched cache line would be shared. */
#define COUNTERS(name)                                                                             \
	struct {                                                                                   \
		__u64 value;                                                                       \
		__u64 pad[15];                                                                     \
	} name[MAX_CPUS] __attribute__((aligned(128)))

COUNTERS(hits);
COUNTERS(null_hits);

#define COUNT_IN(counters) (counters[bpf_get_smp_processor_id() % MAX_CPUS].value += 1)

BENCH_DRIVER(trigger_empty, )
BENCH_DRIVER(trigger_driver, bpf_get_numa_node_id())
BENCH_DRIVER(trigger_null, bpf_get_numa_node_id(); COUNT_IN(null_hits))

/* What tracepoint and fmod_ret programs are attached to; only some kernels have it. */
extern int bpf_modify_return_test_tp(int nonce) __ksym __weak;

#define KFUNC_DRIVER "?raw_tp"
BENCH_DRIVER_IN(KFUNC_DRIVER, kfunc_driver, bpf_modify_return_test_tp(0))
BENCH_DRIVER_IN(KFUNC_DRIVER, kfunc_null, bpf_modify_return_test_tp(0); COUNT_IN(null_hits))

SEC("?fmod_ret/bpf_modify_return_test_tp")
int trigger_fmodret(void *ctx)
{
	COUNT_IN(hits);
	return -22;
}

SEC("?tp/bpf_test_run/bpf_trigger_tp")
int trigger_tp(void *ctx)
{
	COUNT_IN(hits);
	return 0;
}

SEC("?raw_tp/bpf_trigger_tp")
int trigger_rawtp(void *ctx)
{
	COUNT_IN(hits);
	return 0;
}

SEC("?fentry/bpf_get_numa_node_id")
int trigger_fentry(void *ctx)
{
	COUNT_IN(hits);
	return 0;
}

/* With the event of the benches private-stack and no-private-stack. */
SEC("?fentry/bpf_get_numa_node_id")
int trigger_private_stack(void *ctx)
{
	COUNT_IN(hits);
	event();
	return 0;
}

__u64 tail_calls; /* 0, but the verifier may not know */

SEC("?fentry/bpf_get_numa_node_id")
int trigger_no_private_stack(void *ctx)
{
	if (tail_calls)
		bpf_tail_call(ctx, &nowhere, 0);
	COUNT_IN(hits);
	event();
	return 0;
}

SEC("?fexit/bpf_get_numa_node_id")
int trigger_fexit(void *ctx)
{
	COUNT_IN(hits);
	return 0;
}

SEC("?kprobe/bpf_get_numa_node_id")
int trigger_kprobe(void *ctx)
{
	COUNT_IN(hits);
	return 0;
}

SEC("?kretprobe/bpf_get_numa_node_id")
int trigger_kretprobe(void *ctx)
{
	COUNT_IN(hits);
	return 0;
}

SEC("?kprobe.multi/bpf_get_numa_node_id")
int trigger_kprobe_multi(void *ctx)
{
	COUNT_IN(hits);
	return 0;
}

SEC("?kretprobe.multi/bpf_get_numa_node_id")
int trigger_kretprobe_multi(void *ctx)
{
	COUNT_IN(hits);
	return 0;
}

/* What lies on every other function while those above are measured (-all). */
SEC("?kprobe.multi")
int trigger_kprobe_rest(void *ctx)
{
	return 0;
}

SEC("?kretprobe.multi")
int trigger_kretprobe_rest(void *ctx)
{
	return 0;
}
