// SPDX-License-Identifier: BSD-2-Clause
/*
 * Walking hash maps: get_next_key, bpf_for_each_map_elem, and the look-up batches, which take whole
 * buckets. Commands lock a bucket while they copy from it; programs walk without locks.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "map/batch.h"
#include "map/copy_value.h"
#include "map/htab.h"
#include "obj/prog.h"
#include "util/uaccess.h"

/* ---- get_next_key ---- */

/* The first key of the buckets from @idx on: 0, -ENOENT or -EBUSY. */
static int first_key_from(struct bpfu_htab *htab, uint64_t idx, void *next_key)
{
	struct bpfu_htab_bucket *bucket;
	struct bpfu_htab_elem *elem;
	int err;

	for (; idx <= htab->mask; idx++) {
		bucket = &htab->buckets[idx];
		if (!bpfu_htab_follow(&bucket->head))
			continue;
		err = bpfu_htab_lock(bucket);
		if (err)
			return err;
		elem = bpfu_htab_follow(&bucket->head);
		if (elem)
			bpfu_value_read(next_key, elem->key, htab->key_size);
		bpfu_unlock(&bucket->lock);
		if (elem)
			return 0;
	}
	return -ENOENT;
}

int bpfu_htab_get_next_key(struct bpfu_map *map, const void *key, void *next_key)
{
	struct bpfu_htab *htab = bpfu_htab_of(map);
	struct bpfu_htab_elem *elem, *next = NULL;
	struct bpfu_htab_bucket *bucket;
	struct bpfu_htab_link *link;
	uint32_t hash;
	int err;

	if (!key)
		return first_key_from(htab, 0, next_key);
	bucket = bpfu_htab_bucket_of(htab, key, &hash);
	err = bpfu_htab_lock(bucket);
	if (err)
		return err;
	elem = bpfu_htab_find_locked(htab, bucket, hash, key, &link);
	if (elem)
		next = bpfu_htab_follow(&elem->next);
	if (next)
		bpfu_value_read(next_key, next->key, htab->key_size);
	bpfu_unlock(&bucket->lock);
	if (next)
		return 0;
	/* A key that is gone starts the walk again. */
	return first_key_from(htab, elem ? (uint64_t)(hash & htab->mask) + 1 : 0, next_key);
}

/* ---- for_each ---- */

struct walk {
	struct bpfu_htab *htab;
	uint64_t callback;
	uint64_t ctx;
	int64_t visited;
	int64_t limit;
	bool stop;
};

static void walk_bucket(struct walk *w, uint32_t idx)
{
	struct bpfu_htab_elem *elem, *next;
	uint64_t ret;

	for (elem = bpfu_htab_follow(&w->htab->buckets[idx].head); elem && !w->stop; elem = next) {
		/* The callback may delete the element. */
		next = bpfu_htab_follow(&elem->next);
		if (atomic_load_explicit(&elem->gen, memory_order_acquire) & 1)
			continue;
		/* In another bucket by now: there we will see it, or have seen it. */
		if ((atomic_load_explicit(&elem->hash, memory_order_relaxed) & w->htab->mask) !=
		    idx)
			break;
		w->visited++;
		ret = bpfu_callback_call(w->callback, bpfu_u64(&w->htab->map), bpfu_u64(elem->key),
					 bpfu_u64(bpfu_htab_value_here(w->htab, elem)), w->ctx, 0);
		w->stop = ret != 0 || w->visited >= w->limit;
	}
}

int64_t bpfu_htab_for_each(struct bpfu_map *map, uint64_t callback, uint64_t ctx, uint64_t flags)
{
	struct walk w = {
		.htab = bpfu_htab_of(map),
		.callback = callback,
		.ctx = ctx,
		/* A callback that removes and adds again could keep the walk going for ever. */
		.limit = 2 * (int64_t)map->max_entries,
	};
	uint64_t idx;

	if (flags)
		return -EINVAL;
	for (idx = 0; idx <= w.htab->mask && !w.stop; idx++)
		walk_bucket(&w, (uint32_t)idx);
	return w.visited;
}

/* ---- batches ---- */

/* Room for the elements of one bucket. */
struct bucket_copy {
	uint32_t cap;
	char *keys;
	char *values;
};

static int copy_init(struct bucket_copy *copy, const struct bpfu_htab *htab, uint32_t cap)
{
	uint64_t value_size = bpfu_map_user_value_size(&htab->map);

	free(copy->keys);
	free(copy->values);
	copy->keys = calloc(cap, htab->key_size);
	copy->values = calloc(cap, value_size);
	copy->cap = cap;
	return copy->keys && copy->values ? 0 : -ENOMEM;
}

static uint32_t chain_length(struct bpfu_htab_bucket *bucket)
{
	struct bpfu_htab_elem *elem;
	uint32_t cnt = 0;

	for (elem = bpfu_htab_follow(&bucket->head); elem; elem = bpfu_htab_follow(&elem->next))
		cnt++;
	return cnt;
}

/* With the lock held. */
static void copy_chain(struct bpfu_htab *htab, struct bpfu_htab_bucket *bucket,
		       struct bucket_copy *copy, bool del)
{
	uint64_t value_size = bpfu_map_user_value_size(&htab->map);
	struct bpfu_htab_elem *elem;
	uint32_t i = 0;

	for (elem = bpfu_htab_follow(&bucket->head); elem;
	     elem = bpfu_htab_follow(&elem->next), i++) {
		bpfu_value_read(copy->keys + (uint64_t)htab->key_size * i, elem->key,
				htab->key_size);
		bpfu_htab_read_value(htab, elem, copy->values + value_size * i);
	}
	while (del && (elem = bpfu_htab_follow(&bucket->head)))
		bpfu_htab_remove(htab, bucket, elem, &bucket->head);
}

/*
 * Copy bucket @idx, *@cnt elements, if there are at most @room. 0, -ENOSPC (more than that), -EBUSY
 * or -ENOMEM.
 */
static int take_bucket(struct bpfu_htab *htab, uint32_t idx, uint32_t room, bool del,
		       struct bucket_copy *copy, uint32_t *cnt)
{
	struct bpfu_htab_bucket *bucket = &htab->buckets[idx];
	int err;

	*cnt = 0;
	if (!bpfu_htab_follow(&bucket->head))
		return 0;
	for (;;) {
		err = bpfu_htab_lock(bucket);
		if (err)
			return err;
		*cnt = chain_length(bucket);
		if (*cnt <= copy->cap || *cnt > room)
			break;
		bpfu_unlock(&bucket->lock);
		err = copy_init(copy, htab, *cnt);
		if (err)
			return err;
	}
	if (*cnt <= room)
		copy_chain(htab, bucket, copy, del);
	bpfu_unlock(&bucket->lock);
	return *cnt <= room ? 0 : -ENOSPC;
}

static int copy_out(const struct bpfu_htab *htab, const struct bpfu_map_batch *batch,
		    const struct bucket_copy *copy, uint32_t done, uint32_t cnt)
{
	uint64_t value_size = bpfu_map_user_value_size(&htab->map);

	if (bpfu_copy_to_user(batch->keys + (uint64_t)done * htab->key_size, copy->keys,
			      (uint64_t)cnt * htab->key_size) ||
	    bpfu_copy_to_user(batch->values + done * value_size, copy->values, cnt * value_size))
		return -EFAULT;
	return 0;
}

/* From bucket *@idx on, until the buckets or the @room end. */
static int take_buckets(struct bpfu_htab *htab, struct bpfu_map_batch *batch, bool del,
			uint32_t *idx, uint32_t room, uint32_t *done)
{
	struct bucket_copy copy = { 0 };
	uint32_t cnt;
	int err;

	*done = 0;
	err = copy_init(&copy, htab, 5);
	while (!err) {
		err = take_bucket(htab, *idx, room - *done, del, &copy, &cnt);
		if (err) {
			/* Room for nothing is an error, for less than all it is not. */
			if (err == -ENOSPC && *done)
				err = 0;
			break;
		}
		err = copy_out(htab, batch, &copy, *done, cnt);
		if (err)
			break;
		*done += cnt;
		if ((*idx)++ == htab->mask)
			err = -ENOENT;
	}
	free(copy.keys);
	free(copy.values);
	return err;
}

int bpfu_htab_lookup_batch(struct bpfu_map *map, struct bpfu_map_batch *batch, bool del)
{
	struct bpfu_htab *htab = bpfu_htab_of(map);
	uint32_t room = batch->count, idx = 0, done;
	int err;

	if (batch->elem_flags || batch->flags)
		return -EINVAL;
	if (!room)
		return 0;
	batch->count = 0;
	if (batch->in_batch && bpfu_copy_from_user(&idx, batch->in_batch, sizeof(idx)))
		return -EFAULT;
	if (idx > htab->mask)
		return -ENOENT;
	err = take_buckets(htab, batch, del, &idx, room, &done);
	if (del)
		bpfu_htab_trim(htab);
	if (err == -EFAULT)
		return err;
	if (bpfu_copy_to_user(batch->out_batch, &idx, sizeof(idx)))
		return -EFAULT;
	batch->count = done;
	return err;
}
