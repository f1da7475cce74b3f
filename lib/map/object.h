/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Objects that programs make: bpf_obj_new() and bpf_obj_drop(). Their memory comes from chunks that are
 * never unmapped, so that a pointer which may be out of date (kptr_untrusted) can still be read; a
 * dropped object is used again only after a grace period (percpu/rcu.h), so that programs may read
 * through a pointer which they did not take out of the map.
 *
 * Programs run in signal handlers and inside probed allocators: no malloc in here once
 * bpfu_objects_prepare() has been called.
 */
#ifndef BPFU_MAP_OBJECT_H
#define BPFU_MAP_OBJECT_H

#include <stdint.h>

/* Largest object; as large as the kernel's are. */
#define BPFU_OBJECT_MAX (4096 - 8)

/* Before a program that makes objects is loaded: 0 or -ENOMEM. */
int bpfu_objects_prepare(void);

/* @size zeroed bytes aligned to 16, or NULL: too large, or no memory. In a section (percpu/cpu.h). */
void *bpfu_object_new(uint64_t size);

/* Never blocks. */
void bpfu_object_drop(void *object);

/* How many there are that were made, and not dropped. */
uint64_t bpfu_objects_live(void);

/* Bytes of memory that objects have ever needed. */
uint64_t bpfu_objects_memory(void);

#endif
