/* SPDX-License-Identifier: BSD-2-Clause */
/* Zeroed memory for the bulk of a map: elements, values, buckets. */
#ifndef BPFU_MAP_AREA_H
#define BPFU_MAP_AREA_H

#include <stdbool.h>
#include <stdint.h>

#include "util/uapi.h"

#define BPFU_NO_NODE (-1)

/* The NUMA node that @attr asks for, or BPFU_NO_NODE. */
int bpfu_map_numa_node(const union bpf_attr *attr);

/* True for BPFU_NO_NODE and nodes that are online. */
bool bpfu_numa_node_is_online(int node);

/* False if the machine does not have as much memory at all. */
bool bpfu_area_fits(uint64_t size);

/*
 * @size zeroed bytes aligned to 64, preferably on @node. NULL also if they can never fit: like a
 * kernel, and unlike an overcommitting mmap(2), creation fails then.
 */
void *bpfu_area_alloc(uint64_t size, int node);
void bpfu_area_free(void *ptr, uint64_t size);

/* The same aligned to @align, a power of two of at least a page; for @size of at least @align. */
void *bpfu_area_alloc_aligned(uint64_t size, uint64_t align, int node);

#endif
