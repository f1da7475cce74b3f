/* SPDX-License-Identifier: BSD-2-Clause */
/* How often each address is executed per event: the windows of a run with profile=on, by address. */
#ifndef BPFLAB_COUNT_PLACES_H
#define BPFLAB_COUNT_PLACES_H

#include "count/counts.h"

struct count_place {
	uint64_t addr;
	int64_t times; /* in the window of N operations, less those in that of N/8 */
};

struct count_places {
	struct count_place *places; /* by address */
	size_t nr, max;
	int64_t events; /* that the measured program executed in the difference of the two windows */
	int64_t insns;  /* … and its instructions: the sum over all places */
};

/*
 * Count @bench once on @t, with the machine code of its program ("code" in @t->points[0].line), by
 * address. 0, or a negative errno with a line; -EPROTO if the places do not add up to the windows they
 * are of. count_places_release() frees, also after an error.
 */
int count_places_measure(struct count_places *p, struct count_target *t, const char *bench,
		    const struct opts *opts, struct errline *e);
void count_places_release(struct count_places *p);

/* Times that @addr is executed per event; 0/1 if never. */
struct fraction count_places_at(const struct count_places *p, uint64_t addr);

/*
 * Add the lines "p …" of window @number of the plugin's notes, @sign times. *@sum: of that window.
 * count_places_sort() joins what was added.
 */
int count_places_add(struct count_places *p, const char *counts, size_t number, int sign, int64_t *sum,
		struct errline *e);
void count_places_sort(struct count_places *p);

#endif
