/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Executable memory. No mapping is ever writable and executable at once, and freed code does not
 * stay executable.
 *
 *   usual     regions (pack.h): shared memory mapped twice, once executable near libbpfu's own code
 *             (so that helpers are within reach of a call), once writable elsewhere. Images are runs
 *             of chunks in a region; what holds no code is filled with trap instructions.
 *   fallback  (memfd refused, too big for a region, or an emulator that does not see writes
 *             through a second mapping) anonymous memory of its own per image, written first and
 *             then made executable; freed by unmapping.
 *
 * Regions are shared memory, so fork() freezes them: parent and child go on running what is in
 * them, but nothing is overwritten any more, and new images go to new regions.
 */
#ifndef BPFU_JIT_IMAGE_H
#define BPFU_JIT_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bpfu_image_region;

struct bpfu_image {
	uint8_t *rx;                      /* where it runs */
	uint8_t *rw;                      /* where it is written */
	size_t size;                      /* bytes from rx to the end of its memory */
	size_t lead;                      /* bytes of its memory before rx */
	struct bpfu_image_region *region; /* NULL: anonymous memory of its own */
};

/* Overwrites @n bytes with trap instructions; supplied by the backend. NULL: no code will be written. */
typedef void (*bpfu_image_fill)(uint8_t *p, size_t n);

enum bpfu_image_flags {
	BPFU_IMAGE_OWN_PAGES = 1u << 0, /* share no page with other images; start anywhere in the first */
	BPFU_IMAGE_RANDOM = 1u << 1,    /* at an address that others do not give away */
	BPFU_IMAGE_ANONYMOUS = 1u << 2,  /* the fallback: memory without a file, as perf maps want it, and
					  * not shared, or debuggers could not write breakpoints */
};

/*
 * Memory for @size bytes of code, at a multiple of 64, full of traps. @flags: enum bpfu_image_flags.
 * Write to ->rw, then bpfu_image_seal(). 0 or -ENOMEM.
 */
int bpfu_image_alloc(struct bpfu_image *image, size_t size, unsigned flags, bpfu_image_fill fill);

/* Writing is over; from here ->rx may be run on any thread. 0 or -ENOMEM (then free it). */
int bpfu_image_seal(struct bpfu_image *image);

/* Nobody runs it any more. */
void bpfu_image_free(struct bpfu_image *image, bpfu_image_fill fill);

/* True if executable memory can be had. Decided at the first call. */
bool bpfu_image_available(void);

enum bpfu_image_mode { BPFU_IMAGE_AUTO, BPFU_IMAGE_ANON };

/* For tests: take the fallback from now on. */
void bpfu_image_set_mode(enum bpfu_image_mode mode);

struct bpfu_image_stats {
	struct {
		size_t regions;
		size_t huge;  /* of these, those that the kernel made a huge page of */
		size_t used;  /* bytes that images hold */
	} kind[2];            /* packed, pages of their own */
};

/* What regions there are at the moment. */
void bpfu_image_stats(struct bpfu_image_stats *stats);

#endif
