/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two files of stored results. What differs between two runs (the machine's state of that hour, where
 * programs came to lie) is in none of the intervals of a single run, and nothing in two files says how
 * large it is. Only runs say that: with five or more of one side there is a prediction interval for
 * what the other side would read if nothing had changed. With fewer there is no verdict.
 */
#ifndef BPFLAB_HISTORICAL_H
#define BPFLAB_HISTORICAL_H

#include "errline.h"
#include "stats/verdict.h"

#define HISTORICAL_MIN_RUNS 5

struct historical_side {
	char target[256];
	size_t runs;
	double ns;    /* geometric mean of the runs, per event; NAN: no figure */
	double sigma; /* of their logarithms; NAN for one run */
};

struct historical_row {
	char label[192];
	struct historical_side side[2];
	struct effect effect;
	double p_holm;
	enum verdict verdict;
	const char *reason; /* why there is none, or NULL */
};

struct historical {
	const char *paths[2];
	double margin; /* ln */
	struct historical_row *rows;
	size_t nr_rows;
};

/*
 * Compare the results in two files; @margin as a share. A file may hold any number of runs. Release with
 * historical_release().
 */
int historical_compare(struct historical *h, const char *a, const char *b, double margin,
		       struct errline *e);
void historical_release(struct historical *h);

/*
 * The effect that the logarithms @a and @b of runs support: intervals for the difference of a further
 * mean of as many runs. Without HISTORICAL_MIN_RUNS on one side, or scatter, has_ci is false.
 */
void historical_effect(const double *a, size_t nr_a, const double *b, size_t nr_b,
		       struct effect *effect);

#endif
