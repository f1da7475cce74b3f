/* SPDX-License-Identifier: BSD-2-Clause */
/* The four kinds of hash maps that the tests of them go through, and memory for their batches. */
#ifndef TESTS_UNIT_HASH_KINDS_H
#define TESTS_UNIT_HASH_KINDS_H

#include "map_twin.h"

struct kind {
	uint32_t type;
	uint32_t flags;
};

static const struct kind kinds[] = {
	{ BPF_MAP_TYPE_HASH, 0 },
	{ BPF_MAP_TYPE_HASH, BPF_F_NO_PREALLOC },
	{ BPF_MAP_TYPE_PERCPU_HASH, 0 },
	{ BPF_MAP_TYPE_PERCPU_HASH, BPF_F_NO_PREALLOC },
};

#define FOR_EACH_KIND(k) for (const struct kind *k = kinds; k < kinds + 4; k++)

static inline struct bpfu_map *map_new(const struct kind *k, uint32_t key_size, uint32_t value_size,
				uint32_t entries)
{
	union bpf_attr attr = twin_attr(k->type, key_size, value_size, entries, k->flags);
	struct bpfu_map *map;

	assert_int_equal(bpfu_map_create(&attr, NULL, &map), 0);
	return map;
}

enum { B = 64 };

struct batch_mem {
	uint32_t cursor;
	uint64_t keys[B];
	char *values;
};

static inline struct bpfu_map_batch batch_of(struct batch_mem *m, uint32_t count)
{
	return (struct bpfu_map_batch){ .out_batch = bpfu_u64(&m->cursor),
					.keys = bpfu_u64(m->keys),
					.values = bpfu_u64(m->values),
					.count = count };
}

#endif
