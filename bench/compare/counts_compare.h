/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A against B in counted instructions. There is nothing to infer: if all runs of both agree, the
 * difference is exact. If some do not, the ranges of the runs decide whether there is a difference at
 * all, and its size is not claimed.
 */
#ifndef BPFLAB_COUNTS_COMPARE_H
#define BPFLAB_COUNTS_COMPARE_H

#include "count/counts.h"
#include "errline.h"
#include "stats/fraction.h"

enum counts_verdict {
	COUNTS_SAME,    /* exactly */
	COUNTS_FEWER,   /* on B, exactly */
	COUNTS_MORE,
	COUNTS_ABOUT_FEWER, /* every run of B is below every run of A, but runs do not agree */
	COUNTS_ABOUT_MORE,
	COUNTS_INEXACT, /* the ranges of the runs overlap */
};

extern const char *const counts_verdict_names[];

struct counts_side {
	char target[288];
	struct fraction value, lo, hi; /* per event; of all runs */
	size_t runs, equal;
	json_t *json;                  /* variant and so on, for views; owned */
	const struct count_functions *functions; /* of a fresh count with --why, or NULL */
};

struct counts_row {
	char label[192];
	struct counts_side side[2];
	struct fraction difference, ratio; /* B - A, B / A; invalid if A is 0 */
	enum counts_verdict verdict;
	struct errline failed; /* not "": one of them failed its checks */
};

struct counts_compare {
	char names[2][512];   /* A and B, as they are shown */
	struct counts_row *rows;
	size_t nr_rows;
	struct count_target targets[2]; /* of a fresh count */
	bool stored;
};

/*
 * Count what @opts asks for: two targets and benches, or two object files and --on. 0, or a negative
 * errno with a line. counts_compare_release() frees, also after an error.
 */
int counts_compare_measure(struct counts_compare *c, const struct opts *opts, struct errline *e);
/* The same of two files of stored counts. Benches that only one of them has are left out. */
int counts_compare_files(struct counts_compare *c, const char *a, const char *b, struct errline *e);
void counts_compare_release(struct counts_compare *c);

/* Fill in @row's difference and verdict from its sides. */
void counts_judge(struct counts_row *row);
/* True if B takes more than A by above the share @above, in every run. */
bool counts_is_regression(const struct counts_row *row, double above);

#endif
