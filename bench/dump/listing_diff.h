/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The difference of two listings: functions by name, lines aligned by what they say. Where an
 * instruction lies does not count, and a branch is the same if it goes to the same place of the
 * aligned code.
 */
#ifndef BPFLAB_LISTING_DIFF_H
#define BPFLAB_LISTING_DIFF_H

#include "dump/listing.h"

struct diff_row {
	int32_t a, b; /* lines of the two functions; -1: only the other has it */
};

struct diff_func {
	struct listing_func *a, *b; /* NULL: only the other has the function */
	struct diff_row *rows;
	size_t nr;
	bool coarse; /* too different to align: the part between common ends is all replaced */
};

struct diff_counts {
	size_t insns[2], bytes[2], funcs[2];
	size_t kinds[LISTING_KINDS][2];
	size_t same, removed, added; /* instructions */
};

struct listing_diff {
	struct diff_func *funcs;
	size_t nr;
	struct diff_counts counts;
};

/*
 * Labels of both listings are numbered anew, so that they have the same in aligned lines. 0 or
 * -ENOMEM. listing_diff_release() frees, also after an error. The listings must outlive it.
 */
int listing_diff(struct listing_diff *d, struct listing *a, struct listing *b);
void listing_diff_release(struct listing_diff *d);

#endif
