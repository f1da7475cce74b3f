// SPDX-License-Identifier: BSD-2-Clause
/*
 * Maps whose values have pointers to objects of programs' making: which maps and types, what commands see
 * of them, and what cannot be done with such a map. (What programs may do is in tests/verifier.)
 */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/btf.h>

#include "api.h"

#define KEY_ID 1
#define OBJ_ID 3
#define MAX_WORDS 16

/* [1] u32, [2] u64, [3] struct obj { u64 a; } */
static struct btf *new_btf(void)
{
	struct btf *btf = btf__new_empty();

	btf__add_int(btf, "u32", 4, 0);
	btf__add_int(btf, "u64", 8, 0);
	btf__add_struct(btf, "obj", 8);
	btf__add_field(btf, "a", 2, 0, 0);
	return btf;
}

static int tagged(struct btf *btf, const char *tag, int type)
{
	return btf__add_ptr(btf, btf__add_type_tag(btf, tag, type));
}

static int kptr(struct btf *btf)
{
	return tagged(btf, "kptr", OBJ_ID);
}

static int in_struct(struct btf *btf, int type, uint32_t size, uint32_t off)
{
	int id = btf__add_struct(btf, "value", size);

	btf__add_field(btf, "f", type, off * 8, 0);
	return id;
}

static int load_btf(struct btf *btf)
{
	union bpf_attr attr = ATTR(.btf = 0);
	uint32_t size;

	attr.btf = ptr(btf__raw_data(btf, &size));
	attr.btf_size = size;
	return sys_attr(BPF_BTF_LOAD, &attr);
}

static int new_map(uint32_t type, int btf, int value_id, uint32_t value_size, uint32_t flags)
{
	union bpf_attr attr = ATTR(.map_type = type, .key_size = 4, .value_size = value_size,
				   .max_entries = 2, .map_flags = flags, .btf_fd = btf,
				   .btf_key_type_id = KEY_ID, .btf_value_type_id = value_id);

	return sys_attr(BPF_MAP_CREATE, &attr);
}

/* ---- which types ---- */

static int plain(struct btf *b)
{
	return in_struct(b, kptr(b), 16, 8);
}

static int untrusted(struct btf *b)
{
	return in_struct(b, tagged(b, "kptr_untrusted", OBJ_ID), 16, 8);
}

static int to_const(struct btf *b)
{
	return in_struct(b, tagged(b, "kptr", btf__add_const(b, OBJ_ID)), 16, 8);
}

static int of_volatile(struct btf *b)
{
	return in_struct(b, btf__add_volatile(b, kptr(b)), 16, 8);
}

static int of_array(struct btf *b)
{
	return in_struct(b, btf__add_array(b, KEY_ID, kptr(b), 3), 32, 8);
}

static int of_eleven(struct btf *b)
{
	return in_struct(b, btf__add_array(b, KEY_ID, kptr(b), 11), 96, 8);
}

static int nested(struct btf *b)
{
	return in_struct(b, in_struct(b, kptr(b), 16, 8), 40, 24);
}

static int nested_arrays(struct btf *b)
{
	int inner = in_struct(b, btf__add_array(b, KEY_ID, kptr(b), 2), 32, 8);

	return in_struct(b, btf__add_array(b, KEY_ID, inner, 2), 72, 8);
}

static int other_tag(struct btf *b)
{
	return in_struct(b, tagged(b, "other", OBJ_ID), 16, 8);
}

static int two_tags(struct btf *b)
{
	return in_struct(b, tagged(b, "kptr", btf__add_type_tag(b, "kptr", OBJ_ID)), 16, 8);
}

static int to_int(struct btf *b)
{
	return in_struct(b, tagged(b, "kptr", 2), 16, 8);
}

static int to_void(struct btf *b)
{
	return in_struct(b, tagged(b, "kptr", 0), 16, 8);
}

static int to_unknown(struct btf *b)
{
	return in_struct(b, tagged(b, "kptr", btf__add_fwd(b, "later", BTF_FWD_STRUCT)), 16, 8);
}

static int of_const(struct btf *b)
{
	return in_struct(b, btf__add_const(b, kptr(b)), 16, 8);
}

static int of_typedef(struct btf *b)
{
	return in_struct(b, btf__add_typedef(b, "kptr_t", kptr(b)), 16, 8);
}

static int of_twelve(struct btf *b)
{
	return in_struct(b, btf__add_array(b, KEY_ID, kptr(b), 12), 104, 8);
}

static int of_union(struct btf *b)
{
	int type = kptr(b), id = btf__add_union(b, "either", 8);

	btf__add_field(b, "f", type, 0, 0);
	return in_struct(b, id, 16, 8);
}

static int bare(struct btf *b)
{
	return kptr(b);
}

/* @hidden: the words of the value that commands do not see, a bit each; 0: there is no such field. */
static const struct {
	const char *name;
	int (*make)(struct btf *btf);
	uint32_t words, hidden;
} kinds[] = {
	{ "plain", plain, 2, 0x2 },
	{ "untrusted", untrusted, 2, 0x2 },
	{ "to const", to_const, 2, 0x2 },
	{ "volatile", of_volatile, 2, 0x2 },
	{ "array", of_array, 4, 0xe },
	{ "eleven", of_eleven, 12, 0xffe },
	{ "nested", nested, 5, 0x10 },
	{ "nested arrays", nested_arrays, 9, 0xcc },
	{ "other tag", other_tag, 2, 0 },
	{ "two tags", two_tags, 2, 0 },
	{ "to int", to_int, 2, 0 },
	{ "to void", to_void, 2, 0 },
	{ "to unknown", to_unknown, 2, 0 },
	{ "const", of_const, 2, 0 },
	{ "typedef", of_typedef, 2, 0 },
	{ "twelve", of_twelve, 13, 0 },
	{ "union", of_union, 2, 0 },
	{ "bare", bare, 1, 0 },
};

static void types(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct btf *btf = new_btf();
		int id = kinds[i].make(btf), fd = load_btf(btf), map;
		uint64_t value[MAX_WORDS], got[MAX_WORDS];
		uint32_t key = 1, hidden = 0;

		expect_ok(fd);
		map = new_map(BPF_MAP_TYPE_ARRAY, fd, id, kinds[i].words * 8, 0);
		expect_ok(map);
		memset(value, 0x11, sizeof(value));
		memset(got, 0xee, sizeof(got));
		expect_eq(map_update(map, &key, value, BPF_ANY), 0);
		expect_eq(map_lookup(map, &key, got), 0);
		for (uint32_t w = 0; w < kinds[i].words; w++)
			hidden |= (uint32_t)!got[w] << w;
		if (!expect_eq(hidden, kinds[i].hidden))
			printf("  of '%s'\n", kinds[i].name);
		close(map);
		close(fd);
		btf__free(btf);
	}
}

/* ---- which maps ---- */

static void maps(void)
{
	struct btf *btf = new_btf();
	int id = plain(btf), fd = load_btf(btf), map;
	static const struct {
		uint32_t type, flags;
		int err;
	} rows[] = {
		{ BPF_MAP_TYPE_ARRAY, 0, 0 },
		{ BPF_MAP_TYPE_ARRAY, BPF_F_MMAPABLE, 0 },
		{ BPF_MAP_TYPE_ARRAY, BPF_F_RDONLY, 0 },
		{ BPF_MAP_TYPE_ARRAY, BPF_F_RDONLY_PROG, -EACCES },
		{ BPF_MAP_TYPE_ARRAY, BPF_F_WRONLY_PROG, -EACCES },
		{ BPF_MAP_TYPE_PERCPU_ARRAY, 0, 0 },
		{ BPF_MAP_TYPE_HASH, 0, 0 },
		{ BPF_MAP_TYPE_HASH, BPF_F_NO_PREALLOC, 0 },
		{ BPF_MAP_TYPE_HASH, BPF_F_RDONLY_PROG, -EACCES },
		{ BPF_MAP_TYPE_PERCPU_HASH, 0, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		map = new_map(rows[i].type, fd, id, 16, rows[i].flags);
		if (!rows[i].err)
			expect_ok(map);
		else
			expect_eq(map, rows[i].err);
		if (map < 0)
			continue;
		/* Nobody forges a pointer through a mapping. */
		expect_true(mmap(NULL, 4096, PROT_READ, MAP_SHARED, map, 0) == MAP_FAILED);
		expect_eq(errno, API_ENOTSUPP);
		expect_eq(map_freeze(map), -API_ENOTSUPP);
		close(map);
	}
	close(fd);
	btf__free(btf);
}

/* The kernel has more tags; what libbpfu cannot hold, it refuses. */
static void per_cpu(void)
{
	struct btf *btf = new_btf();
	int id = in_struct(btf, tagged(btf, "percpu_kptr", OBJ_ID), 16, 8), fd = load_btf(btf), map;

	expect_ok(fd);
	map = new_map(BPF_MAP_TYPE_ARRAY, fd, id, 16, 0);
	if (api_user)
		expect_eq(map, -EOPNOTSUPP);
	else
		expect_ok(map);
	if (map >= 0)
		close(map);
	close(fd);
	btf__free(btf);
}

API_MAIN(API_TEST(types), API_TEST(maps), API_TEST(per_cpu))
