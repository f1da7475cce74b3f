/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Results over time, in a SQLite database: an append-only list of results and of what gates found. What
 * makes two results comparable is their key: machine, kernel, target, bench with its parameters, variant.
 *
 * Every change is one transaction: after a crash in the middle of an addition nothing of it is there, and
 * two writers wait for each other.
 */
#ifndef BPFLAB_STORE_H
#define BPFLAB_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "errline.h"
#include "result/record.h"

struct sqlite3;

struct store {
	struct sqlite3 *db;
	char path[4096];
};

/* @path, or NULL: the user's own, in the data folder of the XDG specification. Makes what is missing. */
int store_open(struct store *s, const char *path, struct errline *e);
void store_close(struct store *s);

struct store_added {
	size_t results, comparisons, known; /* known: were there before */
};

/* Add all of @list or nothing. */
int store_add(struct store *s, const struct record_list *list, struct store_added *added,
	      struct errline *e);

/* One series: the results of one key, oldest first. Texts and arrays are valid until visit() returns. */
struct store_series {
	const char *machine, *kernel, *target, *variant, *bench;
	size_t nr;
	const double *ns;       /* NAN: not told apart from the null program */
	const char *const *times;
	const char *const *json;
};

/* Call @visit for each series whose bench matches one of @globs (none: all); it returns 0 to go on. */
int store_visit(struct store *s, const char *const *globs, size_t nr_globs,
		int (*visit)(const struct store_series *series, void *ctx), void *ctx,
		struct errline *e);

/* What one comparison found. Texts are valid until visit() returns. */
struct store_comparison {
	const char *machine, *kernel, *bench, *a, *b, *time, *verdict;
	bool has_confirmation, confirmed; /* by a fresh run */
	const char *json;
};

/* The same for comparisons, by machine and kernel, oldest first. */
int store_visit_comparisons(struct store *s, const char *const *globs, size_t nr_globs,
			    int (*visit)(const struct store_comparison *c, void *ctx), void *ctx,
			    struct errline *e);

/* Keep the newest @keep results of each series (0: all) that are not older than @days (0: any). */
int store_prune(struct store *s, uint32_t keep, uint32_t days, size_t *removed, struct errline *e);

#endif
