/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Running one program of an attachment. A program is not entered again on the slot that it runs on
 * (from what it calls, or from a signal handler): that run is missed, and counted in
 * recursion_misses.
 */
#ifndef BPFU_PROBE_RUN_H
#define BPFU_PROBE_RUN_H

#include "obj/prog.h"
#include "obj/tracepoint.h"
#include "percpu/percpu_alloc.h"

struct bpfu_run {
	struct bpfu_prog *prog; /* has been through bpfu_run_prepare() */
	uint64_t cookie;
};

/* Give @prog what bpfu_run() needs; once, before it is attached. 0 or -ENOMEM. */
int bpfu_run_prepare(struct bpfu_prog *prog);

/*
 * Run it; the caller is inside bpfu_cpu_enter() … bpfu_cpu_exit(), and keeps what
 * bpfu_attach_cookie was before. A missed run returns 0.
 */
static inline uint64_t bpfu_run(const struct bpfu_run *run, void *ctx)
{
	uint32_t *active = bpfu_percpu_this(run->prog->active);
	uint64_t ret = 0;

	/* A signal between the load and the store leaves the word as it found it. */
	if (bpfu_likely(++*active == 1)) {
		bpfu_attach_cookie = run->cookie;
		ret = bpfu_prog_call(run->prog, ctx);
	} else {
		atomic_fetch_add_explicit(&run->prog->recursion_misses, 1, memory_order_relaxed);
	}
	--*active;
	return ret;
}

#endif
