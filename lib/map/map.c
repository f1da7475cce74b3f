// SPDX-License-Identifier: BSD-2-Clause
/*
 * Maps in general: the table of types, creation and end, and the layer between the commands and the
 * families. A map ends when its last reference goes; programs that ran on it may still be inside
 * a section, so the memory is freed after a grace period.
 */
#include "map/map.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "btf/btf.h"
#include "map/area.h"
#include "map/map_ops.h"
#include "percpu/cpu.h"
#include "percpu/sys.h"

#include "bpfu/bpfu.h"


static const struct bpfu_map_ops *const ops_of[] = {
#define BPFU_MAP_TYPE(name, ops) [BPF_MAP_TYPE_##name] = &ops,
#include "map/map_types.def"
#undef BPFU_MAP_TYPE
};

const struct bpfu_map_ops *bpfu_map_ops_of(uint32_t type)
{
	return type < BPFU_ARRAY_SIZE(ops_of) ? ops_of[type] : NULL;
}

/* ---- creation and end ---- */

static int copy_name(char *dst, const char *src)
{
	size_t i;

	memset(dst, 0, BPF_OBJ_NAME_LEN);
	for (i = 0; i < BPF_OBJ_NAME_LEN && src[i]; i++) {
		if (!isalnum((unsigned char)src[i]) && src[i] != '_' && src[i] != '.')
			return -EINVAL;
		dst[i] = src[i];
	}
	return i < BPF_OBJ_NAME_LEN ? 0 : -EINVAL;
}

static void map_free(struct bpfu_rcu_head *head)
{
	struct bpfu_map *map = bpfu_container_of(head, struct bpfu_map, rcu);
	struct bpfu_record *record = map->record;

	if (map->btf)
		bpfu_obj_put(&map->btf->obj);
	/* Not through a close() that the router watches: this descriptor was never handed out. */
	if (map->mem_fd >= 0)
		bpfu_sys6(SYS_close, map->mem_fd, 0, 0, 0, 0, 0);
	map->ops->free(map);
	free(record);
}

static void map_release(struct bpfu_obj *obj)
{
	struct bpfu_map *map = bpfu_map_of(obj);

	bpfu_call_rcu(&map->rcu, map_free);
	bpfu_rcu_poll();
}

static int check_attr(const union bpf_attr *attr, const struct bpfu_map_ops *ops, char *name)
{
	int err;

	if (!ops)
		return -EINVAL;
	/* No type here takes more parameters. */
	if (attr->map_extra)
		return -EINVAL;
	if ((attr->map_flags & BPF_F_RDONLY) && (attr->map_flags & BPF_F_WRONLY))
		return -EINVAL;
	if (!bpfu_numa_node_is_online(bpfu_map_numa_node(attr)))
		return -EINVAL;
	err = ops->alloc_check(attr);
	if (err)
		return err;
	return copy_name(name, attr->map_name);
}

int bpfu_map_create(const union bpf_attr *attr, struct bpfu_btf *btf, struct bpfu_map **out)
{
	const struct bpfu_map_ops *ops = bpfu_map_ops_of(attr->map_type);
	char name[BPF_OBJ_NAME_LEN];
	struct bpfu_map *map;
	int err;

	err = check_attr(attr, ops, name);
	if (err)
		return err;
	err = ops->alloc(attr, &map);
	if (err)
		return err;
	bpfu_obj_init(&map->obj, BPFU_OBJ_MAP, map_release);
	map->ops = ops;
	map->type = attr->map_type;
	map->key_size = attr->key_size;
	map->value_size = attr->value_size;
	map->max_entries = attr->max_entries;
	map->map_flags = attr->map_flags;
	map->numa_node = bpfu_map_numa_node(attr);
	memcpy(map->name, name, sizeof(map->name));
	map->btf = btf;
	map->btf_key_type_id = btf ? attr->btf_key_type_id : 0;
	map->btf_value_type_id = btf ? attr->btf_value_type_id : 0;
	*out = map;
	return 0;
}

uint32_t bpfu_map_user_value_size(const struct bpfu_map *map)
{
	if (map->ops->values_percpu)
		return BPFU_ROUND_UP(map->value_size, 8) * bpfu_possible_cpus();
	if (map->ops->values_are_fds)
		return sizeof(uint32_t);
	return map->value_size;
}

/* ---- the commands ---- */

int bpfu_map_lookup_user(struct bpfu_map *map, const void *key, void *value, uint64_t flags)
{
	return map->ops->lookup_user ? map->ops->lookup_user(map, key, value, flags) :
				       -BPFU_ENOTSUPP;
}

int bpfu_map_update_user(struct bpfu_map *map, const void *key, const void *value, uint64_t flags)
{
	if (map->ops->update_user)
		return map->ops->update_user(map, key, value, flags);
	return map->ops->update(map, key, value, flags);
}

int bpfu_map_delete_user(struct bpfu_map *map, const void *key)
{
	return map->ops->delete(map, key);
}

int bpfu_map_lookup_and_delete_user(struct bpfu_map *map, const void *key, void *value,
				    uint64_t flags)
{
	if (!map->ops->lookup_and_delete_user)
		return -BPFU_ENOTSUPP;
	return map->ops->lookup_and_delete_user(map, key, value, flags);
}

int bpfu_map_get_next_key(struct bpfu_map *map, const void *key, void *next_key)
{
	return map->ops->get_next_key(map, key, next_key);
}
