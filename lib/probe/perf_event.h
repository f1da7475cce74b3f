/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What perf_event_open(2) is for libbpf: a kprobe or kretprobe as a descriptor, that a program is
 * attached to by BPF_LINK_CREATE or an ioctl.
 */
#ifndef BPFU_PROBE_PERF_EVENT_H
#define BPFU_PROBE_PERF_EVENT_H

#include <stdint.h>

#include "obj/link.h"

/* attr.type of our events: what /sys/bus/event_source/devices/kprobe/type says. */
#define BPFU_PERF_TYPE_KPROBE 0x62707501

/*
 * perf_event_open() of an attribute of our type. Returns a descriptor, or -EFAULT, -EINVAL, -E2BIG,
 * -ENOENT (no such function), -EOPNOTSUPP (an offset other than 0), -EMFILE, -ENOMEM.
 */
int bpfu_perf_event_open(uint64_t uattr);

/* ioctl() on such a descriptor: enable, disable, attach a program. 0, -EINVAL, -EBADF, -ENOTTY. */
int bpfu_perf_event_ioctl(struct bpfu_obj *event, unsigned long cmd, unsigned long arg);

/*
 * Attach @prog to @event. On success the link holds the caller's reference of @prog. 0, -EINVAL (of
 * another type, or for kprobe.multi), or what hook.h says of the function.
 */
int bpfu_perf_link_create(struct bpfu_obj *event, struct bpfu_prog *prog, uint64_t cookie,
			  struct bpfu_link **out);

#endif
