/* SPDX-License-Identifier: BSD-2-Clause */
/* What session.c and its programs agree on. */
#ifndef TESTS_PROBE_SESSION_H
#define TESTS_PROBE_SESSION_H

#include <linux/types.h>

/* Of the functions, by their argument. */
#define SESSION_RESULT(arg) (3 * (arg) + 7)

struct seen {
	__u64 entered, left, wrong;
	__u64 ip, cookie, left_ip, left_cookie;
};

#endif
