// SPDX-License-Identifier: BSD-2-Clause
/*
 * BPF_MAP_TYPE_HASH and PERCPU_HASH: chains of elements from buckets, as many buckets as entries,
 * rounded up to a power of two.
 *
 *    buckets            elements
 *    [0] head  -------> | next | hash gen | key | value |
 *        lock              |
 *        removals          +--> | next | hash gen | key | value |
 *    [1] head
 *        ...
 *
 * Changes to a chain hold the bucket's lock. Look-ups hold nothing, and that is the difficult part,
 * since elements are used again at once: a program that adds and removes in one long section must
 * not need memory without end. So an element may turn up in another bucket, elsewhere in the same
 * one, or with another key, while a look-up stands on it. Two things make that visible:
 *
 *  - gen is even while the element is in the map and changes whenever it leaves. A look-up that
 * finds its key reads gen before and after comparing; only if both are equal has it seen one key
 *    and not half of two. Commands check it again after they have copied the value.
 *  - removals counts the elements that left the bucket. A look-up can be led astray, into another
 *    chain or past elements of its own, only by an element that it met in its bucket and that was
 * used again since. The counter is raised before that can happen, hence seen to have changed by
 *    whoever saw the element in its new place.
 *
 * "Not found" is the answer only if removals is unchanged, else the look-up starts again, which
 * means that somebody else has got on. An update of an existing key puts a new element into the old
 * one's place by one store, so that the key never seems absent; programs that hold the old value
 * keep what they see until the element is used again, as in a kernel.
 *
 * Elements' memory stays the map's: it goes back to the system, after a grace period, only as whole
 * chunks (htab_pool.c). Look-ups run in a section for that reason.
 *
 * Locks: bucket, then the pool's. A program may interrupt a holder and want a lock: it gets -EBUSY.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "bpfu/bpfu.h"
#include "map/area.h"
#include "map/copy_value.h"
#include "map/fields.h"
#include "map/htab.h"
#include "map/map_ops.h"
#include "percpu/fence.h"
#include "percpu/percpu_alloc.h"

#define HTAB_FLAGS                                                                                 \
	(BPF_F_NO_PREALLOC | BPF_F_NUMA_NODE | BPF_F_ZERO_SEED | BPFU_MAP_ACCESS_FLAGS)

/* Limits of a kernel: an element is one allocation there, and so is the array of buckets. */
#define ELEM_MAX    ((4u << 20) - 48)
#define BUCKETS_MAX (UINT32_MAX / 16)

/* ---- hashing ---- */

static uint64_t mix(uint64_t a, uint64_t b)
{
	__uint128_t product = (__uint128_t)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/*
 * The last 1 to 7 bytes as one word, all of them in it. No copy of variable length: bytes that
 * are stored one by one and loaded as a word would stall.
 */
static uint64_t tail_word(const char *bytes, uint32_t left)
{
	uint32_t low, high;

	if (left >= 4) {
		memcpy(&low, bytes, 4);
		memcpy(&high, bytes + left - 4, 4);
		return low | (uint64_t)high << 32;
	}
	return (uint8_t)bytes[0] | (uint64_t)(uint8_t)bytes[left / 2] << 8 |
	       (uint64_t)(uint8_t)bytes[left - 1] << 16;
}

/*
 * Multiply and fold per eight bytes, the seed in both factors: who does not know it cannot choose keys
 * that collide.
 */
static inline __attribute__((always_inline)) uint32_t hash_key(const struct bpfu_htab *htab,
							      const void *key, uint32_t key_size)
{
	const char *bytes = key;
	uint64_t word, hash = key_size;
	uint32_t left = key_size;

	for (; left >= 8; left -= 8, bytes += 8) {
		memcpy(&word, bytes, 8);
		hash = mix(word ^ htab->seed[0], hash ^ htab->seed[1]);
	}
	if (left)
		hash = mix(tail_word(bytes, left) ^ htab->seed[0], hash ^ htab->seed[1]);
	hash = mix(hash ^ htab->seed[1], 0x9e3779b97f4a7c15u);
	return (uint32_t)hash;
}

struct bpfu_htab_bucket *bpfu_htab_bucket_of(struct bpfu_htab *htab, const void *key,
					     uint32_t *hash)
{
	*hash = hash_key(htab, key, htab->key_size);
	return &htab->buckets[*hash & htab->mask];
}

static int init_seed(struct bpfu_htab *htab, bool zero)
{
	htab->seed[0] = 0xa0761d6478bd642fu;
	htab->seed[1] = 0xe7037ed1a0b428dbu;
	if (zero)
		return 0;
	return getrandom(htab->seed, sizeof(htab->seed), 0) == sizeof(htab->seed) ? 0 : -ENOMEM;
}

/* ---- creation ---- */

static int htab_alloc_check(const union bpf_attr *attr, bool percpu)
{
	if ((attr->map_flags & ~HTAB_FLAGS) || !bpfu_map_access_flags_ok(attr->map_flags))
		return -EINVAL;
	if (percpu && bpfu_map_numa_node(attr) != BPFU_NO_NODE)
		return -EINVAL;
	if (!attr->max_entries || !attr->key_size || !attr->value_size)
		return -EINVAL;
	if ((uint64_t)attr->key_size + attr->value_size >= ELEM_MAX)
		return -E2BIG;
	if (percpu && attr->value_size > BPFU_PERCPU_VALUE_MAX)
		return -E2BIG;
	return 0;
}

static int hash_alloc_check(const union bpf_attr *attr)
{
	return htab_alloc_check(attr, false);
}

static int percpu_hash_alloc_check(const union bpf_attr *attr)
{
	return htab_alloc_check(attr, true);
}

static uint64_t round_up_pow2(uint32_t n)
{
	uint64_t pow2 = 1;

	while (pow2 < n)
		pow2 *= 2;
	return pow2;
}

static int htab_alloc(const union bpf_attr *attr, bool percpu, struct bpfu_map **out)
{
	uint64_t buckets = round_up_pow2(attr->max_entries);
	struct bpfu_htab *htab;
	int err;

	if (buckets > BUCKETS_MAX)
		return -E2BIG;
	htab = calloc(1, sizeof(*htab));
	if (!htab)
		return -ENOMEM;
	htab->map.mem_fd = -1;
	htab->map.max_entries = attr->max_entries;
	htab->percpu = percpu;
	htab->prealloc = !(attr->map_flags & BPF_F_NO_PREALLOC);
	htab->node = bpfu_map_numa_node(attr);
	htab->key_size = attr->key_size;
	htab->value_size = BPFU_ROUND_UP(attr->value_size, 8);
	htab->value_off = BPFU_ROUND_UP(attr->key_size, 8);
	htab->elem_size = sizeof(struct bpfu_htab_elem) + htab->value_off +
			  (percpu ? sizeof(void *) : htab->value_size);
	htab->mask = (uint32_t)buckets - 1;
	err = init_seed(htab, attr->map_flags & BPF_F_ZERO_SEED);
	if (err)
		goto err_free;
	htab->buckets = bpfu_area_alloc(buckets * sizeof(*htab->buckets), htab->node);
	if (!htab->buckets) {
		err = -ENOMEM;
		goto err_free;
	}
	err = bpfu_htab_pool_init(htab, attr);
	if (err)
		goto err_free_buckets;
	*out = &htab->map;
	return 0;

err_free_buckets:
	bpfu_area_free(htab->buckets, buckets * sizeof(*htab->buckets));
err_free:
	free(htab);
	return err;
}

static int hash_alloc(const union bpf_attr *attr, struct bpfu_map **out)
{
	return htab_alloc(attr, false, out);
}

static int percpu_hash_alloc(const union bpf_attr *attr, struct bpfu_map **out)
{
	return htab_alloc(attr, true, out);
}

static void htab_free(struct bpfu_map *map)
{
	struct bpfu_htab *htab = bpfu_htab_of(map);

	bpfu_htab_pool_release(htab);
	bpfu_area_free(htab->buckets, ((uint64_t)htab->mask + 1) * sizeof(*htab->buckets));
	free(htab);
}

/* ---- values ---- */

void *bpfu_htab_value_here(const struct bpfu_htab *htab, struct bpfu_htab_elem *elem)
{
	return htab->percpu ? bpfu_percpu_this(*bpfu_htab_pptr(htab, elem)) :
			      bpfu_htab_value(htab, elem);
}

void bpfu_htab_read_value(const struct bpfu_htab *htab, struct bpfu_htab_elem *elem, void *value)
{
	uint32_t cpu;

	if (!htab->percpu) {
		bpfu_value_read(value, bpfu_htab_value(htab, elem), htab->map.value_size);
		bpfu_fields_hide(htab->map.record, value);
		return;
	}
	for (cpu = 0; cpu < bpfu_possible_cpus(); cpu++) {
		char *copy = (char *)value + (size_t)htab->value_size * cpu;

		bpfu_value_read(copy, bpfu_percpu_of(*bpfu_htab_pptr(htab, elem), cpu),
				htab->value_size);
		bpfu_fields_hide(htab->map.record, copy);
	}
}

void bpfu_htab_drop_fields(const struct bpfu_htab *htab, struct bpfu_htab_elem *elem)
{
	const struct bpfu_record *record = htab->map.record;

	if (record && !htab->percpu)
		bpfu_fields_drop(record, bpfu_htab_value(htab, elem));
	for (uint32_t cpu = 0; record && htab->percpu && cpu < bpfu_possible_cpus(); cpu++)
		bpfu_fields_drop(record, bpfu_percpu_of(*bpfu_htab_pptr(htab, elem), cpu));
}

/* What an update writes, and into which slots. */
struct new_value {
	const void *bytes;
	bool all_cpus; /* from the user side: a copy per slot */
};

/* @fresh: the element was not in the map, so no slot may see what it had before. */
static void write_value(struct bpfu_htab *htab, struct bpfu_htab_elem *elem,
			const struct new_value *value, bool fresh)
{
	uint32_t cpu;
	void *dst;

	if (!htab->percpu) {
		bpfu_map_write_value(&htab->map, bpfu_htab_value(htab, elem), value->bytes,
				     htab->map.value_size);
		return;
	}
	for (cpu = 0; cpu < bpfu_possible_cpus(); cpu++) {
		dst = bpfu_percpu_of(*bpfu_htab_pptr(htab, elem), cpu);
		if (value->all_cpus)
			bpfu_map_write_value(&htab->map, dst, (const char *)value->bytes +
					     (size_t)htab->value_size * cpu, htab->value_size);
		else if (cpu == bpfu_cpu_self.cpu)
			bpfu_map_write_value(&htab->map, dst, value->bytes,
					     htab->map.value_size);
		else if (fresh)
			bpfu_map_write_value(&htab->map, dst, NULL, htab->value_size);
	}
}

/* ---- look-up without a lock ---- */

static uint32_t load_gen(const struct bpfu_htab_elem *elem)
{
	return atomic_load_explicit(&elem->gen, memory_order_acquire);
}

/* True if @elem was in the map with @key; *@gen identifies that life of it. */
static inline __attribute__((always_inline)) bool has_key(const struct bpfu_htab_elem *elem,
							 uint32_t hash, const void *key,
							 uint32_t key_size, uint32_t *gen)
{
	*gen = load_gen(elem);
	if ((*gen & 1) || atomic_load_explicit(&elem->hash, memory_order_relaxed) != hash ||
	    !bpfu_value_equal(elem->key, key, key_size))
		return false;
	bpfu_acquire_fence();
	return load_gen(elem) == *gen;
}

/* @key_size: a constant for the sizes that are worth a function of their own. */
static inline __attribute__((always_inline)) struct bpfu_htab_elem *
find_sized(struct bpfu_htab *htab, const void *key, uint32_t key_size, uint32_t *gen)
{
	uint32_t hash = hash_key(htab, key, key_size), removals;
	struct bpfu_htab_bucket *bucket = &htab->buckets[hash & htab->mask];
	struct bpfu_htab_elem *elem;

	do {
		removals = atomic_load_explicit(&bucket->removals, memory_order_acquire);
		for (elem = bpfu_htab_follow(&bucket->head); elem;
		     elem = bpfu_htab_follow(&elem->next))
			if (has_key(elem, hash, key, key_size, gen))
				return elem;
	} while (atomic_load_explicit(&bucket->removals, memory_order_acquire) != removals);
	return NULL;
}

static struct bpfu_htab_elem *find(struct bpfu_htab *htab, const void *key, uint32_t *gen)
{
	return find_sized(htab, key, htab->key_size, gen);
}

/* What programs call in place of the helper; in the form of a helper. */
#define SLOT_FUNCTION(name, size)                                                                  	uint64_t name(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)             	{                                                                                          		struct bpfu_htab *htab = bpfu_htab_of(bpfu_ptr(r1));                               		uint32_t gen;                                                                      		struct bpfu_htab_elem *elem = find_sized(htab, bpfu_ptr(r2), size, &gen);          												   		return elem ? bpfu_u64(bpfu_htab_value(htab, elem)) : 0;                           	}

SLOT_FUNCTION(bpfu_hash_slot, htab->key_size)
SLOT_FUNCTION(bpfu_hash_slot_4, 4)
SLOT_FUNCTION(bpfu_hash_slot_8, 8)

static void *htab_lookup(struct bpfu_map *map, const void *key)
{
	struct bpfu_htab *htab = bpfu_htab_of(map);
	struct bpfu_htab_elem *elem;
	uint32_t gen;

	elem = find(htab, key, &gen);
	return elem ? bpfu_htab_value(htab, elem) : NULL;
}

static void *percpu_hash_lookup(struct bpfu_map *map, const void *key)
{
	void **pptr = htab_lookup(map, key);

	return pptr ? bpfu_percpu_this(*pptr) : NULL;
}

static void *percpu_hash_lookup_percpu(struct bpfu_map *map, const void *key, uint32_t cpu)
{
	void **pptr;

	if (cpu >= bpfu_possible_cpus())
		return NULL;
	pptr = htab_lookup(map, key);
	return pptr ? bpfu_percpu_of(*pptr, cpu) : NULL;
}

static int htab_lookup_user(struct bpfu_map *map, const void *key, void *value, uint64_t flags)
{
	struct bpfu_htab *htab = bpfu_htab_of(map);
	struct bpfu_htab_elem *elem;
	uint32_t gen;

	bpfu_rcu_read_lock();
	do {
		elem = find(htab, key, &gen);
		if (!elem)
			break;
		bpfu_htab_read_value(htab, elem, value);
		bpfu_acquire_fence();
	} while (load_gen(elem) != gen);
	bpfu_rcu_read_unlock();
	return elem ? 0 : -ENOENT;
}

/* ---- changes, under the bucket's lock ---- */

int bpfu_htab_lock(struct bpfu_htab_bucket *bucket)
{
	return bpfu_lock_bounded(&bucket->lock, 1) ? -EBUSY : 0;
}

struct bpfu_htab_elem *bpfu_htab_find_locked(const struct bpfu_htab *htab,
					     struct bpfu_htab_bucket *bucket, uint32_t hash,
					     const void *key, struct bpfu_htab_link **link)
{
	struct bpfu_htab_elem *elem;

	*link = &bucket->head;
	for (elem = bpfu_htab_follow(*link); elem; elem = bpfu_htab_follow(*link)) {
		if (atomic_load_explicit(&elem->hash, memory_order_relaxed) == hash &&
		    bpfu_value_equal(elem->key, key, htab->key_size))
			return elem;
		*link = &elem->next;
	}
	return NULL;
}

static void set_gen(struct bpfu_htab_elem *elem, uint32_t gen)
{
	atomic_store_explicit(&elem->gen, gen, memory_order_release);
}

/* @elem is out of the chain: let look-ups that stand on it know, and the pool have it. */
static void retire(struct bpfu_htab *htab, struct bpfu_htab_bucket *bucket,
		   struct bpfu_htab_elem *elem, bool replaced)
{
	uint32_t removals = atomic_load_explicit(&bucket->removals, memory_order_relaxed);

	atomic_store_explicit(&bucket->removals, removals + 1, memory_order_release);
	set_gen(elem, atomic_load_explicit(&elem->gen, memory_order_relaxed) + 1);
	/* What a program that holds the value stores from now on goes when the element is used again. */
	bpfu_htab_drop_fields(htab, elem);
	bpfu_htab_elem_free(htab, elem, replaced);
}

static void point(struct bpfu_htab_link *link, struct bpfu_htab_elem *elem)
{
	atomic_store_explicit(&link->to, elem, memory_order_release);
}

void bpfu_htab_remove(struct bpfu_htab *htab, struct bpfu_htab_bucket *bucket,
		      struct bpfu_htab_elem *elem, struct bpfu_htab_link *link)
{
	point(link, bpfu_htab_follow(&elem->next));
	retire(htab, bucket, elem, false);
}

/* Fill @elem and have *@link point to it; what follows is @next. */
static void publish(struct bpfu_htab *htab, struct bpfu_htab_elem *elem, uint32_t hash,
		    const void *key, const struct new_value *value, struct bpfu_htab_link *link,
		    struct bpfu_htab_elem *next)
{
	/* Whoever sees part of the new contents must not see the old gen after it. */
	bpfu_release_fence();
	atomic_store_explicit(&elem->hash, hash, memory_order_relaxed);
	bpfu_value_write(elem->key, key, htab->key_size);
	write_value(htab, elem, value, true);
	point(&elem->next, next);
	set_gen(elem, atomic_load_explicit(&elem->gen, memory_order_relaxed) + 1);
	point(link, elem);
}

static int insert(struct bpfu_htab *htab, struct bpfu_htab_bucket *bucket, uint32_t hash,
		  const void *key, const struct new_value *value)
{
	struct bpfu_htab_elem *elem;
	int err;

	err = bpfu_htab_elem_alloc(htab, false, &elem);
	if (!err)
		publish(htab, elem, hash, key, value, &bucket->head,
			bpfu_htab_follow(&bucket->head));
	return err;
}

static int replace(struct bpfu_htab *htab, struct bpfu_htab_bucket *bucket,
		   struct bpfu_htab_elem *old, uint32_t hash, const void *key,
		   const struct new_value *value, struct bpfu_htab_link *link)
{
	struct bpfu_htab_elem *elem;
	int err;

	if (htab->percpu) {
		write_value(htab, old, value, false);
		return 0;
	}
	err = bpfu_htab_elem_alloc(htab, true, &elem);
	if (err == -E2BIG) {
		/* Full, and more updates under way than there are spare elements. */
		write_value(htab, old, value, false);
		return 0;
	}
	if (err)
		return err;
	publish(htab, elem, hash, key, value, link, bpfu_htab_follow(&old->next));
	retire(htab, bucket, old, true);
	return 0;
}

static int update(struct bpfu_htab *htab, const void *key, const struct new_value *value,
		  uint64_t flags)
{
	struct bpfu_htab_bucket *bucket;
	struct bpfu_htab_elem *old;
	struct bpfu_htab_link *link;
	uint32_t hash;
	int err;

	if (flags > BPF_EXIST)
		return -EINVAL;
	bucket = bpfu_htab_bucket_of(htab, key, &hash);
	err = bpfu_htab_lock(bucket);
	if (err)
		return err;
	old = bpfu_htab_find_locked(htab, bucket, hash, key, &link);
	if (old && flags == BPF_NOEXIST)
		err = -EEXIST;
	else if (!old && flags == BPF_EXIST)
		err = -ENOENT;
	else if (old)
		err = replace(htab, bucket, old, hash, key, value, link);
	else
		err = insert(htab, bucket, hash, key, value);
	bpfu_unlock(&bucket->lock);
	return err;
}

static int htab_update(struct bpfu_map *map, const void *key, const void *value, uint64_t flags)
{
	const struct new_value new_value = { .bytes = value };

	return update(bpfu_htab_of(map), key, &new_value, flags);
}

static int htab_update_user(struct bpfu_map *map, const void *key, const void *value,
			    uint64_t flags)
{
	const struct new_value new_value = { .bytes = value, .all_cpus = true };
	int err;

	/*
	 * A section, as programs have it: the chunk that we look into may be replaced and unmapped.
	 */
	bpfu_rcu_read_lock();
	err = update(bpfu_htab_of(map), key, &new_value, flags);
	bpfu_rcu_read_unlock();
	return err;
}

/* @value: NULL, or gets a copy first. */
static int take_out(struct bpfu_htab *htab, const void *key, void *value)
{
	struct bpfu_htab_bucket *bucket;
	struct bpfu_htab_elem *elem;
	struct bpfu_htab_link *link;
	uint32_t hash;
	int err;

	bucket = bpfu_htab_bucket_of(htab, key, &hash);
	err = bpfu_htab_lock(bucket);
	if (err)
		return err;
	elem = bpfu_htab_find_locked(htab, bucket, hash, key, &link);
	if (elem) {
		if (value)
			bpfu_htab_read_value(htab, elem, value);
		bpfu_htab_remove(htab, bucket, elem, link);
	}
	bpfu_unlock(&bucket->lock);
	if (!elem)
		return -ENOENT;
	bpfu_htab_trim(htab);
	return 0;
}

static int htab_delete(struct bpfu_map *map, const void *key)
{
	return take_out(bpfu_htab_of(map), key, NULL);
}

static int htab_lookup_and_delete_user(struct bpfu_map *map, const void *key, void *value,
				       uint64_t flags)
{
	return take_out(bpfu_htab_of(map), key, value);
}

#define HTAB_BATCH                                                                                 \
	(BPFU_BATCH_LOOKUP | BPFU_BATCH_LOOKUP_AND_DELETE | BPFU_BATCH_UPDATE | BPFU_BATCH_DELETE)

const struct bpfu_map_ops bpfu_hash_ops = {
	.alloc_check = hash_alloc_check,
	.alloc = hash_alloc,
	.free = htab_free,
	.lookup = htab_lookup,
	.update = htab_update,
	.delete = htab_delete,
	.for_each = bpfu_htab_for_each,
	.lookup_user = htab_lookup_user,
	.update_user = htab_update_user,
	.lookup_and_delete_user = htab_lookup_and_delete_user,
	.get_next_key = bpfu_htab_get_next_key,
	.mem_usage = bpfu_htab_mem_usage,
	.lookup_batch = bpfu_htab_lookup_batch,
	.batch = HTAB_BATCH,
};

const struct bpfu_map_ops bpfu_percpu_hash_ops = {
	.alloc_check = percpu_hash_alloc_check,
	.alloc = percpu_hash_alloc,
	.free = htab_free,
	.lookup = percpu_hash_lookup,
	.update = htab_update,
	.delete = htab_delete,
	.lookup_percpu = percpu_hash_lookup_percpu,
	.for_each = bpfu_htab_for_each,
	.lookup_user = htab_lookup_user,
	.update_user = htab_update_user,
	.lookup_and_delete_user = htab_lookup_and_delete_user,
	.get_next_key = bpfu_htab_get_next_key,
	.mem_usage = bpfu_htab_mem_usage,
	.lookup_batch = bpfu_htab_lookup_batch,
	.values_percpu = true,
	.batch = HTAB_BATCH,
};
