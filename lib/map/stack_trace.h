/* SPDX-License-Identifier: BSD-2-Clause */
/* BPF_MAP_TYPE_STACK_TRACE as bpf_get_stackid() uses it. */
#ifndef BPFU_MAP_STACK_TRACE_H
#define BPFU_MAP_STACK_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "map/map.h"

/* Frames that a stack has at most: the kernel's default of the sysctl perf_event_max_stack. */
#define BPFU_STACK_FRAMES_MAX 127

/* Frames that one value has room for. */
uint32_t bpfu_stack_map_depth(const struct bpfu_map *map);

/* What a frame is in a file, if it is in one; helper/'s. */
typedef void (*bpfu_to_file_fn)(struct bpf_stack_build_id *out, uint64_t ip, bool user);

/*
 * The id of the stack of the @cnt (1 … depth) addresses @ips, stored if it is not there yet. @flags are
 * the helper's. @to_file is called for maps with build ids. -EEXIST: another stack has the bucket;
 * -ENOMEM: all elements are in use. Any thread, signal handlers included; inside a section.
 */
int64_t bpfu_stack_map_put(struct bpfu_map *map, const uint64_t *ips, uint32_t cnt, uint64_t flags,
			   bpfu_to_file_fn to_file);

#endif
