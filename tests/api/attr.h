/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A union bpf_attr whose every byte is known. An initialiser leaves what lies beyond the member that
 * it names unspecified, and bpf(2) refuses a command whose unknown bytes are not zero.
 */
#ifndef TESTS_API_ATTR_H
#define TESTS_API_ATTR_H

#include <string.h>

#include <linux/bpf.h>

/* ATTR(.map_fd = fd, .key = ptr(&key)): up to 14 fields, those of inner structs by their whole name. */
#define ATTR(...)                                                                                  \
	({                                                                                         \
		union bpf_attr attr_;                                                              \
		memset(&attr_, 0, sizeof(attr_));                                                  \
		ATTR_PICK(__VA_ARGS__, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1)              \
		(__VA_ARGS__) attr_;                                                               \
	})

#define ATTR_PICK(a, b, c, d, e, f, g, h, i, j, k, l, m, n, cnt, ...) ATTR_##cnt
#define ATTR_1(a) attr_ a;
#define ATTR_2(a, ...) ATTR_1(a) ATTR_1(__VA_ARGS__)
#define ATTR_3(a, ...) ATTR_1(a) ATTR_2(__VA_ARGS__)
#define ATTR_4(a, ...) ATTR_1(a) ATTR_3(__VA_ARGS__)
#define ATTR_5(a, ...) ATTR_1(a) ATTR_4(__VA_ARGS__)
#define ATTR_6(a, ...) ATTR_1(a) ATTR_5(__VA_ARGS__)
#define ATTR_7(a, ...) ATTR_1(a) ATTR_6(__VA_ARGS__)
#define ATTR_8(a, ...) ATTR_1(a) ATTR_7(__VA_ARGS__)
#define ATTR_9(a, ...) ATTR_1(a) ATTR_8(__VA_ARGS__)
#define ATTR_10(a, ...) ATTR_1(a) ATTR_9(__VA_ARGS__)
#define ATTR_11(a, ...) ATTR_1(a) ATTR_10(__VA_ARGS__)
#define ATTR_12(a, ...) ATTR_1(a) ATTR_11(__VA_ARGS__)
#define ATTR_13(a, ...) ATTR_1(a) ATTR_12(__VA_ARGS__)
#define ATTR_14(a, ...) ATTR_1(a) ATTR_13(__VA_ARGS__)

#endif
