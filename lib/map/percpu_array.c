// SPDX-License-Identifier: BSD-2-Clause
/*
 * BPF_MAP_TYPE_PERCPU_ARRAY: an array in every unit of per-CPU memory. Programs see the copy of
 * their slot, commands see all of them, each rounded up to 8 bytes.
 */
#include <errno.h>
#include <string.h>

#include "bpfu/bpfu.h"
#include "map/area.h"
#include "map/copy_value.h"
#include "map/fields.h"
#include "map/map_ops.h"
#include "obj/prog.h"
#include "percpu/percpu_alloc.h"

static struct bpfu_percpu_array *array_of(struct bpfu_map *map)
{
	return bpfu_container_of(map, struct bpfu_percpu_array, map);
}

static int percpu_array_alloc_check(const union bpf_attr *attr)
{
	int err = bpfu_array_check(attr, BPF_F_NUMA_NODE | BPFU_MAP_ACCESS_FLAGS);

	if (err)
		return err;
	if (bpfu_map_numa_node(attr) != BPFU_NO_NODE)
		return -EINVAL;
	return attr->value_size > BPFU_PERCPU_VALUE_MAX ? -E2BIG : 0;
}

static uint64_t struct_size(uint32_t max_entries)
{
	return sizeof(struct bpfu_percpu_array) + (uint64_t)max_entries * sizeof(void *);
}

static int percpu_array_alloc(const union bpf_attr *attr, struct bpfu_map **out)
{
	uint64_t elem_size = BPFU_ROUND_UP(attr->value_size, 8);
	struct bpfu_percpu_array *array;
	uint32_t i;

	/* The values first: that fails soonest for sizes that cannot be. */
	void *values = bpfu_percpu_alloc(elem_size * attr->max_entries);

	if (!values)
		return -ENOMEM;
	array = bpfu_area_alloc(struct_size(attr->max_entries), BPFU_NO_NODE);
	if (!array) {
		bpfu_percpu_free(values, elem_size * attr->max_entries);
		return -ENOMEM;
	}
	array->map.mem_fd = -1;
	array->elem_size = (uint32_t)elem_size;
	array->index_mask = bpfu_array_index_mask(attr->max_entries);
	array->values = values;
	for (i = 0; i < attr->max_entries; i++)
		array->pptrs[i] = (char *)values + elem_size * i;
	*out = &array->map;
	return 0;
}

static void percpu_array_free(struct bpfu_map *map)
{
	struct bpfu_percpu_array *array = array_of(map);

	for (uint32_t i = 0; map->record && i < map->max_entries; i++)
		for (uint32_t cpu = 0; cpu < bpfu_possible_cpus(); cpu++)
			bpfu_fields_drop(map->record, bpfu_percpu_of(array->pptrs[i], cpu));
	bpfu_percpu_free(array->values, (uint64_t)array->elem_size * map->max_entries);
	bpfu_area_free(array, struct_size(map->max_entries));
}

static void *pptr_of(struct bpfu_map *map, const void *key)
{
	uint32_t idx;

	memcpy(&idx, key, sizeof(idx));
	return idx < map->max_entries ? array_of(map)->pptrs[idx] : NULL;
}

static void *percpu_array_lookup(struct bpfu_map *map, const void *key)
{
	void *pptr = pptr_of(map, key);

	return pptr ? bpfu_percpu_this(pptr) : NULL;
}

static void *percpu_array_lookup_percpu(struct bpfu_map *map, const void *key, uint32_t cpu)
{
	void *pptr = pptr_of(map, key);

	return pptr && cpu < bpfu_possible_cpus() ? bpfu_percpu_of(pptr, cpu) : NULL;
}

static int percpu_array_update(struct bpfu_map *map, const void *key, const void *value,
			       uint64_t flags)
{
	uint32_t idx;
	int err;

	memcpy(&idx, key, sizeof(idx));
	err = bpfu_array_check_update(map, idx, flags);
	if (!err)
		bpfu_map_write_value(map, bpfu_percpu_this(array_of(map)->pptrs[idx]), value,
				     map->value_size);
	return err;
}

static int percpu_array_update_user(struct bpfu_map *map, const void *key, const void *value,
				    uint64_t flags)
{
	struct bpfu_percpu_array *array = array_of(map);
	uint32_t idx, cpu;
	int err;

	memcpy(&idx, key, sizeof(idx));
	err = bpfu_array_check_update(map, idx, flags);
	for (cpu = 0; !err && cpu < bpfu_possible_cpus(); cpu++)
		bpfu_map_write_value(map, bpfu_percpu_of(array->pptrs[idx], cpu),
				     (const char *)value + (size_t)array->elem_size * cpu,
				     array->elem_size);
	return err;
}

static int percpu_array_lookup_user(struct bpfu_map *map, const void *key, void *value,
				    uint64_t flags)
{
	uint32_t size = array_of(map)->elem_size, cpu;
	void *pptr = pptr_of(map, key);

	if (!pptr)
		return -ENOENT;
	for (cpu = 0; cpu < bpfu_possible_cpus(); cpu++) {
		char *copy = (char *)value + (size_t)size * cpu;

		bpfu_value_read(copy, bpfu_percpu_of(pptr, cpu), size);
		bpfu_fields_hide(map->record, copy);
	}
	return 0;
}

static int64_t percpu_array_for_each(struct bpfu_map *map, uint64_t callback, uint64_t ctx,
				     uint64_t flags)
{
	struct bpfu_percpu_array *array = array_of(map);
	int64_t visited = 0;
	uint32_t idx, key;

	if (flags)
		return -EINVAL;
	for (idx = 0; idx < map->max_entries; idx++) {
		key = idx;
		visited++;
		if (bpfu_callback_call(callback, bpfu_u64(map), bpfu_u64(&key),
				       bpfu_u64(bpfu_percpu_this(array->pptrs[idx])), ctx, 0))
			break;
	}
	return visited;
}

static uint64_t percpu_array_mem_usage(const struct bpfu_map *map)
{
	const struct bpfu_percpu_array *array =
		bpfu_container_of(map, struct bpfu_percpu_array, map);

	return struct_size(map->max_entries) +
	       (uint64_t)array->elem_size * map->max_entries * bpfu_possible_cpus();
}

const struct bpfu_map_ops bpfu_percpu_array_ops = {
	.alloc_check = percpu_array_alloc_check,
	.alloc = percpu_array_alloc,
	.free = percpu_array_free,
	.lookup = percpu_array_lookup,
	.update = percpu_array_update,
	.delete = bpfu_array_delete,
	.lookup_percpu = percpu_array_lookup_percpu,
	.for_each = percpu_array_for_each,
	.lookup_user = percpu_array_lookup_user,
	.update_user = percpu_array_update_user,
	.get_next_key = bpfu_array_get_next_key,
	.mem_usage = percpu_array_mem_usage,
	.values_percpu = true,
	.batch = BPFU_BATCH_LOOKUP | BPFU_BATCH_UPDATE,
};
