// SPDX-License-Identifier: BSD-2-Clause
/* BPF_MAP_*_BATCH: rights and attribute; map/batch.c does the elements. */
#include <errno.h>

#include "map/batch.h"
#include "map/map.h"
#include "syscall/map_access.h"
#include "syscall/syscall.h"

static int do_batch(union bpfu_attr *attr, uint64_t uattr, uint32_t size, unsigned int rights,
		    int (*fn)(struct bpfu_map *, struct bpfu_map_batch *))
{
	struct bpfu_map_batch batch = {
		.in_batch = attr->a.batch.in_batch,
		.out_batch = attr->a.batch.out_batch,
		.keys = attr->a.batch.keys,
		.values = attr->a.batch.values,
		.count = attr->a.batch.count,
		.elem_flags = attr->a.batch.elem_flags,
		.flags = attr->a.batch.flags,
	};
	struct bpfu_map_access access;
	int err;

	if (!bpfu_attr_ends_with(attr, a.batch.flags))
		return -EINVAL;
	err = bpfu_map_access_get(attr->a.batch.map_fd, rights, &access);
	if (err)
		return err;
	err = fn(access.map, &batch);
	bpfu_map_access_put(&access);
	attr->a.batch.count = batch.count;
	return bpfu_attr_put(attr, uattr, size, a.batch.count) ? -EFAULT : err;
}

int bpfu_cmd_map_lookup_batch(union bpfu_attr *attr, uint64_t uattr, uint32_t size)
{
	return do_batch(attr, uattr, size, BPFU_MAP_READ, bpfu_map_lookup_batch);
}

int bpfu_cmd_map_lookup_and_delete_batch(union bpfu_attr *attr, uint64_t uattr, uint32_t size)
{
	return do_batch(attr, uattr, size, BPFU_MAP_READ | BPFU_MAP_WRITE,
			bpfu_map_lookup_and_delete_batch);
}

int bpfu_cmd_map_update_batch(union bpfu_attr *attr, uint64_t uattr, uint32_t size)
{
	return do_batch(attr, uattr, size, BPFU_MAP_WRITE, bpfu_map_update_batch);
}

int bpfu_cmd_map_delete_batch(union bpfu_attr *attr, uint64_t uattr, uint32_t size)
{
	return do_batch(attr, uattr, size, BPFU_MAP_WRITE, bpfu_map_delete_batch);
}
