// SPDX-License-Identifier: BSD-2-Clause
/*
 * Regions of executable memory; see pack.h.
 *
 *   region      rx: |image A      |image B|......free......|   r-xs   near libbpfu
 *                    0      1      2       3       chunks
 *               rw: |the same pages                        |   rw-s   anywhere
 *
 * One bitmap of chunks per region, first fit from where the last search ended (hardened: from anywhere).
 * Pages are filled with traps when their first chunk is taken and chunks when they are freed, so all
 * that was ever touched is either code of a live program or traps; what was never touched is not
 * there yet. A region that got empty is unmapped, unless it is the last of its kind.
 *
 * Huge pages. A region of chunks asks for one with MADV_HUGEPAGE when it is made, which costs
 * nothing and takes effect where the administrator lets shared memory have them (shmem_enabled). When
 * an eighth of it is in use, which is 64 small pages and so about what a CPU's first-level
 * instruction TLB holds, MADV_COLLAPSE (Linux 6.1) makes one on the spot whatever the setting; below
 * that 2 MiB would be too much to pay. MFD_HUGETLB is not used: its pool is empty unless somebody
 * reserved it, and a reserved page is gone for others even if two programs use it.
 */
#include "jit/pack.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "jit/image_probe.h"
#include "util/bits.h"
#include "util/log.h"
#include "util/random.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

#define CHUNKS (BPFU_PACK_SIZE / BPFU_PACK_CHUNK)
#define SMALL_PAGE 4096ul /* the unit in which traps are filled in */
#define HUGE_FROM (CHUNKS / 8)
/* Of a call, and of the jump at a function's entry. */
#ifdef __aarch64__
#define REACH (1ul << 27)
#else
#define REACH (1ul << 31)
#endif

struct bpfu_image_region {
	struct bpfu_image_region *next;
	uint8_t *rx;
	uint8_t *rw;
	enum bpfu_pack_kind kind;
	bool frozen;                 /* shared with another process since a fork */
	bool asked;                  /* for a huge page, by MADV_COLLAPSE */
	bool huge;                   /* and got it */
	size_t used_cnt;
	size_t hint;                 /* where the next search starts */
	uint64_t used[CHUNKS / 64];
	uint64_t stale[CHUNKS / 64]; /* held code once: other CPUs may have fetched it */
	uint64_t filled[BPFU_PACK_SIZE / SMALL_PAGE / 64]; /* pages: code and traps only */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all below and the regions */
static struct bpfu_image_region *regions;
static bool no_regions;                 /* refused, or of no use on an emulator */
static bool rewrite_seen;               /* asked once */
static _Atomic bool emulated;           /* and the answer was no */
static bool atfork_done;
static _Atomic size_t last_off[2];      /* where the last image of its own was put: below, above */

/* ---- bitmaps ---- */

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

/* First free run of @n chunks at or after @from, at a multiple of @align; CHUNKS if there is none. */
static size_t find_run(const struct bpfu_image_region *r, size_t n, size_t align, size_t from)
{
	size_t i = BPFU_ROUND_UP(from, align);

	while (i + n <= CHUNKS) {
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
	return CHUNKS;
}

/* ---- regions ---- */

bool bpfu_pack_emulated(void)
{
	return atomic_load(&emulated);
}

/* Regions may become huge pages; images of their own lie as close together as pages do. */
static size_t distance_of(int fd, size_t size)
{
	return BPFU_ROUND_UP(size, fd >= 0 ? BPFU_PACK_SIZE : (size_t)sysconf(_SC_PAGESIZE));
}

/*
 * On one side of our code, as near as there is room from @from on; NULL if there is none. Images of their own
 * begin where the last one was put.
 */
static void *map_side(int fd, size_t size, int prot, size_t from, bool above)
{
	uintptr_t anchor = (uintptr_t)bpfu_pack_map_near & ~(BPFU_PACK_SIZE - 1);
	int flags = fd >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
	const size_t step = distance_of(fd, size);

	for (size_t off = from + step; off < REACH - 2 * step && (above || off < anchor); off += step) {
		void *at = (void *)(above ? anchor + off : anchor - off);
		void *p = mmap(at, size, prot, flags | MAP_FIXED_NOREPLACE, fd, 0);

		if (p == at) {
			if (fd < 0)
				atomic_store(&last_off[above], off);
			return p;
		}
		if (p != MAP_FAILED) /* a kernel that does not know MAP_FIXED_NOREPLACE */
			munmap(p, size);
		else if (errno != EEXIST)
			break;
	}
	return NULL;
}

/*
 * Below our code: above it a heap may have to grow. An executable with fixed addresses has nothing
 * below it: leave the heap half of what can be reached.
 */
static void *map_either_side(int fd, size_t size, int prot)
{
	static const size_t starts[] = { BPFU_PACK_SIZE, REACH / 2 };
	void *p = NULL;

	for (int above = 0; above < 2 && !p; above++) {
		size_t last = atomic_load(&last_off[above]);

		if (fd < 0 && last)
			p = map_side(fd, size, prot, last, above);
		if (!p)
			p = map_side(fd, size, prot, starts[above], above);
	}
	return p;
}

void *bpfu_pack_map_near(int fd, size_t size, int prot)
{
	const size_t step = BPFU_ROUND_UP(size, BPFU_PACK_SIZE);
	int flags = fd >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
	uintptr_t start;
	uint8_t *room;
	void *p;

	p = map_either_side(fd, size, prot);
	if (p)
		return p;
	/* Anywhere, but aligned: cut it from more than is needed. */
	room = mmap(NULL, step + BPFU_PACK_SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (room == MAP_FAILED)
		return MAP_FAILED;
	start = BPFU_ROUND_UP((uintptr_t)room, BPFU_PACK_SIZE);
	p = mmap((void *)start, size, prot, flags | MAP_FIXED, fd, 0);
	if (p == MAP_FAILED) {
		munmap(room, step + BPFU_PACK_SIZE);
		return MAP_FAILED;
	}
	if (start > (uintptr_t)room)
		munmap(room, start - (uintptr_t)room);
	size = BPFU_ROUND_UP(size, (size_t)sysconf(_SC_PAGESIZE));
	munmap((uint8_t *)start + size, (uintptr_t)room + step + BPFU_PACK_SIZE - start - size);
	return p;
}

static void region_free(struct bpfu_image_region *r)
{
	munmap(r->rx, BPFU_PACK_SIZE);
	munmap(r->rw, BPFU_PACK_SIZE);
	free(r);
}

/* Unmap regions that nothing lives in any more: frozen ones, and all but one of a kind. */
static void reap_empty(void)
{
	bool have[BPFU_PACK_KINDS] = { false };
	struct bpfu_image_region **link = &regions;

	for (struct bpfu_image_region *r = regions; r; r = r->next)
		if (!r->frozen && r->used_cnt)
			have[r->kind] = true;
	while (*link) {
		struct bpfu_image_region *r = *link;

		if (r->used_cnt || (!r->frozen && !have[r->kind])) {
			have[r->kind] |= !r->frozen;
			link = &r->next;
			continue;
		}
		*link = r->next;
		region_free(r);
	}
}

static void fork_lock(void)
{
	pthread_mutex_lock(&lock);
}

/* In the parent and in the child. */
static void fork_done(void)
{
	for (struct bpfu_image_region *r = regions; r; r = r->next)
		r->frozen = true;
	reap_empty();
	pthread_mutex_unlock(&lock);
}

static struct bpfu_image_region *region_new(enum bpfu_pack_kind kind)
{
	static const char *const names[] = { "bpfu-jit-pack", "bpfu-jit-pages" };
	struct bpfu_image_region *r = calloc(1, sizeof(*r));
	int fd = -1, err;

	if (!r)
		return NULL;
	r->kind = kind;
	fd = memfd_create(names[kind], MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, BPFU_PACK_SIZE))
		goto err_fd;
	r->rx = bpfu_pack_map_near(fd, BPFU_PACK_SIZE, PROT_READ | PROT_EXEC);
	if (r->rx == MAP_FAILED)
		goto err_fd;
	r->rw = mmap(NULL, BPFU_PACK_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (r->rw == MAP_FAILED)
		goto err_rx;
	if (!rewrite_seen && !bpfu_image_rewrite_seen(r->rx, r->rw)) {
		bpfu_debug("jit: code written through a second mapping is not seen (an emulator?); "
			   "using anonymous memory");
		atomic_store(&emulated, true);
		errno = ENOEXEC;
		goto err_rw;
	}
	rewrite_seen = true;
	close(fd);
	/* An answer is not to be had: kernels without huge pages refuse both. */
	madvise(r->rx, BPFU_PACK_SIZE, kind == BPFU_PACK_CHUNKS ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
	madvise(r->rw, BPFU_PACK_SIZE, kind == BPFU_PACK_CHUNKS ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
	r->next = regions;
	regions = r;
	return r;

err_rw:
	munmap(r->rw, BPFU_PACK_SIZE);
err_rx:
	err = errno;
	munmap(r->rx, BPFU_PACK_SIZE);
	errno = err;
err_fd:
	err = errno;
	bpfu_debug("jit: no executable memfd: %s; using anonymous memory", strerror(err));
	if (fd >= 0)
		close(fd);
	free(r);
	errno = err;
	return NULL;
}

/* See the top of the file; all of the region is memory afterwards, and so has to hold traps. */
static void ask_for_huge_page(struct bpfu_image_region *r, bpfu_image_fill fill)
{
	r->asked = true;
	if (madvise(r->rx, BPFU_PACK_SIZE, MADV_COLLAPSE)) {
		bpfu_debug("jit: no huge page for the prog pack: %s", strerror(errno));
		return;
	}
	r->huge = true;
	for (size_t page = 0; page < BPFU_PACK_SIZE / SMALL_PAGE; page++)
		if (!bits_any(r->filled, page, 1))
			fill(r->rw + page * SMALL_PAGE, SMALL_PAGE);
	bits_set(r->filled, 0, BPFU_PACK_SIZE / SMALL_PAGE, true);
}

static void fill_pages(struct bpfu_image_region *r, size_t at, size_t n, bpfu_image_fill fill)
{
	size_t first = at * BPFU_PACK_CHUNK / SMALL_PAGE;
	size_t last = ((at + n) * BPFU_PACK_CHUNK - 1) / SMALL_PAGE;

	for (size_t page = first; page <= last; page++) {
		if (bits_any(r->filled, page, 1))
			continue;
		fill(r->rw + page * SMALL_PAGE, SMALL_PAGE);
		bits_set(r->filled, page, 1, true);
	}
}

/* ---- runs ---- */

static bool region_alloc(struct bpfu_image_region *r, struct bpfu_image *image, size_t n,
			 size_t align, bool random, bpfu_image_fill fill)
{
	size_t from = random ? bpfu_random_below(CHUNKS) : r->hint;
	size_t at = find_run(r, n, align, from);

	if (at == CHUNKS && from)
		at = find_run(r, n, align, 0);
	if (at == CHUNKS)
		return false;
	bits_set(r->used, at, n, true);
	r->used_cnt += n;
	if (!random)
		r->hint = at + n < CHUNKS ? at + n : 0;
	if (fill) {
		fill_pages(r, at, n, fill);
		if (r->kind == BPFU_PACK_CHUNKS && !r->asked && r->used_cnt >= HUGE_FROM)
			ask_for_huge_page(r, fill);
	}
	*image = (struct bpfu_image){
		.rx = r->rx + at * BPFU_PACK_CHUNK,
		.rw = r->rw + at * BPFU_PACK_CHUNK,
		.size = n * BPFU_PACK_CHUNK,
		.region = r,
	};
	return true;
}

static bool alloc_locked(struct bpfu_image *image, size_t n, size_t align, enum bpfu_pack_kind kind,
			 bool random, bpfu_image_fill fill)
{
	for (struct bpfu_image_region *r = regions; r; r = r->next)
		if (r->kind == kind && !r->frozen &&
		    region_alloc(r, image, n, align, random, fill))
			return true;
	if (no_regions)
		return false;
	if (!atfork_done) {
		/* Without the handlers a child could overwrite its parent's code. */
		if (pthread_atfork(fork_lock, fork_done, fork_done))
			return false;
		atfork_done = true;
	}
	if (!region_new(kind)) {
		/* Short of something now is not the same as forbidden. */
		no_regions = errno != EMFILE && errno != ENFILE && errno != ENOMEM;
		return false;
	}
	return region_alloc(regions, image, n, align, random, fill);
}

bool bpfu_pack_alloc(struct bpfu_image *image, size_t size, enum bpfu_pack_kind kind, bool random,
		     bpfu_image_fill fill)
{
	size_t unit = kind == BPFU_PACK_PAGES ? (size_t)sysconf(_SC_PAGESIZE) : BPFU_PACK_CHUNK;
	bool found;

	pthread_mutex_lock(&lock);
	found = alloc_locked(image, BPFU_ROUND_UP(size, unit) / BPFU_PACK_CHUNK,
			     unit / BPFU_PACK_CHUNK, kind, random, fill);
	pthread_mutex_unlock(&lock);
	return found;
}

/* The chunks of @image, its lead included. */
static size_t chunks_of(const struct bpfu_image *image, size_t *n)
{
	*n = (image->lead + image->size) / BPFU_PACK_CHUNK;
	return (size_t)(image->rx - image->lead - image->region->rx) / BPFU_PACK_CHUNK;
}

bool bpfu_pack_mark_code(const struct bpfu_image *image)
{
	size_t n, at = chunks_of(image, &n);
	bool stale;

	pthread_mutex_lock(&lock);
	stale = bits_any(image->region->stale, at, n);
	bits_set(image->region->stale, at, n, true);
	pthread_mutex_unlock(&lock);
	return stale;
}

void bpfu_pack_free(struct bpfu_image *image, bpfu_image_fill fill)
{
	struct bpfu_image_region *r = image->region;
	size_t n, at = chunks_of(image, &n);

	pthread_mutex_lock(&lock);
	if (!r->frozen && fill)
		fill(image->rw - image->lead, n * BPFU_PACK_CHUNK);
	bits_set(r->used, at, n, false);
	r->used_cnt -= n;
	/* Fill up from below again: pages that have been touched before cost no fault. */
	r->hint = BPFU_MIN(r->hint, at);
	reap_empty();
	pthread_mutex_unlock(&lock);
}

void bpfu_pack_stats(struct bpfu_image_stats *stats)
{
	memset(stats, 0, sizeof(*stats));
	pthread_mutex_lock(&lock);
	for (const struct bpfu_image_region *r = regions; r; r = r->next) {
		stats->kind[r->kind].regions++;
		stats->kind[r->kind].huge += r->huge;
		stats->kind[r->kind].used += r->used_cnt * BPFU_PACK_CHUNK;
	}
	pthread_mutex_unlock(&lock);
}
