// SPDX-License-Identifier: BSD-2-Clause
/*
 * Mappings of map memory. A mapping keeps its map alive, and a writable one keeps it from being
 * frozen, until the last page is unmapped; so every range is remembered, and whatever unmaps pages
 * (munmap, or an mmap with MAP_FIXED) takes them out, which may shrink a range or split it in two.
 *
 * ranges_lock is held over the system call itself: another thread may be given the same address the
 * moment it is free.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "map/map.h"
#include "shim/shim.h"

struct range {
	uintptr_t start, end;
	struct bpfu_map *map; /* with a user reference */
	bool writable;        /* counted in map->writers */
	struct range *next;
};

static pthread_mutex_t ranges_lock = PTHREAD_MUTEX_INITIALIZER; /* guards ranges */
static struct range *ranges;
static _Atomic size_t range_cnt; /* read without the lock: usually there are none */

static void range_add(struct range *range, struct bpfu_map *map, bool writable)
{
	bpfu_obj_get_user(&map->obj);
	if (writable)
		atomic_fetch_add(&map->writers, 1);
	range->map = map;
	range->writable = writable;
	range->next = ranges;
	ranges = range;
	range_cnt++;
}

/* References of dropped ranges are put without the lock: that may free a map, which unmaps. */
static void put_dropped(struct range *dropped)
{
	while (dropped) {
		struct range *next = dropped->next;

		if (dropped->writable)
			atomic_fetch_sub(&dropped->map->writers, 1);
		bpfu_obj_put_user(&dropped->map->obj);
		free(dropped);
		dropped = next;
	}
}

static bool overlaps(uintptr_t start, uintptr_t end)
{
	for (struct range *r = ranges; r; r = r->next)
		if (r->start < end && start < r->end)
			return true;
	return false;
}

/* Take [start, end) out of all ranges. @spare is used if one has to be split, at most once. */
static struct range *cut(uintptr_t start, uintptr_t end, struct range **spare)
{
	struct range *dropped = NULL, **at = &ranges, *r;

	while ((r = *at)) {
		if (r->start >= end || start >= r->end) {
			at = &r->next;
		} else if (r->start < start && r->end > end) {
			struct range *tail = *spare;

			*spare = NULL;
			tail->start = end;
			tail->end = r->end;
			r->end = start;
			range_add(tail, r->map, r->writable);
			break;
		} else if (r->start < start) {
			r->end = start;
			at = &r->next;
		} else if (r->end > end) {
			r->start = end;
			at = &r->next;
		} else {
			*at = r->next;
			range_cnt--;
			r->next = dropped;
			dropped = r;
		}
	}
	return dropped;
}

static uintptr_t page_align(uintptr_t n)
{
	uintptr_t mask = sysconf(_SC_PAGESIZE) - 1;

	return (n + mask) & ~mask;
}

int bpfu_mapping_unmap(void *addr, size_t len)
{
	uintptr_t start = (uintptr_t)addr, end = start + page_align(len);
	struct range *spare, *dropped = NULL;
	int ret;

	if (!range_cnt)
		return bpfu_real_munmap(addr, len);
	spare = malloc(sizeof(*spare));
	if (!spare) {
		errno = ENOMEM;
		return -1;
	}
	pthread_mutex_lock(&ranges_lock);
	ret = bpfu_real_munmap(addr, len);
	if (!ret)
		dropped = cut(start, end, &spare);
	pthread_mutex_unlock(&ranges_lock);
	put_dropped(dropped);
	free(spare);
	return ret;
}

void *bpfu_mapping_replace(void *addr, size_t len, int prot, int flags, int fd, off_t off)
{
	uintptr_t start = (uintptr_t)addr, end = start + page_align(len);
	struct range *spare, *dropped = NULL;
	void *ret;

	if (!range_cnt)
		return bpfu_real_mmap(addr, len, prot, flags, fd, off);
	spare = malloc(sizeof(*spare));
	if (!spare) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	pthread_mutex_lock(&ranges_lock);
	ret = bpfu_real_mmap(addr, len, prot, flags, fd, off);
	if (ret != MAP_FAILED && overlaps(start, end))
		dropped = cut(start, end, &spare);
	pthread_mutex_unlock(&ranges_lock);
	put_dropped(dropped);
	free(spare);
	return ret;
}

/* The errors of the kernel's mmap() of a map, in its order. 0: it may be mapped. */
static int check_mmap(const struct bpfu_map *map, size_t len, int prot, int flags, int mode,
		      off_t off)
{
	if (off < 0)
		return -EINVAL;
	if (mode == O_WRONLY || (mode == O_RDONLY && (prot & PROT_WRITE)))
		return -EACCES;
	if (prot & PROT_EXEC)
		return -EPERM;
	if (map->type != BPF_MAP_TYPE_ARRAY || map->record)
		return -524; /* ENOTSUPP: no memory to map, or pointers in it that nobody may forge */
	/* A read-only descriptor cannot share. */
	if ((flags & MAP_TYPE) == MAP_PRIVATE || mode == O_RDONLY)
		return -EINVAL;
	if (prot & PROT_WRITE) {
		if (map->frozen)
			return -EPERM;
		if (map->map_flags & BPF_F_RDONLY_PROG)
			return -EACCES;
	}
	if (map->mem_fd < 0)
		return -EINVAL;
	if ((uint64_t)off + page_align(len) >
	    page_align((uint64_t)map->max_entries * BPFU_ROUND_UP(map->value_size, 8)))
		return -EINVAL;
	return 0;
}

/* Of a read-only view of the inode, so that mprotect() cannot make the mapping writable later. */
static void *map_read_only(void *addr, size_t len, int prot, int flags, int fd, off_t off)
{
	char path[32];
	void *ret;
	int view;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	view = open(path, O_RDONLY | O_CLOEXEC);
	if (view < 0)
		return bpfu_real_mmap(addr, len, prot, flags, fd, off);
	ret = bpfu_real_mmap(addr, len, prot, flags, view, off);
	bpfu_real_close(view);
	return ret;
}

void *bpfu_mapping_new(struct bpfu_map *map, void *addr, size_t len, int prot, int flags, int fd,
		       off_t off)
{
	bool writable = prot & PROT_WRITE;
	struct range *range, *spare, *dropped = NULL;
	void *ret = MAP_FAILED;
	int err;

	err = check_mmap(map, len, prot, flags, fcntl(fd, F_GETFL) & O_ACCMODE, off);
	range = malloc(sizeof(*range));
	spare = malloc(sizeof(*spare));
	if (!err && (!range || !spare))
		err = -ENOMEM;
	if (err) {
		free(range);
		free(spare);
		errno = -err;
		return MAP_FAILED;
	}
	pthread_mutex_lock(&ranges_lock);
	ret = writable ? bpfu_real_mmap(addr, len, prot, flags, fd, off) :
			 map_read_only(addr, len, prot, flags, fd, off);
	if (ret != MAP_FAILED) {
		range->start = (uintptr_t)ret;
		range->end = range->start + page_align(len);
		if (overlaps(range->start, range->end))
			dropped = cut(range->start, range->end, &spare);
		range_add(range, map, writable);
		range = NULL;
	}
	pthread_mutex_unlock(&ranges_lock);
	put_dropped(dropped);
	free(range);
	free(spare);
	return ret;
}
