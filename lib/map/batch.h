/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * BPF_MAP_*_BATCH: many elements per command. Most maps go key by key; hash maps hand out whole
 * buckets (htab_walk.c).
 */
#ifndef BPFU_MAP_BATCH_H
#define BPFU_MAP_BATCH_H

#include <stdint.h>

struct bpfu_map;

/* attr.batch with the addresses of the caller, which need not be valid. */
struct bpfu_map_batch {
	uint64_t in_batch;   /* cursor to continue at, 0: from the start */
	uint64_t out_batch;  /* where the next cursor goes */
	uint64_t keys;
	uint64_t values;
	uint32_t count; /* in: room or elements; out: elements done, to be written back always */
	uint64_t elem_flags;
	uint64_t flags;
};

/*
 * 0 or -errno; .count elements were done either way. -ENOTSUPP if the map has no such command,
 * -EINVAL for flags, -ENOENT after the last element (lookups), -ENOSPC if the next bucket does not
 * fit, -EFAULT, -ENOMEM, and what the operation on one element returns.
 */
int bpfu_map_lookup_batch(struct bpfu_map *map, struct bpfu_map_batch *batch);
int bpfu_map_lookup_and_delete_batch(struct bpfu_map *map, struct bpfu_map_batch *batch);
int bpfu_map_update_batch(struct bpfu_map *map, struct bpfu_map_batch *batch);
int bpfu_map_delete_batch(struct bpfu_map *map, struct bpfu_map_batch *batch);

#endif
