// SPDX-License-Identifier: BSD-2-Clause
/* BPF_MAP_CREATE and BPF_MAP_FREEZE. What a type demands of its attributes is map/'s. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "btf/btf.h"
#include "btf/record.h"
#include "map/map.h"
#include "percpu/lock.h"
#include "syscall/syscall.h"

/* ---- what the BTF of a map must look like ---- */

enum key_rule {
	KEY_ANY,    /* a type of the key's size */
	KEY_U32,    /* a 32-bit integer; none for the one element of a DATASEC */
	KEY_STRUCT,
	KEY_NONE,   /* the map has no keys */
	KEY_NO_BTF, /* the type takes no BTF */
};

static enum key_rule key_rule_of(enum bpf_map_type type)
{
	switch (type) {
	case BPF_MAP_TYPE_ARRAY:
	case BPF_MAP_TYPE_PERCPU_ARRAY:
		return KEY_U32;
	case BPF_MAP_TYPE_LPM_TRIE:
		return KEY_STRUCT;
	case BPF_MAP_TYPE_BLOOM_FILTER:
		return KEY_NONE;
	case BPF_MAP_TYPE_PERF_EVENT_ARRAY:
	case BPF_MAP_TYPE_STACK_TRACE:
		return KEY_NO_BTF;
	default:
		return KEY_ANY;
	}
}

static uint32_t kind_of(const struct btf_type *t)
{
	return BTF_INFO_KIND(t->info);
}

static bool is_u32(const struct btf_type *t)
{
	uint32_t data;

	if (kind_of(t) != BTF_KIND_INT || t->size != 4)
		return false;
	data = *(const uint32_t *)(t + 1);
	return BTF_INT_BITS(data) == 32 && !BTF_INT_OFFSET(data);
}

static int check_key(const union bpf_attr *attr, const struct btf_type *key,
		     const struct btf_type *value)
{
	switch (key_rule_of(attr->map_type)) {
	case KEY_ANY:
		return key ? 0 : -EINVAL;
	case KEY_U32:
		if (key)
			return is_u32(key) ? 0 : -EINVAL;
		return attr->map_type == BPF_MAP_TYPE_ARRAY && attr->max_entries == 1 &&
		       kind_of(value) == BTF_KIND_DATASEC ? 0 : -EINVAL;
	case KEY_STRUCT:
		return key && kind_of(key) == BTF_KIND_STRUCT ? 0 : -EINVAL;
	case KEY_NONE:
		return key ? -EINVAL : 0;
	case KEY_NO_BTF:
		return -BPFU_ENOTSUPP;
	}
	return -EINVAL;
}

static int check_btf(const union bpf_attr *attr, const struct bpfu_btf *btf)
{
	const struct btf_type *key = NULL, *value;

	if (attr->btf_key_type_id) {
		key = bpfu_btf_skip_modifiers(btf, attr->btf_key_type_id, NULL);
		if (!key || bpfu_btf_size(btf, attr->btf_key_type_id) != attr->key_size)
			return -EINVAL;
	}
	if (!attr->btf_value_type_id)
		return 0;
	value = bpfu_btf_skip_modifiers(btf, attr->btf_value_type_id, NULL);
	if (!value || bpfu_btf_size(btf, attr->btf_value_type_id) != attr->value_size)
		return -EINVAL;
	return check_key(attr, key, value);
}

/* Pointers to objects in values: where there may be some. */
static int check_record(const union bpf_attr *attr)
{
	if (attr->map_flags & (BPF_F_RDONLY_PROG | BPF_F_WRONLY_PROG))
		return -EACCES;
	switch (attr->map_type) {
	case BPF_MAP_TYPE_ARRAY:
	case BPF_MAP_TYPE_PERCPU_ARRAY:
	case BPF_MAP_TYPE_HASH:
	case BPF_MAP_TYPE_PERCPU_HASH:
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}

static int record_of_map(const union bpf_attr *attr, const struct bpfu_btf *btf,
			 struct bpfu_record **record)
{
	int err;

	*record = NULL;
	if (!btf || !attr->btf_value_type_id)
		return 0;
	err = bpfu_record_parse(btf, attr->btf_value_type_id, record);
	if (!err && *record) {
		err = check_record(attr);
		if (err)
			free(*record);
	}
	return err;
}

static int btf_of_map(const union bpf_attr *attr, struct bpfu_btf **btf)
{
	struct bpfu_obj *obj;
	int err;

	*btf = NULL;
	if (!attr->btf_key_type_id && !attr->btf_value_type_id)
		return 0;
	err = bpfu_fd_get_kind(attr->btf_fd, BPFU_OBJ_BTF, -EINVAL, &obj);
	if (err)
		return err;
	*btf = bpfu_btf_of(obj);
	err = (*btf)->is_kernel ? -EACCES : check_btf(attr, *btf);
	if (err)
		bpfu_obj_put(obj);
	return err;
}

/* ---- create ---- */

/* Checks that come before the type's own. */
static int check_create(const union bpfu_attr *attr)
{
	const union bpf_attr *a = &attr->a;
	int mode;

	if (!bpfu_attr_ends_with(attr, map_create.excl_prog_hash_size))
		return -EINVAL;
	/* Kernel types by id (struct_ops) are not here. */
	if (a->btf_vmlinux_value_type_id)
		return -EINVAL;
	if (a->btf_key_type_id && !a->btf_value_type_id)
		return -EINVAL;
	if (a->map_extra && a->map_type != BPF_MAP_TYPE_BLOOM_FILTER)
		return -EINVAL;
	mode = bpfu_attr_file_mode(a->map_flags);
	if (mode < 0)
		return mode;
	/* One node, number 0. */
	if ((a->map_flags & BPF_F_NUMA_NODE) && a->numa_node)
		return -EINVAL;
	return 0;
}

static int map_publish(struct bpfu_map *map, int mode)
{
	int err = bpfu_obj_publish(&map->obj);

	if (!err)
		err = bpfu_fd_install_mode(&map->obj, map->mem_fd, mode);
	if (err < 0)
		bpfu_map_put(map);
	return err;
}

/* A program array lets go of its programs when the user cannot reach it any more. */
static void map_last_uref(struct bpfu_obj *obj)
{
	struct bpfu_map *map = bpfu_map_of(obj);

	map->ops->release_uref(map);
}

int bpfu_cmd_map_create(union bpfu_attr *attr, uint64_t uattr, uint32_t size)
{
	uint32_t token_flag = attr->a.map_flags & BPFU_F_TOKEN_FD;
	const struct bpfu_map_ops *ops;
	char name[BPF_OBJ_NAME_LEN];
	struct bpfu_record *record;
	struct bpfu_map *map;
	struct bpfu_btf *btf;
	int err;

	attr->a.map_flags &= ~token_flag;
	err = check_create(attr);
	if (err)
		return err;
	ops = bpfu_map_ops_of(attr->a.map_type);
	if (!ops)
		return -EINVAL;
	err = ops->alloc_check ? ops->alloc_check(&attr->a) : 0;
	if (err)
		return err;
	if (attr->a.map_ifindex)
		return -EINVAL; /* no device to offload to */
	if (token_flag)
		return bpfu_attr_token(attr->map_create.map_token_fd);
	err = bpfu_attr_name(name, attr->a.map_name);
	if (err)
		return err;
	err = btf_of_map(&attr->a, &btf);
	if (err)
		return err;
	/* Maps that only one program may use need its signature. */
	if (attr->map_create.excl_prog_hash || attr->map_create.excl_prog_hash_size) {
		bpfu_obj_put(btf ? &btf->obj : NULL);
		return -EINVAL;
	}
	err = record_of_map(&attr->a, btf, &record);
	if (err) {
		bpfu_obj_put(btf ? &btf->obj : NULL);
		return err;
	}
	memset(attr->a.map_name, 0, sizeof(attr->a.map_name)); /* it is checked */
	err = bpfu_map_create(&attr->a, btf, &map);
	if (err) {
		bpfu_obj_put(btf ? &btf->obj : NULL);
		free(record);
		return err;
	}
	map->record = record;
	memcpy(map->name, name, sizeof(map->name));
	if (map->ops->release_uref)
		map->obj.last_uref = map_last_uref;
	return map_publish(map, bpfu_attr_file_mode(attr->a.map_flags));
}

/* ---- freeze ---- */

static struct bpfu_lock freeze_lock; /* one freezer at a time */

int bpfu_cmd_map_freeze(union bpfu_attr *attr, uint64_t uattr, uint32_t size)
{
	struct bpfu_obj *obj;
	struct bpfu_map *map;
	int mode, err;

	if (!bpfu_attr_ends_with(attr, a.map_fd))
		return -EINVAL;
	err = bpfu_fd_get_mode(attr->a.map_fd, BPFU_OBJ_MAP, -EINVAL, &obj, &mode);
	if (err)
		return err;
	map = bpfu_map_of(obj);
	if (bpfu_lock(&freeze_lock)) {
		bpfu_obj_put(obj);
		return -EBUSY; /* a handler that interrupted one */
	}
	if (map->record)
		err = -BPFU_ENOTSUPP;
	else if (map->frozen || mode == O_RDONLY)
		err = -EPERM;
	else if (map->writers)
		err = -EBUSY;
	else
		map->frozen = true;
	bpfu_unlock(&freeze_lock);
	bpfu_obj_put(obj);
	return err;
}
