/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * A histogram in an array map: a lookup and an increment per byte. The native form does what an
 * inlined lookup does, on an array with the bounds check of a map.
 */
#ifdef BENCH_NATIVE
static __u64 map_slots[JIT_MAP_SLOTS];

static __always_inline __u64 *map_lookup(__u32 key)
{
	bench_opaque(key);
	return key < JIT_MAP_SLOTS ? &map_slots[key] : (void *)0;
}
#else
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, JIT_MAP_SLOTS);
	__type(key, __u32);
	__type(value, __u64);
} map_slots SEC(".maps");

static __always_inline __u64 *map_lookup(__u32 key)
{
	return bpf_map_lookup_elem(&map_slots, &key);
}
#endif

JIT_KERNEL(map)
{
	__u64 before = 0, *slot = map_lookup(jit_data.in[0]);

	if (slot)
		before = *slot;
	JIT_LOOP
	for (__u32 i = 0; i < JIT_MAP_STEPS; i++) {
		slot = map_lookup(jit_data.in[i]);
		if (slot)
			*slot += i;
	}
	slot = map_lookup(jit_data.in[0]);
	return slot ? *slot - before : 0;
}

JIT_DRIVER(map)
