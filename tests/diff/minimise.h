/* SPDX-License-Identifier: BSD-2-Clause */
/* Shrink a failing case while it keeps failing in the same way. */
#ifndef BPFU_TESTS_DIFF_MINIMISE_H
#define BPFU_TESTS_DIFF_MINIMISE_H

#include "compare.h"

/* How a case ended in a process of its own. */
struct ending {
	enum verdict verdict; /* valid if signal is 0 */
	int signal;	      /* what killed it (SIGALRM: it hung) */
	char what[160];	      /* struct outcome's */
};

/*
 * Run @c in a child process, with sides of its own. @shift moves the memory that libbpfu allocates
 * and the stack, so that values made from addresses come out otherwise.
 */
struct ending run_apart(const struct diff_case *c, const struct compare_setup *setup, bool shift);

/* Shrink @c in place. Returns the number of candidates tried. */
uint32_t minimise(struct diff_case *c, const struct compare_setup *setup, struct ending want);

#endif
