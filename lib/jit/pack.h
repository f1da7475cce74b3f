/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Regions that images are cut from: huge-page-sized shared memory, mapped twice, with a bitmap of
 * 64-byte chunks. Two kinds, never mixed:
 *
 *   BPFU_PACK_CHUNKS  images lie chunk by chunk next to each other, and the region is a huge page as
 *                     soon as it pays: hundreds of programs share one entry of the instruction TLB
 *   BPFU_PACK_PAGES   every image has pages of its own and the region never is a huge page: an entry
 *                     of the instruction TLB a program, as before kernels had a pack allocator
 *
 * Private to lib/jit: image.h is the interface.
 */
#ifndef BPFU_JIT_PACK_H
#define BPFU_JIT_PACK_H

#include <stdbool.h>
#include <stddef.h>

#include "jit/image.h"

#define BPFU_PACK_SIZE (2ul << 20)          /* of a region: a huge page of x86-64, and of arm64 */
#define BPFU_PACK_CHUNK 64ul                /* bytes; a cache line */
#define BPFU_PACK_BIGGEST (BPFU_PACK_SIZE / 4) /* larger images get memory of their own */

enum bpfu_pack_kind { BPFU_PACK_CHUNKS, BPFU_PACK_PAGES, BPFU_PACK_KINDS };

/*
 * A run of @size bytes (rounded up to chunks or pages) for @image, filled with traps by @fill. @random:
 * at a place that cannot be foreseen. False: no shared executable memory is to be had.
 */
bool bpfu_pack_alloc(struct bpfu_image *image, size_t size, enum bpfu_pack_kind kind, bool random,
		     bpfu_image_fill fill);

/* Code was written to the run; true if some of it had held other code before. */
bool bpfu_pack_mark_code(const struct bpfu_image *image);

void bpfu_pack_free(struct bpfu_image *image, bpfu_image_fill fill);

/*
 * True if an emulator of user processes runs us (image_probe.c); known once memory was asked for. Some of
 * the threads that the kernel shows are its own then.
 */
bool bpfu_pack_emulated(void);

/* Map @fd at a multiple of the region size, or anonymous memory (-1), near libbpfu; MAP_FAILED. */
void *bpfu_pack_map_near(int fd, size_t size, int prot);

void bpfu_pack_stats(struct bpfu_image_stats *stats);

#endif
