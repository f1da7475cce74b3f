// SPDX-License-Identifier: BSD-2-Clause
/* Programs that are attached and detached while others call the functions (stress.c). */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "GPL";

__u64 steady, toggled_entry, toggled_exit, wrong;

SEC("fentry/test_steady")
int BPF_PROG(on_steady, __u64 a, __u64 b)
{
	__sync_fetch_and_add(&steady, 1);
	if (b != a + 1)
		__sync_fetch_and_add(&wrong, 1);
	return 0;
}

SEC("fexit/test_steady")
int BPF_PROG(on_steady_exit, __u64 a, __u64 b, __u64 result)
{
	__sync_fetch_and_add(&toggled_exit, 1);
	if (b != a + 1 || result != a + b)
		__sync_fetch_and_add(&wrong, 1);
	return 0;
}

SEC("fentry/test_toggled")
int BPF_PROG(on_toggled, __u64 a, __u64 b)
{
	__sync_fetch_and_add(&toggled_entry, 1);
	if (b != a + 1)
		__sync_fetch_and_add(&wrong, 1);
	return 0;
}
