// SPDX-License-Identifier: BSD-2-Clause
/* The part of run.h that is not on the hot path. */
#include "obj/run.h"

#include <errno.h>
#include <pthread.h>

__thread uint64_t bpfu_attach_cookie;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* serialises first attachments */

int bpfu_run_prepare(struct bpfu_prog *prog)
{
	pthread_mutex_lock(&lock);
	if (!prog->active)
		prog->active = bpfu_percpu_alloc(sizeof(uint32_t));
	pthread_mutex_unlock(&lock);
	return prog->active ? 0 : -ENOMEM;
}

void bpfu_run_fork_lock(void)
{
	pthread_mutex_lock(&lock);
}

void bpfu_run_fork_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

uint64_t bpfu_run_slow(const struct bpfu_run *run, void *ctx)
{
	uint64_t outer = bpfu_attach_cookie, ret;

	bpfu_attach_cookie = run->cookie;
	ret = bpfu_prog_call(run->prog, ctx);
	bpfu_attach_cookie = outer;
	return ret;
}

void bpfu_run_missed(const struct bpfu_run *run)
{
	atomic_fetch_add_explicit(&run->prog->recursion_misses, 1, memory_order_relaxed);
}
