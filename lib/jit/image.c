// SPDX-License-Identifier: BSD-2-Clause
/*
 * Executable memory; see image.h.
 *
 *   region      rx: |image A      |image B|......free......|   r-xs   near libbpfu
 *                    0      1      2       3       chunks
 *               rw: |the same pages                        |   rw-s   anywhere
 *
 * One bitmap of chunks per region, first fit from where the last search ended. Programs are packed:
 * many share a page, and with it an entry of the instruction TLB. With BPFU_IMAGE_OWN_PAGES a
 * program has its pages for itself.
 */
#include "jit/image.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "jit/image_probe.h"
#include "util/bits.h"
#include "util/log.h"

#define REGION_SIZE (64ul << 20)
#define CHUNK 64ul                      /* bytes; a cache line */
#define PAGE 4096ul
#define REGION_CHUNKS (REGION_SIZE / CHUNK)
#define BIGGEST (REGION_SIZE / 4)       /* larger images get memory of their own */
#define GIVE_BACK (256ul << 10)         /* freed runs from this size return their pages */
#define REACH (1ul << 31)               /* of a call */

struct bpfu_image_region {
	struct bpfu_image_region *next;
	uint8_t *rx;
	uint8_t *rw;
	bool frozen;                        /* shared with another process since a fork */
	size_t used_cnt;
	size_t hint;                        /* where the next search starts */
	uint64_t used[REGION_CHUNKS / 64];
	uint64_t stale[REGION_CHUNKS / 64]; /* held code once: other CPUs may have fetched it */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all below and the regions */
static struct bpfu_image_region *regions;
static enum bpfu_image_mode mode;
static bool no_regions;                 /* refused, or of no use on an emulator */
static bool atfork_done;

/* Bits [i, i + n) of the word that holds bit @i, at most to the word's end. */
static uint64_t word_mask(size_t i, size_t n)
{
	size_t cnt = BPFU_MIN(n, 64 - i % 64);

	return (cnt == 64 ? ~0ull : (1ull << cnt) - 1) << i % 64;
}

static void bits_set(uint64_t *map, size_t i, size_t n, bool value)
{
	while (n) {
		size_t cnt = BPFU_MIN(n, 64 - i % 64);

		if (value)
			map[i / 64] |= word_mask(i, n);
		else
			map[i / 64] &= ~word_mask(i, n);
		i += cnt;
		n -= cnt;
	}
}

static bool bits_any(const uint64_t *map, size_t i, size_t n)
{
	while (n) {
		size_t cnt = BPFU_MIN(n, 64 - i % 64);

		if (map[i / 64] & word_mask(i, n))
			return true;
		i += cnt;
		n -= cnt;
	}
	return false;
}

static void fork_lock(void)
{
	pthread_mutex_lock(&lock);
}

/* Unmap frozen regions that nothing lives in any more. */
static void reap_frozen(void)
{
	struct bpfu_image_region **link = &regions;

	while (*link) {
		struct bpfu_image_region *r = *link;

		if (!r->frozen || r->used_cnt) {
			link = &r->next;
			continue;
		}
		*link = r->next;
		munmap(r->rx, REGION_SIZE);
		munmap(r->rw, REGION_SIZE);
		free(r);
	}
}

/* In the parent and in the child. */
static void fork_done(void)
{
	for (struct bpfu_image_region *r = regions; r; r = r->next)
		r->frozen = true;
	reap_frozen();
	pthread_mutex_unlock(&lock);
}

/* Map @fd (or anonymous memory, -1) within reach of our own code if the address space allows. */
static void *map_near(int fd, size_t size, int prot)
{
	const size_t step = BPFU_MAX(size, REGION_SIZE);
	uintptr_t anchor = (uintptr_t)map_near & ~(REGION_SIZE - 1);
	int flags = fd >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
	void *p;

	/* Below our code: above it a heap may have to grow. */
	for (size_t below = 2 * step; below < REACH - 2 * step && below < anchor; below += step) {
		p = mmap((void *)(anchor - below), size, prot, flags | MAP_FIXED_NOREPLACE, fd, 0);
		if (p == (void *)(anchor - below))
			return p;
		if (p != MAP_FAILED) /* a kernel that does not know MAP_FIXED_NOREPLACE */
			munmap(p, size);
		else if (errno != EEXIST)
			break;
	}
	return mmap(NULL, size, prot, flags, fd, 0);
}

static struct bpfu_image_region *region_new(void)
{
	struct bpfu_image_region *r = calloc(1, sizeof(*r));
	int fd = -1;

	if (!r)
		return NULL;
	fd = memfd_create("bpfu-jit", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, REGION_SIZE))
		goto err_fd;
	r->rx = map_near(fd, REGION_SIZE, PROT_READ | PROT_EXEC);
	if (r->rx == MAP_FAILED)
		goto err_fd;
	r->rw = mmap(NULL, REGION_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (r->rw == MAP_FAILED)
		goto err_rx;
	if (!bpfu_image_rewrite_seen(r->rx, r->rw)) {
		bpfu_debug("jit: code written through a second mapping is not seen (an emulator?); "
			   "using anonymous memory");
		goto err_rw;
	}
	close(fd);
	r->next = regions;
	regions = r;
	return r;

err_rw:
	munmap(r->rw, REGION_SIZE);
	munmap(r->rx, REGION_SIZE);
	close(fd);
	free(r);
	return NULL;
err_rx:
	munmap(r->rx, REGION_SIZE);
err_fd:
	bpfu_debug("jit: no executable memfd: %s; using anonymous memory", strerror(errno));
	if (fd >= 0)
		close(fd);
	free(r);
	return NULL;
}

/*
 * First free run of @n chunks at or after @from that starts at a multiple of @align; REGION_CHUNKS
 * if there is none.
 */
static size_t find_run(const struct bpfu_image_region *r, size_t n, size_t align, size_t from)
{
	size_t i = BPFU_ROUND_UP(from, align);

	while (i + n <= REGION_CHUNKS) {
		uint64_t word = r->used[i / 64] >> i % 64;

		if (word & 1) { /* skip what is in use from here */
			size_t skip = ~word ? (size_t)__builtin_ctzll(~word) : 64;

			i = BPFU_ROUND_UP(i + BPFU_MIN(skip, 64 - i % 64), align);
		} else if (bits_any(r->used, i, n)) {
			i = BPFU_ROUND_UP(i + (word ? (size_t)__builtin_ctzll(word) : 64 - i % 64), align);
		} else {
			return i;
		}
	}
	return REGION_CHUNKS;
}

static bool region_alloc(struct bpfu_image_region *r, struct bpfu_image *image, size_t n,
			 size_t align)
{
	size_t at;

	if (r->frozen)
		return false;
	at = find_run(r, n, align, r->hint);
	if (at == REGION_CHUNKS && r->hint)
		at = find_run(r, n, align, 0);
	if (at == REGION_CHUNKS)
		return false;
	bits_set(r->used, at, n, true);
	r->used_cnt += n;
	r->hint = at + n < REGION_CHUNKS ? at + n : 0;
	image->region = r;
	image->rx = r->rx + at * CHUNK;
	image->rw = r->rw + at * CHUNK;
	image->size = n * CHUNK;
	return true;
}

static bool alloc_in_regions(struct bpfu_image *image, size_t n, size_t align)
{
	for (struct bpfu_image_region *r = regions; r; r = r->next)
		if (region_alloc(r, image, n, align))
			return true;
	if (no_regions)
		return false;
	if (!atfork_done) {
		/* Without the handlers a child could overwrite its parent's code. */
		if (pthread_atfork(fork_lock, fork_done, fork_done))
			return false;
		atfork_done = true;
	}
	if (!region_new()) {
		no_regions = true;
		return false;
	}
	return region_alloc(regions, image, n, align);
}

static int alloc_anon(struct bpfu_image *image, size_t size)
{
	void *p;

	size = BPFU_ROUND_UP(size, PAGE);
	p = map_near(-1, size, PROT_READ | PROT_WRITE);
	if (p == MAP_FAILED)
		return -ENOMEM;
	*image = (struct bpfu_image){ .rx = p, .rw = p, .size = size };
	return 0;
}

int bpfu_image_alloc(struct bpfu_image *image, size_t size, unsigned flags)
{
	size_t unit = flags & BPFU_IMAGE_OWN_PAGES ? PAGE : CHUNK;
	bool found = false;

	if (!size || size > REACH / 2)
		return -ENOMEM;
	pthread_mutex_lock(&lock);
	if (mode == BPFU_IMAGE_AUTO && !(flags & BPFU_IMAGE_ANONYMOUS) && size <= BIGGEST)
		found = alloc_in_regions(image, BPFU_ROUND_UP(size, unit) / CHUNK, unit / CHUNK);
	pthread_mutex_unlock(&lock);
	return found ? 0 : alloc_anon(image, size);
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
	bool stale = false;

	if (!image->region && mprotect(image->rx, image->size, PROT_READ | PROT_EXEC))
		return -ENOMEM;
	__builtin___clear_cache((char *)image->rx, (char *)image->rx + image->size);
	if (image->region) {
		struct bpfu_image_region *r = image->region;
		size_t at = (size_t)(image->rx - r->rx) / CHUNK;

		pthread_mutex_lock(&lock);
		stale = bits_any(r->stale, at, image->size / CHUNK);
		bits_set(r->stale, at, image->size / CHUNK, true);
		pthread_mutex_unlock(&lock);
	}
	if (stale)
		sync_cores();
	return 0;
}

/* Return the memory of whole pages of a large run; zeros appear in their place when touched. */
static void give_back(const struct bpfu_image *image)
{
	uintptr_t lo = BPFU_ROUND_UP((uintptr_t)image->rw, PAGE);
	uintptr_t hi = ((uintptr_t)image->rw + image->size) & ~(PAGE - 1);

	if (image->size >= GIVE_BACK)
		madvise((void *)lo, hi - lo, MADV_REMOVE);
}

void bpfu_image_free(struct bpfu_image *image, bpfu_image_fill fill)
{
	struct bpfu_image_region *r = image->region;
	size_t at, n = image->size / CHUNK;

	if (!r) {
		munmap(image->rx, image->size);
		return;
	}
	pthread_mutex_lock(&lock);
	if (!r->frozen) {
		if (fill)
			fill(image->rw, image->size);
		give_back(image);
	}
	at = (size_t)(image->rx - r->rx) / CHUNK;
	bits_set(r->used, at, n, false);
	r->used_cnt -= n;
	/* Fill up from below again: pages that have been touched before cost no fault. */
	r->hint = BPFU_MIN(r->hint, at);
	reap_frozen();
	pthread_mutex_unlock(&lock);
}

bool bpfu_image_available(void)
{
	static _Atomic int known; /* 0: not yet, 1: yes, 2: no */
	struct bpfu_image image;
	int state = known;

	if (!state) {
		state = 2;
		if (!bpfu_image_alloc(&image, 1, 0)) {
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
	pthread_mutex_lock(&lock);
	mode = m;
	pthread_mutex_unlock(&lock);
}
