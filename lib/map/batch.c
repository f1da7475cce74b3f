// SPDX-License-Identifier: BSD-2-Clause
/*
 * Batches key by key. A command ends at the first element that fails, and tells how many did not.
 * The cursor of a look-up is the last key that was handed out.
 */
#include "map/batch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "map/map.h"
#include "map/map_ops.h"
#include "util/uaccess.h"

/* Our copies of one key, one value, and of the key before. */
struct copies {
	void *key;
	void *prev_key;
	void *value;
};

static int copies_init(struct copies *c, const struct bpfu_map *map)
{
	c->key = malloc(map->key_size);
	c->prev_key = malloc(map->key_size);
	c->value = malloc(bpfu_map_user_value_size(map));
	return c->key && c->prev_key && c->value ? 0 : -ENOMEM;
}

static void copies_release(struct copies *c)
{
	free(c->key);
	free(c->prev_key);
	free(c->value);
}

static int lookup_one(struct bpfu_map *map, const struct bpfu_map_batch *batch, struct copies *c,
		      bool has_prev, uint32_t done)
{
	uint64_t value_size = bpfu_map_user_value_size(map);
	int err;

	err = bpfu_map_get_next_key(map, has_prev ? c->prev_key : NULL, c->key);
	if (!err)
		err = bpfu_map_lookup_user(map, c->key, c->value, batch->elem_flags);
	if (err)
		return err;
	if (bpfu_copy_to_user(batch->keys + (uint64_t)done * map->key_size, c->key,
			      map->key_size) ||
	    bpfu_copy_to_user(batch->values + done * value_size, c->value, value_size))
		return -EFAULT;
	memcpy(c->prev_key, c->key, map->key_size);
	return 0;
}

static int lookup_by_keys(struct bpfu_map *map, struct bpfu_map_batch *batch)
{
	uint32_t room = batch->count, done = 0;
	struct copies c;
	int err;

	if (batch->elem_flags)
		return -EINVAL;
	if (!room)
		return 0;
	batch->count = 0;
	err = copies_init(&c, map);
	if (!err && batch->in_batch &&
	    bpfu_copy_from_user(c.prev_key, batch->in_batch, map->key_size))
		err = -EFAULT;
	while (!err && done < room) {
		err = lookup_one(map, batch, &c, batch->in_batch || done, done);
		if (!err)
			done++;
	}
	if (err != -EFAULT && err != -ENOMEM) {
		batch->count = done;
		if (done && bpfu_copy_to_user(batch->out_batch, c.prev_key, map->key_size))
			err = -EFAULT;
	}
	copies_release(&c);
	return err;
}

int bpfu_map_lookup_batch(struct bpfu_map *map, struct bpfu_map_batch *batch)
{
	if (!(map->ops->batch & BPFU_BATCH_LOOKUP))
		return -BPFU_ENOTSUPP;
	if (map->ops->lookup_batch)
		return map->ops->lookup_batch(map, batch, false);
	return lookup_by_keys(map, batch);
}

int bpfu_map_lookup_and_delete_batch(struct bpfu_map *map, struct bpfu_map_batch *batch)
{
	if (!(map->ops->batch & BPFU_BATCH_LOOKUP_AND_DELETE))
		return -BPFU_ENOTSUPP;
	return map->ops->lookup_batch(map, batch, true);
}

static int update_one(struct bpfu_map *map, const struct bpfu_map_batch *batch, struct copies *c,
		      uint32_t done)
{
	uint64_t value_size = bpfu_map_user_value_size(map);

	if (bpfu_copy_from_user(c->key, batch->keys + (uint64_t)done * map->key_size,
				map->key_size) ||
	    bpfu_copy_from_user(c->value, batch->values + done * value_size, value_size))
		return -EFAULT;
	return bpfu_map_update_user(map, c->key, c->value, batch->elem_flags);
}

static int delete_one(struct bpfu_map *map, const struct bpfu_map_batch *batch, struct copies *c,
		      uint32_t done)
{
	if (bpfu_copy_from_user(c->key, batch->keys + (uint64_t)done * map->key_size,
				map->key_size))
		return -EFAULT;
	return bpfu_map_delete_user(map, c->key);
}

static int for_all_keys(struct bpfu_map *map, struct bpfu_map_batch *batch,
			int (*one)(struct bpfu_map *, const struct bpfu_map_batch *,
				   struct copies *, uint32_t))
{
	uint32_t cnt = batch->count;
	struct copies c;
	int err;

	if (batch->elem_flags)
		return -EINVAL;
	if (!cnt)
		return 0;
	batch->count = 0;
	err = copies_init(&c, map);
	while (!err && batch->count < cnt) {
		err = one(map, batch, &c, batch->count);
		if (!err)
			batch->count++;
	}
	copies_release(&c);
	return err;
}

int bpfu_map_update_batch(struct bpfu_map *map, struct bpfu_map_batch *batch)
{
	if (!(map->ops->batch & BPFU_BATCH_UPDATE))
		return -BPFU_ENOTSUPP;
	return for_all_keys(map, batch, update_one);
}

int bpfu_map_delete_batch(struct bpfu_map *map, struct bpfu_map_batch *batch)
{
	if (!(map->ops->batch & BPFU_BATCH_DELETE))
		return -BPFU_ENOTSUPP;
	return for_all_keys(map, batch, delete_one);
}
