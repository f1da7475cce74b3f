// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * kptr-xchg: one operation takes an object out of a map's value and puts it back, with bpf_kptr_xchg()
 * both times. Each CPU has its own. Operations are counted beside the object; the null program finds
 * the value and counts, too, in another member.
 *
 * Objects cannot be made in raw_tp programs, so these are syscall programs. They may be preempted, and
 * another one may run on the same CPU: then there is no object, which is made as the first one was, or
 * one too many, which is dropped.
 */
#include "bench.bpf.h"

#include <bpf/bpf_core_read.h>

char LICENSE[] SEC("license") = "GPL";

#define __kptr __attribute__((btf_type_tag("kptr")))

extern void *bpf_obj_new_impl(__u64 local_type_id, void *meta) __ksym;
extern void bpf_obj_drop_impl(void *object, void *meta) __ksym;

struct object {
	__u64 uses;
};

struct slot {
	__u64 events, null_events;
	struct object __kptr *object;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct slot);
} slots SEC(".maps");

static __always_inline struct slot *find(void)
{
	__u32 key = 0;

	return bpf_map_lookup_elem(&slots, &key);
}

static __always_inline void exchange(void)
{
	struct slot *slot = find();
	struct object *object;

	if (!slot)
		return;
	object = bpf_kptr_xchg(&slot->object, NULL);
	if (!object)
		object = bpf_obj_new_impl(bpf_core_type_id_local(struct object), NULL);
	if (!object)
		return;
	slot->events += 1;
	object = bpf_kptr_xchg(&slot->object, object);
	if (object)
		bpf_obj_drop_impl(object, NULL);
}

static __always_inline void count_null(void)
{
	struct slot *slot = find();

	if (slot)
		slot->null_events += 1;
}

BENCH_DRIVER_IN("syscall", kptr_xchg_driver, exchange())
BENCH_DRIVER_IN("syscall", kptr_xchg_null, count_null())
