/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The two answerers of bpf(2) that the tests of this folder compare: libbpfu in the process and the
 * running kernel. The kernel half is skipped, visibly, where it may not be used.
 */
#ifndef TEST_VERIFIER_SIDE_H
#define TEST_VERIFIER_SIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/bpf.h>

enum side { SIDE_USER, SIDE_KERNEL, SIDES };

extern const char *const side_name[SIDES];

/* Route the thread's calls. */
void side_set(enum side side);

/* True if programs can be loaded into the kernel (root, and bpf(2) is allowed). */
bool side_kernel_usable(void);

/* bpf(2) of @side: what it returns, or -errno. */
int side_bpf(enum side side, int cmd, union bpf_attr *attr, unsigned int size);

/* Refuse to run if calls do not reach the router: the tests would prove nothing. */
void side_self_check(void);

/* True if the differences document has a row that names @test. */
bool difference_is_documented(const char *test);

#endif
