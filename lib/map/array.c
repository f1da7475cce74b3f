// SPDX-License-Identifier: BSD-2-Clause
/*
 * BPF_MAP_TYPE_ARRAY: values side by side, index as key, every element always there. With
 * BPF_F_MMAPABLE the values live in a memfd, of which the map's descriptor is a duplicate, so that
 * mmap(2) of that descriptor shows them; libbpf keeps .bss, .data and .rodata of an object so.
 *
 * The first half has what PERCPU_ARRAY and PROG_ARRAY share with it.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "map/area.h"
#include "map/copy_value.h"
#include "map/fields.h"
#include "map/map_ops.h"
#include "obj/prog.h"
#include "percpu/sys.h"

#define PAGE     4096u

#define ARRAY_FLAGS (BPF_F_NUMA_NODE | BPFU_MAP_ACCESS_FLAGS)

/* ---- common to array-like maps ---- */

int bpfu_array_check(const union bpf_attr *attr, uint32_t allowed_flags)
{
	if (attr->max_entries == 0 || attr->key_size != 4 || attr->value_size == 0)
		return -EINVAL;
	if ((attr->map_flags & ~allowed_flags) || !bpfu_map_access_flags_ok(attr->map_flags))
		return -EINVAL;
	return attr->value_size > INT_MAX ? -E2BIG : 0;
}

uint32_t bpfu_array_index_mask(uint32_t max_entries)
{
	uint32_t mask = max_entries - 1;
	uint32_t shift;

	for (shift = 1; shift < 32; shift *= 2)
		mask |= mask >> shift;
	return mask;
}

static uint32_t index_of(const void *key)
{
	uint32_t idx;

	memcpy(&idx, key, sizeof(idx));
	return idx;
}

int bpfu_array_get_next_key(struct bpfu_map *map, const void *key, void *next_key)
{
	uint32_t idx = key ? index_of(key) : UINT32_MAX;
	uint32_t next = idx < map->max_entries ? idx + 1 : 0;

	if (idx == map->max_entries - 1)
		return -ENOENT;
	memcpy(next_key, &next, sizeof(next));
	return 0;
}

int bpfu_array_delete(struct bpfu_map *map, const void *key)
{
	return -EINVAL;
}

int bpfu_array_check_update(const struct bpfu_map *map, uint32_t idx, uint64_t flags)
{
	if (flags > BPF_EXIST)
		return -EINVAL;
	if (idx >= map->max_entries)
		return -E2BIG;
	return flags == BPF_NOEXIST ? -EEXIST : 0;
}

/* ---- the array ---- */

static struct bpfu_array *array_of(struct bpfu_map *map)
{
	return bpfu_container_of(map, struct bpfu_array, map);
}

static int array_alloc_check(const union bpf_attr *attr)
{
	return bpfu_array_check(attr, ARRAY_FLAGS | BPF_F_MMAPABLE | BPF_F_INNER_MAP);
}

static int alloc_mmapable(struct bpfu_array *array)
{
	void *values;
	int fd, err;

	fd = memfd_create("bpf-map", MFD_CLOEXEC);
	if (fd < 0)
		return errno == ENOSYS ? -ENOMEM : -errno;
	err = ftruncate(fd, (off_t)array->values_size) ? -ENOMEM : 0;
	if (err)
		goto err_close;
	values = mmap(NULL, array->values_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (values == MAP_FAILED) {
		err = -ENOMEM;
		goto err_close;
	}
	array->values = values;
	array->map.mem_fd = fd;
	return 0;

err_close:
	bpfu_sys6(SYS_close, fd, 0, 0, 0, 0, 0);
	return err;
}

static int array_alloc(const union bpf_attr *attr, struct bpfu_map **out)
{
	struct bpfu_array *array = calloc(1, sizeof(*array));
	int err = -ENOMEM;

	if (!array)
		return -ENOMEM;
	array->elem_size = BPFU_ROUND_UP(attr->value_size, 8);
	array->index_mask = bpfu_array_index_mask(attr->max_entries);
	array->values_size = (uint64_t)array->elem_size * attr->max_entries;
	array->map.mem_fd = -1;
	if (attr->map_flags & BPF_F_MMAPABLE) {
		array->values_size = BPFU_ROUND_UP(array->values_size, PAGE);
		if (!bpfu_area_fits(array->values_size))
			goto err_free;
		err = alloc_mmapable(array);
	} else {
		array->values = bpfu_area_alloc(array->values_size, bpfu_map_numa_node(attr));
		err = array->values ? 0 : -ENOMEM;
	}
	if (err)
		goto err_free;
	*out = &array->map;
	return 0;

err_free:
	free(array);
	return err;
}

static void *elem_at(struct bpfu_array *array, uint32_t idx)
{
	return array->values + (uint64_t)array->elem_size * idx;
}

static void array_free(struct bpfu_map *map)
{
	struct bpfu_array *array = array_of(map);

	for (uint32_t i = 0; map->record && i < map->max_entries; i++)
		bpfu_fields_drop(map->record, elem_at(array, i));
	if (map->map_flags & BPF_F_MMAPABLE)
		munmap(array->values, array->values_size);
	else
		bpfu_area_free(array->values, array->values_size);
	free(array);
}

static void *array_lookup(struct bpfu_map *map, const void *key)
{
	uint32_t idx = index_of(key);

	return idx < map->max_entries ? elem_at(array_of(map), idx) : NULL;
}

static int array_update(struct bpfu_map *map, const void *key, const void *value, uint64_t flags)
{
	uint32_t idx = index_of(key);
	int err = bpfu_array_check_update(map, idx, flags);

	if (!err)
		bpfu_map_write_value(map, elem_at(array_of(map), idx), value, map->value_size);
	return err;
}

static int array_lookup_user(struct bpfu_map *map, const void *key, void *value, uint64_t flags)
{
	const void *elem = array_lookup(map, key);

	if (!elem)
		return -ENOENT;
	bpfu_value_read(value, elem, map->value_size);
	bpfu_fields_hide(map->record, value);
	return 0;
}

static int64_t array_for_each(struct bpfu_map *map, uint64_t callback, uint64_t ctx, uint64_t flags)
{
	struct bpfu_array *array = array_of(map);
	int64_t visited = 0;
	uint32_t idx, key;

	if (flags)
		return -EINVAL;
	for (idx = 0; idx < map->max_entries; idx++) {
		key = idx;
		visited++;
		if (bpfu_callback_call(callback, bpfu_u64(map), bpfu_u64(&key),
				       bpfu_u64(elem_at(array, idx)), ctx, 0))
			break;
	}
	return visited;
}

static int array_direct_value_addr(struct bpfu_map *map, uint64_t *addr, uint32_t off)
{
	if (map->max_entries != 1)
		return -BPFU_ENOTSUPP;
	if (off >= map->value_size)
		return -EINVAL;
	*addr = bpfu_u64(array_of(map)->values) + off;
	return 0;
}

static uint64_t array_mem_usage(const struct bpfu_map *map)
{
	const struct bpfu_array *array = bpfu_container_of(map, struct bpfu_array, map);

	return sizeof(*array) + array->values_size;
}

const struct bpfu_map_ops bpfu_array_ops = {
	.alloc_check = array_alloc_check,
	.alloc = array_alloc,
	.free = array_free,
	.lookup = array_lookup,
	.update = array_update,
	.delete = bpfu_array_delete,
	.for_each = array_for_each,
	.lookup_user = array_lookup_user,
	.get_next_key = bpfu_array_get_next_key,
	.direct_value_addr = array_direct_value_addr,
	.mem_usage = array_mem_usage,
	.batch = BPFU_BATCH_LOOKUP | BPFU_BATCH_UPDATE,
};
