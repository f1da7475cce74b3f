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

typedef __u64 stack_trace_t[127]; /* as deep as kernels go by default */

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, stack_trace_t);
} stack_heap SEC(".maps");

static __always_inline void take_stack(void *ctx)
{
	__u32 zero = 0;
	__u64 *stack = bpf_map_lookup_elem(&stack_heap, &zero);

	if (stack)
		bpf_get_stack(ctx, stack, sizeof(stack_trace_t), 0);
}

/*
 * What is attached: the program @name, and for --stacktrace @name_stack. They are two, so that without
 * the option nothing of it is left in the program, not even a test.
 */
#define ATTACHED(sec, name, ret)                                                                   \
	SEC(sec)                                                                                   \
	int name(void *ctx)                                                                        \
	{                                                                                          \
		COUNT_IN(hits);                                                                    \
		return ret;                                                                        \
	}                                                                                          \
	SEC(sec)                                                                                   \
	int name##_stack(void *ctx)                                                                \
	{                                                                                          \
		COUNT_IN(hits);                                                                    \
		take_stack(ctx);                                                                   \
		return ret;                                                                        \
	}

BENCH_DRIVER(trigger_empty, )
BENCH_DRIVER(trigger_driver, bpf_get_numa_node_id())
BENCH_DRIVER(trigger_null, bpf_get_numa_node_id(); COUNT_IN(null_hits))

/* What tracepoint and fmod_ret programs are attached to; only some kernels have it. */
extern int bpf_modify_return_test_tp(int nonce) __ksym __weak;

#define KFUNC_DRIVER "?raw_tp"
BENCH_DRIVER_IN(KFUNC_DRIVER, kfunc_driver, bpf_modify_return_test_tp(0))
BENCH_DRIVER_IN(KFUNC_DRIVER, kfunc_null, bpf_modify_return_test_tp(0); COUNT_IN(null_hits))

ATTACHED("?fmod_ret/bpf_modify_return_test_tp", trigger_fmodret, -22)
ATTACHED("?tp/bpf_test_run/bpf_trigger_tp", trigger_tp, 0)
ATTACHED("?raw_tp/bpf_trigger_tp", trigger_rawtp, 0)
ATTACHED("?fentry/bpf_get_numa_node_id", trigger_fentry, 0)
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

ATTACHED("?fexit/bpf_get_numa_node_id", trigger_fexit, 0)
ATTACHED("?kprobe/bpf_get_numa_node_id", trigger_kprobe, 0)
ATTACHED("?kretprobe/bpf_get_numa_node_id", trigger_kretprobe, 0)
ATTACHED("?kprobe.multi/bpf_get_numa_node_id", trigger_kprobe_multi, 0)
ATTACHED("?kretprobe.multi/bpf_get_numa_node_id", trigger_kretprobe_multi, 0)
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
