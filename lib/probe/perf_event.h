/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What perf_event_open(2) is for libbpf: a kprobe, uprobe, their returns or a tracepoint as a descriptor, that a
 * program is attached to by BPF_LINK_CREATE or an ioctl.
 */
#ifndef BPFU_PROBE_PERF_EVENT_H
#define BPFU_PROBE_PERF_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "obj/link.h"

/* attr.type of our events: what /sys/bus/event_source/devices/{kprobe,uprobe}/type say. */
#define BPFU_PERF_TYPE_KPROBE 0x62707501
#define BPFU_PERF_TYPE_UPROBE 0x62707502

/* True of attributes that name a probe or a tracepoint of ours. */
bool bpfu_perf_event_is_ours(uint64_t uattr);

/*
 * perf_event_open() of an attribute of one of our types. @pid and @cpu matter to uprobes: of this process
 * (-1: of all, which is the same here). Returns a descriptor, or -EFAULT, -EINVAL, -ENOENT (no such
 * function or file), -EOPNOTSUPP (another process, or a file that this one has not loaded), -EMFILE,
 * -ENOMEM.
 */
int bpfu_perf_event_open(uint64_t uattr, int pid, int cpu);

/* ioctl() on such a descriptor: enable, disable, attach a program. 0, -EINVAL, -EBADF, -ENOTTY. */
int bpfu_perf_event_ioctl(struct bpfu_obj *event, unsigned long cmd, unsigned long arg);

/*
 * Attach @prog to @event. On success the link holds the caller's reference of @prog. 0, -EINVAL (of
 * another type, or for kprobe.multi), or what hook.h and point.h say of the place.
 */
int bpfu_perf_link_create(struct bpfu_obj *event, struct bpfu_prog *prog, uint64_t cookie,
			  struct bpfu_link **out);

#endif
