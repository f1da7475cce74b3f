/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * By function: what the instructions of an event on a kernel are made of. The windows are those of the
 * figure, and so is what is subtracted; the functions add up to it. One in which the null program, or the
 * driver of it, spends more than the measured one is below 0.
 */
#ifndef BPFLAB_COUNT_FUNCTIONS_H
#define BPFLAB_COUNT_FUNCTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "errline.h"

struct count_point;

struct count_function {
	char *name;
	int64_t times; /* in all events */
};

struct count_functions {
	struct count_function *items; /* the largest first */
	size_t nr, max;
	int64_t events;
};

/*
 * For each of @points, of one run with profile=on and symbols in its lines, fill in the functions of its
 * first run from @counts, the plugin's notes. 0, or a negative errno with a line; -EPROTO if functions do not
 * add up to the figure they are of.
 */
int count_functions_fill(struct count_point *points, size_t nr, const char *counts, struct errline *e);
void count_functions_release(struct count_functions *f);

/* A function in A and B; one of them may be 0. */
struct count_function_pair {
	const char *name;
	double a, b; /* instructions of an event */
};

/*
 * The functions of @a and @b joined by their names, those that differ most first, in a new array of *@nr.
 * NULL without memory.
 */
struct count_function_pair *count_functions_pair(const struct count_functions *a,
						 const struct count_functions *b, size_t *nr);

#endif
