/* SPDX-License-Identifier: BSD-2-Clause */
/* What ext.c and its programs agree on. */
#ifndef TESTS_PROBE_EXT_H
#define TESTS_PROBE_EXT_H

#include <linux/types.h>

struct ext_pair {
	int a, b;
};

/* What a program on a function was told the last time. */
struct ext_seen {
	__u64 hits, arg_cnt, ip, cookie;
	__u64 args[5], ret;
};

#endif
