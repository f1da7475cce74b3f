/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * BPF programs as targets: programs that replace a function of another one (EXT), or run before and after
 * it (fentry, fexit). What is wanted of each function lies in a table. With every change a second image of
 * the program is made by it, and entered instead of the first one; runs under way end in the image that
 * they began in, which is freed after a grace period. So programs that nothing is attached to have no
 * nop, test or indirect call anywhere, and no code is changed while it may be running.
 */
#ifndef BPFU_PROBE_HOST_H
#define BPFU_PROBE_HOST_H

#include <stdbool.h>
#include <stdint.h>

#include "obj/link.h"
#include "obj/patches.h"

struct bpfu_tramp;

struct bpfu_host {
	struct bpfu_prog *prog; /* that this is part of */
	void *own_tail_entry, *own_direct_entry;
	bool is_slow;           /* counts for BPFU_STATS_PATCHED */
	struct bpfu_tramp **tramp; /* per function: tramp.c's, NULL before it is needed */
	struct bpfu_func_patch func[]; /* wanted, per function */
};

/*
 * Attach @prog, of type EXT, or TRACING of a BPF program: to function @btf_id of @dst, or where @dst is NULL
 * to what it was loaded for. 0 and a link (takes over the caller's reference of @prog), -EINVAL (there is
 * no such target, or none any more), -EBUSY, -E2BIG, -EOPNOTSUPP (an extension that reads more of the context
 * than what it extends), -ENOMEM.
 */
int bpfu_host_attach(struct bpfu_prog *prog, struct bpfu_prog *dst, uint32_t btf_id, uint64_t cookie,
		     struct bpfu_link **link);

/* Make the program do what ->func says. With bpfu_hook_lock held. 0 or -ENOMEM (then nothing changed). */
int bpfu_host_update(struct bpfu_host *host);

/* Whatever is wanted, nothing is: for want of memory to have it otherwise. */
void bpfu_host_clear(struct bpfu_host *host);

#endif
