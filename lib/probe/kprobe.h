/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kprobe and kretprobe programs on the entries of functions, one at a time (perf events) or many at
 * once (kprobe.multi, kretprobe.multi, kprobe.session). README.md has the picture.
 */
#ifndef BPFU_PROBE_KPROBE_H
#define BPFU_PROBE_KPROBE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "btf/func.h"
#include "probe/session.h"

struct bpfu_prog;
struct bpfu_probe_set;

/* One program on @cnt functions. */
struct bpfu_probe_spec {
	struct bpfu_prog *prog; /* the caller keeps it alive until bpfu_probe_detach() and a grace period */
	enum bpfu_when when;
	uint32_t max_active;    /* calls of one function that may be waited for at once; 0: any */
	uint32_t cnt;
	struct bpfu_func *const *funcs;
	const uint64_t *cookies; /* of the functions, NULL: all 0 */
};

/*
 * Attach. All or nothing: 0, -E2BIG (BPFU_SESSIONS_MAX sessions are on a function already), or the errors of hook.h; *@failed (may be NULL) then gets the function
 * that it failed for, NULL if no single one.
 */
int bpfu_probe_attach(const struct bpfu_probe_spec *spec, struct bpfu_probe_set **out,
		      const struct bpfu_func **failed);

/* No new run starts after it. The set is freed after a grace period. */
void bpfu_probe_detach(struct bpfu_probe_set *set);

/* Returns that were not waited for because max_active calls were under way. */
uint64_t bpfu_probe_missed(const struct bpfu_probe_set *set);

#endif
