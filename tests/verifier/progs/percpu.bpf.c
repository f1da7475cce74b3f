// SPDX-License-Identifier: BSD-2-Clause
/* Per-CPU variables of the kernel, which libbpfu has too: what may be done with them, and what comes out. */
#include "../expect.h"

extern const int cpu_number __ksym;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, __u64);
	__uint(max_entries, 4);
} m SEC(".maps");

#define FAR 100000 /* more CPUs than there are */

SEC("raw_tp") __success __retval(1) int this_cpu(void *ctx)
{
	const int *cpu = bpf_this_cpu_ptr(&cpu_number);

	return *cpu == (int)bpf_get_smp_processor_id();
}

SEC("raw_tp") __success __retval(1) int other_cpus(void *ctx)
{
	__u32 here = bpf_get_smp_processor_id();
	const int *mine = bpf_per_cpu_ptr(&cpu_number, here);
	const int *first = bpf_per_cpu_ptr(&cpu_number, 0);

	if (!mine || !first)
		return 2;
	return *mine == (int)here && !*first;
}

SEC("raw_tp") __success __retval(3) int no_such_cpu(void *ctx)
{
	const int *far = bpf_per_cpu_ptr(&cpu_number, FAR);
	const int *last = bpf_per_cpu_ptr(&cpu_number, 0xffffffff);

	return !far + 2 * !last;
}

SEC("raw_tp") __failure(EACCES) __msg("invalid mem access 'rdonly_mem_or_null'")
int unchecked(void *ctx)
{
	const int *cpu = bpf_per_cpu_ptr(&cpu_number, 0);

	return *cpu;
}

SEC("raw_tp") __failure(EACCES) __msg("cannot write into rdonly_mem") int written(void *ctx)
{
	int *cpu = (int *)bpf_this_cpu_ptr(&cpu_number);

	*cpu = 1;
	return 0;
}

SEC("raw_tp") __failure(EACCES) __msg("invalid access to memory, mem_size=4 off=4 size=4")
int past_end(void *ctx)
{
	const int *cpu = bpf_this_cpu_ptr(&cpu_number);

	return cpu[1];
}

SEC("raw_tp") __failure(EACCES) __msg("R2 type=rdonly_mem expected=fp, pkt, pkt_meta") int as_key(void *ctx)
{
	return !!bpf_map_lookup_elem(&m, bpf_this_cpu_ptr(&cpu_number));
}

SEC("raw_tp") __failure(EACCES) __msg("pointer arithmetic on percpu_ptr_ prohibited") int arithmetic(void *ctx)
{
	const char *p = (const char *)&cpu_number;

	asm volatile("%[p] += 4" : [p] "+r"(p));
	return *(const int *)bpf_this_cpu_ptr(p);
}

SEC("raw_tp") __failure(EACCES) __msg("R1 type=fp expected=percpu_ptr_, percpu_rcu_ptr_, percpu_trusted_ptr_")
int of_stack(void *ctx)
{
	int here = 1;

	asm volatile("" : : "r"(&here) : "memory");
	return *(const int *)bpf_this_cpu_ptr(&here);
}
