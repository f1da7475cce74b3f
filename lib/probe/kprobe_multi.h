/* SPDX-License-Identifier: BSD-2-Clause */
/* Links of kprobe.multi, kretprobe.multi and kprobe.session: one program on many functions. */
#ifndef BPFU_PROBE_KPROBE_MULTI_H
#define BPFU_PROBE_KPROBE_MULTI_H

#include <stdbool.h>
#include <stdint.h>

#include "obj/link.h"

#define BPFU_KPROBE_MULTI_MAX (1u << 20) /* functions of one link */

/* attr.link_create.kprobe_multi, addresses being the caller's. */
struct bpfu_kprobe_multi {
	uint32_t flags; /* BPF_F_KPROBE_MULTI_RETURN */
	uint32_t cnt;
	uint64_t syms;  /* const char *[cnt], or 0 */
	uint64_t addrs; /* uint64_t[cnt], or 0 */
	uint64_t cookies; /* uint64_t[cnt], or 0 */
};

/*
 * Attach @prog (of type KPROBE, loaded for BPF_TRACE_KPROBE_MULTI or _SESSION). On success the link holds the
 * caller's reference of @prog. 0, -EINVAL (bad flags, neither or both of names and addresses, an
 * address that is no function's), -E2BIG, -EFAULT, -ESRCH (a name that is no function's), or what
 * hook.h says of a function.
 */
int bpfu_kprobe_multi_create(const struct bpfu_kprobe_multi *multi, struct bpfu_prog *prog,
			     struct bpfu_link **out);

#endif
