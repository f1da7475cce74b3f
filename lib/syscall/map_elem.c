// SPDX-License-Identifier: BSD-2-Clause
/*
 * The commands on one element of a map. What they share: the map and the caller's right to read or
 * write it, then the key, then the value, each with the kernel's error in the kernel's order.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "map/map.h"
#include "syscall/map_access.h"
#include "syscall/syscall.h"
#include "util/uaccess.h"

int bpfu_map_access_get(int fd, unsigned int rights, struct bpfu_map_access *access)
{
	struct bpfu_obj *obj;
	int mode, err;

	err = bpfu_fd_get_mode(fd, BPFU_OBJ_MAP, -EINVAL, &obj, &mode);
	if (err)
		return err;
	access->map = bpfu_map_of(obj);
	access->rights = rights;
	/* Announced before the look at frozen, so that freezing cannot miss us. */
	if (rights & BPFU_MAP_WRITE)
		atomic_fetch_add(&access->map->writers, 1);
	if (((rights & BPFU_MAP_READ) && mode == O_WRONLY) ||
	    ((rights & BPFU_MAP_WRITE) && (mode == O_RDONLY || access->map->frozen))) {
		bpfu_map_access_put(access);
		return -EPERM;
	}
	return 0;
}

void bpfu_map_access_put(struct bpfu_map_access *access)
{
	if (access->rights & BPFU_MAP_WRITE)
		atomic_fetch_sub(&access->map->writers, 1);
	bpfu_map_put(access->map);
}

/* Memory for a key or a value; the common sizes need no allocation. */
struct scratch {
	_Alignas(16) uint8_t small[256];
	void *ptr;
};

static int scratch_init(struct scratch *s, uint32_t size)
{
	s->ptr = size <= sizeof(s->small) ? s->small : malloc(size);
	return s->ptr ? 0 : -ENOMEM;
}

static void scratch_release(struct scratch *s)
{
	if (s->ptr != s->small)
		free(s->ptr);
}

/* The caller's key in *@key; NULL with maps that have none, for which there must be no pointer. */
static int key_in(const struct bpfu_map *map, uint64_t ukey, struct scratch *s, void **key)
{
	int err;

	*key = NULL;
	s->ptr = s->small;
	if (!map->key_size)
		return ukey ? -EINVAL : 0;
	err = scratch_init(s, map->key_size);
	if (err)
		return err;
	err = bpfu_copy_from_user(s->ptr, ukey, map->key_size);
	if (err) {
		scratch_release(s);
		return err;
	}
	*key = s->ptr;
	return 0;
}

static int lookup(struct bpfu_map *map, const union bpfu_attr *attr,
		  int (*fn)(struct bpfu_map *, const void *, void *, uint64_t))
{
	uint32_t value_size = bpfu_map_user_value_size(map);
	struct scratch key_mem, value_mem;
	void *key;
	int err;

	err = key_in(map, attr->a.key, &key_mem, &key);
	if (err)
		return err;
	err = scratch_init(&value_mem, value_size);
	if (err)
		goto err_release_key;
	/* A bloom filter is asked about the value. */
	if (map->type == BPF_MAP_TYPE_BLOOM_FILTER)
		err = bpfu_copy_from_user(value_mem.ptr, attr->a.value, value_size);
	if (!err)
		err = fn(map, key, value_mem.ptr, attr->a.flags);
	if (!err && map->type != BPF_MAP_TYPE_BLOOM_FILTER)
		err = bpfu_copy_to_user(attr->a.value, value_mem.ptr, value_size);
	scratch_release(&value_mem);
err_release_key:
	scratch_release(&key_mem);
	return err;
}

/* Values with a spin lock do not exist here, so nothing can be looked at under it. */
static int check_lock_flag(uint64_t flags)
{
	return flags & BPF_F_LOCK ? -EINVAL : 0;
}

int bpfu_cmd_map_lookup(union bpfu_attr *attr, uint64_t uattr, uint32_t size)
{
	struct bpfu_map_access access;
	int err;

	if (!bpfu_attr_ends_with(attr, a.flags) || (attr->a.flags & ~(uint64_t)BPF_F_LOCK))
		return -EINVAL;
	err = bpfu_map_access_get(attr->a.map_fd, BPFU_MAP_READ, &access);
	if (err)
		return err;
	err = check_lock_flag(attr->a.flags);
	if (!err)
		err = lookup(access.map, attr, bpfu_map_lookup_user);
	bpfu_map_access_put(&access);
	return err;
}

int bpfu_cmd_map_lookup_and_delete(union bpfu_attr *attr, uint64_t uattr, uint32_t size)
{
	struct bpfu_map_access access;
	int err;

	if (!bpfu_attr_ends_with(attr, a.flags) || (attr->a.flags & ~(uint64_t)BPF_F_LOCK))
		return -EINVAL;
	err = bpfu_map_access_get(attr->a.map_fd, BPFU_MAP_READ | BPFU_MAP_WRITE, &access);
	if (err)
		return err;
	err = check_lock_flag(attr->a.flags);
	if (!err)
		err = lookup(access.map, attr, bpfu_map_lookup_and_delete_user);
	bpfu_map_access_put(&access);
	return err;
}

static int update(struct bpfu_map *map, const union bpfu_attr *attr)
{
	uint32_t value_size = bpfu_map_user_value_size(map);
	struct scratch key_mem, value_mem;
	void *key;
	int err;

	err = key_in(map, attr->a.key, &key_mem, &key);
	if (err)
		return err;
	err = scratch_init(&value_mem, value_size);
	if (err)
		goto err_release_key;
	err = bpfu_copy_from_user(value_mem.ptr, attr->a.value, value_size);
	if (!err)
		err = bpfu_map_update_user(map, key, value_mem.ptr, attr->a.flags);
	scratch_release(&value_mem);
err_release_key:
	scratch_release(&key_mem);
	return err;
}

int bpfu_cmd_map_update(union bpfu_attr *attr, uint64_t uattr, uint32_t size)
{
	struct bpfu_map_access access;
	int err;

	if (!bpfu_attr_ends_with(attr, a.flags))
		return -EINVAL;
	err = bpfu_map_access_get(attr->a.map_fd, BPFU_MAP_WRITE, &access);
	if (err)
		return err;
	err = check_lock_flag(attr->a.flags);
	if (!err)
		err = update(access.map, attr);
	bpfu_map_access_put(&access);
	return err;
}

int bpfu_cmd_map_delete(union bpfu_attr *attr, uint64_t uattr, uint32_t size)
{
	struct bpfu_map_access access;
	struct scratch key_mem;
	void *key;
	int err;

	if (!bpfu_attr_ends_with(attr, a.key))
		return -EINVAL;
	err = bpfu_map_access_get(attr->a.map_fd, BPFU_MAP_WRITE, &access);
	if (err)
		return err;
	err = key_in(access.map, attr->a.key, &key_mem, &key);
	if (!err) {
		err = bpfu_map_delete_user(access.map, key);
		scratch_release(&key_mem);
	}
	bpfu_map_access_put(&access);
	return err;
}

static int next_key(struct bpfu_map *map, const union bpfu_attr *attr)
{
	struct scratch key_mem = { .ptr = key_mem.small }, next_mem;
	void *key = NULL;
	int err = 0;

	if (attr->a.key)
		err = key_in(map, attr->a.key, &key_mem, &key);
	if (err)
		return err;
	err = scratch_init(&next_mem, map->key_size);
	if (err)
		goto err_release_key;
	err = bpfu_map_get_next_key(map, key, next_mem.ptr);
	if (!err)
		err = bpfu_copy_to_user(attr->a.next_key, next_mem.ptr, map->key_size);
	scratch_release(&next_mem);
err_release_key:
	scratch_release(&key_mem);
	return err;
}

int bpfu_cmd_map_next_key(union bpfu_attr *attr, uint64_t uattr, uint32_t size)
{
	struct bpfu_map_access access;
	int err;

	if (!bpfu_attr_ends_with(attr, a.next_key))
		return -EINVAL;
	err = bpfu_map_access_get(attr->a.map_fd, BPFU_MAP_READ, &access);
	if (err)
		return err;
	err = next_key(access.map, attr);
	bpfu_map_access_put(&access);
	return err;
}
