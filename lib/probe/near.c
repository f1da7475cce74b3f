// SPDX-License-Identifier: BSD-2-Clause
/* Executable memory near a place; see near.h. */
#include "probe/near.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "util/bits.h"

#define AREA_SIZE ((size_t)64 << 10)

#if defined(__aarch64__)
#define REACH ((uintptr_t)120 << 20)
#define STEP ((uintptr_t)1 << 20)
#else
/* Relative operands reach 2 GB; the other half is for what is relative to the place itself. */
#define REACH ((uintptr_t)1 << 30)
#define STEP ((uintptr_t)8 << 20)
#endif

struct area {
	uint8_t *start;
	size_t used;
	struct area *next;
};

static struct area *areas;

static bool reaches(const struct area *area, uintptr_t at)
{
	uintptr_t start = (uintptr_t)area->start;

	return (at > start ? at - start : start + AREA_SIZE - at) < REACH;
}

static void *map_at(uintptr_t at)
{
	void *p = mmap((void *)at, AREA_SIZE, PROT_READ | PROT_EXEC,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (p == (void *)at)
		return p;
	if (p != MAP_FAILED) /* a kernel that does not know MAP_FIXED_NOREPLACE */
		munmap(p, AREA_SIZE);
	return NULL;
}

/* Below first: above a program its heap may have to grow. */
static void *map_near(uintptr_t at)
{
	uintptr_t anchor = at & ~(STEP - 1);
	void *p;

	for (uintptr_t off = STEP; off < REACH - STEP; off += STEP) {
		p = off < anchor ? map_at(anchor - off) : NULL;
		if (!p)
			p = map_at(anchor + STEP + off);
		if (p)
			return p;
	}
	return NULL;
}

static struct area *area_new(uintptr_t at)
{
	struct area *area = malloc(sizeof(*area));
	void *p = area ? map_near(at) : NULL;

	if (!p) {
		free(area);
		return NULL;
	}
	*area = (struct area){ .start = p, .next = areas };
	areas = area;
	return area;
}

int bpfu_near_alloc(const void *at, size_t size, void **out)
{
	struct area *area = areas;

	size = BPFU_ROUND_UP(size, 16);
	while (area && (!reaches(area, (uintptr_t)at) || area->used + size > AREA_SIZE))
		area = area->next;
	if (!area)
		area = area_new((uintptr_t)at);
	if (!area || size > AREA_SIZE)
		return -ERANGE;
	*out = area->start + area->used;
	area->used += size;
	return 0;
}
