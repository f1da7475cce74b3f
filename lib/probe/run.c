// SPDX-License-Identifier: BSD-2-Clause
/* The part of run.h that is not on the hot path. */
#include "probe/run.h"

#include <errno.h>
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* serialises first attachments */

int bpfu_run_prepare(struct bpfu_prog *prog)
{
	pthread_mutex_lock(&lock);
	if (!prog->active)
		prog->active = bpfu_percpu_alloc(sizeof(uint32_t));
	pthread_mutex_unlock(&lock);
	return prog->active ? 0 : -ENOMEM;
}
