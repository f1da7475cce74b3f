// SPDX-License-Identifier: BSD-2-Clause
/*
 * Executable memory for one image; see image.h. Where regions (pack.c) do not help, an image has
 * anonymous memory of its own.
 */
#include "jit/image.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "jit/pack.h"
#include "util/bits.h"
#include "util/random.h"

#define BIGGEST (1ul << 30) /* half of what a call reaches */

static _Atomic enum bpfu_image_mode mode;

static int alloc_anon(struct bpfu_image *image, size_t size, bpfu_image_fill fill)
{
	void *p;

	size = BPFU_ROUND_UP(size, (size_t)sysconf(_SC_PAGESIZE));
	p = bpfu_pack_map_near(-1, size, PROT_READ | PROT_WRITE);
	if (p == MAP_FAILED)
		return -ENOMEM;
	*image = (struct bpfu_image){ .rx = p, .rw = p, .size = size };
	if (fill)
		fill(image->rw, size);
	return 0;
}

/* Start anywhere in what was rounded up; the rest stays traps. */
static void shift(struct bpfu_image *image, size_t size)
{
	size_t places = (image->size - BPFU_ROUND_UP(size, BPFU_PACK_CHUNK)) / BPFU_PACK_CHUNK + 1;

	image->lead = bpfu_random_below((uint32_t)BPFU_MIN(places, 1ul << 20)) * BPFU_PACK_CHUNK;
	image->rx += image->lead;
	image->rw += image->lead;
	image->size -= image->lead;
}

int bpfu_image_alloc(struct bpfu_image *image, size_t size, unsigned flags, bpfu_image_fill fill)
{
	bool random = flags & BPFU_IMAGE_RANDOM;
	enum bpfu_pack_kind kind = flags & BPFU_IMAGE_OWN_PAGES ? BPFU_PACK_PAGES : BPFU_PACK_CHUNKS;
	int err = 0;

	if (!size || size > BIGGEST)
		return -ENOMEM;
	if (mode != BPFU_IMAGE_AUTO || flags & BPFU_IMAGE_ANONYMOUS || size > BPFU_PACK_BIGGEST ||
	    !bpfu_pack_alloc(image, size, kind, random, fill))
		err = alloc_anon(image, size, fill);
	/*
	 * Pages of its own: were all images to begin at the start of a page, they would compete for one
	 * set of every cache, and the cost of many programs would be that of the cache, not of the pages.
	 */
	if (!err && (random || kind == BPFU_PACK_PAGES))
		shift(image, size);
	return err;
}

/*
 * The bytes of a chunk that is used again may sit in the pipeline of another CPU. Make all threads
 * of the process fetch anew; kernels without the command have no sound way to reuse code, but then
 * the interrupts between two uses have done it in practice.
 */
static void sync_cores(void)
{
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0) &&
	    errno == EPERM &&
	    !syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0))
		syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0);
}

int bpfu_image_seal(struct bpfu_image *image)
{
	uint8_t *start = image->rx - image->lead;

	if (!image->region && mprotect(start, image->lead + image->size, PROT_READ | PROT_EXEC))
		return -ENOMEM;
	__builtin___clear_cache((char *)start, (char *)image->rx + image->size);
	if (image->region && bpfu_pack_mark_code(image))
		sync_cores();
	return 0;
}

void bpfu_image_free(struct bpfu_image *image, bpfu_image_fill fill)
{
	if (image->region)
		bpfu_pack_free(image, fill);
	else
		munmap(image->rx - image->lead, image->lead + image->size);
}

bool bpfu_image_available(void)
{
	static _Atomic int known; /* 0: not yet, 1: yes, 2: no */
	struct bpfu_image image;
	int state = known;

	if (!state) {
		state = 2;
		if (!bpfu_image_alloc(&image, 1, 0, NULL)) {
			if (!bpfu_image_seal(&image))
				state = 1;
			bpfu_image_free(&image, NULL);
		}
		known = state;
	}
	return state == 1;
}

void bpfu_image_set_mode(enum bpfu_image_mode m)
{
	mode = m;
}

void bpfu_image_stats(struct bpfu_image_stats *stats)
{
	bpfu_pack_stats(stats);
}
