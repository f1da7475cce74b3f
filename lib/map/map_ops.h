/* SPDX-License-Identifier: BSD-2-Clause */
/* What the families of maps share among themselves: the tables, and checks they have in common. */
#ifndef BPFU_MAP_MAP_OPS_H
#define BPFU_MAP_MAP_OPS_H

#include "map/map.h"

#define BPFU_MAP_TYPE(name, ops) extern const struct bpfu_map_ops ops;
#include "map/map_types.def"
#undef BPFU_MAP_TYPE

#define BPFU_ENOTSUPP 524 /* the kernel's own; libc has no name for it */

/* Values of per-CPU maps cannot be larger than a kernel's smallest per-CPU unit. */
#define BPFU_PERCPU_VALUE_MAX (32u * 1024)

#define BPFU_MAP_ACCESS_FLAGS (BPF_F_RDONLY | BPF_F_WRONLY | BPF_F_RDONLY_PROG | BPF_F_WRONLY_PROG)

/* A program cannot be kept from both reading and writing. */
static inline bool bpfu_map_access_flags_ok(uint32_t flags)
{
	return (flags & (BPF_F_RDONLY_PROG | BPF_F_WRONLY_PROG)) !=
	       (BPF_F_RDONLY_PROG | BPF_F_WRONLY_PROG);
}

/* array.c: what the array-like families have in common. */
int bpfu_array_check(const union bpf_attr *attr, uint32_t allowed_flags);
uint32_t bpfu_array_index_mask(uint32_t max_entries);
int bpfu_array_get_next_key(struct bpfu_map *map, const void *key, void *next_key);
int bpfu_array_delete(struct bpfu_map *map, const void *key);

/* Errno of an update of element @idx, which always exists if there is such an element. */
int bpfu_array_check_update(const struct bpfu_map *map, uint32_t idx, uint64_t flags);

#endif
