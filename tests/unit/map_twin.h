/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A map of libbpfu and its twin in the running kernel, operated in lockstep: every operation is
 * done on both, must return the same and leave the same behind, and the result is handed to the
 * test, which expects what it expects. Without bpf(2) (no root, another kernel) the twin is missing
 * and the test checks libbpfu alone.
 */
#ifndef TESTS_UNIT_MAP_TWIN_H
#define TESTS_UNIT_MAP_TWIN_H

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "map/batch.h"
#include "map/map.h"
#include "percpu/cpu.h"
#include "percpu/rcu.h"
#include "util/uaccess.h"

#define TWIN_ENOTSUPP 524

struct twin {
	struct bpfu_map *map;
	int fd; /* of the kernel's, -1: none */
	uint32_t key_size;
	uint32_t value_size; /* as the user sees it */
	char cursor[64];     /* the kernel's, of batches */
};

static inline long twin_bpf(int cmd, union bpf_attr *attr)
{
	long ret = syscall(__NR_bpf, cmd, attr, sizeof(*attr));

	return ret < 0 ? -errno : ret;
}

static inline union bpf_attr twin_attr(uint32_t type, uint32_t key_size, uint32_t value_size,
				       uint32_t max_entries, uint32_t flags)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.map_type = type;
	attr.key_size = key_size;
	attr.value_size = value_size;
	attr.max_entries = max_entries;
	attr.map_flags = flags;
	return attr;
}

static inline bool twin_kernel_missing(long ret)
{
	return ret == -EPERM || ret == -ENOSYS;
}

/* Create both; the errno of ours. */
static inline int twin_create(struct twin *twin, union bpf_attr *attr)
{
	long fd = twin_bpf(BPF_MAP_CREATE, attr);
	int err = bpfu_map_create(attr, NULL, &twin->map);

	twin->fd = fd < 0 ? -1 : (int)fd;
	memset(twin->cursor, 0, sizeof(twin->cursor));
	if (!twin_kernel_missing(fd))
		assert_int_equal(err, fd < 0 ? fd : 0);
	if (err) {
		twin->map = NULL;
		return err;
	}
	twin->key_size = attr->key_size;
	twin->value_size = bpfu_map_user_value_size(twin->map);
	return 0;
}

static inline void twin_new(struct twin *twin, uint32_t type, uint32_t key_size,
			    uint32_t value_size, uint32_t max_entries, uint32_t flags)
{
	union bpf_attr attr = twin_attr(type, key_size, value_size, max_entries, flags);

	assert_int_equal(twin_create(twin, &attr), 0);
}

static inline void twin_free(struct twin *twin)
{
	bpfu_map_put(twin->map);
	if (twin->fd >= 0)
		close(twin->fd);
	bpfu_rcu_barrier();
}

static inline long twin_elem(const struct twin *twin, int cmd, const void *key, const void *value,
			     uint64_t flags)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.map_fd = (uint32_t)twin->fd;
	attr.key = bpfu_u64(key);
	attr.value = bpfu_u64(value);
	attr.flags = flags;
	return twin_bpf(cmd, &attr);
}

static inline int twin_update(struct twin *twin, const void *key, const void *value, uint64_t flags)
{
	int err = bpfu_map_update_user(twin->map, key, value, flags);

	if (twin->fd >= 0)
		assert_int_equal(err, twin_elem(twin, BPF_MAP_UPDATE_ELEM, key, value, flags));
	return err;
}

static inline int twin_delete(struct twin *twin, const void *key)
{
	int err = bpfu_map_delete_user(twin->map, key);

	if (twin->fd >= 0)
		assert_int_equal(err, twin_elem(twin, BPF_MAP_DELETE_ELEM, key, NULL, 0));
	return err;
}

static inline int twin_read(struct twin *twin, int cmd, const void *key, void *value)
{
	void *other = calloc(1, twin->value_size);
	int err;

	assert_non_null(other);
	memset(value, 0xee, twin->value_size);
	memset(other, 0xee, twin->value_size);
	if (cmd == BPF_MAP_LOOKUP_ELEM)
		err = bpfu_map_lookup_user(twin->map, key, value, 0);
	else
		err = bpfu_map_lookup_and_delete_user(twin->map, key, value, 0);
	if (twin->fd >= 0) {
		assert_int_equal(err, twin_elem(twin, cmd, key, other, 0));
		assert_memory_equal(value, other, twin->value_size);
	}
	free(other);
	return err;
}

static inline int twin_lookup(struct twin *twin, const void *key, void *value)
{
	return twin_read(twin, BPF_MAP_LOOKUP_ELEM, key, value);
}

static inline int twin_take(struct twin *twin, const void *key, void *value)
{
	return twin_read(twin, BPF_MAP_LOOKUP_AND_DELETE_ELEM, key, value);
}

/* Errno only: hash maps have an order of their own. */
static inline int twin_next(struct twin *twin, const void *key, void *next)
{
	int err = bpfu_map_get_next_key(twin->map, key, next);
	char other[64];

	assert_true(twin->key_size <= sizeof(other));
	if (twin->fd >= 0)
		assert_int_equal(err, twin_elem(twin, BPF_MAP_GET_NEXT_KEY, key, other, 0));
	return err;
}

/* Addresses below are invalid ones, on purpose. */
#define TWIN_BAD_ADDR 16u

/*
 * One batch command, for the kernel first, then for ours, which leaves the results. Each has its
 * own cursor. Compares errno and count.
 */
static inline int twin_batch(struct twin *twin, int cmd, struct bpfu_map_batch *batch)
{
	static int (*const fn[])(struct bpfu_map *, struct bpfu_map_batch *) = {
		[BPF_MAP_LOOKUP_BATCH] = bpfu_map_lookup_batch,
		[BPF_MAP_LOOKUP_AND_DELETE_BATCH] = bpfu_map_lookup_and_delete_batch,
		[BPF_MAP_UPDATE_BATCH] = bpfu_map_update_batch,
		[BPF_MAP_DELETE_BATCH] = bpfu_map_delete_batch,
	};
	union bpf_attr attr;
	long kernel = 0;
	int err;

	memset(&attr, 0, sizeof(attr));
	attr.batch.in_batch = batch->in_batch > TWIN_BAD_ADDR ? bpfu_u64(twin->cursor) :
								 batch->in_batch;
	attr.batch.out_batch = batch->out_batch > TWIN_BAD_ADDR ? bpfu_u64(twin->cursor) :
								  batch->out_batch;
	attr.batch.keys = batch->keys;
	attr.batch.values = batch->values;
	attr.batch.count = batch->count;
	attr.batch.elem_flags = batch->elem_flags;
	attr.batch.flags = batch->flags;
	attr.batch.map_fd = (uint32_t)twin->fd;
	if (twin->fd >= 0)
		kernel = twin_bpf(cmd, &attr);
	err = fn[cmd](twin->map, batch);
	if (twin->fd >= 0) {
		assert_int_equal(err, kernel);
		assert_int_equal(batch->count, attr.batch.count);
	}
	return err;
}

/*
 * cmocka puts its own handler of SIGSEGV in front before each test. twin_init() before all, and
 * twin_expect_faults() in the tests that pass invalid addresses, bring the one of uaccess back.
 */
static struct sigaction twin_segv;

static inline void twin_init(void)
{
	bpfu_uaccess_init();
	sigaction(SIGSEGV, NULL, &twin_segv);
}

static inline void twin_expect_faults(void)
{
	sigaction(SIGSEGV, &twin_segv, NULL);
}

/* ---- the program side, of ours alone ---- */

static inline int prog_update(struct bpfu_map *map, const void *key, const void *value,
			      uint64_t flags)
{
	int err;

	bpfu_cpu_enter();
	err = map->ops->update(map, key, value, flags);
	bpfu_cpu_exit();
	return err;
}

static inline int prog_delete(struct bpfu_map *map, const void *key)
{
	int err;

	bpfu_cpu_enter();
	err = map->ops->delete(map, key);
	bpfu_cpu_exit();
	return err;
}

#endif
