/* SPDX-License-Identifier: BSD-2-Clause */
/* Looking up an address among things that are sorted by where they begin. */
#ifndef BPFLAB_ITEMS_UP_TO_H
#define BPFLAB_ITEMS_UP_TO_H

#include <stddef.h>
#include <stdint.h>

/*
 * How many of @nr items of @size bytes, each beginning with the uint64_t that they are sorted by, have one
 * that is at most @key: the last of them is what @key may lie in.
 */
static inline size_t items_up_to(const void *items, size_t nr, size_t size, uint64_t key)
{
	size_t lo = 0, hi = nr;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (*(const uint64_t *)((const char *)items + mid * size) <= key)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

#endif
