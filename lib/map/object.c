// SPDX-License-Identifier: BSD-2-Clause
/*
 * Memory of objects. A size class has chunks, of which objects are cut, and free lists per slot:
 *
 *    chunk --- first use ---> program's or a map's --- dropped, a grace period ---> free list
 *                                       ^                                              |
 *                                       +----------------------------------------------+
 *
 * An object finds its class in the header of its chunk, which is aligned. A list whose holder was
 * interrupted by the program that wants it is passed over; if that was the only one, the object goes to
 * the strays, which are taken as a whole.
 */
#include "map/object.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "bpfu/bpfu.h"
#include "map/area.h"
#include "percpu/lock.h"
#include "percpu/rcu.h"
#include "util/bits.h"

#define CHUNK_SIZE  (64u * 1024) /* and alignment */
#define CHUNKS_MAX  (1u << 14)   /* of all classes: 1 GiB */
#define HELD_BEFORE 1            /* a lock may be held by the code that the program interrupted */

struct object {
	struct bpfu_rcu_head rcu; /* dropped */
	char data[];
};

struct shard {
	struct bpfu_lock lock;
	_Atomic uint32_t cnt;     /* written under .lock; read without to skip empty ones */
	struct object *free;      /* under .lock; linked by (struct object *)rcu.next */
} __attribute__((aligned(64)));

struct chunk {
	uint32_t class;
	uint32_t cnt;
	_Atomic uint32_t used;    /* cut so far, may exceed .cnt */
	char objects[] __attribute__((aligned(64)));
};

/* With the head: multiples of 16, so that the data is aligned to 16. */
static const uint32_t class_size[] = { 32, 48, 64, 96, 128, 192, 256, 512, 1024, 2048, 4112 };

#define CLASSES BPFU_ARRAY_SIZE(class_size)

static struct {
	_Atomic(struct chunk *) chunk; /* that is being cut */
	_Atomic(struct object *) strays;
	struct bpfu_lock grow_lock;
	struct shard *shards;
} classes[CLASSES];

static uint32_t shard_cnt;
static _Atomic uint32_t chunk_cnt;
static _Atomic uint64_t live;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void prepare(void)
{
	uint32_t cnt = bpfu_possible_cpus();
	struct shard *shards = bpfu_area_alloc(CLASSES * cnt * sizeof(*shards), BPFU_NO_NODE);

	if (!shards)
		return;
	for (size_t i = 0; i < CLASSES; i++)
		classes[i].shards = shards + i * cnt;
	shard_cnt = cnt;
}

int bpfu_objects_prepare(void)
{
	pthread_once(&once, prepare);
	return shard_cnt ? 0 : -ENOMEM;
}

static struct object *next_of(const struct object *object)
{
	return (struct object *)object->rcu.next;
}

static void set_next(struct object *object, struct object *next)
{
	object->rcu.next = next ? &next->rcu : NULL;
}

static struct chunk *chunk_of(const struct object *object)
{
	return (struct chunk *)((uintptr_t)object & ~(uintptr_t)(CHUNK_SIZE - 1));
}

/* ---- free lists ---- */

static struct object *pop(struct shard *shard)
{
	struct object *object;

	if (!atomic_load_explicit(&shard->cnt, memory_order_relaxed) ||
	    bpfu_lock_bounded(&shard->lock, HELD_BEFORE))
		return NULL;
	object = shard->free;
	if (object) {
		shard->free = next_of(object);
		atomic_fetch_sub_explicit(&shard->cnt, 1, memory_order_relaxed);
	}
	bpfu_unlock(&shard->lock);
	return object;
}

static bool push(struct shard *shard, struct object *object)
{
	if (bpfu_lock_bounded(&shard->lock, HELD_BEFORE))
		return false;
	set_next(object, shard->free);
	shard->free = object;
	atomic_fetch_add_explicit(&shard->cnt, 1, memory_order_relaxed);
	bpfu_unlock(&shard->lock);
	return true;
}

/* The list of the slot; of the last one that the thread had if it is outside of sections. */
static uint32_t own_shard(void)
{
	return bpfu_cpu_self.cpu % shard_cnt;
}

static struct object *pop_others(uint32_t class)
{
	struct object *object = NULL;

	for (uint32_t i = 1; !object && i < shard_cnt; i++)
		object = pop(&classes[class].shards[(own_shard() + i) % shard_cnt]);
	return object;
}

static bool push_any(uint32_t class, struct object *object)
{
	for (uint32_t i = 0; i < shard_cnt; i++)
		if (push(&classes[class].shards[(own_shard() + i) % shard_cnt], object))
			return true;
	return false;
}

static void push_stray(uint32_t class, struct object *object)
{
	struct object *first = atomic_load_explicit(&classes[class].strays, memory_order_relaxed);

	do {
		set_next(object, first);
	} while (!atomic_compare_exchange_weak_explicit(&classes[class].strays, &first, object,
							memory_order_release,
							memory_order_relaxed));
}

static void put(uint32_t class, struct object *object)
{
	if (!push_any(class, object))
		push_stray(class, object);
}

/* All at once, since taking one from a list without a lock is not safe; keep the first. */
static struct object *pop_stray(uint32_t class)
{
	struct object *first, *object, *next;

	if (!atomic_load_explicit(&classes[class].strays, memory_order_relaxed))
		return NULL;
	first = atomic_exchange_explicit(&classes[class].strays, NULL, memory_order_acquire);
	for (object = first ? next_of(first) : NULL; object; object = next) {
		next = next_of(object);
		put(class, object);
	}
	return first;
}

/* ---- chunks ---- */

/* An object that has never been used. */
static struct object *cut(uint32_t class)
{
	struct chunk *chunk = atomic_load_explicit(&classes[class].chunk, memory_order_acquire);
	uint32_t idx;

	/* Look first, so that failing often does not wrap the counter. */
	if (!chunk || atomic_load_explicit(&chunk->used, memory_order_relaxed) >= chunk->cnt)
		return NULL;
	idx = atomic_fetch_add_explicit(&chunk->used, 1, memory_order_relaxed);
	if (idx >= chunk->cnt)
		return NULL;
	return (struct object *)(chunk->objects + (size_t)class_size[class] * idx);
}

static struct chunk *chunk_new(uint32_t class)
{
	struct chunk *chunk;

	if (atomic_fetch_add_explicit(&chunk_cnt, 1, memory_order_relaxed) >= CHUNKS_MAX)
		goto err_uncount;
	chunk = bpfu_area_alloc_aligned(CHUNK_SIZE, CHUNK_SIZE, BPFU_NO_NODE);
	if (!chunk)
		goto err_uncount;
	chunk->class = class;
	chunk->cnt = (CHUNK_SIZE - sizeof(*chunk)) / class_size[class];
	return chunk;

err_uncount:
	atomic_fetch_sub_explicit(&chunk_cnt, 1, memory_order_relaxed);
	return NULL;
}

/* A new chunk, unless somebody else has just added one. */
static void grow(uint32_t class)
{
	struct chunk *old, *chunk;

	if (bpfu_lock_bounded(&classes[class].grow_lock, HELD_BEFORE))
		return;
	old = atomic_load_explicit(&classes[class].chunk, memory_order_relaxed);
	if (!old || atomic_load_explicit(&old->used, memory_order_relaxed) >= old->cnt) {
		chunk = chunk_new(class);
		if (chunk)
			atomic_store_explicit(&classes[class].chunk, chunk, memory_order_release);
	}
	bpfu_unlock(&classes[class].grow_lock);
}

/* ---- the interface ---- */

static uint32_t class_of(uint64_t size)
{
	uint32_t class = 0;

	while (class_size[class] < size + sizeof(struct object))
		class++;
	return class;
}

void *bpfu_object_new(uint64_t size)
{
	struct object *object;
	uint32_t class;

	if (size > BPFU_OBJECT_MAX || !shard_cnt)
		return NULL;
	class = class_of(size);
	object = pop(&classes[class].shards[own_shard()]);
	if (!object)
		object = cut(class);
	if (!object)
		object = pop_others(class);
	if (!object)
		object = pop_stray(class);
	if (!object) {
		grow(class);
		object = cut(class);
	}
	if (!object)
		return NULL;
	atomic_fetch_add_explicit(&live, 1, memory_order_relaxed);
	return memset(object->data, 0, size);
}

static void reuse(struct bpfu_rcu_head *head)
{
	struct object *object = bpfu_container_of(head, struct object, rcu);

	put(chunk_of(object)->class, object);
}

void bpfu_object_drop(void *data)
{
	struct object *object = bpfu_container_of(data, struct object, data);

	atomic_fetch_sub_explicit(&live, 1, memory_order_relaxed);
	bpfu_call_rcu(&object->rcu, reuse);
}

uint64_t bpfu_objects_live(void)
{
	return atomic_load_explicit(&live, memory_order_relaxed);
}

uint64_t bpfu_objects_memory(void)
{
	return (uint64_t)atomic_load_explicit(&chunk_cnt, memory_order_relaxed) * CHUNK_SIZE;
}
