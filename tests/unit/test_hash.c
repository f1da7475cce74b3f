// SPDX-License-Identifier: BSD-2-Clause
/*
 * HASH and PERCPU_HASH, preallocated and not: operations and errors next to the kernel's, capacity,
 * iteration, per-CPU values, batches; and long random sequences against a model that is too simple
 * to be wrong. What lies behind the operations is test_hash_insides.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "bpfu/bpfu.h"
#include "hash_kinds.h"
#include "obj/prog.h"

static void fill(const struct twin *t, char *value, unsigned char seed)
{
	uint32_t i;

	for (i = 0; i < t->value_size; i++)
		value[i] = (char)(seed + i * 3);
}

/* ---- operations ---- */

static void operations_of(const struct kind *k, uint32_t key_size, uint32_t value_size)
{
	char key[64] = "key", other[64] = "other", next[64];
	struct twin t;
	char *value, *got;

	twin_new(&t, k->type, key_size, value_size, 4, k->flags);
	value = calloc(1, t.value_size);
	got = calloc(1, t.value_size);
	assert_non_null(value);
	assert_non_null(got);
	fill(&t, value, 1);

	assert_int_equal(twin_lookup(&t, key, got), -ENOENT);
	assert_int_equal(twin_delete(&t, key), -ENOENT);
	assert_int_equal(twin_take(&t, key, got), -ENOENT);
	assert_int_equal(twin_next(&t, NULL, next), -ENOENT);
	assert_int_equal(twin_next(&t, key, next), -ENOENT);
	assert_int_equal(twin_update(&t, key, value, BPF_EXIST), -ENOENT);
	assert_int_equal(twin_update(&t, key, value, 3), -EINVAL);
	assert_int_equal(twin_update(&t, key, value, BPF_F_LOCK), -EINVAL);
	assert_int_equal(twin_update(&t, key, value, 1ull << 40), -EINVAL);
	assert_int_equal(twin_update(&t, key, value, BPF_NOEXIST), 0);
	assert_int_equal(twin_lookup(&t, key, got), 0);
	assert_memory_equal(got, value, value_size);
	assert_int_equal(twin_lookup(&t, other, got), -ENOENT);
	fill(&t, value, 2);
	assert_int_equal(twin_update(&t, key, value, BPF_NOEXIST), -EEXIST);
	assert_int_equal(twin_update(&t, key, value, BPF_EXIST), 0);
	assert_int_equal(twin_lookup(&t, key, got), 0);
	assert_memory_equal(got, value, value_size);
	fill(&t, value, 3);
	assert_int_equal(twin_update(&t, key, value, BPF_ANY), 0);
	assert_int_equal(twin_next(&t, NULL, next), 0);
	assert_memory_equal(next, key, key_size);
	assert_int_equal(twin_next(&t, key, next), -ENOENT);
	/* An absent key starts again. */
	assert_int_equal(twin_next(&t, other, next), 0);
	assert_memory_equal(next, key, key_size);
	assert_int_equal(twin_take(&t, key, got), 0);
	assert_memory_equal(got, value, value_size);
	assert_int_equal(twin_lookup(&t, key, got), -ENOENT);
	assert_int_equal(twin_update(&t, key, value, BPF_ANY), 0);
	assert_int_equal(twin_delete(&t, key), 0);
	assert_int_equal(twin_delete(&t, key), -ENOENT);
	free(value);
	free(got);
	twin_free(&t);
}

static void operations(void **state)
{
	(void)state;
	FOR_EACH_KIND(k) {
		operations_of(k, 4, 8);
		operations_of(k, 8, 4);
		operations_of(k, 3, 1);
		operations_of(k, 17, 33);
		operations_of(k, 64, 4096);
	}
}

/* All sizes of keys: the last byte counts, and none after it. */
static void key_sizes(void **state)
{
	uint32_t size, cpus = bpfu_possible_cpus();
	uint64_t *value = calloc(cpus, 8);

	(void)state;
	assert_non_null(value);
	FOR_EACH_KIND(k)
		for (size = 1; size <= 40; size++) {
			struct bpfu_map *map = map_new(k, size, 8, 8);
			char a[41], b[41];

			memset(a, 'x', sizeof(a));
			memset(b, 'x', sizeof(b));
			b[size] = 'y';
			assert_int_equal(bpfu_map_update_user(map, a, value, BPF_NOEXIST), 0);
			assert_int_equal(bpfu_map_update_user(map, b, value, BPF_NOEXIST), -EEXIST);
			b[size - 1] = 'z';
			assert_int_equal(bpfu_map_lookup_user(map, b, value, 0), -ENOENT);
			assert_int_equal(bpfu_map_update_user(map, b, value, BPF_NOEXIST), 0);
			/* An unaligned key is a key, too. */
			assert_int_equal(bpfu_map_lookup_user(map, memmove(b + 1, b, size), value,
							      0), 0);
			bpfu_map_put(map);
		}
	free(value);
}

/* ---- capacity ---- */

static void full(void **state)
{
	enum { MAX = 37 };
	uint64_t key;

	(void)state;
	FOR_EACH_KIND(k) {
		struct twin t;
		uint32_t round;
		char *value;

		twin_new(&t, k->type, 8, 8, MAX, k->flags);
		value = calloc(1, t.value_size);
		assert_non_null(value);
		for (round = 0; round < 3; round++) {
			for (key = 0; key < MAX; key++)
				assert_int_equal(twin_update(&t, &key, value, BPF_ANY), 0);
			for (; key < 2 * MAX; key++)
				assert_int_equal(twin_update(&t, &key, value, BPF_ANY), -E2BIG);
			/* What is there can still be updated. */
			for (key = 0; key < MAX; key++) {
				fill(&t, value, (unsigned char)key);
				assert_int_equal(twin_update(&t, &key, value, BPF_ANY), 0);
				assert_int_equal(twin_update(&t, &key, value, BPF_EXIST), 0);
				assert_int_equal(twin_update(&t, &key, value, BPF_NOEXIST),
						 -EEXIST);
			}
			key = MAX;
			assert_int_equal(twin_update(&t, &key, value, BPF_EXIST), -ENOENT);
			for (key = 0; key < MAX; key++)
				assert_int_equal(twin_delete(&t, &key), 0);
		}
		free(value);
		twin_free(&t);
	}
}

/* Element freed and taken by one long section, again and again: no grace period is waited for. */
static void reuse_within_one_section(void **state)
{
	uint64_t key, value = 0, i;

	(void)state;
	FOR_EACH_KIND(k) {
		struct bpfu_map *map = map_new(k, 8, 8, 3);

		bpfu_cpu_enter();
		for (i = 0; i < 20000; i++) {
			key = i;
			assert_int_equal(map->ops->update(map, &key, &value, BPF_NOEXIST), 0);
			if (i >= 3) {
				assert_int_equal(map->ops->update(map, &i, &value, BPF_EXIST), 0);
			}
			if (i >= 2) {
				key = i - 2;
				assert_int_equal(map->ops->delete(map, &key), 0);
			}
		}
		bpfu_cpu_exit();
		assert_true(map->ops->mem_usage(map) < 1u << 20);
		bpfu_map_put(map);
	}
}

/* ---- programs' pointers ---- */

/* As on a kernel: a replaced value stays readable as it was; per-CPU values change in place. */
static void pointers_after_updates(void **state)
{
	uint64_t key = 1, first = 11, second = 22;
	uint64_t *old, *new;

	(void)state;
	FOR_EACH_KIND(k) {
		struct bpfu_map *map = map_new(k, 8, 8, 4);

		bpfu_cpu_enter();
		assert_int_equal(map->ops->update(map, &key, &first, BPF_ANY), 0);
		old = map->ops->lookup(map, &key);
		assert_int_equal(map->ops->update(map, &key, &second, BPF_ANY), 0);
		new = map->ops->lookup(map, &key);
		assert_int_equal(*new, 22);
		if (k->type == BPF_MAP_TYPE_HASH) {
			assert_ptr_not_equal(old, new);
			assert_int_equal(*old, 11);
		} else {
			assert_ptr_equal(old, new);
		}
		(*new)++;
		assert_int_equal(*(uint64_t *)map->ops->lookup(map, &key), 23);
		assert_int_equal(map->ops->delete(map, &key), 0);
		assert_null(map->ops->lookup(map, &key));
		assert_int_equal(*new, 23);
		bpfu_cpu_exit();
		bpfu_map_put(map);
	}
}

static void per_cpu_values(void **state)
{
	uint32_t cpus = bpfu_possible_cpus(), cpu, key = 5;
	uint64_t *all = calloc(cpus, 8), value;

	(void)state;
	assert_non_null(all);
	for (const struct kind *k = kinds + 2; k < kinds + 4; k++) {
		struct bpfu_map *map = map_new(k, 4, 8, 4);
		uint64_t *here;

		/* A command writes all slots. */
		for (cpu = 0; cpu < cpus; cpu++)
			all[cpu] = 50 + cpu;
		assert_int_equal(bpfu_map_update_user(map, &key, all, BPF_ANY), 0);
		for (cpu = 0; cpu < cpus; cpu++) {
			assert_int_equal(bpfu_cpu_enter_on(cpu), 0);
			here = map->ops->lookup(map, &key);
			assert_int_equal(*here, 50 + cpu);
			assert_ptr_equal(map->ops->lookup_percpu(map, &key, cpu), here);
			bpfu_cpu_exit();
		}
		/* A program writes its own. */
		assert_int_equal(bpfu_cpu_enter_on(cpus - 1), 0);
		value = 99;
		assert_int_equal(map->ops->update(map, &key, &value, BPF_EXIST), 0);
		bpfu_cpu_exit();
		assert_int_equal(bpfu_map_lookup_user(map, &key, all, 0), 0);
		for (cpu = 0; cpu < cpus; cpu++)
			assert_int_equal(all[cpu], cpu == cpus - 1 ? 99 : 50 + cpu);
		/* In a new element the other slots have zero, also if the memory has been used. */
		assert_int_equal(bpfu_map_delete_user(map, &key), 0);
		for (key = 100; key < 104; key++) {
			assert_int_equal(prog_update(map, &key, &value, BPF_ANY), 0);
			assert_int_equal(bpfu_map_lookup_user(map, &key, all, 0), 0);
			for (cpu = 0, value = 0; cpu < cpus; cpu++)
				value += all[cpu];
			assert_int_equal(value, 99);
		}
		bpfu_cpu_enter();
		assert_null(map->ops->lookup_percpu(map, &key, 0));
		key = 100;
		assert_non_null(map->ops->lookup_percpu(map, &key, 0));
		assert_null(map->ops->lookup_percpu(map, &key, cpus));
		bpfu_cpu_exit();
		key = 5;
		bpfu_map_put(map);
	}
	free(all);
}

/* ---- iteration ---- */

static void walks_see_every_key_once(void **state)
{
	enum { MAX = 300 };
	uint32_t cpus = bpfu_possible_cpus(), key, next, cnt;
	uint64_t *value = calloc(cpus, 8);
	char seen[MAX];
	int err;

	(void)state;
	assert_non_null(value);
	FOR_EACH_KIND(k) {
		struct bpfu_map *map = map_new(k, 4, 8, MAX);

		for (key = 0; key < MAX; key++)
			assert_int_equal(bpfu_map_update_user(map, &key, value, BPF_ANY), 0);
		memset(seen, 0, sizeof(seen));
		cnt = 0;
		for (err = bpfu_map_get_next_key(map, NULL, &next); !err;
		     err = bpfu_map_get_next_key(map, &key, &next)) {
			assert_true(next < MAX && !seen[next]);
			seen[next] = 1;
			cnt++;
			key = next;
		}
		assert_int_equal(err, -ENOENT);
		assert_int_equal(cnt, MAX);
		/* The usual loop that empties a map. */
		for (cnt = 0; bpfu_map_get_next_key(map, NULL, &key) == 0; cnt++)
			assert_int_equal(bpfu_map_delete_user(map, &key), 0);
		assert_int_equal(cnt, MAX);
		bpfu_map_put(map);
	}
	free(value);
}

struct walk {
	struct bpfu_map *map;
	uint64_t keys;
	uint64_t values;
	uint32_t calls;
	uint32_t stop_at;
	bool del;
	bool re_add;
};

/* At an even address: an odd one stands for a callback of the interpreter. */
__attribute__((aligned(16))) static uint64_t on_elem(uint64_t map, uint64_t key_ptr,
						    uint64_t value_ptr, uint64_t ctx,
						    uint64_t unused)
{
	struct walk *w = bpfu_ptr(ctx);
	uint64_t key = *(uint64_t *)bpfu_ptr(key_ptr), value = *(uint64_t *)bpfu_ptr(value_ptr);

	if (map != bpfu_u64(w->map) || unused)
		return 1;
	w->keys += key;
	w->values += value;
	if (w->del || w->re_add)
		w->map->ops->delete(w->map, &key);
	if (w->re_add)
		w->map->ops->update(w->map, &key, &value, BPF_ANY);
	return ++w->calls == w->stop_at;
}

static void for_each(void **state)
{
	uint64_t cb = bpfu_u64((void *)(uintptr_t)on_elem), key, value;

	(void)state;
	FOR_EACH_KIND(k) {
		struct bpfu_map *map = map_new(k, 8, 8, 100);
		struct walk w = { .map = map };

		bpfu_cpu_enter();
		assert_int_equal(map->ops->for_each(map, cb, bpfu_u64(&w), 0), 0);
		for (key = 1; key <= 100; key++) {
			value = 1000 * key;
			assert_int_equal(map->ops->update(map, &key, &value, BPF_ANY), 0);
		}
		assert_int_equal(map->ops->for_each(map, cb, bpfu_u64(&w), 1), -EINVAL);
		assert_int_equal(map->ops->for_each(map, cb, bpfu_u64(&w), 0), 100);
		assert_int_equal(w.keys, 5050);
		assert_int_equal(w.values, 5050000);
		w = (struct walk){ .map = map, .stop_at = 7 };
		assert_int_equal(map->ops->for_each(map, cb, bpfu_u64(&w), 0), 7);
		/* Must end, whatever it visits. */
		w = (struct walk){ .map = map, .re_add = true };
		assert_true(map->ops->for_each(map, cb, bpfu_u64(&w), 0) >= 100);
		w = (struct walk){ .map = map, .del = true };
		assert_int_equal(map->ops->for_each(map, cb, bpfu_u64(&w), 0), 100);
		assert_int_equal(w.keys, 5050);
		w = (struct walk){ .map = map };
		assert_int_equal(map->ops->for_each(map, cb, bpfu_u64(&w), 0), 0);
		bpfu_cpu_exit();
		bpfu_map_put(map);
	}
}

/* ---- batches ---- */

/* Every element once over pages of @room, which all buckets fit; returns how many. */
static uint32_t read_all(struct bpfu_map *map, struct batch_mem *m, uint32_t room, bool del)
{
	uint32_t value_size = bpfu_map_user_value_size(map), total = 0, i;
	struct bpfu_map_batch b;
	char seen[B] = { 0 };
	int err = 0;

	while (!err) {
		b = batch_of(m, room);
		b.in_batch = total || m->cursor ? b.out_batch : 0;
		err = del ? bpfu_map_lookup_and_delete_batch(map, &b) :
			    bpfu_map_lookup_batch(map, &b);
		assert_true(!err || err == -ENOENT);
		assert_true(b.count <= room);
		for (i = 0; i < b.count; i++) {
			assert_true(m->keys[i] < B && !seen[m->keys[i]]);
			seen[m->keys[i]] = 1;
			assert_int_equal(m->values[(uint64_t)value_size * i], (char)m->keys[i] + 1);
		}
		total += b.count;
	}
	m->cursor = 0;
	return total;
}

static void batches(void **state)
{
	struct batch_mem m = { 0 };
	uint64_t key;

	(void)state;
	FOR_EACH_KIND(k) {
		struct bpfu_map_batch b;
		struct twin t;

		twin_new(&t, k->type, 8, 8, B, k->flags);
		m.values = calloc(B, t.value_size);
		assert_non_null(m.values);
		for (key = 0; key < B; key++) {
			m.keys[key] = key;
			memset(m.values + key * t.value_size, (int)key + 1, t.value_size);
		}
		b = batch_of(&m, B);
		assert_int_equal(twin_batch(&t, BPF_MAP_UPDATE_BATCH, &b), 0);
		assert_int_equal(b.count, B);
		/* All at once, with both. */
		b = batch_of(&m, B);
		assert_int_equal(twin_batch(&t, BPF_MAP_LOOKUP_BATCH, &b), -ENOENT);
		assert_int_equal(b.count, B);
		b = batch_of(&m, B);
		b.in_batch = b.out_batch;
		assert_int_equal(twin_batch(&t, BPF_MAP_LOOKUP_BATCH, &b), -ENOENT);
		m.cursor = 0;
		assert_int_equal(read_all(t.map, &m, 16, false), B);
		assert_int_equal(read_all(t.map, &m, 11, true), B);
		assert_int_equal(read_all(t.map, &m, 11, true), 0);
		if (t.fd >= 0) {
			b = batch_of(&m, B);
			m.cursor = 0;
			for (key = 0; key < B; key++)
				bpfu_map_update_user(t.map, &key, m.values, BPF_ANY);
			assert_int_equal(twin_batch(&t, BPF_MAP_LOOKUP_AND_DELETE_BATCH, &b),
					 -ENOENT);
			assert_int_equal(b.count, B);
		}
		/* Deleting what is there, up to what is not. */
		for (key = 0; key < 10; key++) {
			m.keys[key] = key;
			assert_int_equal(twin_update(&t, &key, m.values, BPF_ANY), 0);
		}
		m.keys[4] = 77;
		b = batch_of(&m, 10);
		assert_int_equal(twin_batch(&t, BPF_MAP_DELETE_BATCH, &b), -ENOENT);
		assert_int_equal(b.count, 4);
		m.cursor = 0;
		free(m.values);
		twin_free(&t);
	}
}

static void batch_errors(void **state)
{
	struct batch_mem m = { 0 };
	uint64_t key;

	(void)state;
	twin_expect_faults();
	FOR_EACH_KIND(k) {
		const int lookups[] = { BPF_MAP_LOOKUP_BATCH, BPF_MAP_LOOKUP_AND_DELETE_BATCH };
		struct bpfu_map_batch b;
		struct twin t;
		size_t i;

		/* One bucket, several elements in it. */
		twin_new(&t, k->type, 8, 8, B, k->flags);
		m.values = calloc(B, t.value_size);
		assert_non_null(m.values);
		for (key = 0; key < B; key++)
			assert_int_equal(twin_update(&t, &key, m.values, BPF_ANY), 0);
		for (i = 0; i < 2; i++) {
			b = batch_of(&m, 0);
			assert_int_equal(twin_batch(&t, lookups[i], &b), 0);
			b = batch_of(&m, 4);
			b.flags = 1;
			assert_int_equal(twin_batch(&t, lookups[i], &b), -EINVAL);
			assert_int_equal(b.count, 4);
			b = batch_of(&m, 4);
			b.elem_flags = BPF_F_LOCK;
			assert_int_equal(twin_batch(&t, lookups[i], &b), -EINVAL);
			b = batch_of(&m, B);
			b.in_batch = TWIN_BAD_ADDR;
			assert_int_equal(twin_batch(&t, lookups[i], &b), -EFAULT);
			assert_int_equal(b.count, 0);
			m.cursor = 10000;
			memcpy(t.cursor, &m.cursor, 4);
			b = batch_of(&m, B);
			b.in_batch = b.out_batch;
			assert_int_equal(twin_batch(&t, lookups[i], &b), -ENOENT);
			assert_int_equal(b.count, 0);
			m.cursor = 0;
		}
		b = batch_of(&m, B);
		b.keys = TWIN_BAD_ADDR;
		assert_int_equal(twin_batch(&t, BPF_MAP_LOOKUP_BATCH, &b), -EFAULT);
		assert_int_equal(b.count, 0);
		b = batch_of(&m, B);
		b.out_batch = TWIN_BAD_ADDR;
		assert_int_equal(twin_batch(&t, BPF_MAP_LOOKUP_BATCH, &b), -EFAULT);
		assert_int_equal(b.count, 0);
		b = batch_of(&m, B);
		b.keys = TWIN_BAD_ADDR;
		assert_int_equal(twin_batch(&t, BPF_MAP_UPDATE_BATCH, &b), -EFAULT);
		assert_int_equal(b.count, 0);
		b.count = B;
		assert_int_equal(twin_batch(&t, BPF_MAP_DELETE_BATCH, &b), -EFAULT);
		assert_int_equal(b.count, 0);
		free(m.values);
		twin_free(&t);
	}
}

/* ---- random sequences against a model ---- */

enum { KEYS = 48, CAPACITY = 32, MODEL_OPS = 60000 };

struct model {
	bool present[KEYS];
	uint64_t value[KEYS];
	uint32_t cnt;
};

static int model_update(struct model *m, uint32_t key, uint64_t value, uint64_t flags)
{
	if (flags > BPF_EXIST)
		return -EINVAL;
	if (m->present[key] && flags == BPF_NOEXIST)
		return -EEXIST;
	if (!m->present[key] && flags == BPF_EXIST)
		return -ENOENT;
	if (!m->present[key] && m->cnt == CAPACITY)
		return -E2BIG;
	m->cnt += !m->present[key];
	m->present[key] = true;
	m->value[key] = value;
	return 0;
}

static int model_delete(struct model *m, uint32_t key)
{
	if (!m->present[key])
		return -ENOENT;
	m->present[key] = false;
	m->cnt--;
	return 0;
}

static uint64_t sum(const uint64_t *values, uint32_t cnt)
{
	uint64_t total = 0;

	while (cnt--)
		total += values[cnt];
	return total;
}

static void model_check_walk(struct bpfu_map *map, const struct model *m)
{
	uint32_t cnt = 0;
	uint64_t key, next;
	int err;

	for (err = bpfu_map_get_next_key(map, NULL, &next); !err;
	     err = bpfu_map_get_next_key(map, &key, &next)) {
		assert_true(next < KEYS && m->present[next]);
		key = next;
		cnt++;
	}
	assert_int_equal(cnt, m->cnt);
}

static void model_run(const struct kind *k, unsigned int seed)
{
	uint32_t cpus = k->type == BPF_MAP_TYPE_HASH ? 1 : bpfu_possible_cpus(), op, i;
	uint64_t *value = calloc(cpus, 8), key, flags, *here;
	struct bpfu_map *map = map_new(k, 8, 8, CAPACITY);
	struct model m = { 0 };
	int expected;

	assert_non_null(value);
	for (i = 0; i < MODEL_OPS; i++) {
		op = (uint32_t)rand_r(&seed) % 100;
		key = (uint32_t)rand_r(&seed) % KEYS;
		flags = (uint32_t)rand_r(&seed) % 8;
		flags = flags < 4 ? flags : BPF_ANY;
		memset(value, 0, cpus * 8);
		if (op < 20) {
			value[cpus - 1] = i;
			expected = model_update(&m, (uint32_t)key, i, flags);
			assert_int_equal(bpfu_map_update_user(map, &key, value, flags), expected);
		} else if (op < 40) {
			/*
			 * So that the sum over the slots is the model's value: a new element first.
			 */
			if (cpus > 1 && m.present[key]) {
				assert_int_equal(prog_delete(map, &key), model_delete(&m, key));
			}
			value[0] = i;
			expected = model_update(&m, (uint32_t)key, i, flags);
			assert_int_equal(prog_update(map, &key, value, flags), expected);
		} else if (op < 60) {
			expected = model_delete(&m, (uint32_t)key);
			assert_int_equal(op & 1 ? prog_delete(map, &key) :
						  bpfu_map_delete_user(map, &key), expected);
		} else if (op < 65) {
			expected = m.present[key] ? 0 : -ENOENT;
			assert_int_equal(bpfu_map_lookup_and_delete_user(map, &key, value, 0),
					 expected);
			if (!expected)
				assert_int_equal(sum(value, cpus), m.value[key]);
			model_delete(&m, (uint32_t)key);
		} else if (op < 80) {
			expected = m.present[key] ? 0 : -ENOENT;
			assert_int_equal(bpfu_map_lookup_user(map, &key, value, 0), expected);
			if (!expected)
				assert_int_equal(sum(value, cpus), m.value[key]);
		} else if (op < 99) {
			bpfu_cpu_enter();
			here = map->ops->lookup(map, &key);
			assert_int_equal(here != NULL, m.present[key]);
			if (here) {
				(*here)++;
				m.value[key]++;
			}
			bpfu_cpu_exit();
		} else {
			model_check_walk(map, &m);
		}
	}
	free(value);
	bpfu_map_put(map);
}

static void random_against_model(void **state)
{
	const char *env = getenv("SEED");
	unsigned int seed = env ? (unsigned int)strtoul(env, NULL, 0) : (unsigned int)getpid();

	(void)state;
	printf("SEED=%u\n", seed);
	FOR_EACH_KIND(k)
		model_run(k, seed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(operations),
		cmocka_unit_test(key_sizes),
		cmocka_unit_test(full),
		cmocka_unit_test(reuse_within_one_section),
		cmocka_unit_test(pointers_after_updates),
		cmocka_unit_test(per_cpu_values),
		cmocka_unit_test(walks_see_every_key_once),
		cmocka_unit_test(for_each),
		cmocka_unit_test(batches),
		cmocka_unit_test(batch_errors),
		cmocka_unit_test(random_against_model),
	};

	twin_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
