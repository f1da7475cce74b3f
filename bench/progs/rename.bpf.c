// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * The rename benches: programs on what runs when a thread changes its name. Each is loaded alone, and
 * counts its runs.
 */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

__u64 hits;

#define RENAME_PROG(sec, name)                                                                     \
	SEC(sec)                                                                                   \
	int name(void *ctx)                                                                        \
	{                                                                                          \
		__sync_fetch_and_add(&hits, 1);                                                    \
		return 0;                                                                          \
	}

RENAME_PROG("?kprobe/__set_task_comm", rename_kprobe)
RENAME_PROG("?kretprobe/__set_task_comm", rename_kretprobe)
RENAME_PROG("?raw_tp/task_rename", rename_rawtp)
RENAME_PROG("?fentry/__set_task_comm", rename_fentry)
RENAME_PROG("?fexit/__set_task_comm", rename_fexit)
