/* SPDX-License-Identifier: BSD-2-Clause */
/* What sides.c and its programs agree on. */
#ifndef TESTS_PROBE_SIDES_H
#define TESTS_PROBE_SIDES_H

#include <linux/types.h>

#define SIDES_MANY 6     /* places of the multi kinds */
#define SIDES_COOKIE 100 /* of the first of them, the others follow */

/* Calls of bpf_session_is_return() and bpf_session_cookie(). */
#define SIDES_IS_RETURN 100001
#define SIDES_COOKIE_OF 100002

/* How often a program ran, and what it was told the last time. */
struct seen {
	__u64 hits, cookie, ip, arg_cnt, ret_by_helper;
	__s64 args[6], ret;
	__u64 returns, dirty, left_ip; /* of sessions */
	__s64 kept;
};

/* A stack, and what bpf_get_func_ip() said. */
struct stack_seen {
	__s64 size; /* bytes, or an error */
	__u64 ip;
	__u64 ips[16];
};

#endif
