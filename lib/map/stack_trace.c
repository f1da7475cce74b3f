// SPDX-License-Identifier: BSD-2-Clause
/*
 * BPF_MAP_TYPE_STACK_TRACE. A stack lives in the bucket that its hash names, one per bucket, and the key is
 * the bucket's number:
 *
 *      hash % buckets  ->  buckets[id]  ->  element | hash | nr | words …
 *
 * Only bpf_get_stackid() fills it. There are as many elements as entries were asked for, and buckets for the
 * next power of two; free elements are on a stack without a lock, since programs run in signal handlers.
 *
 * Whoever takes an element out of its bucket owns it: a bucket is exchanged, never changed. Who only looks
 * may see the element being filled anew for somebody else. As on a kernel that costs a wrong comparison at
 * worst: a stack that is stored once more, or not at all.
 */
#include "map/stack_trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "map/area.h"
#include "map/copy_value.h"
#include "map/map_ops.h"

#define CREATE_FLAGS (BPF_F_NUMA_NODE | BPF_F_RDONLY | BPF_F_WRONLY | BPF_F_STACK_BUILD_ID)

struct element {
	_Atomic uint32_t next_free; /* number + 1; 0: the last */
	_Atomic uint32_t hash, nr;
	uint32_t pad;
	uint64_t data[]; /* value_size bytes, of which the first nr frames count */
};

struct stack_map {
	struct bpfu_map map;
	uint32_t bucket_cnt; /* a power of two */
	uint32_t elem_size;  /* bytes */
	char *elems;
	_Atomic uint64_t free_head; /* a counter, and the number + 1 of the first free element */
	_Atomic uint32_t fresh;     /* elements from this number on were never used */
	_Atomic(struct element *) buckets[];
};

static struct stack_map *stack_map_of(struct bpfu_map *map)
{
	return bpfu_container_of(map, struct stack_map, map);
}

/* ---- elements ---- */

static struct element *elem_at(const struct stack_map *m, uint32_t idx)
{
	return (struct element *)(m->elems + (uint64_t)idx * m->elem_size);
}

static void give(struct stack_map *m, struct element *elem)
{
	uint32_t number = (uint32_t)(((char *)elem - m->elems) / m->elem_size) + 1;
	uint64_t head = atomic_load(&m->free_head), next;

	do {
		atomic_store_explicit(&elem->next_free, (uint32_t)head, memory_order_relaxed);
		next = ((head >> 32) + 1) << 32 | number;
	} while (!atomic_compare_exchange_weak(&m->free_head, &head, next));
}

/* NULL: all are in use. */
static struct element *take(struct stack_map *m)
{
	uint64_t head = atomic_load(&m->free_head), next;
	struct element *elem;
	uint32_t fresh;

	while ((uint32_t)head) {
		elem = elem_at(m, (uint32_t)head - 1);
		next = ((head >> 32) + 1) << 32 |
		       atomic_load_explicit(&elem->next_free, memory_order_relaxed);
		if (atomic_compare_exchange_weak(&m->free_head, &head, next))
			return elem;
	}
	fresh = atomic_load(&m->fresh);
	while (fresh < m->map.max_entries)
		if (atomic_compare_exchange_weak(&m->fresh, &fresh, fresh + 1))
			return elem_at(m, fresh);
	return NULL;
}

/* ---- creation and end ---- */

static uint32_t frame_size(uint32_t map_flags)
{
	return map_flags & BPF_F_STACK_BUILD_ID ? sizeof(struct bpf_stack_build_id) :
						  sizeof(uint64_t);
}

static int stack_alloc_check(const union bpf_attr *attr)
{
	uint32_t size = frame_size(attr->map_flags);

	if (attr->map_flags & ~CREATE_FLAGS)
		return -EINVAL;
	if (!attr->max_entries || attr->key_size != sizeof(uint32_t) || !attr->value_size ||
	    attr->value_size % size || attr->value_size / size > BPFU_STACK_FRAMES_MAX)
		return -EINVAL;
	return attr->max_entries > 1u << 31 ? -E2BIG : 0;
}

static uint64_t struct_size(uint32_t bucket_cnt)
{
	return sizeof(struct stack_map) + (uint64_t)bucket_cnt * sizeof(void *);
}

static int stack_alloc(const union bpf_attr *attr, struct bpfu_map **out)
{
	uint32_t bucket_cnt = 1, elem_size = (uint32_t)sizeof(struct element) + attr->value_size;
	int node = bpfu_map_numa_node(attr);
	struct stack_map *m;

	while (bucket_cnt < attr->max_entries)
		bucket_cnt *= 2;
	m = bpfu_area_alloc(struct_size(bucket_cnt), node);
	if (!m)
		return -ENOMEM;
	m->elems = bpfu_area_alloc((uint64_t)elem_size * attr->max_entries, node);
	if (!m->elems) {
		bpfu_area_free(m, struct_size(bucket_cnt));
		return -ENOMEM;
	}
	m->bucket_cnt = bucket_cnt;
	m->elem_size = elem_size;
	m->map.mem_fd = -1;
	*out = &m->map;
	return 0;
}

static void stack_free(struct bpfu_map *map)
{
	struct stack_map *m = stack_map_of(map);

	bpfu_area_free(m->elems, (uint64_t)m->elem_size * map->max_entries);
	bpfu_area_free(m, struct_size(m->bucket_cnt));
}

static uint64_t stack_mem_usage(const struct bpfu_map *map)
{
	const struct stack_map *m = (const struct stack_map *)map;

	return struct_size(m->bucket_cnt) + (uint64_t)m->elem_size * map->max_entries;
}

/* ---- the program's side ---- */

uint32_t bpfu_stack_map_depth(const struct bpfu_map *map)
{
	return map->value_size / frame_size(map->map_flags);
}

static uint32_t hash_of(const uint64_t *ips, uint32_t cnt)
{
	uint64_t hash = cnt;

	for (uint32_t i = 0; i < cnt; i++) {
		hash = (hash ^ ips[i]) * 0x9e3779b97f4a7c15u;
		hash ^= hash >> 32;
	}
	return (uint32_t)hash;
}

static bool is_same(const struct element *elem, uint32_t hash, const void *frames, uint32_t cnt,
		    uint32_t size)
{
	return atomic_load_explicit(&elem->hash, memory_order_relaxed) == hash &&
	       atomic_load_explicit(&elem->nr, memory_order_relaxed) == cnt &&
	       bpfu_value_equal(elem->data, frames, (size_t)cnt * size);
}

/* What @elem holds takes the bucket; what was there is free. */
static int64_t replace(struct stack_map *m, uint32_t hash, struct element *elem, uint32_t cnt)
{
	uint32_t id = hash & (m->bucket_cnt - 1);

	atomic_store_explicit(&elem->nr, cnt, memory_order_relaxed);
	atomic_store_explicit(&elem->hash, hash, memory_order_relaxed);
	elem = atomic_exchange_explicit(&m->buckets[id], elem, memory_order_acq_rel);
	if (elem)
		give(m, elem);
	return id;
}

/* Files and offsets are put together in the element that may become the stack's. */
static int64_t put_files(struct stack_map *m, uint32_t hash, struct element *old,
			 const uint64_t *ips, uint32_t cnt, uint64_t flags, bpfu_to_file_fn to_file)
{
	struct element *elem = take(m);
	struct bpf_stack_build_id file;
	int64_t id = -EEXIST;

	if (!elem)
		return -ENOMEM;
	for (uint32_t i = 0; i < cnt; i++) {
		to_file(&file, ips[i], flags & BPF_F_USER_STACK);
		bpfu_value_write((char *)elem->data + i * sizeof(file), &file, sizeof(file));
	}
	if (old && is_same(old, hash, elem->data, cnt, sizeof(file)))
		id = hash & (m->bucket_cnt - 1);
	else if (!old || flags & BPF_F_REUSE_STACKID)
		return replace(m, hash, elem, cnt);
	give(m, elem);
	return id;
}

int64_t bpfu_stack_map_put(struct bpfu_map *map, const uint64_t *ips, uint32_t cnt, uint64_t flags,
			   bpfu_to_file_fn to_file)
{
	struct stack_map *m = stack_map_of(map);
	uint32_t hash = hash_of(ips, cnt), id = hash & (m->bucket_cnt - 1);
	struct element *old = atomic_load_explicit(&m->buckets[id], memory_order_acquire), *elem;

	if (old && flags & BPF_F_FAST_STACK_CMP &&
	    atomic_load_explicit(&old->hash, memory_order_relaxed) == hash)
		return id;
	if (map->map_flags & BPF_F_STACK_BUILD_ID)
		return put_files(m, hash, old, ips, cnt, flags, to_file);
	if (old && is_same(old, hash, ips, cnt, sizeof(*ips)))
		return id;
	if (old && !(flags & BPF_F_REUSE_STACKID))
		return -EEXIST;
	elem = take(m);
	if (!elem)
		return -ENOMEM;
	bpfu_value_write(elem->data, ips, cnt * sizeof(*ips));
	return replace(m, hash, elem, cnt);
}

/* The verifier lets no program look in here, or change it otherwise. */
static void *stack_lookup(struct bpfu_map *map, const void *key)
{
	return NULL;
}

static int stack_update(struct bpfu_map *map, const void *key, const void *value, uint64_t flags)
{
	return -EINVAL;
}

/* ---- the commands ---- */

static uint32_t id_of(const void *key)
{
	uint32_t id;

	memcpy(&id, key, sizeof(id));
	return id;
}

/* The element is out of its bucket while it is copied, so that nobody fills it anew meanwhile. */
static int extract(struct bpfu_map *map, const void *key, void *value, bool del)
{
	struct stack_map *m = stack_map_of(map);
	uint32_t id = id_of(key), size;
	struct element *elem = NULL;

	if (id < m->bucket_cnt)
		elem = atomic_exchange_explicit(&m->buckets[id], NULL, memory_order_acq_rel);
	if (!elem)
		return -ENOENT;
	size = atomic_load_explicit(&elem->nr, memory_order_relaxed) * frame_size(map->map_flags);
	bpfu_value_read(value, elem->data, size);
	memset((char *)value + size, 0, map->value_size - size);
	if (!del)
		elem = atomic_exchange_explicit(&m->buckets[id], elem, memory_order_acq_rel);
	if (elem)
		give(m, elem);
	return 0;
}

static int stack_lookup_user(struct bpfu_map *map, const void *key, void *value, uint64_t flags)
{
	return extract(map, key, value, false);
}

static int stack_lookup_and_delete_user(struct bpfu_map *map, const void *key, void *value,
					uint64_t flags)
{
	return extract(map, key, value, true);
}

static int stack_delete(struct bpfu_map *map, const void *key)
{
	struct stack_map *m = stack_map_of(map);
	uint32_t id = id_of(key);
	struct element *elem;

	if (id >= m->bucket_cnt)
		return -E2BIG;
	elem = atomic_exchange_explicit(&m->buckets[id], NULL, memory_order_acq_rel);
	if (!elem)
		return -ENOENT;
	give(m, elem);
	return 0;
}

static bool is_used(const struct stack_map *m, uint32_t id)
{
	return id < m->bucket_cnt && atomic_load_explicit(&m->buckets[id], memory_order_relaxed);
}

/* Behind a key that is not there any more everything begins anew. */
static int stack_get_next_key(struct bpfu_map *map, const void *key, void *next_key)
{
	struct stack_map *m = stack_map_of(map);
	uint32_t id = key && is_used(m, id_of(key)) ? id_of(key) + 1 : 0;

	while (id < m->bucket_cnt && !is_used(m, id))
		id++;
	if (id >= m->bucket_cnt)
		return -ENOENT;
	memcpy(next_key, &id, sizeof(id));
	return 0;
}

const struct bpfu_map_ops bpfu_stack_trace_ops = {
	.alloc_check = stack_alloc_check,
	.alloc = stack_alloc,
	.free = stack_free,
	.lookup = stack_lookup,
	.update = stack_update,
	.delete = stack_delete,
	.lookup_user = stack_lookup_user,
	.lookup_and_delete_user = stack_lookup_and_delete_user,
	.get_next_key = stack_get_next_key,
	.mem_usage = stack_mem_usage,
};
