// SPDX-License-Identifier: BSD-2-Clause
/*
 * BPF_MAP_TYPE_PROG_ARRAY. Users store descriptors and read back ids; tail calls read the pointers.
 * An entry holds a reference. A running program may have read a pointer just before it is replaced;
 * programs are freed after a grace period, so the jump is still good.
 */
#include "map/prog_array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "map/area.h"
#include "map/map_ops.h"
#include "obj/prog.h"
#include "percpu/lock.h"

/* What the first program was like. */
struct bpfu_prog_array_owner {
	struct bpfu_lock lock;
	bool is_set;
	_Atomic bool was_cleared; /* user references have been gone at least once */
	enum bpf_prog_type type;
	enum bpf_attach_type expected_attach_type;
	bool jited;
	bool xdp_has_frags;
	uint32_t attach_btf_id;
};

static struct bpfu_prog_array *array_of(struct bpfu_map *map)
{
	return bpfu_container_of(map, struct bpfu_prog_array, map);
}

static uint32_t index_of(const void *key)
{
	uint32_t idx;

	memcpy(&idx, key, sizeof(idx));
	return idx;
}

static int prog_array_alloc_check(const union bpf_attr *attr)
{
	/* Values are descriptors, and programs have no access other than the jump. */
	if (attr->value_size != sizeof(uint32_t))
		return -EINVAL;
	return bpfu_array_check(attr, BPF_F_NUMA_NODE | BPF_F_RDONLY | BPF_F_WRONLY);
}

static uint64_t struct_size(uint32_t max_entries)
{
	return sizeof(struct bpfu_prog_array) + (uint64_t)max_entries * sizeof(void *);
}

static int prog_array_alloc(const union bpf_attr *attr, struct bpfu_map **out)
{
	struct bpfu_prog_array *array;

	array = bpfu_area_alloc(struct_size(attr->max_entries), bpfu_map_numa_node(attr));
	if (!array)
		return -ENOMEM;
	array->owner = calloc(1, sizeof(*array->owner));
	if (!array->owner) {
		bpfu_area_free(array, struct_size(attr->max_entries));
		return -ENOMEM;
	}
	array->map.mem_fd = -1;
	*out = &array->map;
	return 0;
}

static void prog_array_free(struct bpfu_map *map)
{
	struct bpfu_prog_array *array = array_of(map);

	/* Entries may have come after the last user reference went: from commands under way. */
	bpfu_prog_array_clear(map);
	free(array->owner);
	bpfu_area_free(array, struct_size(map->max_entries));
}

/* A program on a function is of a kind of its own; an extension is of that of what it extends. */
static uint32_t btf_id_of(const struct bpfu_prog *prog)
{
	return prog->type == BPF_PROG_TYPE_EXT ? 0 : prog->attach_btf_id;
}

bool bpfu_prog_array_accepts(struct bpfu_map *map, const struct bpfu_prog *prog)
{
	enum bpf_prog_type type = bpfu_prog_acts_as(prog);
	struct bpfu_prog_array_owner *owner = array_of(map)->owner;
	bool ok;

	bpfu_lock(&owner->lock);
	if (!owner->is_set) {
		owner->is_set = true;
		owner->type = type;
		owner->expected_attach_type = prog->expected_attach_type;
		owner->jited = prog->jited;
		owner->xdp_has_frags = prog->xdp_has_frags;
		owner->attach_btf_id = btf_id_of(prog);
	}
	ok = owner->type == type && owner->jited == prog->jited &&
	     owner->expected_attach_type == prog->expected_attach_type &&
	     owner->xdp_has_frags == prog->xdp_has_frags &&
	     owner->attach_btf_id == btf_id_of(prog);
	bpfu_unlock(&owner->lock);
	return ok;
}

/* The other side of bpfu_prog_extend(). */
static int join(struct bpfu_prog *prog)
{
	int err;

	bpfu_prog_lock_maps();
	err = prog->extended ? -EBUSY : 0;
	prog->array_entries += !err;
	bpfu_prog_unlock_maps();
	return err;
}

static void leave(struct bpfu_prog *prog)
{
	if (!prog)
		return;
	atomic_fetch_sub(&prog->array_entries, 1);
	bpfu_prog_put(prog);
}

static void put_at(struct bpfu_prog_array *array, uint32_t idx, struct bpfu_prog *prog,
		   struct bpfu_prog **old)
{
	*old = atomic_exchange_explicit(&array->ptrs[idx], prog, memory_order_acq_rel);
}

void bpfu_prog_array_clear(struct bpfu_map *map)
{
	struct bpfu_prog *old;
	uint32_t idx;

	for (idx = 0; idx < map->max_entries; idx++) {
		if (!atomic_load_explicit(&array_of(map)->ptrs[idx], memory_order_relaxed))
			continue;
		put_at(array_of(map), idx, NULL, &old);
		leave(old);
	}
}

static void prog_array_release_uref(struct bpfu_map *map)
{
	atomic_store(&array_of(map)->owner->was_cleared, true);
	bpfu_prog_array_clear(map);
}

/* The verifier lets no program look in here. */
static void *prog_array_lookup(struct bpfu_map *map, const void *key)
{
	return NULL;
}

static int prog_array_update_user(struct bpfu_map *map, const void *key, const void *value,
				  uint64_t flags)
{
	uint32_t idx = index_of(key), fd;
	struct bpfu_prog *prog, *old;
	struct bpfu_obj *obj;
	int err;

	if (flags != BPF_ANY)
		return -EINVAL;
	if (idx >= map->max_entries)
		return -E2BIG;
	memcpy(&fd, value, sizeof(fd));
	err = bpfu_fd_get_kind((int)fd, BPFU_OBJ_PROG, -EINVAL, &obj);
	if (err)
		return err;
	prog = bpfu_prog_of(obj);
	err = prog->type == BPF_PROG_TYPE_EXT || !bpfu_prog_array_accepts(map, prog) ? -EINVAL :
										       join(prog);
	if (err) {
		bpfu_prog_put(prog);
		return err;
	}
	put_at(array_of(map), idx, prog, &old);
	leave(old);
	/* The last user reference may have gone since this command looked the map up. */
	if (atomic_load(&array_of(map)->owner->was_cleared) && !atomic_load(&map->obj.urefs))
		bpfu_prog_array_clear(map);
	return 0;
}

static int prog_array_delete(struct bpfu_map *map, const void *key)
{
	uint32_t idx = index_of(key);
	struct bpfu_prog *old;

	if (idx >= map->max_entries)
		return -E2BIG;
	put_at(array_of(map), idx, NULL, &old);
	if (!old)
		return -ENOENT;
	leave(old);
	return 0;
}

static int prog_array_lookup_user(struct bpfu_map *map, const void *key, void *value,
				  uint64_t flags)
{
	uint32_t idx = index_of(key), id = 0;
	struct bpfu_prog *prog;

	if (idx >= map->max_entries)
		return -ENOENT;
	/* The reference of the entry may go meanwhile, the memory may not. */
	bpfu_rcu_read_lock();
	prog = atomic_load_explicit(&array_of(map)->ptrs[idx], memory_order_acquire);
	if (prog)
		id = prog->obj.id;
	bpfu_rcu_read_unlock();
	if (!prog)
		return -ENOENT;
	memcpy(value, &id, sizeof(id));
	return 0;
}

static uint64_t prog_array_mem_usage(const struct bpfu_map *map)
{
	return struct_size(map->max_entries) + sizeof(struct bpfu_prog_array_owner);
}

const struct bpfu_map_ops bpfu_prog_array_ops = {
	.alloc_check = prog_array_alloc_check,
	.alloc = prog_array_alloc,
	.free = prog_array_free,
	.lookup = prog_array_lookup,
	.delete = prog_array_delete,
	.lookup_user = prog_array_lookup_user,
	.update_user = prog_array_update_user,
	.get_next_key = bpfu_array_get_next_key,
	.mem_usage = prog_array_mem_usage,
	.release_uref = prog_array_release_uref,
	.values_are_fds = true,
};
