// SPDX-License-Identifier: BSD-2-Clause
/*
 * HASH and PERCPU_HASH below the operations: spare elements, buckets and batches, programs that
 * interrupt the holders of locks, memory that grows, shrinks and waits for programs, hashing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>

#include "bpfu/bpfu.h"
#include "hash_kinds.h"
#include "map/htab.h"

/* ---- capacity ---- */

/* More replacing updates at once than there are spare elements: in place. */
static void full_without_spare_elements(void **state)
{
	struct bpfu_map *map = map_new(&kinds[0], 8, 8, 2);
	struct bpfu_htab *htab = bpfu_htab_of(map);
	uint32_t cpus = bpfu_possible_cpus(), i;
	struct bpfu_htab_elem **held = calloc(cpus, sizeof(*held)), *more;
	uint64_t key, value = 7, got;

	(void)state;
	assert_non_null(held);
	for (key = 0; key < 2; key++)
		assert_int_equal(bpfu_map_update_user(map, &key, &value, BPF_ANY), 0);
	for (i = 0; i < cpus; i++)
		assert_int_equal(bpfu_htab_elem_alloc(htab, true, &held[i]), 0);
	assert_int_equal(bpfu_htab_elem_alloc(htab, true, &more), -E2BIG);
	for (key = 0; key < 2; key++) {
		value = 100 + key;
		assert_int_equal(bpfu_map_update_user(map, &key, &value, BPF_EXIST), 0);
		assert_int_equal(bpfu_map_lookup_user(map, &key, &got, 0), 0);
		assert_int_equal(got, 100 + key);
	}
	for (i = 0; i < cpus; i++)
		bpfu_htab_elem_free(htab, held[i], true);
	key = 2;
	assert_int_equal(bpfu_map_update_user(map, &key, &value, BPF_ANY), -E2BIG);
	key = 1;
	assert_int_equal(bpfu_map_delete_user(map, &key), 0);
	key = 2;
	assert_int_equal(bpfu_map_update_user(map, &key, &value, BPF_ANY), 0);
	free(held);
	bpfu_map_put(map);
}

/* ---- batches ---- */

/* A bucket that does not fit: -ENOSPC when nothing has been copied yet, else what there is. */
static void batch_without_room(void **state)
{
	uint32_t value_size, i, idx, longest = 0, at = 0, last = 0;
	struct batch_mem m = { 0 };
	uint64_t key;

	(void)state;
	FOR_EACH_KIND(k) {
		struct bpfu_map *map = map_new(k, 8, 8, B);
		struct bpfu_htab *htab = bpfu_htab_of(map);
		struct bpfu_map_batch b;

		value_size = bpfu_map_user_value_size(map);
		m.values = calloc(B, value_size);
		assert_non_null(m.values);
		for (key = 0; key < B; key++)
			assert_int_equal(bpfu_map_update_user(map, &key, m.values, BPF_ANY), 0);
		longest = 0;
		for (idx = 0; idx <= htab->mask; idx++) {
			struct bpfu_htab_elem *e = bpfu_htab_follow(&htab->buckets[idx].head);

			for (i = 0; e; e = bpfu_htab_follow(&e->next))
				i++;
			if (i)
				last = idx;
			if (i > longest) {
				longest = i;
				at = idx;
			}
		}
		assert_true(longest >= 2);
		m.cursor = at;
		b = batch_of(&m, longest - 1);
		b.in_batch = b.out_batch;
		assert_int_equal(bpfu_map_lookup_batch(map, &b), -ENOSPC);
		assert_int_equal(b.count, 0);
		assert_int_equal(m.cursor, at);
		b.count = longest - 1;
		assert_int_equal(bpfu_map_lookup_and_delete_batch(map, &b), -ENOSPC);
		b.count = longest;
		/* Buckets are drawn: with none but empty ones behind it, the end is reached too. */
		assert_int_equal(bpfu_map_lookup_batch(map, &b), at == last ? -ENOENT : 0);
		assert_int_equal(b.count, longest);
		assert_true(m.cursor > at);
		free(m.values);
		bpfu_map_put(map);
	}
}

/* ---- recursion ---- */

/* A program that interrupts the holder of a bucket and wants the same one, or another's lock. */
static void recursion_is_busy(void **state)
{
	uint32_t cpus = bpfu_possible_cpus();
	uint64_t key = 1, *value = calloc(cpus, 8);
	struct bpfu_map_batch b;
	struct batch_mem m = { 0 };
	uint32_t hash;

	(void)state;
	assert_non_null(value);
	FOR_EACH_KIND(k) {
		struct bpfu_map *map = map_new(k, 8, 8, 4);
		struct bpfu_htab_bucket *bucket = bpfu_htab_bucket_of(bpfu_htab_of(map), &key,
								      &hash);

		assert_int_equal(bpfu_map_update_user(map, &key, value, BPF_ANY), 0);
		m.values = calloc(B, bpfu_map_user_value_size(map));
		assert_int_equal(bpfu_htab_lock(bucket), 0);
		assert_int_equal(prog_update(map, &key, value, BPF_ANY), -EBUSY);
		assert_int_equal(prog_delete(map, &key), -EBUSY);
		assert_int_equal(bpfu_map_get_next_key(map, &key, &m.keys[0]), -EBUSY);
		assert_int_equal(bpfu_map_lookup_and_delete_user(map, &key, value, 0), -EBUSY);
		b = batch_of(&m, B);
		assert_int_equal(bpfu_map_lookup_batch(map, &b), -EBUSY);
		/* Looking takes no lock. */
		assert_int_equal(bpfu_map_lookup_user(map, &key, value, 0), 0);
		bpfu_cpu_enter();
		assert_non_null(map->ops->lookup(map, &key));
		bpfu_cpu_exit();
		bpfu_unlock(&bucket->lock);
		assert_int_equal(prog_update(map, &key, value, BPF_ANY), 0);
		free(m.values);
		bpfu_map_put(map);
	}
	free(value);
}

/* And one that interrupts the holder of the free lists. */
static void recursion_in_the_pool(void **state)
{
	uint64_t key, value = 1;
	uint32_t i;

	(void)state;
	FOR_EACH_KIND(k) {
		struct bpfu_map *map = map_new(k, 8, 8, 8);
		struct bpfu_htab *htab = bpfu_htab_of(map);

		for (key = 0; key < 8; key++)
			assert_int_equal(prog_update(map, &key, &value, BPF_ANY), 0);
		for (i = 0; i <= htab->shard_cnt; i++)
			assert_int_equal(bpfu_lock(&htab->shards[i].lock), 0);
		for (key = 0; key < 8; key++)
			assert_int_equal(prog_delete(map, &key), 0);
		for (i = 0; i <= htab->shard_cnt; i++)
			bpfu_unlock(&htab->shards[i].lock);
		/* Nothing got lost. */
		for (key = 10; key < 18; key++)
			assert_int_equal(prog_update(map, &key, &value, BPF_ANY), 0);
		assert_int_equal(prog_update(map, &key, &value, BPF_ANY), -E2BIG);
		bpfu_map_put(map);
	}
}

/* ---- memory ---- */

static void memory_follows_the_number_of_elements(void **state)
{
	enum { MANY = 50000 };
	uint32_t cpus = bpfu_possible_cpus();
	uint64_t *value = calloc(cpus, 8), key, small, large;

	(void)state;
	assert_non_null(value);
	FOR_EACH_KIND(k) {
		struct bpfu_map *map = map_new(k, 8, 8, MANY);

		key = 0;
		assert_int_equal(bpfu_map_update_user(map, &key, value, BPF_ANY), 0);
		small = map->ops->mem_usage(map);
		for (key = 0; key < MANY; key++)
			assert_int_equal(bpfu_map_update_user(map, &key, value, BPF_ANY), 0);
		large = map->ops->mem_usage(map);
		for (key = 1; key < MANY; key++)
			assert_int_equal(bpfu_map_delete_user(map, &key), 0);
		if (k->flags & BPF_F_NO_PREALLOC) {
			assert_true(large > small + MANY * 16);
			assert_true(map->ops->mem_usage(map) < small + (large - small) / 4);
		} else {
			assert_int_equal(large, small);
			assert_int_equal(map->ops->mem_usage(map), small);
		}
		/* And it can grow again. */
		for (key = 0; key < MANY; key++)
			assert_int_equal(bpfu_map_update_user(map, &key, value, BPF_ANY), 0);
		bpfu_map_put(map);
	}
	bpfu_rcu_barrier();
	free(value);
}

struct onlooker {
	struct bpfu_map *map;
	uint64_t *value;
	uint64_t last;
	sem_t looking;
	sem_t look_again;
};

/* A program that holds the pointer to a value while all around it is deleted. */
static void *look_on(void *arg)
{
	struct onlooker *o = arg;
	uint64_t key = 0;

	bpfu_cpu_enter();
	o->value = o->map->ops->lookup(o->map, &key);
	sem_post(&o->looking);
	sem_wait(&o->look_again);
	o->last = *o->value;
	bpfu_cpu_exit();
	return NULL;
}

static bool is_mapped(const void *ptr)
{
	unsigned char vec;

	return mincore((void *)((uintptr_t)ptr & ~4095ul), 1, &vec) == 0;
}

static void memory_waits_for_programs(void **state)
{
	struct onlooker o = { .map = map_new(&kinds[1], 8, 8, 50000) };
	uint64_t key, value;
	pthread_t thread;

	(void)state;
	sem_init(&o.looking, 0, 0);
	sem_init(&o.look_again, 0, 0);
	for (key = 0; key < 50000; key++) {
		value = 1000 + key;
		assert_int_equal(bpfu_map_update_user(o.map, &key, &value, BPF_ANY), 0);
	}
	assert_int_equal(pthread_create(&thread, NULL, look_on, &o), 0);
	sem_wait(&o.looking);
	assert_non_null(o.value);
	for (key = 0; key < 50000; key++)
		assert_int_equal(bpfu_map_delete_user(o.map, &key), 0);
	assert_true(atomic_load(&bpfu_htab_of(o.map)->chunk_cnt) < 8);
	bpfu_rcu_poll();
	assert_true(is_mapped(o.value));
	sem_post(&o.look_again);
	pthread_join(thread, NULL);
	assert_int_equal(o.last, 1000);
	bpfu_rcu_barrier();
	assert_false(is_mapped(o.value));
	bpfu_map_put(o.map);
	sem_destroy(&o.looking);
	sem_destroy(&o.look_again);
}

static void elements_larger_than_a_chunk(void **state)
{
	const uint32_t size = 200000;
	char *value = malloc(size), *got = malloc(size);
	struct bpfu_map *map = map_new(&kinds[1], 8, size, 20);
	uint64_t key;

	(void)state;
	assert_non_null(value);
	assert_non_null(got);
	for (key = 0; key < 20; key++) {
		memset(value, (int)key, size);
		assert_int_equal(bpfu_map_update_user(map, &key, value, BPF_ANY), 0);
	}
	for (key = 0; key < 20; key++) {
		memset(value, (int)key, size);
		assert_int_equal(bpfu_map_lookup_user(map, &key, got, 0), 0);
		assert_memory_equal(value, got, size);
		assert_int_equal(bpfu_map_delete_user(map, &key), 0);
	}
	bpfu_map_put(map);
	bpfu_rcu_barrier();
	free(value);
	free(got);
}

/* ---- hashing ---- */

static uint32_t longest_chain(struct bpfu_map *map)
{
	struct bpfu_htab *htab = bpfu_htab_of(map);
	uint32_t idx, len, longest = 0;
	struct bpfu_htab_elem *e;

	for (idx = 0; idx <= htab->mask; idx++) {
		len = 0;
		for (e = bpfu_htab_follow(&htab->buckets[idx].head); e;
		     e = bpfu_htab_follow(&e->next))
			len++;
		longest = BPFU_MAX(longest, len);
	}
	return longest;
}

/* Keys as programs have them: counters, multiples, addresses; with a load of one per bucket. */
static void keys_spread(void **state)
{
	const uint32_t shifts[] = { 0, 12, 32, 48 };
	uint64_t key, value = 0, i;
	size_t s;

	(void)state;
	for (s = 0; s < BPFU_ARRAY_SIZE(shifts); s++) {
		union bpf_attr attr = twin_attr(BPF_MAP_TYPE_HASH, 8, 8, 4096, BPF_F_ZERO_SEED);
		struct bpfu_map *map;

		assert_int_equal(bpfu_map_create(&attr, NULL, &map), 0);
		for (i = 0; i < 4096; i++) {
			key = i << shifts[s];
			assert_int_equal(bpfu_map_update_user(map, &key, &value, BPF_NOEXIST), 0);
		}
		assert_true(longest_chain(map) <= 12);
		bpfu_map_put(map);
	}
}

static void seeds(void **state)
{
	union bpf_attr attr = twin_attr(BPF_MAP_TYPE_HASH, 8, 8, 4, BPF_F_ZERO_SEED);
	uint64_t key = 1;
	uint32_t hash[4], i;

	(void)state;
	for (i = 0; i < 4; i++) {
		struct bpfu_map *map;

		attr.map_flags = i < 2 ? BPF_F_ZERO_SEED : 0;
		assert_int_equal(bpfu_map_create(&attr, NULL, &map), 0);
		bpfu_htab_bucket_of(bpfu_htab_of(map), &key, &hash[i]);
		bpfu_map_put(map);
	}
	assert_int_equal(hash[0], hash[1]);
	/* Equal by chance once in 2^64. */
	assert_true(hash[0] != hash[2] || hash[2] != hash[3]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(full_without_spare_elements),
		cmocka_unit_test(batch_without_room),
		cmocka_unit_test(recursion_is_busy),
		cmocka_unit_test(recursion_in_the_pool),
		cmocka_unit_test(memory_follows_the_number_of_elements),
		cmocka_unit_test(memory_waits_for_programs),
		cmocka_unit_test(elements_larger_than_a_chunk),
		cmocka_unit_test(keys_spread),
		cmocka_unit_test(seeds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
