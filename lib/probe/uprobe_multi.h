/* SPDX-License-Identifier: BSD-2-Clause */
/* Links of uprobe.multi, uretprobe.multi and uprobe.session: one program on many places of a file. */
#ifndef BPFU_PROBE_UPROBE_MULTI_H
#define BPFU_PROBE_UPROBE_MULTI_H

#include <stdint.h>

#include "obj/link.h"

#define BPFU_UPROBE_MULTI_MAX (1u << 20) /* places of one link */

/* attr.link_create.uprobe_multi, addresses being the caller's. */
struct bpfu_uprobe_multi {
	uint64_t path;            /* const char * */
	uint64_t offsets;         /* uint64_t[cnt] */
	uint64_t ref_ctr_offsets; /* uint64_t[cnt], or 0 */
	uint64_t cookies;         /* uint64_t[cnt], or 0 */
	uint32_t cnt, flags;      /* BPF_F_UPROBE_MULTI_RETURN */
	uint32_t pid;             /* 0: any */
};

/*
 * Attach @prog (of type KPROBE, loaded for BPF_TRACE_UPROBE_MULTI or _SESSION). On success the link holds the
 * caller's reference of @prog. 0, -EINVAL (bad flags, no path or offsets, an offset outside of the text),
 * -E2BIG, -EFAULT, -EBADF (not a regular file), -ENOENT and its like, -ESRCH (no such process),
 * -EOPNOTSUPP (another process, or a file that is not loaded in this one), or what point.h says of
 * a place.
 */
int bpfu_uprobe_multi_create(const struct bpfu_uprobe_multi *multi, struct bpfu_prog *prog,
			     struct bpfu_link **out);

#endif
