// SPDX-License-Identifier: BSD-2-Clause
/*
 * Allocator of per-CPU memory: one set of offsets, valid in every unit.
 *
 *    unit 0                                  unit 1
 *    | cpu | pages handed out ...  | rest   | cpu | ...                 | rest   |
 *    0     4096                    top      stride
 *          <--- read/write ------->< none > <--- read/write ---><- none ->
 *
 * The whole range is reserved without access and without backing; pages below .top become
 * accessible in steps, in all units at once, so a small user costs a few pages. The range is as
 * large as can be had for nothing: address space limits are kept clear of, and emulators, which
 * keep a record of every page, are recognised by the time that a reservation takes.
 *
 * Pages are handed out in runs. A free run gives its memory back to the system at once and is
 * therefore zero when it is used again; what it needs to be found (next run, length) lies in its
 * first bytes in unit 0. Small sizes come from classes, each cutting up runs of SPAN_PAGES; those
 * pages stay with their class, and blocks are cleared when they are handed out again.
 */
#include "percpu/percpu_alloc.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#include "percpu/cpu_table.h"
#include "percpu/lock.h"
#include "util/log.h"

#if defined(__SANITIZE_ADDRESS__)
#define HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ASAN 1
#endif
#endif

#ifdef HAS_ASAN
#include <sanitizer/asan_interface.h>
#define POISON(ptr, size)   __asan_poison_memory_region(ptr, size)
#define UNPOISON(ptr, size) __asan_unpoison_memory_region(ptr, size)
#else
#define POISON(ptr, size)   ((void)(ptr), (void)(size))
#define UNPOISON(ptr, size) ((void)(ptr), (void)(size))
#endif

#define PAGE        4096u
#define SPAN_PAGES  4u
#define COMMIT_STEP (64u * 1024)
#define STRIDE_MAX  (1ull << 32)
#define STRIDE_TRY  (1ull << 25) /* where the search for the largest begins */
#define STRIDE_MIN  (1ull << 16)
#define TOTAL_MAX   (1ull << 38)
#define SLOW_NS     1000000u

/* clang-format off */
static const uint16_t class_size[] = {
	8, 16, 24, 32, 40, 48, 56, 64, 128, 192, 256, 320, 384, 448, 512, 640, 768, 896, 1024, 1280,
	1536, 1792, 2048,
};
/* clang-format on */
#define CLASSES   BPFU_ARRAY_SIZE(class_size)
#define SMALL_MAX 2048u

struct free_run {
	struct free_run *next; /* towards higher addresses */
	size_t size;           /* bytes */
};

struct free_block {
	struct free_block *next;
};

struct size_class {
	struct free_block *free;
	char *cut; /* rest of the newest span */
	char *end;
};

static struct {
	struct bpfu_lock lock; /* of all below */
	char *base;            /* constant after bpfu_percpu_init(), as are stride and cpus */
	uint64_t stride;
	uint32_t cpus;
	size_t top;       /* offsets below are handed out, or in runs */
	size_t committed; /* offsets below are accessible in all units */
	struct free_run *runs;
	struct size_class classes[CLASSES];
} region;

/* Where there is no region at all, every slot reads this number, and nothing can be allocated. */
static uint32_t no_region_cpu_number;

/* ---- the range ---- */

static char *reserve(uint64_t size)
{
	void *mem = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return mem == MAP_FAILED ? NULL : mem;
}

static bool commit(size_t upto)
{
	size_t end = BPFU_ROUND_UP(upto, COMMIT_STEP);
	uint32_t cpu;

	if (upto <= region.committed)
		return true;
	if (upto > region.stride)
		return false;
	end = BPFU_MIN(end, region.stride);
	for (cpu = 0; cpu < region.cpus; cpu++)
		if (mprotect(region.base + region.stride * cpu + region.committed,
			     end - region.committed, PROT_READ | PROT_WRITE) != 0)
			return false;
	region.committed = end;
	return true;
}

static uint64_t cpu_time_ns(void)
{
	struct timespec ts = { 0 };

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static uint64_t total_max(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
		return BPFU_MIN(TOTAL_MAX, limit.rlim_cur / 4);
	return TOTAL_MAX;
}

/* Fills base and stride; base is NULL if not even the smallest range can be had. */
static void reserve_largest(uint32_t cpus)
{
	uint64_t limit = total_max(), stride, start;
	char *base = NULL;

	for (stride = STRIDE_TRY; stride > STRIDE_MIN && stride * cpus > limit; stride /= 2)
		;
	for (; stride >= STRIDE_MIN && !base; stride /= 2)
		base = reserve(stride * cpus);
	region.base = base;
	region.stride = base ? stride * 2 : 0;
	while (base && region.stride < STRIDE_MAX && region.stride * 2 * cpus <= limit) {
		start = cpu_time_ns();
		base = reserve(region.stride * 2 * cpus);
		if (!base)
			return;
		munmap(region.base, region.stride * cpus);
		region.base = base;
		region.stride *= 2;
		if (cpu_time_ns() - start > SLOW_NS)
			return;
	}
}

void bpfu_percpu_init(uint32_t cpus)
{
	uint32_t cpu;

	region.cpus = cpus;
	reserve_largest(cpus);
	if (!region.base || !commit(PAGE)) {
		bpfu_warn("per-CPU memory: cannot reserve address space for %u CPUs", cpus);
		region.base = NULL;
		region.stride = 0;
		return;
	}
	region.top = PAGE;
	for (cpu = 0; cpu < cpus; cpu++)
		memcpy(region.base + region.stride * cpu, &cpu, sizeof(cpu));
}

/* ---- runs of pages ---- */

static size_t offset_of(const void *ptr)
{
	return (size_t)((const char *)ptr - region.base);
}

static void *run_alloc(size_t size)
{
	struct free_run **link, *run, *rest;

	for (link = &region.runs; (run = *link); link = &run->next) {
		if (run->size < size)
			continue;
		if (run->size > size) {
			rest = (struct free_run *)((char *)run + size);
			rest->size = run->size - size;
			rest->next = run->next;
			*link = rest;
		} else {
			*link = run->next;
		}
		memset(run, 0, sizeof(*run));
		return run;
	}
	if (!region.base || size > region.stride || !commit(region.top + size))
		return NULL;
	region.top += size;
	return region.base + region.top - size;
}

/* @run and what follows it touch: make them one. */
static void merge_with_next(struct free_run *run)
{
	struct free_run *next = run->next;

	if (!next || (char *)run + run->size != (char *)next)
		return;
	run->size += next->size;
	run->next = next->next;
	memset(next, 0, sizeof(*next));
}

static void run_free(void *ptr, size_t size)
{
	struct free_run **link = &region.runs, *run = ptr, *prev = NULL;
	uint32_t cpu;

	for (cpu = 0; cpu < region.cpus; cpu++)
		madvise((char *)ptr + region.stride * cpu, size, MADV_DONTNEED);
	while (*link && *link < run) {
		prev = *link;
		link = &prev->next;
	}
	run->size = size;
	run->next = *link;
	*link = run;
	merge_with_next(run);
	if (prev)
		merge_with_next(prev);

	/* A run at the top is no run but room. */
	for (link = &region.runs; (*link)->next; link = &(*link)->next)
		;
	run = *link;
	if (offset_of(run) + run->size == region.top) {
		*link = NULL;
		region.top = offset_of(run);
		memset(run, 0, sizeof(*run));
	}
}

/* ---- small blocks ---- */

static size_t class_of(size_t size)
{
	size_t i = 0;

	while (class_size[i] < size)
		i++;
	return i;
}

/* Returns a block; *@dirty if it has been used before. */
static void *block_alloc(size_t class_idx, bool *dirty)
{
	struct size_class *c = &region.classes[class_idx];
	struct free_block *block = c->free;
	size_t size = class_size[class_idx];

	*dirty = block != NULL;
	if (block) {
		c->free = block->next;
		return block;
	}
	if ((size_t)(c->end - c->cut) < size) {
		c->cut = run_alloc(SPAN_PAGES * PAGE);
		c->end = c->cut ? c->cut + SPAN_PAGES * PAGE : NULL;
		if (!c->cut)
			return NULL;
	}
	block = (struct free_block *)c->cut;
	c->cut += size;
	return block;
}

void *bpfu_percpu_alloc(size_t size)
{
	size_t class_idx = 0;
	bool dirty = false;
	void *ptr;
	uint32_t cpu;

	bpfu_possible_cpus(); /* reserves the region at first use */
	if (!size || size > region.stride)
		return NULL;
	if (size <= SMALL_MAX)
		class_idx = class_of(size);
	if (bpfu_lock(&region.lock))
		return NULL; /* a program in a signal handler that interrupted us */
	if (size <= SMALL_MAX)
		ptr = block_alloc(class_idx, &dirty);
	else
		ptr = run_alloc(BPFU_ROUND_UP(size, PAGE));
	bpfu_unlock(&region.lock);

	for (cpu = 0; dirty && cpu < region.cpus; cpu++) {
		UNPOISON(bpfu_percpu_of(ptr, cpu), class_size[class_idx]);
		memset(bpfu_percpu_of(ptr, cpu), 0, class_size[class_idx]);
	}
	return ptr;
}

void bpfu_percpu_free(void *ptr, size_t size)
{
	struct free_block *block = ptr;
	size_t class_idx;
	uint32_t cpu;

	if (!ptr)
		return;
	if (bpfu_lock(&region.lock)) {
		BPFU_BUG_ON(true, "per-CPU memory freed by an interrupted allocation");
		return;
	}
	if (size > SMALL_MAX) {
		run_free(ptr, BPFU_ROUND_UP(size, PAGE));
	} else {
		class_idx = class_of(size);
		for (cpu = 0; cpu < region.cpus; cpu++)
			POISON(bpfu_percpu_of(ptr, cpu), class_size[class_idx]);
		UNPOISON(block, sizeof(*block));
		block->next = region.classes[class_idx].free;
		region.classes[class_idx].free = block;
	}
	bpfu_unlock(&region.lock);
}

void *bpfu_percpu_cpu_number(void)
{
	bpfu_possible_cpus();
	return region.base ? (void *)region.base : (void *)&no_region_cpu_number;
}

uint64_t bpfu_percpu_stride(void)
{
	return region.stride;
}
