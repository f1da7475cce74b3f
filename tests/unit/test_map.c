// SPDX-License-Identifier: BSD-2-Clause
/*
 * Maps in general: what BPF_MAP_CREATE refuses and with which errno, row by row against the kernel;
 * the table of types; names; life cycle.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "bpfu/bpfu.h"
#include "map_twin.h"

#define HASH   BPF_MAP_TYPE_HASH
#define ARRAY  BPF_MAP_TYPE_ARRAY
#define PHASH  BPF_MAP_TYPE_PERCPU_HASH
#define PARRAY BPF_MAP_TYPE_PERCPU_ARRAY
#define PROGS  BPF_MAP_TYPE_PROG_ARRAY
#define STACKS BPF_MAP_TYPE_STACK_TRACE /* tests/api/stack_trace.c has its flags */

static const uint32_t types[] = { HASH, ARRAY, PHASH, PARRAY, PROGS };

static void check(const union bpf_attr *attr, int expected)
{
	union bpf_attr copy = *attr;
	struct twin twin;
	int err = twin_create(&twin, &copy);

	if (err != expected)
		printf("type %u key %u value %u entries %u flags %#x\n", attr->map_type,
		       attr->key_size, attr->value_size, attr->max_entries, attr->map_flags);
	assert_int_equal(err, expected);
	if (!err)
		twin_free(&twin);
}

static void check_sizes(uint32_t type, uint32_t key_size, uint32_t value_size, uint32_t entries,
			int expected)
{
	union bpf_attr attr = twin_attr(type, key_size, value_size, entries, 0);

	check(&attr, expected);
}

static void zeros(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < BPFU_ARRAY_SIZE(types); i++) {
		check_sizes(types[i], 4, 4, 1, 0);
		check_sizes(types[i], 0, 4, 1, -EINVAL);
		check_sizes(types[i], 4, 0, 1, -EINVAL);
		check_sizes(types[i], 4, 4, 0, -EINVAL);
	}
}

static void key_sizes(void **state)
{
	(void)state;
	check_sizes(HASH, 1, 4, 1, 0);
	check_sizes(HASH, 513, 4, 1, 0);
	check_sizes(HASH, 65536, 4, 1, 0);
	check_sizes(HASH, 4u << 20, 4, 1, -E2BIG);
	check_sizes(PHASH, 65536, 4, 1, 0);
	check_sizes(PHASH, UINT32_MAX, 4, 1, -E2BIG);
	check_sizes(ARRAY, 8, 4, 1, -EINVAL);
	check_sizes(ARRAY, 1, 4, 1, -EINVAL);
	check_sizes(PARRAY, 8, 4, 1, -EINVAL);
	check_sizes(PROGS, 8, 4, 1, -EINVAL);
}

static void value_sizes(void **state)
{
	const uint32_t limit = (4u << 20) - 48 - 4;

	(void)state;
	check_sizes(HASH, 4, limit - 1, 1, 0);
	check_sizes(HASH, 4, limit, 1, -E2BIG);
	check_sizes(HASH, 4, UINT32_MAX, 1, -E2BIG);
	check_sizes(PHASH, 4, 32768, 1, 0);
	check_sizes(PHASH, 4, 32769, 1, -E2BIG);
	check_sizes(PHASH, 4, UINT32_MAX, 1, -E2BIG);
	check_sizes(ARRAY, 4, 1u << 20, 1, 0);
	check_sizes(ARRAY, 4, 0x80000000u, 1, -E2BIG);
	check_sizes(ARRAY, 4, UINT32_MAX, 1, -E2BIG);
	check_sizes(PARRAY, 4, 32768, 1, 0);
	check_sizes(PARRAY, 4, 32769, 1, -E2BIG);
	check_sizes(PARRAY, 4, 0x80000000u, 1, -E2BIG);
	check_sizes(PROGS, 4, 8, 1, -EINVAL);
	check_sizes(PROGS, 4, UINT32_MAX, 1, -EINVAL);
	check_sizes(STACKS, 4, 8, 1, 0);
	check_sizes(STACKS, 4, 4, 1, -EINVAL);
	check_sizes(STACKS, 4, 127 * 8, 1, 0);
	check_sizes(STACKS, 4, 128 * 8, 1, -EINVAL);
}

/* Only what is refused before anything is allocated: the kernel's memory is not ours to fill. */
static void entries(void **state)
{
	(void)state;
	check_sizes(HASH, 4, 4, UINT32_MAX, -E2BIG);
	check_sizes(HASH, 4, 4, (1u << 31) + 1, -E2BIG);
	check_sizes(HASH, 4, 4, 1u << 31, -E2BIG);
	check_sizes(HASH, 4, 4, (1u << 27) + 1, -E2BIG);
	check_sizes(PHASH, 4, 4, (1u << 27) + 1, -E2BIG);
	check_sizes(HASH, 4, 1u << 20, 1u << 20, -ENOMEM);
	check_sizes(ARRAY, 4, 1u << 20, 1u << 20, -ENOMEM);
}

static void huge_per_cpu_maps_fail(void **state)
{
	union bpf_attr attr;
	struct bpfu_map *map;

	(void)state;
	attr = twin_attr(PARRAY, 4, 32768, 1u << 28, 0);
	assert_int_equal(bpfu_map_create(&attr, NULL, &map), -ENOMEM);
	attr = twin_attr(PHASH, 4, 32768, 1u << 26, 0);
	assert_int_equal(bpfu_map_create(&attr, NULL, &map), -ENOMEM);
}

static void every_flag(void **state)
{
	const uint32_t allowed[] = {
		[HASH] = BPF_F_NO_PREALLOC | BPF_F_NUMA_NODE | BPF_F_RDONLY | BPF_F_WRONLY |
			 BPF_F_ZERO_SEED | BPF_F_RDONLY_PROG | BPF_F_WRONLY_PROG,
		[PHASH] = BPF_F_NO_PREALLOC | BPF_F_RDONLY | BPF_F_WRONLY | BPF_F_ZERO_SEED |
			  BPF_F_RDONLY_PROG | BPF_F_WRONLY_PROG,
		[ARRAY] = BPF_F_NUMA_NODE | BPF_F_RDONLY | BPF_F_WRONLY | BPF_F_RDONLY_PROG |
			  BPF_F_WRONLY_PROG | BPF_F_MMAPABLE | BPF_F_INNER_MAP,
		[PARRAY] = BPF_F_RDONLY | BPF_F_WRONLY | BPF_F_RDONLY_PROG | BPF_F_WRONLY_PROG,
		[PROGS] = BPF_F_NUMA_NODE | BPF_F_RDONLY | BPF_F_WRONLY,
	};
	union bpf_attr attr;
	uint32_t bit;
	size_t i;

	(void)state;
	for (i = 0; i < BPFU_ARRAY_SIZE(types); i++)
		for (bit = 0; bit < 32; bit++) {
			/* The token's flag is taken off before a map is created. */
			if (1u << bit == BPFU_F_TOKEN_FD)
				continue;
			attr = twin_attr(types[i], 4, 4, 1, 1u << bit);
			check(&attr, allowed[types[i]] & 1u << bit ? 0 : -EINVAL);
		}
}

static void flags_that_exclude_each_other(void **state)
{
	union bpf_attr attr;
	size_t i;

	(void)state;
	for (i = 0; i < BPFU_ARRAY_SIZE(types); i++) {
		attr = twin_attr(types[i], 4, 4, 1, BPF_F_RDONLY | BPF_F_WRONLY);
		check(&attr, -EINVAL);
		attr = twin_attr(types[i], 4, 4, 1, BPF_F_RDONLY_PROG | BPF_F_WRONLY_PROG);
		check(&attr, -EINVAL);
	}
}

static void numa_nodes(void **state)
{
	union bpf_attr attr;
	size_t i;

	(void)state;
	for (i = 0; i < BPFU_ARRAY_SIZE(types); i++) {
		attr = twin_attr(types[i], 4, 4, 1, 0);
		attr.numa_node = 5000; /* without the flag nobody looks at it */
		check(&attr, 0);
		attr.map_flags = BPF_F_NUMA_NODE;
		check(&attr, -EINVAL);
		attr.numa_node = UINT32_MAX; /* any node */
		check(&attr, 0);
		attr.numa_node = UINT32_MAX - 1;
		check(&attr, -EINVAL);
	}
	attr = twin_attr(HASH, 4, 100, 5000, BPF_F_NUMA_NODE);
	check(&attr, 0);
}

static void map_extra(void **state)
{
	union bpf_attr attr;
	size_t i;

	(void)state;
	for (i = 0; i < BPFU_ARRAY_SIZE(types); i++) {
		attr = twin_attr(types[i], 4, 4, 1, 0);
		attr.map_extra = 1;
		check(&attr, -EINVAL);
	}
}

static void check_name(const char *name, size_t len, int expected)
{
	union bpf_attr attr = twin_attr(ARRAY, 4, 4, 1, 0);

	memcpy(attr.map_name, name, len);
	check(&attr, expected);
}

static void names(void **state)
{
	union bpf_attr attr = twin_attr(ARRAY, 4, 4, 1, 0);
	struct bpfu_map *map;

	(void)state;
	check_name("", 1, 0);
	check_name("a", 2, 0);
	check_name("A_z.09", 7, 0);
	check_name("fifteen_chars_x", 16, 0);
	check_name("sixteen_chars_xx", 16, -EINVAL);
	check_name("a b", 4, -EINVAL);
	check_name("a-b", 4, -EINVAL);
	check_name("a/b", 4, -EINVAL);
	check_name("\xc3\xa4", 3, -EINVAL);
	check_name("a\0b", 4, 0);
	memcpy(attr.map_name, "a\0b", 4);
	assert_int_equal(bpfu_map_create(&attr, NULL, &map), 0);
	assert_memory_equal(map->name, "a\0\0\0", 4);
	bpfu_map_put(map);
}

static void types_that_are_not_there(void **state)
{
	union bpf_attr attr = twin_attr(0, 4, 4, 1, 0);

	(void)state;
	check(&attr, -EINVAL);
	attr.map_type = 1000;
	check(&attr, -EINVAL);
	attr.map_type = UINT32_MAX;
	check(&attr, -EINVAL);
	assert_null(bpfu_map_ops_of(UINT32_MAX));
	assert_null(bpfu_map_ops_of(BPF_MAP_TYPE_UNSPEC));
}

/* What callers rely on without looking. */
static void table_is_complete(void **state)
{
	const struct bpfu_map_ops *ops;
	uint32_t type, cnt = 0;

	(void)state;
	for (type = 0; type < 64; type++) {
		ops = bpfu_map_ops_of(type);
		if (!ops)
			continue;
		cnt++;
		assert_non_null(ops->alloc_check);
		assert_non_null(ops->alloc);
		assert_non_null(ops->free);
		assert_non_null(ops->lookup);
		assert_non_null(ops->delete);
		assert_non_null(ops->lookup_user);
		assert_non_null(ops->get_next_key);
		assert_non_null(ops->mem_usage);
		assert_true(ops->update || ops->update_user);
		if (ops->values_percpu) {
			assert_non_null(ops->lookup_percpu);
			assert_non_null(ops->update_user);
		}
		if (ops->batch & BPFU_BATCH_LOOKUP_AND_DELETE)
			assert_non_null(ops->lookup_batch);
	}
	assert_int_equal(cnt, BPFU_ARRAY_SIZE(types) + 1); /* STACKS */
}

static void fields_and_sizes(void **state)
{
	uint32_t cpus = bpfu_possible_cpus();
	union bpf_attr attr = twin_attr(PHASH, 7, 5, 3, BPF_F_NO_PREALLOC);
	struct bpfu_map *map;

	(void)state;
	memcpy(attr.map_name, "m", 2);
	assert_int_equal(bpfu_map_create(&attr, NULL, &map), 0);
	assert_int_equal(map->obj.kind, BPFU_OBJ_MAP);
	assert_int_equal(map->obj.id, 0);
	assert_int_equal(map->obj.refs, 1);
	assert_int_equal(map->type, PHASH);
	assert_int_equal(map->key_size, 7);
	assert_int_equal(map->value_size, 5);
	assert_int_equal(map->max_entries, 3);
	assert_int_equal(map->map_flags, BPF_F_NO_PREALLOC);
	assert_int_equal(map->mem_fd, -1);
	assert_int_equal(bpfu_map_user_value_size(map), 8 * cpus);
	assert_true(map->ops->mem_usage(map) > sizeof(*map));
	bpfu_map_put(map);
	attr = twin_attr(ARRAY, 4, 5, 3, 0);
	assert_int_equal(bpfu_map_create(&attr, NULL, &map), 0);
	assert_int_equal(bpfu_map_user_value_size(map), 5);
	bpfu_map_put(map);
	attr = twin_attr(PROGS, 4, 4, 3, 0);
	assert_int_equal(bpfu_map_create(&attr, NULL, &map), 0);
	assert_int_equal(bpfu_map_user_value_size(map), 4);
	bpfu_map_put(map);
}

/* The memory of a map waits for the sections that may see it, no longer. */
static void end_of_a_map(void **state)
{
	union bpf_attr attr = twin_attr(HASH, 4, 8, 16, 0);
	struct bpfu_map *map;
	uint64_t *value, key = 1, one = 1;

	(void)state;
	assert_int_equal(bpfu_map_create(&attr, NULL, &map), 0);
	assert_int_equal(bpfu_map_update_user(map, &key, &one, BPF_ANY), 0);
	bpfu_cpu_enter();
	value = map->ops->lookup(map, &key);
	assert_non_null(value);
	bpfu_map_put(map);
	assert_int_equal(*value, 1);
	bpfu_cpu_exit();
	bpfu_rcu_barrier();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(zeros),
		cmocka_unit_test(key_sizes),
		cmocka_unit_test(value_sizes),
		cmocka_unit_test(entries),
		cmocka_unit_test(huge_per_cpu_maps_fail),
		cmocka_unit_test(every_flag),
		cmocka_unit_test(flags_that_exclude_each_other),
		cmocka_unit_test(numa_nodes),
		cmocka_unit_test(map_extra),
		cmocka_unit_test(names),
		cmocka_unit_test(types_that_are_not_there),
		cmocka_unit_test(table_is_complete),
		cmocka_unit_test(fields_and_sizes),
		cmocka_unit_test(end_of_a_map),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
