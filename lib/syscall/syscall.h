/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bpf(2): one table, command to handler (bpf.c). Attribute checks as the kernel's: a short attribute
 * is zero-extended, a long one must have a zero tail (-E2BIG), fields after a command's last one must
 * be zero (-EINVAL).
 */
#ifndef BPFU_SYSCALL_SYSCALL_H
#define BPFU_SYSCALL_SYSCALL_H

#include <stdbool.h>
#include <stdint.h>

#include "util/uapi.h"

/* Our copy of the attribute, wide enough for every field of current kernels. */
union bpfu_attr {
	union bpf_attr a;
	uint8_t bytes[256];
};

/* @uattr, @size: the caller's, for results that go back. Returns what bpf(2) returns or -errno. */
typedef int (*bpfu_cmd_fn)(union bpfu_attr *attr, uint64_t uattr, uint32_t size);

/* True if all bytes of @attr from @end_of_last_field on are zero (CHECK_ATTR). */
bool bpfu_attr_tail_is_zero(const union bpfu_attr *attr, uint32_t end_of_last_field);

#endif
