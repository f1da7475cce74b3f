/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The entry of one function, which trampolines and probes share. With both, probes come first:
 *
 *      site --> probe thunk --> trampoline thunk --> body
 *
 * Each thunk finds the next stage when it gets there: the trampoline's is always the body, the
 * probe's is in @after_probe.
 */
#ifndef BPFU_PROBE_HOOK_H
#define BPFU_PROBE_HOOK_H

#include <pthread.h>
#include <stddef.h>

#include "btf/func.h"
#include "probe/patch.h"

struct bpfu_probes;
struct bpfu_tramp;

struct bpfu_hook {
	struct bpfu_func *func;
	struct bpfu_site site;
	const void *tramp_thunk; /* in use, NULL: no trampoline */
	const void *probe_thunk; /* in use, NULL: no probes */
	_Atomic(const void *) after_probe; /* read by generated code */
	struct bpfu_tramp *tramp;   /* tramp.c's */
	struct bpfu_probes *probes; /* kprobe.c's */
};

/* Guards every hook, and what tramp.c and kprobe.c know of one. */
extern pthread_mutex_t bpfu_hook_lock;

/* See that fork() leaves the lock free in the child. With the lock held. */
void bpfu_hook_watch_forks(void);

/*
 * The hook of @func, made at the first call and never freed. With the lock held. 0, -ENOENT (the
 * function was unregistered), -EOPNOTSUPP (no patchable entry) or -ENOMEM.
 */
int bpfu_hook_get(struct bpfu_func *func, struct bpfu_hook **out);

/*
 * Make the entries lead where ->probe_thunk and ->tramp_thunk of the @cnt hooks say. With the lock
 * held. 0 or bpfu_patch()'s errors; then the caller puts the thunks back as they were.
 */
int bpfu_hook_point(struct bpfu_hook *const *hooks, size_t cnt);

/* Why attaching to a function failed with @err; NULL: nothing to add to the errno. */
const char *bpfu_hook_reason(int err);

#endif
