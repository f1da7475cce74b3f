// SPDX-License-Identifier: BSD-2-Clause
/*
 * A sequence of operations on one map, through bpf(2), against a model that is an array of at most
 * KEYS elements: every return value, every value read, and at the end the whole content.
 *
 *   byte 0   map type (types[])       byte 1   value size - 1
 *   byte 2   max_entries - 1          then operations of 3 bytes: what, key, value
 */
#include "fuzz.h"

#include <errno.h>
#include <stdbool.h>
#include <unistd.h>

#include "bpfu/bpfu.h"
#include "util/bits.h"
#include "util/uapi.h"

#define KEYS	  32u
#define VALUE_MAX 64u

enum family { INDEXED, KEYED, FIFO, LIFO };

static const struct {
	uint32_t type;
	enum family family;
	uint32_t flags;
} types[] = {
	{ BPF_MAP_TYPE_ARRAY, INDEXED, 0 },
	{ BPF_MAP_TYPE_HASH, KEYED, 0 },
	{ BPF_MAP_TYPE_HASH, KEYED, BPF_F_NO_PREALLOC },
	{ BPF_MAP_TYPE_LPM_TRIE, KEYED, BPF_F_NO_PREALLOC },
	{ BPF_MAP_TYPE_QUEUE, FIFO, 0 },
	{ BPF_MAP_TYPE_STACK, LIFO, 0 },
};

struct model {
	enum family family;
	uint32_t type, value_size, max, count;
	bool present[KEYS];
	uint8_t value[KEYS][VALUE_MAX]; /* queues: in order from [0] */
};

static int op(int cmd, int fd, const void *key, void *value, uint64_t flags)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.map_fd = (uint32_t)fd;
	attr.key = bpfu_u64(key);
	attr.value = bpfu_u64(value);
	attr.flags = flags;
	return bpfu_bpf(cmd, &attr, 32);
}

/* Tries use full-length prefixes only: then they are plain maps (prefixes: tests/unit, diff). */
static void make_key(const struct model *m, uint8_t key[8], uint32_t n)
{
	uint32_t prefix = 32;

	memset(key, 0, 8);
	memcpy(key + (m->type == BPF_MAP_TYPE_LPM_TRIE ? 4 : 0), &n, 4);
	if (m->type == BPF_MAP_TYPE_LPM_TRIE)
		memcpy(key, &prefix, 4);
}

static int model_update(struct model *m, uint32_t key, const uint8_t *value, uint64_t flags)
{
	if (flags > BPF_EXIST)
		return -EINVAL;
	if (m->family == INDEXED) {
		if (key >= m->max)
			return -E2BIG;
		if (flags == BPF_NOEXIST)
			return -EEXIST;
	} else {
		if (m->present[key] && flags == BPF_NOEXIST)
			return -EEXIST;
		if (!m->present[key] && flags == BPF_EXIST)
			return -ENOENT;
		if (!m->present[key] && m->count == m->max)
			return m->type == BPF_MAP_TYPE_LPM_TRIE ? -ENOSPC : -E2BIG;
		m->count += !m->present[key];
	}
	m->present[key] = true;
	memcpy(m->value[key], value, m->value_size);
	return 0;
}

static int model_delete(struct model *m, uint32_t key)
{
	if (m->family == INDEXED)
		return -EINVAL;
	if (!m->present[key])
		return -ENOENT;
	m->present[key] = false;
	m->count--;
	return 0;
}

static void keyed_op(struct model *m, int fd, uint8_t what, uint32_t n, uint8_t *value)
{
	uint8_t key[8], got[VALUE_MAX] = { 0 };
	bool there = m->family == INDEXED ? n < m->max : m->present[n];
	int ret, want;

	make_key(m, key, n);
	switch (what % 4) {
	case 0:
		ret = op(BPF_MAP_LOOKUP_ELEM, fd, key, got, 0);
		FUZZ_CHECK(ret == (there ? 0 : -ENOENT), "lookup %u: %d", n, ret);
		FUZZ_CHECK(ret || !memcmp(got, m->value[n], m->value_size), "lookup %u: value", n);
		break;
	case 1:
		want = model_update(m, n, value, what >> 4 & 3);
		ret = op(BPF_MAP_UPDATE_ELEM, fd, key, value, what >> 4 & 3);
		FUZZ_CHECK(ret == want, "type %u: update %u flags %u: %d, expected %d", m->type, n,
			   what >> 4 & 3, ret, want);
		break;
	case 2:
		want = model_delete(m, n);
		ret = op(BPF_MAP_DELETE_ELEM, fd, key, NULL, 0);
		FUZZ_CHECK(ret == want, "type %u: delete %u: %d, expected %d", m->type, n, ret,
			   want);
		break;
	default:
		if (m->type != BPF_MAP_TYPE_HASH)
			return;
		memcpy(value, m->value[n], m->value_size);
		want = model_delete(m, n);
		ret = op(BPF_MAP_LOOKUP_AND_DELETE_ELEM, fd, key, got, 0);
		FUZZ_CHECK(ret == want, "take %u: %d, expected %d", n, ret, want);
		FUZZ_CHECK(ret || !memcmp(got, value, m->value_size), "take %u: value", n);
	}
}

/* Index of the element that comes out next. */
static uint32_t queue_head(const struct model *m)
{
	return m->family == FIFO ? 0 : m->count - 1;
}

static int queue_push(struct model *m, const uint8_t *value, uint64_t flags)
{
	if (flags == BPF_NOEXIST || flags > BPF_EXIST)
		return -EINVAL;
	if (m->count == m->max) {
		if (flags != BPF_EXIST)
			return -E2BIG;
		/* the oldest makes room */
		memmove(m->value[0], m->value[1], (KEYS - 1) * VALUE_MAX);
		m->count--;
	}
	memcpy(m->value[m->count++], value, m->value_size);
	return 0;
}

static void queue_op(struct model *m, int fd, uint8_t what, uint8_t *value)
{
	uint8_t got[VALUE_MAX] = { 0 };
	uint32_t head = queue_head(m);
	int ret, want = m->count ? 0 : -ENOENT;

	if (what % 4 == 0) {
		want = queue_push(m, value, what >> 4 & 3);
		ret = op(BPF_MAP_UPDATE_ELEM, fd, NULL, value, what >> 4 & 3);
		FUZZ_CHECK(ret == want, "type %u: push flags %u: %d, expected %d", m->type,
			   what >> 4 & 3, ret, want);
		return;
	}
	ret = op(what % 4 == 1 ? BPF_MAP_LOOKUP_ELEM : BPF_MAP_LOOKUP_AND_DELETE_ELEM, fd, NULL,
		 got, 0);
	FUZZ_CHECK(ret == want, "type %u: peek or pop: %d, expected %d", m->type, ret, want);
	if (ret)
		return;
	FUZZ_CHECK(!memcmp(got, m->value[head], m->value_size), "type %u: wrong value", m->type);
	if (what % 4 == 1)
		return;
	if (m->family == FIFO)
		memmove(m->value[0], m->value[1], (KEYS - 1) * VALUE_MAX);
	m->count--;
}

/* Walk the map: each key once, and as many as the model has. */
static void check_keys(const struct model *m, int fd)
{
	uint32_t count = 0, want = m->family == INDEXED ? m->max : m->count;
	bool seen[KEYS] = { false };
	uint8_t key[8];
	int ret = op(BPF_MAP_GET_NEXT_KEY, fd, NULL, key, 0);

	while (!ret) {
		uint32_t n;

		memcpy(&n, key + (m->type == BPF_MAP_TYPE_LPM_TRIE ? 4 : 0), 4);
		FUZZ_CHECK(n < KEYS && !seen[n], "type %u: key %u comes twice or never was",
			   m->type, n);
		FUZZ_CHECK(m->family == INDEXED || m->present[n], "type %u: key %u is deleted",
			   m->type, n);
		seen[n] = true;
		count++;
		ret = op(BPF_MAP_GET_NEXT_KEY, fd, key, key, 0);
	}
	FUZZ_CHECK(ret == -ENOENT, "type %u: next key: %d", m->type, ret);
	FUZZ_CHECK(count == want, "type %u: %u keys, expected %u", m->type, count, want);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	static struct model m;
	union bpf_attr attr;
	uint32_t which = fuzz_u8(&in) % BPFU_ARRAY_SIZE(types);
	bool queue;
	int fd;

	memset(&m, 0, sizeof(m));
	m.type = types[which].type;
	m.family = types[which].family;
	m.value_size = fuzz_u8(&in) % VALUE_MAX + 1;
	m.max = fuzz_u8(&in) % (KEYS - 1) + 1;
	queue = m.family == FIFO || m.family == LIFO;

	memset(&attr, 0, sizeof(attr));
	attr.map_type = m.type;
	attr.key_size = queue ? 0 : m.type == BPF_MAP_TYPE_LPM_TRIE ? 8 : 4;
	attr.value_size = m.value_size;
	attr.max_entries = m.max;
	attr.map_flags = types[which].flags;
	fd = bpfu_bpf(BPF_MAP_CREATE, &attr, sizeof(attr));
	/* A type that libbpfu does not have; arrays and hash tables it must have. */
	if (fd == -EINVAL && m.type != BPF_MAP_TYPE_ARRAY && m.type != BPF_MAP_TYPE_HASH)
		return 0;
	FUZZ_CHECK(fd >= 0, "type %u: create: %d", m.type, fd);
	for (int ops = 0; in.left && ops < 2000; ops++) {
		uint8_t what = fuzz_u8(&in), key = fuzz_u8(&in) % KEYS, fill = fuzz_u8(&in);
		uint8_t value[VALUE_MAX];

		for (uint32_t i = 0; i < VALUE_MAX; i++)
			value[i] = (uint8_t)(fill + i * 3);
		if (queue)
			queue_op(&m, fd, what, value);
		else
			keyed_op(&m, fd, what, key, value);
	}
	if (!queue)
		check_keys(&m, fd);
	close(fd);
	return 0;
}
