// SPDX-License-Identifier: BSD-2-Clause
/* Helpers about maps, loops, the CPU slot, and random numbers. The verifier has checked arguments. */
#include <errno.h>
#include <sys/random.h>

#include "btf/traceable.h"
#include "helper/bodies.h"
#include "map/map.h"
#include "obj/prog.h"
#include "percpu/cpu.h"
#include "percpu/percpu_alloc.h"

uint64_t bpfu_helper_map_lookup_elem(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4,
				     uint64_t r5)
{
	struct bpfu_map *map = bpfu_ptr(r1);

	return bpfu_u64(map->ops->lookup(map, bpfu_ptr(r2)));
}

uint64_t bpfu_helper_map_update_elem(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4,
				     uint64_t r5)
{
	struct bpfu_map *map = bpfu_ptr(r1);

	if (!map->ops->update)
		return (int64_t)-EOPNOTSUPP;
	return (int64_t)map->ops->update(map, bpfu_ptr(r2), bpfu_ptr(r3), r4);
}

uint64_t bpfu_helper_map_delete_elem(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4,
				     uint64_t r5)
{
	struct bpfu_map *map = bpfu_ptr(r1);

	if (!map->ops->delete)
		return (int64_t)-EOPNOTSUPP;
	return (int64_t)map->ops->delete(map, bpfu_ptr(r2));
}

uint64_t bpfu_helper_map_lookup_percpu_elem(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4,
					    uint64_t r5)
{
	struct bpfu_map *map = bpfu_ptr(r1);

	if (!map->ops->lookup_percpu)
		return 0;
	return bpfu_u64(map->ops->lookup_percpu(map, bpfu_ptr(r2), (uint32_t)r3));
}

uint64_t bpfu_helper_for_each_map_elem(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4,
				       uint64_t r5)
{
	struct bpfu_map *map = bpfu_ptr(r1);

	if (!map->ops->for_each)
		return (int64_t)-EINVAL;
	return map->ops->for_each(map, r2, r3, r4);
}

uint64_t bpfu_helper_loop(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	uint32_t nr_loops = (uint32_t)r1;

	if (r4)
		return (int64_t)-EINVAL;
	if (nr_loops > BPFU_MAX_LOOPS)
		return (int64_t)-E2BIG;
	for (uint32_t i = 0; i < nr_loops; i++)
		if (bpfu_callback_call(r2, i, r3, 0, 0, 0))
			return i + 1;
	return nr_loops;
}

uint64_t bpfu_helper_get_smp_processor_id(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4,
					  uint64_t r5)
{
	return bpfu_cpu_self.cpu;
}

uint64_t bpfu_helper_this_cpu_ptr(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	return bpfu_u64(bpfu_percpu_this(bpfu_ptr(r1)));
}

uint64_t bpfu_helper_per_cpu_ptr(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	uint32_t cpu = (uint32_t)r2;

	return cpu < bpfu_possible_cpus() ? bpfu_u64(bpfu_percpu_of(bpfu_ptr(r1), cpu)) : 0;
}

/*
 * A slot has no node. This is the function that trigger benches call and attach probes to, so it
 * must stay a function that is called.
 */
BPFU_PATCHABLE uint64_t bpfu_helper_get_numa_node_id(uint64_t r1, uint64_t r2, uint64_t r3,
						     uint64_t r4, uint64_t r5)
{
	__asm__ volatile("");
	return 0;
}
BPFU_TRACEABLE(bpfu_helper_get_numa_node_id, "u64 bpf_get_numa_node_id(void)", 0);

/* splitmix64 over a per-thread counter: any state is good, and a fork only repeats numbers. */
uint64_t bpfu_helper_get_prandom_u32(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4,
				     uint64_t r5)
{
	static __thread uint64_t state;
	static __thread bool seeded;
	uint64_t z;

	if (bpfu_unlikely(!seeded)) {
		if (getrandom(&state, sizeof(state), GRND_NONBLOCK) != sizeof(state))
			state = bpfu_u64(&state);
		seeded = true;
	}
	z = (state += 0x9e3779b97f4a7c15ull);
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return (uint32_t)(z ^ (z >> 31));
}
