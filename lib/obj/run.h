/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Running one program of an attachment. A program is not entered again on the slot that it runs on
 * (from what it calls, or from a signal handler): that run is missed, and counted in
 * recursion_misses.
 */
#ifndef BPFU_OBJ_RUN_H
#define BPFU_OBJ_RUN_H

#include "obj/prog.h"
#include "percpu/percpu_alloc.h"

/* Cookie of the attachment that the calling thread's program runs for, 0: none. */
extern __thread uint64_t bpfu_attach_cookie __attribute__((tls_model("initial-exec")));

struct bpfu_run {
	bpfu_prog_fn func;      /* prog->own_func and prog->active: a load less */
	uint32_t *active;
	struct bpfu_prog *prog;
	uint64_t cookie;
};

/* Give @prog what bpfu_run() needs; once, before it is attached. 0 or -ENOMEM. */
int bpfu_run_prepare(struct bpfu_prog *prog);

/* For the fork handlers (obj.c). */
void bpfu_run_fork_lock(void);
void bpfu_run_fork_unlock(void);

static inline struct bpfu_run bpfu_run_of(struct bpfu_prog *prog, uint64_t cookie)
{
	return (struct bpfu_run){ prog->own_func, prog->active, prog, cookie };
}

/*
 * What generated code may run without looking at the cookie, as nothing asks for it; .func is NULL if
 * there is no such thing.
 */
static inline struct bpfu_run bpfu_run_single(const struct bpfu_run *run)
{
#ifndef BPFU_TSAN /* would not see the section */
	if (!run->prog->reads_cookie)
		return *run;
#endif
	return (struct bpfu_run){ .func = NULL };
}

/* The rare cases of bpfu_run(): runs that are counted and timed, have a cookie, or are missed. */
uint64_t bpfu_run_slow(const struct bpfu_run *run, void *ctx);
void bpfu_run_missed(const struct bpfu_run *run);

/*
 * Run it; the caller is inside a section. A missed run returns 0.
 *
 * Neither the word of the slot nor the cookie is read again after it was written: what is stored at
 * the end is known, so that one event need not wait for the stores of the one before.
 */
static inline uint64_t bpfu_run(const struct bpfu_run *run, void *ctx)
{
	volatile uint32_t *active = bpfu_percpu_this(run->active);
	uint64_t ret;

	if (bpfu_unlikely(*active)) {
		bpfu_run_missed(run);
		return 0;
	}
	/* A signal in between finds 0 and leaves 0. */
	*active = 1;
	if (bpfu_unlikely(bpfu_attach_cookie != run->cookie ||
			  atomic_load_explicit(&bpfu_stats_users, memory_order_relaxed)))
		ret = bpfu_run_slow(run, ctx);
	else
		ret = run->func(ctx, run->prog);
	*active = 0;
	return ret;
}

/*
 * The section around the programs of one event. Where the thread is in one already (the function was
 * called by a program) that one serves, unless somebody wants its attention: then the slot may not
 * be its own yet. True if bpfu_run_leave() is due.
 */
static inline bool bpfu_run_enter(void)
{
	if (bpfu_cpu_depth() && !atomic_load_explicit(&bpfu_cpu_self.attention, BPFU_CPU_ORDER))
		return false;
	bpfu_cpu_enter();
	return true;
}

static inline void bpfu_run_leave(bool entered)
{
	if (entered)
		bpfu_cpu_exit();
}

#endif
