/* SPDX-License-Identifier: BSD-2-Clause */
/* What the workers of a run have done so far, and how that is told. */
#ifndef BPFU_TESTS_DIFF_SUMMARY_H
#define BPFU_TESTS_DIFF_SUMMARY_H

#include <stdatomic.h>

#include "compare.h"
#include "options.h"

#define REASONS 48

struct reason {
	char text[120];
	uint64_t seed; /* the first one */
	uint64_t count;
	enum verdict verdict;
};

struct worker {
	uint64_t index; /* of the program being run */
	bool finished;
	bool had_kernel;
	char machine[16]; /* the other one, if there is one */
	uint64_t programs, insns;
	uint64_t verdicts[VERDICTS];
	struct reason reasons[REASONS];
	uint64_t failed_seed; /* of the failure the worker stopped at */
	struct outcome failure;
};

struct diff_run {
	_Atomic uint64_t next; /* index of the first program that nobody has taken */
	_Atomic bool stop;     /* take no more */
	struct worker worker[JOBS_MAX];
};

/* A line on standard error, in place of the last one, if that is a terminal. */
void show_progress(const struct diff_options *opt, const struct diff_run *run, uint32_t failures,
		   double seconds);

/* The end of the output. Returns the exit code. */
int summarise(const struct diff_options *opt, struct diff_run *run, uint32_t failures, double seconds);

#endif
