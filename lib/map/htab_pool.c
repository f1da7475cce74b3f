// SPDX-License-Identifier: BSD-2-Clause
/*
 * Memory of hash elements. Elements are cut from chunks and, once used, live on free lists:
 *
 *    chunk ---- first use ----> in the map ---- removed ----> free list of a slot
 *                                   ^                              |
 *                                   +------------------------------+
 *
 * A preallocated map has one chunk with max_entries elements, so an empty pool is a full map; its
 * pages are touched at first use only. It has a few more elements in reserve, for updates that
 * replace an element while the map is full: such an update takes from the reserve and the old
 * element refills it. Free elements go to the reserve first, so what is missing there is in the
 * hands of an update, and never is it taken from what the map can hold.
 *
 * A map without preallocation counts its elements, and adds chunks as they are needed. When most
 * elements have become free, chunks whose elements all are, are taken off the free lists and
 * unmapped after a grace period. That is done by commands only: it takes time.
 *
 * No malloc in here after creation: programs run in signal handlers and inside probed allocators.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "bpfu/bpfu.h"
#include "map/area.h"
#include "map/htab.h"
#include "map/map_ops.h"
#include "percpu/percpu_alloc.h"

#define CHUNK_SIZE       (64u * 1024)  /* and alignment, so that an element finds its chunk */
#define CHUNK_PCPU_BYTES (256u * 1024) /* of values per slot that come with one chunk */

/* Two locks may be held already: the bucket's and, while it is spun on, this one. */
#define HELD_BY_BUCKET 2

static struct bpfu_htab_shard *reserve_of(const struct bpfu_htab *htab)
{
	return &htab->shards[htab->shard_cnt];
}

static struct bpfu_htab_elem *elem_of(const struct bpfu_htab *htab, struct bpfu_htab_chunk *chunk,
				      uint32_t idx)
{
	return (struct bpfu_htab_elem *)(chunk->elems + (uint64_t)htab->elem_size * idx);
}

/* ---- chunks ---- */

static uint64_t chunk_bytes(const struct bpfu_htab *htab, uint64_t cnt)
{
	return sizeof(struct bpfu_htab_chunk) + cnt * htab->elem_size;
}

static void drop_fields(struct bpfu_htab_chunk *chunk)
{
	uint32_t used = atomic_load_explicit(&chunk->used, memory_order_relaxed);

	for (uint32_t i = 0; chunk->htab->map.record && i < BPFU_MIN(used, chunk->cnt); i++)
		bpfu_htab_drop_fields(chunk->htab, elem_of(chunk->htab, chunk, i));
}

/* The map still exists: it is freed by the last callback that has to do with it. */
static void chunk_free_memory(struct bpfu_htab_chunk *chunk, bool aligned)
{
	drop_fields(chunk);
	bpfu_percpu_free(chunk->values, (uint64_t)chunk->value_size * chunk->cnt);
	if (aligned)
		munmap(chunk, chunk->size);
	else
		bpfu_area_free(chunk, chunk->size);
}

static struct bpfu_htab_chunk *chunk_new(const struct bpfu_htab *htab, uint64_t cnt, bool aligned)
{
	uint64_t size = chunk_bytes(htab, cnt);
	struct bpfu_htab_chunk *chunk;
	void *values = NULL;

	if (htab->percpu) {
		values = bpfu_percpu_alloc(htab->value_size * cnt);
		if (!values)
			return NULL;
	}
	if (aligned) {
		size = BPFU_ROUND_UP(size, 4096);
		chunk = bpfu_area_alloc_aligned(size, CHUNK_SIZE, htab->node);
	} else {
		chunk = bpfu_area_alloc(size, htab->node);
	}
	if (!chunk) {
		bpfu_percpu_free(values, htab->value_size * cnt);
		return NULL;
	}
	chunk->size = size;
	chunk->cnt = (uint32_t)cnt;
	chunk->htab = htab;
	chunk->values = values;
	chunk->value_size = htab->percpu ? htab->value_size : 0;
	return chunk;
}

/* Elements of a chunk of a map that grows: at least one, and not too much per-CPU memory. */
static uint32_t growth(const struct bpfu_htab *htab)
{
	uint64_t cnt = (CHUNK_SIZE - sizeof(struct bpfu_htab_chunk)) / htab->elem_size;

	if (htab->percpu)
		cnt = BPFU_MIN(cnt, CHUNK_PCPU_BYTES / htab->value_size);
	return cnt ? (uint32_t)cnt : 1;
}

static struct bpfu_htab_chunk *chunk_of(const struct bpfu_htab_elem *elem)
{
	return (struct bpfu_htab_chunk *)((uintptr_t)elem & ~(uintptr_t)(CHUNK_SIZE - 1));
}

/* ---- free lists ---- */

static uint32_t load_cnt(const struct bpfu_htab_shard *shard)
{
	return atomic_load_explicit(&shard->cnt, memory_order_relaxed);
}

static void set_cnt(struct bpfu_htab_shard *shard, uint32_t cnt)
{
	atomic_store_explicit(&shard->cnt, cnt, memory_order_relaxed);
}

static struct bpfu_htab_elem *pop(struct bpfu_htab_shard *shard)
{
	struct bpfu_htab_elem *elem;

	if (!load_cnt(shard) || bpfu_lock_bounded(&shard->lock, HELD_BY_BUCKET))
		return NULL;
	elem = shard->free;
	if (elem) {
		shard->free = elem->free_next;
		set_cnt(shard, load_cnt(shard) - 1);
	}
	bpfu_unlock(&shard->lock);
	return elem;
}

/* False if the list has @limit elements, or if we interrupted its holder. */
static bool push(struct bpfu_htab_shard *shard, struct bpfu_htab_elem *elem, uint32_t limit)
{
	bool done;

	if (load_cnt(shard) >= limit || bpfu_lock_bounded(&shard->lock, HELD_BY_BUCKET))
		return false;
	done = load_cnt(shard) < limit;
	if (done) {
		elem->free_next = shard->free;
		shard->free = elem;
		set_cnt(shard, load_cnt(shard) + 1);
	}
	bpfu_unlock(&shard->lock);
	return done;
}

/* The list of the slot: of the last one that the thread had if it is outside of sections. */
static uint32_t own_shard(const struct bpfu_htab *htab)
{
	return bpfu_cpu_self.cpu % htab->shard_cnt;
}

static bool push_any(struct bpfu_htab *htab, struct bpfu_htab_elem *elem)
{
	uint32_t own = own_shard(htab), i;

	for (i = 0; i < htab->shard_cnt; i++)
		if (push(&htab->shards[(own + i) % htab->shard_cnt], elem, UINT32_MAX))
			return true;
	return false;
}

/* For a program that interrupted the holder of the only list. */
static void push_stray(struct bpfu_htab *htab, struct bpfu_htab_elem *elem)
{
	elem->free_next = atomic_load_explicit(&htab->strays, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(&htab->strays, &elem->free_next, elem,
						      memory_order_release, memory_order_relaxed))
		;
}

/* All strays at once, since taking one from a list without a lock is not safe; keep the first. */
static struct bpfu_htab_elem *pop_stray(struct bpfu_htab *htab)
{
	struct bpfu_htab_elem *first, *elem, *next;

	if (!atomic_load_explicit(&htab->strays, memory_order_relaxed))
		return NULL;
	first = atomic_exchange_explicit(&htab->strays, NULL, memory_order_acquire);
	for (elem = first ? first->free_next : NULL; elem; elem = next) {
		next = elem->free_next;
		if (!push_any(htab, elem))
			push_stray(htab, elem);
	}
	return first;
}

static struct bpfu_htab_elem *pop_any(struct bpfu_htab *htab)
{
	uint32_t own = own_shard(htab), i;
	struct bpfu_htab_elem *elem = NULL;

	for (i = 0; !elem && i < htab->shard_cnt; i++)
		elem = pop(&htab->shards[(own + i) % htab->shard_cnt]);
	return elem ? elem : pop_stray(htab);
}

/* An element that has never been used. */
static struct bpfu_htab_elem *cut(struct bpfu_htab *htab)
{
	struct bpfu_htab_chunk *chunk = atomic_load_explicit(&htab->chunk, memory_order_acquire);
	struct bpfu_htab_elem *elem;
	uint32_t idx;

	/* Look first: failing a thousand million times must not wrap the counter. */
	if (!chunk || atomic_load_explicit(&chunk->used, memory_order_relaxed) >= chunk->cnt)
		return NULL;
	idx = atomic_fetch_add_explicit(&chunk->used, 1, memory_order_relaxed);
	if (idx >= chunk->cnt)
		return NULL;
	elem = elem_of(htab, chunk, idx);
	atomic_store_explicit(&elem->gen, 1, memory_order_relaxed);
	if (htab->percpu)
		*bpfu_htab_pptr(htab, elem) =
			(char *)chunk->values + (uint64_t)htab->value_size * idx;
	return elem;
}

/* A new chunk, unless somebody else has just added one. */
static void grow(struct bpfu_htab *htab)
{
	struct bpfu_htab_chunk *old, *chunk;

	if (bpfu_lock_bounded(&htab->grow_lock, HELD_BY_BUCKET))
		return;
	old = atomic_load_explicit(&htab->chunk, memory_order_relaxed);
	if (!old || atomic_load_explicit(&old->used, memory_order_relaxed) >= old->cnt) {
		chunk = chunk_new(htab, growth(htab), true);
		if (chunk) {
			chunk->next = old;
			atomic_store_explicit(&htab->chunk, chunk, memory_order_release);
			atomic_fetch_add_explicit(&htab->chunk_cnt, 1, memory_order_relaxed);
		}
	}
	bpfu_unlock(&htab->grow_lock);
}

static struct bpfu_htab_elem *cut_or_grow(struct bpfu_htab *htab)
{
	struct bpfu_htab_elem *elem = cut(htab);

	if (!elem && !htab->prealloc) {
		grow(htab);
		elem = cut(htab);
	}
	return elem;
}

/* ---- the interface ---- */

/* Count one more element in a map without preallocation. */
static bool count_up(struct bpfu_htab *htab)
{
	if (atomic_fetch_add_explicit(&htab->live, 1, memory_order_relaxed) < htab->map.max_entries)
		return true;
	atomic_fetch_sub_explicit(&htab->live, 1, memory_order_relaxed);
	return false;
}

int bpfu_htab_elem_alloc(struct bpfu_htab *htab, bool replaces, struct bpfu_htab_elem **out)
{
	struct bpfu_htab_elem *elem = NULL;

	if (!htab->prealloc && !replaces && !count_up(htab))
		return -E2BIG;
	if (htab->prealloc && replaces)
		elem = pop(reserve_of(htab));
	if (!elem)
		elem = pop(&htab->shards[own_shard(htab)]);
	if (!elem)
		elem = cut(htab);
	if (!elem)
		elem = pop_any(htab);
	if (!elem)
		elem = cut_or_grow(htab);
	*out = elem;
	if (elem)
		return 0;
	if (htab->prealloc)
		return -E2BIG;
	if (!replaces)
		atomic_fetch_sub_explicit(&htab->live, 1, memory_order_relaxed);
	return -ENOMEM;
}

void bpfu_htab_elem_free(struct bpfu_htab *htab, struct bpfu_htab_elem *elem, bool replaced)
{
	if (!htab->prealloc && !replaced)
		atomic_fetch_sub_explicit(&htab->live, 1, memory_order_relaxed);
	if (htab->prealloc && push(reserve_of(htab), elem, htab->shard_cnt))
		return;
	if (!push_any(htab, elem))
		push_stray(htab, elem);
}

int bpfu_htab_pool_init(struct bpfu_htab *htab, const union bpf_attr *attr)
{
	uint32_t cpus = bpfu_possible_cpus(), i;
	struct bpfu_htab_chunk *chunk;
	struct bpfu_htab_elem *elem;

	htab->shard_cnt = cpus;
	htab->shards = bpfu_area_alloc((cpus + 1) * sizeof(*htab->shards), htab->node);
	if (!htab->shards)
		return -ENOMEM;
	if (!htab->prealloc)
		return 0;
	chunk = chunk_new(htab, (uint64_t)attr->max_entries + cpus, false);
	if (!chunk) {
		bpfu_area_free(htab->shards, (cpus + 1) * sizeof(*htab->shards));
		return -ENOMEM;
	}
	atomic_store_explicit(&htab->chunk, chunk, memory_order_relaxed);
	atomic_store_explicit(&htab->chunk_cnt, 1, memory_order_relaxed);
	for (i = 0; i < cpus; i++) {
		elem = cut(htab);
		push(reserve_of(htab), elem, cpus);
	}
	return 0;
}

void bpfu_htab_pool_release(struct bpfu_htab *htab)
{
	struct bpfu_htab_chunk *chunk, *next;

	for (chunk = atomic_load_explicit(&htab->chunk, memory_order_relaxed); chunk;
	     chunk = next) {
		next = chunk->next;
		chunk_free_memory(chunk, !htab->prealloc);
	}
	bpfu_area_free(htab->shards, (htab->shard_cnt + 1) * sizeof(*htab->shards));
}

/* ---- giving memory back ---- */

static void chunk_free_rcu(struct bpfu_rcu_head *head)
{
	chunk_free_memory(bpfu_container_of(head, struct bpfu_htab_chunk, rcu), true);
}

/* With all lists locked. The newest chunk stays: it is being cut. */
static void count_free(struct bpfu_htab *htab)
{
	struct bpfu_htab_chunk *chunk;
	struct bpfu_htab_elem *elem;
	uint32_t i;

	for (chunk = atomic_load(&htab->chunk); chunk; chunk = chunk->next)
		chunk->seen_free = 0;
	for (i = 0; i < htab->shard_cnt; i++)
		for (elem = htab->shards[i].free; elem; elem = elem->free_next)
			chunk_of(elem)->seen_free++;
	atomic_load(&htab->chunk)->seen_free = 0;
}

static bool is_all_free(const struct bpfu_htab_chunk *chunk)
{
	return chunk->seen_free == chunk->cnt;
}

static void unlist_elems(struct bpfu_htab_shard *shard)
{
	struct bpfu_htab_elem **link = &shard->free;
	uint32_t cnt = load_cnt(shard);

	while (*link) {
		if (is_all_free(chunk_of(*link))) {
			*link = (*link)->free_next;
			cnt--;
		} else {
			link = &(*link)->free_next;
		}
	}
	set_cnt(shard, cnt);
}

static struct bpfu_htab_chunk *unlist_chunks(struct bpfu_htab *htab)
{
	struct bpfu_htab_chunk **link = &atomic_load(&htab->chunk)->next;
	struct bpfu_htab_chunk *chunk, *gone = NULL;

	while ((chunk = *link)) {
		if (!is_all_free(chunk)) {
			link = &chunk->next;
			continue;
		}
		*link = chunk->next;
		chunk->next = gone;
		gone = chunk;
		atomic_fetch_sub_explicit(&htab->chunk_cnt, 1, memory_order_relaxed);
	}
	return gone;
}

/*
 * Three quarters of at least four chunks are free: then it is worth the walk, which is paid for by
 * as many removals since the last one.
 */
static bool is_wasteful(const struct bpfu_htab *htab)
{
	uint64_t chunks = atomic_load_explicit(&htab->chunk_cnt, memory_order_relaxed);
	uint64_t live = atomic_load_explicit(&htab->live, memory_order_relaxed);

	return chunks >= 4 && live < chunks * growth(htab) / 4;
}

void bpfu_htab_trim(struct bpfu_htab *htab)
{
	struct bpfu_htab_chunk *chunk, *next;
	uint32_t locked, i;

	if (htab->prealloc || !is_wasteful(htab) || bpfu_cpu_depth() || bpfu_cpu_self.locks_held)
		return;
	if (bpfu_lock(&htab->grow_lock))
		return;
	for (locked = 0; locked < htab->shard_cnt; locked++)
		bpfu_lock(&htab->shards[locked].lock);
	count_free(htab);
	for (i = 0; i < htab->shard_cnt; i++)
		unlist_elems(&htab->shards[i]);
	chunk = unlist_chunks(htab);
	while (locked-- > 0)
		bpfu_unlock(&htab->shards[locked].lock);
	bpfu_unlock(&htab->grow_lock);
	for (; chunk; chunk = next) {
		next = chunk->next;
		bpfu_call_rcu(&chunk->rcu, chunk_free_rcu);
	}
}

uint64_t bpfu_htab_mem_usage(const struct bpfu_map *map)
{
	const struct bpfu_htab *htab = bpfu_container_of(map, struct bpfu_htab, map);
	uint64_t elems = htab->prealloc ? (uint64_t)map->max_entries + htab->shard_cnt :
					  (uint64_t)atomic_load(&htab->chunk_cnt) * growth(htab);
	uint64_t per_elem = htab->elem_size;

	if (htab->percpu)
		per_elem += (uint64_t)htab->value_size * bpfu_possible_cpus();
	return sizeof(*htab) + (htab->mask + 1ull) * sizeof(*htab->buckets) +
	       (htab->shard_cnt + 1) * sizeof(*htab->shards) + elems * per_elem;
}
