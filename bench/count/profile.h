/* SPDX-License-Identifier: BSD-2-Clause */
/* How often each address is executed per event: the windows of a run with profile=on, by address. */
#ifndef BPFLAB_COUNT_PROFILE_H
#define BPFLAB_COUNT_PROFILE_H

#include "count/counts.h"

struct profile_place {
	uint64_t addr;
	int64_t times; /* in the window of N operations, less those in that of N/8 */
};

struct profile {
	struct profile_place *places; /* by address */
	size_t nr, max;
	int64_t events; /* that the measured program executed in the difference of the two windows */
	int64_t insns;  /* … and its instructions: the sum over all places */
};

/*
 * Count @bench once on @t, with the machine code of its program ("code" in @t->points[0].line), by
 * address. 0, or a negative errno with a line; -EPROTO if the places do not add up to the windows they
 * are of. profile_release() frees, also after an error.
 */
int profile_measure(struct profile *p, struct count_target *t, const char *bench,
		    const struct opts *opts, struct errline *e);
void profile_release(struct profile *p);

/* Times that @addr is executed per event; 0/1 if never. */
struct fraction profile_at(const struct profile *p, uint64_t addr);

/*
 * Add the lines "p …" of window @number of the plugin's notes, @sign times. *@sum: of that window.
 * profile_sort() joins what was added.
 */
int profile_add(struct profile *p, const char *counts, size_t number, int sign, int64_t *sum,
		struct errline *e);
void profile_sort(struct profile *p);

#endif
