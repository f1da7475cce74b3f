// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* One program for each thing that a kernel may be able to do; each is loaded and attached alone. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} ring SEC(".maps");

#define ABILITY(name, section)                                                                     \
	SEC("?" section) int name(void *ctx)                                                       \
	{                                                                                          \
		return 0;                                                                          \
	}

ABILITY(raw_tp, "raw_tp/sys_enter")
ABILITY(tracepoint, "tracepoint/syscalls/sys_enter_getpgid")
ABILITY(tp_btf, "tp_btf/sys_enter")
ABILITY(kprobe, "kprobe/bpf_get_numa_node_id")
ABILITY(kretprobe, "kretprobe/bpf_get_numa_node_id")
ABILITY(kprobe_multi, "kprobe.multi/bpf_get_numa_node_id")
ABILITY(kretprobe_multi, "kretprobe.multi/bpf_get_numa_node_id")
ABILITY(fentry, "fentry/bpf_get_numa_node_id")
ABILITY(fexit, "fexit/bpf_get_numa_node_id")
ABILITY(fmod_ret, "fmod_ret/security_file_open")
ABILITY(lsm, "lsm/file_open")

static long nothing(__u32 idx, void *unused)
{
	return 0;
}

SEC("?raw_tp/sys_enter") int loop(void *ctx)
{
	return (int)bpf_loop(1, nothing, (void *)0, 0);
}

SEC("?raw_tp/sys_enter") int ringbuf(void *ctx)
{
	void *p = bpf_ringbuf_reserve(&ring, 8, 0);

	if (p)
		bpf_ringbuf_discard(p, 0);
	return 0;
}
