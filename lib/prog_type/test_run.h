/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the packet families share of BPF_PROG_TEST_RUN: context in and out, repeated runs with their
 * mean duration, and packet out.
 */
#ifndef BPFU_PROG_TYPE_TEST_RUN_H
#define BPFU_PROG_TYPE_TEST_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "util/uapi.h"

struct bpfu_prog;

/*
 * Copy the caller's context into @ctx (@size bytes, zeroed first). *@given: one was passed or is
 * wanted back. 0, -E2BIG (longer, and the rest is not zero) or -EFAULT.
 */
int bpfu_test_ctx_in(const union bpf_attr *attr, void *ctx, uint32_t size, bool *given);

/* Copy @ctx out if it is wanted; the size goes to @attr. 0, -ENOSPC (cut) or -EFAULT. */
int bpfu_test_ctx_out(union bpf_attr *attr, const void *ctx, uint32_t size);

/* Run attr->test.repeat times (0: once) on the calling thread's slot. */
void bpfu_test_repeat(const struct bpfu_prog *prog, void *ctx, const union bpf_attr *attr,
		      uint32_t *retval, uint32_t *duration);

/*
 * Results to @attr, the packet to the caller: 0, -ENOSPC (cut to data_size_out; the results are
 * valid) or -EFAULT. Fires the tracepoint bpf_test_finish with the address of what it returns.
 */
int bpfu_test_finish(union bpf_attr *attr, const void *data, uint32_t size, uint32_t retval,
		     uint32_t duration);

/* True if network interface @ifindex exists. */
bool bpfu_test_has_netdev(uint32_t ifindex);

#endif
