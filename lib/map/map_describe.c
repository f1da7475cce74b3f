// SPDX-License-Identifier: BSD-2-Clause
/* Names of the addresses that a program's instructions may hold of a map, for listings. */
#include <errno.h>
#include <stdio.h>

#include "map/map.h"
#include "util/bits.h"

/* "map NAME[INDEX]+OFFSET", without what is 0. */
static void put_element(const struct bpfu_map *map, const char *what, uint64_t idx, uint64_t off,
			char *buf, size_t size)
{
	int n = snprintf(buf, size, "map %s", map->name);

	if (n >= 0 && (size_t)n < size && map->max_entries > 1)
		n += snprintf(buf + n, size - (size_t)n, "[%llu]", (unsigned long long)idx);
	if (n >= 0 && (size_t)n < size)
		n += snprintf(buf + n, size - (size_t)n, "%s", what);
	if (n >= 0 && (size_t)n < size && off)
		snprintf(buf + n, size - (size_t)n, "+%llu", (unsigned long long)off);
}

/* @base: of @map's values, @elem_size bytes each. */
static bool in_values(const struct bpfu_map *map, uint64_t base, uint32_t elem_size, uint64_t addr,
		      const char *what, char *buf, size_t size)
{
	uint64_t off = addr - base;

	if (addr < base || !elem_size || off / elem_size >= map->max_entries)
		return false;
	put_element(map, what, off / elem_size, off % elem_size, buf, size);
	return true;
}

int bpfu_map_describe(const struct bpfu_map *map, uint64_t addr, char *buf, size_t size)
{
	bool found = false;

	if (addr == bpfu_u64(map)) {
		snprintf(buf, size, "map %s", map->name);
		return 0;
	}
	if (map->type == BPF_MAP_TYPE_ARRAY) {
		const struct bpfu_array *array = bpfu_container_of(map, struct bpfu_array, map);

		found = in_values(map, bpfu_u64(array->values), array->elem_size, addr, " value",
				  buf, size);
	} else if (map->type == BPF_MAP_TYPE_PERCPU_ARRAY) {
		const struct bpfu_percpu_array *array =
			bpfu_container_of(map, struct bpfu_percpu_array, map);

		found = in_values(map, bpfu_u64(array->pptrs), sizeof(void *), addr,
				  " per-CPU pointer", buf, size) ||
			in_values(map, bpfu_u64(array->values), array->elem_size, addr,
				  " value per CPU", buf, size);
	}
	return found ? 0 : -ENOENT;
}
