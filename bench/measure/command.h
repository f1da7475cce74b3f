/* SPDX-License-Identifier: BSD-2-Clause */
/* Running a command and measuring it as a whole: time, and counters of it and all its children. */
#ifndef BPFLAB_COMMAND_H
#define BPFLAB_COMMAND_H

#include <stdbool.h>
#include <stdint.h>

#include "errline.h"

struct command_result {
	double seconds;
	bool has_counters;     /* there is a PMU, and it may be used */
	uint64_t itlb_misses;  /* in user space and, where that is allowed, in the kernel */
	uint64_t instructions;
};

/*
 * Run @argv (NULL-terminated) to its end. Its standard input is empty, its standard output goes to
 * standard error, or with @quiet nowhere. A command that cannot be run or fails is an error; after a
 * signal to us it is stopped with all of its process group, and -EINTR returned.
 */
int command_run(char *const *argv, bool quiet, struct command_result *result, struct errline *e);

#endif
