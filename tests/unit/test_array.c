// SPDX-License-Identifier: BSD-2-Clause
/*
 * ARRAY and PERCPU_ARRAY: every operation with its errors, next to the kernel's; mapped arrays as
 * libbpf uses them for global data; what generated code relies on in the structs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sys/mman.h>
#include <sys/stat.h>

#include "bpfu/bpfu.h"
#include "map_twin.h"
#include "obj/prog.h"
#include "percpu/percpu_alloc.h"

static void operations(uint32_t type, uint32_t value_size)
{
	uint32_t key, next, i;
	struct twin t;
	char *value, *got;

	twin_new(&t, type, 4, value_size, 3, 0);
	value = malloc(t.value_size);
	got = malloc(t.value_size);
	assert_non_null(value);
	assert_non_null(got);
	for (i = 0; i < t.value_size; i++)
		value[i] = (char)(i * 7 + 1);

	for (key = 0; key < 3; key++)
		assert_int_equal(twin_lookup(&t, &key, got), 0);
	for (key = 0; key < 3; key++) {
		value[0] = (char)key;
		assert_int_equal(twin_update(&t, &key, value, BPF_ANY), 0);
		assert_int_equal(twin_update(&t, &key, value, BPF_EXIST), 0);
		assert_int_equal(twin_update(&t, &key, value, BPF_NOEXIST), -EEXIST);
		assert_int_equal(twin_update(&t, &key, value, 3), -EINVAL);
		assert_int_equal(twin_update(&t, &key, value, BPF_F_LOCK), -EINVAL);
		assert_int_equal(twin_update(&t, &key, value, 1ull << 32), -EINVAL);
		assert_int_equal(twin_delete(&t, &key), -EINVAL);
		assert_int_equal(twin_take(&t, &key, got), -TWIN_ENOTSUPP);
	}
	for (key = 0; key < 3; key++) {
		assert_int_equal(twin_lookup(&t, &key, got), 0);
		assert_int_equal(got[0], (char)key);
	}
	for (key = 3; key; key = key == 3 ? UINT32_MAX : 0) {
		assert_int_equal(twin_lookup(&t, &key, got), -ENOENT);
		assert_int_equal(twin_update(&t, &key, value, BPF_ANY), -E2BIG);
		assert_int_equal(twin_update(&t, &key, value, BPF_NOEXIST), -E2BIG);
		assert_int_equal(twin_delete(&t, &key), -EINVAL);
		assert_int_equal(twin_next(&t, &key, &next), 0);
		assert_int_equal(next, 0);
	}
	assert_int_equal(twin_next(&t, NULL, &next), 0);
	assert_int_equal(next, 0);
	for (key = 0; key < 2; key++) {
		assert_int_equal(twin_next(&t, &key, &next), 0);
		assert_int_equal(next, key + 1);
	}
	assert_int_equal(twin_next(&t, &key, &next), -ENOENT);
	free(value);
	free(got);
	twin_free(&t);
}

static void array_operations(void **state)
{
	(void)state;
	operations(BPF_MAP_TYPE_ARRAY, 8);
	operations(BPF_MAP_TYPE_ARRAY, 1);
	operations(BPF_MAP_TYPE_ARRAY, 15);
	operations(BPF_MAP_TYPE_ARRAY, 4095);
}

static void percpu_array_operations(void **state)
{
	(void)state;
	operations(BPF_MAP_TYPE_PERCPU_ARRAY, 8);
	operations(BPF_MAP_TYPE_PERCPU_ARRAY, 1);
	operations(BPF_MAP_TYPE_PERCPU_ARRAY, 13);
	operations(BPF_MAP_TYPE_PERCPU_ARRAY, 4000);
}

/* ---- program side ---- */

static void programs_and_commands_see_the_same(void **state)
{
	union bpf_attr attr = twin_attr(BPF_MAP_TYPE_ARRAY, 4, 12, 4, 0);
	struct bpfu_map *map;
	uint32_t key = 2, got[3];
	uint32_t *value;

	(void)state;
	assert_int_equal(bpfu_map_create(&attr, NULL, &map), 0);
	bpfu_cpu_enter();
	value = map->ops->lookup(map, &key);
	assert_non_null(value);
	value[0] = 1;
	value[1] = 2;
	value[2] = 3;
	key = 4;
	assert_null(map->ops->lookup(map, &key));
	key = UINT32_MAX;
	assert_null(map->ops->lookup(map, &key));
	bpfu_cpu_exit();
	key = 2;
	assert_int_equal(bpfu_map_lookup_user(map, &key, got, 0), 0);
	assert_int_equal(got[0] + 10 * got[1] + 100 * got[2], 321);
	got[0] = 9;
	assert_int_equal(prog_update(map, &key, got, BPF_EXIST), 0);
	assert_int_equal(value[0], 9);
	assert_int_equal(prog_update(map, &key, got, BPF_NOEXIST), -EEXIST);
	assert_int_equal(prog_update(map, &key, got, 4), -EINVAL);
	assert_int_equal(prog_delete(map, &key), -EINVAL);
	key = 4;
	assert_int_equal(prog_update(map, &key, got, BPF_ANY), -E2BIG);
	bpfu_map_put(map);
}

static void per_cpu_values(void **state)
{
	union bpf_attr attr = twin_attr(BPF_MAP_TYPE_PERCPU_ARRAY, 4, 4, 2, 0);
	uint32_t cpus = bpfu_possible_cpus(), key = 1, cpu, mine;
	uint64_t *all = calloc(cpus, sizeof(*all));
	struct bpfu_map *map;
	uint32_t *value;

	(void)state;
	assert_non_null(all);
	assert_int_equal(bpfu_map_create(&attr, NULL, &map), 0);
	for (cpu = 0; cpu < cpus; cpu++)
		all[cpu] = 100 + cpu;
	assert_int_equal(bpfu_map_update_user(map, &key, all, BPF_ANY), 0);

	for (cpu = 0; cpu < cpus; cpu++) {
		assert_int_equal(bpfu_cpu_enter_on(cpu), 0);
		value = map->ops->lookup(map, &key);
		assert_int_equal(*value, 100 + cpu);
		assert_ptr_equal(map->ops->lookup_percpu(map, &key, cpu), value);
		/* A program writes its own copy only. */
		mine = 200 + cpu;
		assert_int_equal(map->ops->update(map, &key, &mine, BPF_ANY), 0);
		assert_int_equal(*value, 200 + cpu);
		bpfu_cpu_exit();
	}
	assert_int_equal(bpfu_map_lookup_user(map, &key, all, 0), 0);
	for (cpu = 0; cpu < cpus; cpu++)
		assert_int_equal(all[cpu], 200 + cpu);
	bpfu_cpu_enter();
	assert_null(map->ops->lookup_percpu(map, &key, cpus));
	key = 2;
	assert_null(map->ops->lookup_percpu(map, &key, 0));
	assert_null(map->ops->lookup(map, &key));
	bpfu_cpu_exit();
	free(all);
	bpfu_map_put(map);
}

struct walk {
	uint32_t calls;
	uint32_t stop_at;
	bool wrong;
};

/* At an even address: an odd one stands for a callback of the interpreter. */
__attribute__((aligned(16))) static uint64_t on_elem(uint64_t map, uint64_t key, uint64_t value,
						    uint64_t ctx, uint64_t unused)
{
	struct walk *w = bpfu_ptr(ctx);
	uint32_t idx = *(uint32_t *)bpfu_ptr(key);

	w->wrong |= idx != w->calls || bpfu_map_of(bpfu_ptr(map))->key_size != 4 || unused;
	*(uint32_t *)bpfu_ptr(value) = idx + 1;
	return ++w->calls == w->stop_at;
}

static void for_each(void **state)
{
	const uint32_t types[] = { BPF_MAP_TYPE_ARRAY, BPF_MAP_TYPE_PERCPU_ARRAY };
	uint64_t cb = bpfu_u64((void *)(uintptr_t)on_elem);
	size_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		union bpf_attr attr = twin_attr(types[i], 4, 4, 5, 0);
		struct walk all = { 0 }, some = { .stop_at = 2 };
		struct bpfu_map *map;
		uint32_t key = 4;

		assert_int_equal(bpfu_map_create(&attr, NULL, &map), 0);
		bpfu_cpu_enter();
		assert_int_equal(map->ops->for_each(map, cb, bpfu_u64(&all), 0), 5);
		assert_int_equal(map->ops->for_each(map, cb, bpfu_u64(&some), 0), 2);
		assert_int_equal(map->ops->for_each(map, cb, bpfu_u64(&some), 1), -EINVAL);
		assert_int_equal(*(uint32_t *)map->ops->lookup(map, &key), 5);
		bpfu_cpu_exit();
		assert_false(all.wrong || some.wrong);
		assert_int_equal(all.calls, 5);
		assert_int_equal(some.calls, 2);
		bpfu_map_put(map);
	}
}

/* ---- what rewrite/ and jit/ compute with ---- */

static void layout_for_generated_code(void **state)
{
	union bpf_attr attr = twin_attr(BPF_MAP_TYPE_ARRAY, 4, 13, 5, 0);
	struct bpfu_percpu_array *percpu;
	struct bpfu_array *array;
	struct bpfu_map *map;
	uint32_t key;

	(void)state;
	assert_int_equal(bpfu_map_create(&attr, NULL, &map), 0);
	array = bpfu_container_of(map, struct bpfu_array, map);
	assert_int_equal(array->elem_size, 16);
	assert_int_equal(array->index_mask, 7);
	for (key = 0; key < 5; key++)
		assert_ptr_equal(map->ops->lookup(map, &key), array->values + 16 * key);
	bpfu_map_put(map);

	attr = twin_attr(BPF_MAP_TYPE_ARRAY, 4, 1, 1, 0);
	assert_int_equal(bpfu_map_create(&attr, NULL, &map), 0);
	array = bpfu_container_of(map, struct bpfu_array, map);
	assert_int_equal(array->index_mask, 0);
	bpfu_map_put(map);

	attr = twin_attr(BPF_MAP_TYPE_PERCPU_ARRAY, 4, 13, 5, 0);
	assert_int_equal(bpfu_map_create(&attr, NULL, &map), 0);
	percpu = bpfu_container_of(map, struct bpfu_percpu_array, map);
	assert_int_equal(percpu->elem_size, 16);
	bpfu_cpu_enter();
	for (key = 0; key < 5; key++)
		assert_ptr_equal(map->ops->lookup(map, &key), bpfu_percpu_this(percpu->pptrs[key]));
	bpfu_cpu_exit();
	bpfu_map_put(map);
}

static void direct_value_addr(void **state)
{
	union bpf_attr attr = twin_attr(BPF_MAP_TYPE_ARRAY, 4, 40, 1, BPF_F_RDONLY_PROG);
	struct bpfu_map *map;
	uint64_t addr = 0;
	uint32_t key = 0;

	(void)state;
	assert_int_equal(bpfu_map_create(&attr, NULL, &map), 0);
	assert_int_equal(map->ops->direct_value_addr(map, &addr, 0), 0);
	assert_int_equal(addr, bpfu_u64(map->ops->lookup(map, &key)));
	assert_int_equal(map->ops->direct_value_addr(map, &addr, 39), 0);
	assert_int_equal(addr, bpfu_u64(map->ops->lookup(map, &key)) + 39);
	assert_int_equal(map->ops->direct_value_addr(map, &addr, 40), -EINVAL);
	assert_int_equal(map->ops->direct_value_addr(map, &addr, UINT32_MAX), -EINVAL);
	bpfu_map_put(map);
	attr.max_entries = 2;
	assert_int_equal(bpfu_map_create(&attr, NULL, &map), 0);
	assert_int_equal(map->ops->direct_value_addr(map, &addr, 0), -TWIN_ENOTSUPP);
	bpfu_map_put(map);
}

/* ---- mapped arrays ---- */

static void mmapable(void **state)
{
	union bpf_attr attr = twin_attr(BPF_MAP_TYPE_ARRAY, 4, 5000, 3, BPF_F_MMAPABLE);
	struct bpfu_map *map;
	struct bpfu_array *array;
	uint32_t key = 1;
	char *window, value[5000] = "from update";
	struct stat st;

	(void)state;
	assert_int_equal(bpfu_map_create(&attr, NULL, &map), 0);
	array = bpfu_container_of(map, struct bpfu_array, map);
	assert_true(map->mem_fd >= 0);
	assert_int_equal((uintptr_t)array->values % 4096, 0);
	assert_int_equal(array->values_size, 4 * 4096);
	assert_int_equal(fstat(map->mem_fd, &st), 0);
	assert_int_equal(st.st_size, array->values_size);
	window = mmap(NULL, array->values_size, PROT_READ | PROT_WRITE, MAP_SHARED, map->mem_fd, 0);
	assert_true(window != MAP_FAILED);
	assert_int_equal(bpfu_map_update_user(map, &key, value, BPF_ANY), 0);
	assert_string_equal(window + array->elem_size, "from update");
	memcpy(window + array->elem_size, "from window", 12);
	assert_int_equal(bpfu_map_lookup_user(map, &key, value, 0), 0);
	assert_string_equal(value, "from window");
	/* The window outlives the map. */
	bpfu_map_put(map);
	bpfu_rcu_barrier();
	assert_string_equal(window + 5000, "from window");
	munmap(window, 4 * 4096);
}

/* As .rodata: filled, frozen by the caller, read through a map of the descriptor. */
static void rodata(void **state)
{
	union bpf_attr attr = twin_attr(BPF_MAP_TYPE_ARRAY, 4, 100, 1,
					BPF_F_MMAPABLE | BPF_F_RDONLY_PROG);
	char value[100] = "constant";
	struct bpfu_map *map;
	uint32_t key = 0;
	uint64_t addr;
	char *window;

	(void)state;
	assert_int_equal(bpfu_map_create(&attr, NULL, &map), 0);
	assert_int_equal(bpfu_map_update_user(map, &key, value, BPF_ANY), 0);
	assert_int_equal(map->ops->direct_value_addr(map, &addr, 3), 0);
	assert_string_equal((char *)bpfu_ptr(addr), "stant");
	window = mmap(NULL, 4096, PROT_READ, MAP_SHARED, map->mem_fd, 0);
	assert_true(window != MAP_FAILED);
	assert_string_equal(window, "constant");
	munmap(window, 4096);
	bpfu_map_put(map);
}

/* ---- batches ---- */

static void batches(uint32_t type)
{
	enum { N = 10 };
	uint32_t keys[N], i, cursor = 0;
	struct bpfu_map_batch b;
	struct twin t;
	char *values;

	twin_new(&t, type, 4, 8, N, 0);
	values = calloc(N, t.value_size);
	assert_non_null(values);
	for (i = 0; i < N; i++) {
		keys[i] = i;
		memset(values + i * t.value_size, (int)i + 1, t.value_size);
	}
	b = (struct bpfu_map_batch){ .keys = bpfu_u64(keys), .values = bpfu_u64(values),
				     .count = N };
	assert_int_equal(twin_batch(&t, BPF_MAP_UPDATE_BATCH, &b), 0);
	assert_int_equal(b.count, N);

	/* Pages of four, then the end with what was left. */
	memset(keys, 0, sizeof(keys));
	memset(values, 0, N * t.value_size);
	b = (struct bpfu_map_batch){ .out_batch = bpfu_u64(&cursor), .keys = bpfu_u64(keys),
				     .values = bpfu_u64(values), .count = 4 };
	for (i = 0; i < 2; i++) {
		b.count = 4;
		assert_int_equal(twin_batch(&t, BPF_MAP_LOOKUP_BATCH, &b), 0);
		assert_int_equal(b.count, 4);
		assert_int_equal(cursor, 4 * i + 3);
		assert_int_equal(keys[3], 4 * i + 3);
		assert_int_equal(values[3 * t.value_size], 4 * i + 4);
		b.in_batch = bpfu_u64(&cursor);
	}
	b.count = 4;
	assert_int_equal(twin_batch(&t, BPF_MAP_LOOKUP_BATCH, &b), -ENOENT);
	assert_int_equal(b.count, 2);
	assert_int_equal(keys[1], 9);
	b.count = 4;
	assert_int_equal(twin_batch(&t, BPF_MAP_LOOKUP_BATCH, &b), -ENOENT);
	assert_int_equal(b.count, 0);
	free(values);
	twin_free(&t);
}

static void array_batches(void **state)
{
	(void)state;
	batches(BPF_MAP_TYPE_ARRAY);
	batches(BPF_MAP_TYPE_PERCPU_ARRAY);
}

static void batch_errors(void **state)
{
	uint32_t keys[4] = { 0, 1, 9, 2 }, cursor;
	uint64_t values[4] = { 1, 2, 3, 4 };
	const struct bpfu_map_batch good = {
		.out_batch = bpfu_u64(&cursor),
		.keys = bpfu_u64(keys),
		.values = bpfu_u64(values),
		.count = 4,
	};
	struct bpfu_map_batch b = good;
	struct twin t;

	(void)state;
	twin_expect_faults();
	twin_new(&t, BPF_MAP_TYPE_ARRAY, 4, 8, 3, 0);
	/* Ends at the first bad element and says how far it came. */
	assert_int_equal(twin_batch(&t, BPF_MAP_UPDATE_BATCH, &b), -E2BIG);
	assert_int_equal(b.count, 2);
	b = good;
	assert_int_equal(twin_batch(&t, BPF_MAP_DELETE_BATCH, &b), -TWIN_ENOTSUPP);
	assert_int_equal(twin_batch(&t, BPF_MAP_LOOKUP_AND_DELETE_BATCH, &b), -TWIN_ENOTSUPP);
	b.elem_flags = BPF_NOEXIST;
	assert_int_equal(twin_batch(&t, BPF_MAP_UPDATE_BATCH, &b), -EINVAL);
	assert_int_equal(twin_batch(&t, BPF_MAP_LOOKUP_BATCH, &b), -EINVAL);
	b.elem_flags = BPF_F_LOCK;
	assert_int_equal(twin_batch(&t, BPF_MAP_UPDATE_BATCH, &b), -EINVAL);
	assert_int_equal(b.count, 4);
	b = good;
	b.count = 0;
	assert_int_equal(twin_batch(&t, BPF_MAP_UPDATE_BATCH, &b), 0);
	assert_int_equal(twin_batch(&t, BPF_MAP_LOOKUP_BATCH, &b), 0);
	b = good;
	b.keys = TWIN_BAD_ADDR;
	assert_int_equal(twin_batch(&t, BPF_MAP_UPDATE_BATCH, &b), -EFAULT);
	assert_int_equal(b.count, 0);
	b = good;
	b.values = TWIN_BAD_ADDR;
	assert_int_equal(twin_batch(&t, BPF_MAP_LOOKUP_BATCH, &b), -EFAULT);
	b = good;
	b.in_batch = TWIN_BAD_ADDR;
	assert_int_equal(twin_batch(&t, BPF_MAP_LOOKUP_BATCH, &b), -EFAULT);
	b = good;
	b.out_batch = TWIN_BAD_ADDR;
	assert_int_equal(twin_batch(&t, BPF_MAP_LOOKUP_BATCH, &b), -EFAULT);
	twin_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(array_operations),
		cmocka_unit_test(percpu_array_operations),
		cmocka_unit_test(programs_and_commands_see_the_same),
		cmocka_unit_test(per_cpu_values),
		cmocka_unit_test(for_each),
		cmocka_unit_test(layout_for_generated_code),
		cmocka_unit_test(direct_value_addr),
		cmocka_unit_test(mmapable),
		cmocka_unit_test(rodata),
		cmocka_unit_test(array_batches),
		cmocka_unit_test(batch_errors),
	};

	twin_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
