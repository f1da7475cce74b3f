/* SPDX-License-Identifier: BSD-2-Clause */
/* The command line of bpfu-diff. */
#ifndef BPFU_TESTS_DIFF_OPTIONS_H
#define BPFU_TESTS_DIFF_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#define JOBS_MAX 16

struct diff_options {
	uint64_t seed;
	uint64_t count;
	uint64_t seconds; /* 0: no limit */
	uint64_t jobs;
	uint64_t limit; /* seconds that a program may take */
	uint64_t max_failures;
	uint64_t min_accept; /* per cent */
	uint32_t modes;	     /* enum compare_mode, 0: by seed */
	bool no_kernel;
	bool mutate;
	bool default_options;
	bool minimise;
	bool print;
	bool serve;
	const char *with;
	const char *save;
};

/* Exits with 1 and a line on standard error if the command line is wrong. */
void options_parse(struct diff_options *opt, int argc, char **argv);

#endif
