// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * glob-arr-inc, arr-inc and hash-inc: one operation increments a counter of the CPU it runs on, found
 * through a global array and bpf_get_smp_processor_id(), a per-CPU array, or a per-CPU hash. What
 * they measure is whether these helpers are inlined. The null program is the driver alone.
 */
#include "bench.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define MAX_CPUS 256

/* One counter a CPU, 128 bytes apart: a neighbour's prefetched cache line would be shared. */
struct {
	__u64 value;
	__u64 pad[15];
} counters[MAX_CPUS] __attribute__((aligned(128)));

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} percpu_arr SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} percpu_hash SEC(".maps");

static __always_inline void inc_glob_arr(void)
{
	counters[bpf_get_smp_processor_id() % MAX_CPUS].value += 1;
}

static __always_inline void inc_arr(void)
{
	__u32 key = 0;
	__u64 *value = bpf_map_lookup_elem(&percpu_arr, &key);

	if (value)
		*value += 1;
}

static __always_inline void inc_hash(void)
{
	__u32 key = 0;
	__u64 first = 1;
	__u64 *value = bpf_map_lookup_elem(&percpu_hash, &key);

	if (value)
		*value += 1;
	else
		bpf_map_update_elem(&percpu_hash, &key, &first, BPF_ANY);
}

BENCH_DRIVER(inc_null, )
BENCH_DRIVER(glob_arr_inc, inc_glob_arr())
BENCH_DRIVER(arr_inc, inc_arr())
BENCH_DRIVER(hash_inc, inc_hash())
