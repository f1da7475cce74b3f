// SPDX-License-Identifier: BSD-2-Clause
/*
 * Objects that programs make: their memory, when it is used again, and that no way out of a map loses one.
 * "Leaked" is what bpfu_objects_live() still counts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <pthread.h>
#include <string.h>

#include "bpfu/bpfu.h"
#include "btf/record.h"
#include "map/map.h"
#include "map/object.h"
#include "percpu/cpu.h"
#include "percpu/rcu.h"
#include "util/bits.h"
#include "util/uaccess.h"

/* ---- memory ---- */

static void sizes(void **state)
{
	(void)state;
	bpfu_cpu_enter();
	for (uint32_t size = 1; size <= BPFU_OBJECT_MAX; size += size < 300 ? 1 : 97) {
		char *p = bpfu_object_new(size), *q = bpfu_object_new(size);

		assert_non_null(p);
		assert_non_null(q);
		assert_int_equal((uintptr_t)p % 16, 0);
		for (uint32_t i = 0; i < size; i++)
			assert_int_equal(p[i] | q[i], 0);
		memset(p, 0xaa, size);
		memset(q, 0x55, size);
		for (uint32_t i = 0; i < size; i++)
			assert_int_equal((uint8_t)p[i], 0xaa);
		bpfu_object_drop(p);
		bpfu_object_drop(q);
	}
	assert_null(bpfu_object_new(BPFU_OBJECT_MAX + 1));
	assert_null(bpfu_object_new(UINT64_MAX));
	bpfu_cpu_exit();
	bpfu_rcu_barrier();
	assert_int_equal(bpfu_objects_live(), 0);
}

/* Others may still read it while the section lasts. */
static void not_used_in_section(void **state)
{
	void *old, *p;
	bool again = false;

	(void)state;
	bpfu_cpu_enter();
	old = bpfu_object_new(24);
	bpfu_object_drop(old);
	for (int i = 0; i < 5000; i++) {
		p = bpfu_object_new(24);
		assert_non_null(p);
		assert_ptr_not_equal(p, old);
		bpfu_object_drop(p);
	}
	bpfu_cpu_exit();
	bpfu_rcu_barrier();
	bpfu_cpu_enter();
	for (int i = 0; i < 5001 && !again; i++) {
		p = bpfu_object_new(24);
		again = p == old;
		bpfu_object_drop(p);
	}
	bpfu_cpu_exit();
	bpfu_rcu_barrier();
	assert_true(again);
}

/* A long row of runs, as the test run has it, makes do with little. */
static void long_row(void **state)
{
	uint64_t before = bpfu_objects_memory();

	(void)state;
	bpfu_cpu_enter();
	for (int i = 0; i < 400000; i++) {
		void *p = bpfu_object_new(100);

		assert_non_null(p);
		bpfu_object_drop(p);
		bpfu_cpu_relax();
	}
	bpfu_cpu_exit();
	assert_true(bpfu_objects_memory() - before < 8u << 20);
	bpfu_rcu_barrier();
	assert_int_equal(bpfu_objects_live(), 0);
}

/* ---- many threads ---- */

#define SLOTS 8
#define ROUNDS 100000

static _Atomic(uint64_t *) slots[SLOTS];

/* Each object holds its own address while it is somebody's. */
static void *exchange(void *arg)
{
	uint64_t x = (uintptr_t)arg * 2654435761u + 1, *p;

	bpfu_cpu_enter();
	for (int i = 0; i < ROUNDS; i++) {
		x = x * 6364136223846793005ull + 1442695040888963407ull;
		p = bpfu_object_new(16);
		if (p)
			p[0] = bpfu_u64(p);
		p = atomic_exchange(&slots[x >> 32 & (SLOTS - 1)], p);
		if (p) {
			assert_int_equal(p[0], bpfu_u64(p));
			p[0] = 0;
			bpfu_object_drop(p);
		}
		bpfu_cpu_relax();
	}
	bpfu_cpu_exit();
	return NULL;
}

static void threads(void **state)
{
	pthread_t thread[4];

	(void)state;
	for (uintptr_t i = 0; i < BPFU_ARRAY_SIZE(thread); i++)
		assert_int_equal(pthread_create(&thread[i], NULL, exchange, (void *)i), 0);
	for (size_t i = 0; i < BPFU_ARRAY_SIZE(thread); i++)
		pthread_join(thread[i], NULL);
	for (size_t i = 0; i < SLOTS; i++) {
		uint64_t *p = atomic_exchange(&slots[i], NULL);

		if (p)
			bpfu_object_drop(p);
	}
	bpfu_rcu_barrier();
	assert_int_equal(bpfu_objects_live(), 0);
}

/* ---- maps ---- */

struct value {
	uint64_t n;
	void *owned;
	uint32_t tail;
	void *also;
};

static const struct bpfu_record record = {
	.cnt = 2,
	.field = { { offsetof(struct value, owned), BPFU_KPTR_REF, 1 },
		   { offsetof(struct value, also), BPFU_KPTR_REF, 1 } },
};

static struct bpfu_map *new_map(uint32_t type, uint32_t flags)
{
	union bpf_attr attr;
	struct bpfu_map *map;

	memset(&attr, 0, sizeof(attr));
	attr.map_type = type;
	attr.key_size = 4;
	attr.value_size = sizeof(struct value);
	attr.max_entries = 8;
	attr.map_flags = flags;
	assert_int_equal(bpfu_map_create(&attr, NULL, &map), 0);
	map->record = malloc(sizeof(record));
	assert_non_null(map->record);
	*map->record = record;
	return map;
}

static struct value *lookup(struct bpfu_map *map, uint32_t key)
{
	return map->ops->lookup(map, &key);
}

/* Put objects where @key's value owns some. */
static void fill(struct bpfu_map *map, uint32_t key)
{
	struct value *v;

	bpfu_cpu_enter();
	v = lookup(map, key);
	assert_non_null(v);
	assert_null(v->owned);
	assert_null(v->also);
	v->owned = bpfu_object_new(8);
	v->also = bpfu_object_new(100);
	assert_non_null(v->owned);
	assert_non_null(v->also);
	bpfu_cpu_exit();
}

static struct value *user_values(const struct bpfu_map *map)
{
	uint32_t size = bpfu_map_user_value_size(map);
	char *values = malloc(size);

	assert_non_null(values);
	memset(values, 0x77, size);
	return (struct value *)values;
}

/* Where a command got @values: the objects of no CPU are seen. */
static void expect_hidden(const struct bpfu_map *map, const struct value *values)
{
	uint32_t cnt = bpfu_map_user_value_size(map) / sizeof(*values);

	for (uint32_t i = 0; i < cnt; i++) {
		assert_null(values[i].owned);
		assert_null(values[i].also);
	}
}

static void each_way(uint32_t type, uint32_t flags)
{
	bool hash = type == BPF_MAP_TYPE_HASH || type == BPF_MAP_TYPE_PERCPU_HASH;
	struct bpfu_map *map = new_map(type, flags);
	struct value *values = user_values(map), own = { .n = 5, .owned = &own, .also = &own };
	uint32_t key = 3;

	/* From the user side, twice: what is there is replaced. */
	assert_int_equal(bpfu_map_update_user(map, &key, values, BPF_ANY), 0);
	assert_int_equal(bpfu_objects_live(), 0);
	fill(map, key);
	assert_int_equal(bpfu_objects_live(), 2);
	assert_int_equal(bpfu_map_lookup_user(map, &key, values, 0), 0);
	assert_int_equal(values->n, 0x7777777777777777);
	expect_hidden(map, values);
	assert_int_equal(bpfu_map_update_user(map, &key, values, BPF_EXIST), 0);
	assert_int_equal(bpfu_objects_live(), 0);

	/* By a program. */
	fill(map, key);
	bpfu_cpu_enter();
	assert_int_equal(map->ops->update(map, &key, &own, BPF_ANY), 0);
	assert_int_equal(lookup(map, key)->n, 5);
	bpfu_cpu_exit();
	assert_int_equal(bpfu_objects_live(), 0);

	if (hash) {
		fill(map, key);
		assert_int_equal(bpfu_map_delete_user(map, &key), 0);
		assert_int_equal(bpfu_objects_live(), 0);
		assert_int_equal(bpfu_map_update_user(map, &key, values, BPF_ANY), 0);
		fill(map, key);
		assert_int_equal(bpfu_map_lookup_and_delete_user(map, &key, values, 0), 0);
		expect_hidden(map, values);
		assert_int_equal(bpfu_objects_live(), 0);
		/* A program that still holds the value puts something into what was deleted. */
		assert_int_equal(bpfu_map_update_user(map, &key, values, BPF_ANY), 0);
		bpfu_cpu_enter();
		struct value *v = lookup(map, key);

		assert_int_equal(map->ops->delete(map, &key), 0);
		v->owned = bpfu_object_new(8);
		bpfu_cpu_exit();
		for (key = 0; key < 8; key++)
			assert_int_equal(bpfu_map_update_user(map, &key, values, BPF_ANY), 0);
	}
	/* The end of the map. */
	for (key = hash ? 0 : 1; key < 8; key++)
		fill(map, key);
	bpfu_map_put(map);
	bpfu_rcu_barrier();
	bpfu_rcu_barrier(); /* the first one queued the objects */
	assert_int_equal(bpfu_objects_live(), 0);
	free(values);
}

static void array(void **state)
{
	(void)state;
	each_way(BPF_MAP_TYPE_ARRAY, 0);
}

static void percpu_array(void **state)
{
	(void)state;
	each_way(BPF_MAP_TYPE_PERCPU_ARRAY, 0);
}

static void hash(void **state)
{
	(void)state;
	each_way(BPF_MAP_TYPE_HASH, 0);
	each_way(BPF_MAP_TYPE_HASH, BPF_F_NO_PREALLOC);
}

static void percpu_hash(void **state)
{
	(void)state;
	each_way(BPF_MAP_TYPE_PERCPU_HASH, 0);
	each_way(BPF_MAP_TYPE_PERCPU_HASH, BPF_F_NO_PREALLOC);
}

static int prepare(void **state)
{
	(void)state;
	bpfu_uaccess_init();
	return bpfu_objects_prepare();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes),	cmocka_unit_test(not_used_in_section),
		cmocka_unit_test(long_row),	cmocka_unit_test(threads),
		cmocka_unit_test(array),	cmocka_unit_test(percpu_array),
		cmocka_unit_test(hash),		cmocka_unit_test(percpu_hash),
	};

	return cmocka_run_group_tests(tests, prepare, NULL);
}
