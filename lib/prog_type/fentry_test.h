/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions that BPF_PROG_TEST_RUN of tracing programs calls: bpf_fentry_test1 … 10 and
 * bpf_modify_return_test … by their names in BTF, with the kernel's arguments and results, so that
 * tests written for the kernel find them.
 */
#ifndef BPFU_PROG_TYPE_FENTRY_TEST_H
#define BPFU_PROG_TYPE_FENTRY_TEST_H

#include <stdint.h>

/* Call them all and compare the results: 0, or -EFAULT if a program has changed one. */
int bpfu_fentry_test_run(void);

/* The sum of the results in the lower half, and how many of two functions ran in the upper. */
uint32_t bpfu_modify_return_test_run(void);

#endif
