// SPDX-License-Identifier: BSD-2-Clause
/*
 * libbpf's feature probes. libbpf asks once per process what the kernel can do and shapes what it
 * loads by the answers, so libbpfu must answer as a current kernel does.
 */
#include <stdio.h>

#include <bpf/libbpf.h>

#include "api.h"

/* Internal to libbpf, but global in its archive. The order is that of libbpf 1.1. */
bool kernel_supports(const struct bpf_object *obj, int feature);

static const char *const features[] = {
	"program names", "global data", "BTF", "BTF functions", "BTF global functions", "BTF DATASEC",
	"mappable arrays", "expected_attach_type", "bpf_probe_read_kernel", "BPF_PROG_BIND_MAP",
	"module BTF", "BTF floats", "perf links", "BTF decl tags", "BTF type tags",
	"memcg accounting", "attach cookies", "BTF enum64",
};

static void kernel_features(void)
{
	/* Other versions number them differently. */
	if (libbpf_major_version() != 1 || libbpf_minor_version() != 1) {
		printf("libbpf %s: numbers of the features not known\n", libbpf_version_string());
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(features); i++)
		if (!expect_true(kernel_supports(NULL, i)))
			printf("  not supported: %s\n", features[i]);
}

static void prog_types(void)
{
	static const enum bpf_prog_type types[] = {
		BPF_PROG_TYPE_SOCKET_FILTER, BPF_PROG_TYPE_KPROBE, BPF_PROG_TYPE_SCHED_CLS,
		BPF_PROG_TYPE_SCHED_ACT, BPF_PROG_TYPE_TRACEPOINT, BPF_PROG_TYPE_XDP,
		BPF_PROG_TYPE_CGROUP_SKB, BPF_PROG_TYPE_CGROUP_SOCK, BPF_PROG_TYPE_RAW_TRACEPOINT,
		BPF_PROG_TYPE_SYSCALL,
	};

	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (!expect_eq(libbpf_probe_bpf_prog_type(types[i], NULL), 1))
			printf("  %s\n", libbpf_bpf_prog_type_str(types[i]));
}

static void map_types(void)
{
	static const enum bpf_map_type types[] = {
		BPF_MAP_TYPE_HASH, BPF_MAP_TYPE_ARRAY, BPF_MAP_TYPE_PROG_ARRAY,
		BPF_MAP_TYPE_PERCPU_HASH, BPF_MAP_TYPE_PERCPU_ARRAY,
	};

	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (!expect_eq(libbpf_probe_bpf_map_type(types[i], NULL), 1))
			printf("  %s\n", libbpf_bpf_map_type_str(types[i]));
}

static void helpers(void)
{
	static const enum bpf_func_id ids[] = {
		BPF_FUNC_map_lookup_elem, BPF_FUNC_map_update_elem, BPF_FUNC_map_delete_elem,
		BPF_FUNC_ktime_get_ns, BPF_FUNC_trace_printk, BPF_FUNC_get_prandom_u32,
		BPF_FUNC_get_smp_processor_id, BPF_FUNC_tail_call, BPF_FUNC_probe_read_kernel,
		BPF_FUNC_get_current_pid_tgid, BPF_FUNC_loop, BPF_FUNC_map_lookup_percpu_elem,
		BPF_FUNC_get_numa_node_id,
	};

	for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
		if (!expect_eq(libbpf_probe_bpf_helper(BPF_PROG_TYPE_RAW_TRACEPOINT, ids[i], NULL), 1))
			printf("  helper %d\n", ids[i]);
	/* One that does not exist. */
	expect_eq(libbpf_probe_bpf_helper(BPF_PROG_TYPE_RAW_TRACEPOINT, 9999, NULL), 0);
}

API_MAIN(API_TEST(kernel_features), API_TEST(prog_types), API_TEST(map_types), API_TEST(helpers))
