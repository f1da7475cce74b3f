/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The hash table under HASH and PERCPU_HASH. Insides only: hash.c (operations), htab_pool.c (memory
 * of elements), htab_walk.c (iteration). The essay is in hash.c.
 */
#ifndef BPFU_MAP_HTAB_H
#define BPFU_MAP_HTAB_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "map/map.h"
#include "percpu/lock.h"

/* Free elements are returned to the list of the slot, and taken from others' lists if need be. */
struct bpfu_htab_shard {
	struct bpfu_lock lock;
	_Atomic uint32_t cnt;             /* written under .lock; read without to skip empty ones */
	struct bpfu_htab_elem *free;      /* under .lock */
} __attribute__((aligned(64)));

/* What points to the next element of a chain. */
struct bpfu_htab_link {
	_Atomic(struct bpfu_htab_elem *) to;
};

struct bpfu_htab_elem {
	struct bpfu_htab_link next;
	struct bpfu_htab_elem *free_next; /* under the shard's lock */
	_Atomic uint32_t hash;
	_Atomic uint32_t gen;             /* odd: free, or not yet filled */
	char key[];                       /* then at value_off: value or per-CPU pointer of it */
};

/* A block of elements; the header is at its beginning. */
struct bpfu_htab_chunk {
	struct bpfu_rcu_head rcu;
	struct bpfu_htab_chunk *next;     /* of the pool, under .grow_lock */
	uint64_t size;                    /* bytes */
	uint32_t cnt;                     /* elements */
	_Atomic uint32_t used; /* elements handed out for the first time, may exceed .cnt */
	uint32_t seen_free;               /* trimming */
	uint32_t value_size;              /* bytes per element in per-CPU memory, or 0 */
	void *values;                     /* per-CPU pointer of them, or NULL */
	const struct bpfu_htab *htab;
	char elems[] __attribute__((aligned(8)));
};

struct bpfu_htab_bucket {
	struct bpfu_htab_link head;
	struct bpfu_lock lock;            /* of changes to the chain */
	_Atomic uint32_t removals;        /* changes only under .lock */
};

struct bpfu_htab {
	struct bpfu_map map;
	bool percpu;
	bool prealloc;
	int node;
	uint32_t key_size;                /* as map's, here for locality */
	uint32_t value_size;              /* rounded up to 8 */
	uint32_t value_off;               /* from the key */
	uint32_t elem_size;
	uint32_t mask;                    /* number of buckets - 1 */
	uint64_t seed[2];
	struct bpfu_htab_bucket *buckets;

	/* Memory of elements (htab_pool.c). */
	uint32_t shard_cnt;
	struct bpfu_htab_shard *shards;   /* and one more: the reserve of preallocated maps */
	_Atomic(struct bpfu_htab_elem *) strays; /* free, but no list could be had */
	_Atomic uint32_t live;            /* elements in the map; counted if not preallocated */
	_Atomic(struct bpfu_htab_chunk *) chunk; /* newest; all on a list */
	_Atomic uint32_t chunk_cnt;
	struct bpfu_lock grow_lock;
};

static inline struct bpfu_htab *bpfu_htab_of(struct bpfu_map *map)
{
	return bpfu_container_of(map, struct bpfu_htab, map);
}

static inline struct bpfu_htab_elem *bpfu_htab_follow(const struct bpfu_htab_link *link)
{
	return atomic_load_explicit(&link->to, memory_order_acquire);
}

/* ---- elements ---- */

static inline void *bpfu_htab_value(const struct bpfu_htab *htab, struct bpfu_htab_elem *elem)
{
	return elem->key + htab->value_off;
}

/* PERCPU_HASH: the per-CPU pointer of the value, constant over the life of the element. */
static inline void **bpfu_htab_pptr(const struct bpfu_htab *htab, struct bpfu_htab_elem *elem)
{
	return (void **)bpfu_htab_value(htab, elem);
}

/* Value as a program on the calling thread's slot sees it. */
void *bpfu_htab_value_here(const struct bpfu_htab *htab, struct bpfu_htab_elem *elem);

/* Value as the user gets it: all slots of a per-CPU map. */
void bpfu_htab_read_value(const struct bpfu_htab *htab, struct bpfu_htab_elem *elem, void *value);

/* Free the objects that the value owns (fields.h). */
void bpfu_htab_drop_fields(const struct bpfu_htab *htab, struct bpfu_htab_elem *elem);

/* ---- hash.c, with the lock of the element's bucket ---- */

/* 0 or -EBUSY: a program interrupted the holder of this lock. */
int bpfu_htab_lock(struct bpfu_htab_bucket *bucket);

struct bpfu_htab_bucket *bpfu_htab_bucket_of(struct bpfu_htab *htab, const void *key,
					     uint32_t *hash);

/* The element with @key in @bucket, or NULL; *@link is what points to it. */
struct bpfu_htab_elem *bpfu_htab_find_locked(const struct bpfu_htab *htab,
					     struct bpfu_htab_bucket *bucket, uint32_t hash,
					     const void *key, struct bpfu_htab_link **link);

/* Unlink @elem, to which *@link points, and give it to the pool. */
void bpfu_htab_remove(struct bpfu_htab *htab, struct bpfu_htab_bucket *bucket,
		      struct bpfu_htab_elem *elem, struct bpfu_htab_link *link);

/* ---- htab_pool.c ---- */

int bpfu_htab_pool_init(struct bpfu_htab *htab, const union bpf_attr *attr);
void bpfu_htab_pool_release(struct bpfu_htab *htab);

/*
 * An element to fill, .gen odd. @replaces: another will be freed for it, so a full map has one,
 * too. 0, -E2BIG (map is full) or -ENOMEM.
 */
int bpfu_htab_elem_alloc(struct bpfu_htab *htab, bool replaces, struct bpfu_htab_elem **out);

/* @replaced: there is another in its place. */
void bpfu_htab_elem_free(struct bpfu_htab *htab, struct bpfu_htab_elem *elem, bool replaced);

/* Return memory of elements that the map will not need soon. Outside of locks and sections. */
void bpfu_htab_trim(struct bpfu_htab *htab);

uint64_t bpfu_htab_mem_usage(const struct bpfu_map *map);

/* ---- htab_walk.c ---- */

int bpfu_htab_get_next_key(struct bpfu_map *map, const void *key, void *next_key);
int64_t bpfu_htab_for_each(struct bpfu_map *map, uint64_t callback, uint64_t ctx, uint64_t flags);
int bpfu_htab_lookup_batch(struct bpfu_map *map, struct bpfu_map_batch *batch, bool del);

#endif
