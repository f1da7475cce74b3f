// SPDX-License-Identifier: BSD-2-Clause
/* Programs of all kinds on one function, for its callers to be found through them (unwind.c). */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

__u64 hits;

#define PROG(sec, name)                                                                            \
	SEC(sec)                                                                                   \
	int name(void *ctx)                                                                        \
	{                                                                                          \
		__sync_fetch_and_add(&hits, 1);                                                    \
		return 0;                                                                          \
	}

PROG("fentry/unwind_traced", on_fentry)
PROG("fexit/unwind_traced", on_fexit)
PROG("fmod_ret/unwind_traced", on_fmodret)
PROG("kprobe/unwind_traced", on_kprobe)
PROG("kretprobe/unwind_traced", on_kretprobe)
PROG("kprobe.multi/unwind_traced", on_kprobe_multi)
PROG("kretprobe.multi/unwind_traced", on_kretprobe_multi)
PROG("kprobe.multi/unwind_traced", on_session)
