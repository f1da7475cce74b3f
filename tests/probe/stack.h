/* SPDX-License-Identifier: BSD-2-Clause */
/* What stack.c and its programs agree on. */
#ifndef TESTS_PROBE_STACK_H
#define TESTS_PROBE_STACK_H

#include <linux/types.h>

#define STACK_DEPTH 64
#define STACK_THREADS 8

struct stacks {
	__s64 size; /* bytes, or an error */
	__u64 ips[STACK_DEPTH];
};

#endif
