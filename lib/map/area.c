// SPDX-License-Identifier: BSD-2-Clause
/*
 * Memory of maps. Small areas come from malloc, larger ones are mappings of their own, so that they
 * are zero for free, occupy memory page by page as they are used, and go back at once.
 */
#include "map/area.h"

#include <linux/mempolicy.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "percpu/cpu_list.h"
#include "util/bits.h"

#define PAGE         4096u
#define MMAP_FROM    (64u * 1024)
#define NODES_ONLINE "/sys/devices/system/node/online"

int bpfu_map_numa_node(const union bpf_attr *attr)
{
	return attr->map_flags & BPF_F_NUMA_NODE ? (int)attr->numa_node : BPFU_NO_NODE;
}

bool bpfu_numa_node_is_online(int node)
{
	bool online;

	if (node == BPFU_NO_NODE)
		return true;
	if (node < 0)
		return false;
	if (bpfu_cpu_list_read(NODES_ONLINE, (uint32_t)node, &online) < 0)
		return node == 0;
	return online;
}

/* A wish: the memory is as good on another node. */
static void prefer_node(void *ptr, uint64_t size, int node)
{
	unsigned long mask[16] = { 0 };
	const unsigned int bits = 8 * sizeof(unsigned long);

	if (node < 0 || (unsigned int)node >= BPFU_ARRAY_SIZE(mask) * bits)
		return;
	mask[(unsigned int)node / bits] = 1ul << ((unsigned int)node % bits);
	syscall(SYS_mbind, ptr, size, MPOL_PREFERRED, mask, sizeof(mask) * 8, 0);
}

bool bpfu_area_fits(uint64_t size)
{
	long pages = sysconf(_SC_PHYS_PAGES);

	return pages <= 0 || size / PAGE <= (uint64_t)pages;
}

static void *map_pages(uint64_t size)
{
	void *ptr = mmap(NULL, size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return ptr == MAP_FAILED ? NULL : ptr;
}

void *bpfu_area_alloc(uint64_t size, int node)
{
	void *ptr;

	if (!bpfu_area_fits(size))
		return NULL;
	if (size < MMAP_FROM) {
		ptr = aligned_alloc(64, BPFU_ROUND_UP(size, 64));
		return ptr ? memset(ptr, 0, size) : NULL;
	}
	ptr = map_pages(size);
	if (ptr)
		prefer_node(ptr, size, node);
	return ptr;
}

void *bpfu_area_alloc_aligned(uint64_t size, uint64_t align, int node)
{
	char *ptr, *start;

	size = BPFU_ROUND_UP(size, PAGE);
	if (!bpfu_area_fits(size))
		return NULL;
	ptr = map_pages(size + align);
	if (!ptr)
		return NULL;
	start = (char *)BPFU_ROUND_UP((uintptr_t)ptr, align);
	if (start > ptr)
		munmap(ptr, (size_t)(start - ptr));
	if (start + size < ptr + size + align)
		munmap(start + size, (size_t)(ptr + align - start));
	prefer_node(start, size, node);
	return start;
}

void bpfu_area_free(void *ptr, uint64_t size)
{
	if (!ptr)
		return;
	if (size < MMAP_FROM)
		free(ptr);
	else
		munmap(ptr, BPFU_ROUND_UP(size, PAGE));
}
