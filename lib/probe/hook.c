// SPDX-License-Identifier: BSD-2-Clause
/* Entries of functions; see hook.h. */
#include "probe/hook.h"

#include <errno.h>
#include <stdlib.h>

pthread_mutex_t bpfu_hook_lock = PTHREAD_MUTEX_INITIALIZER;

static void fork_lock(void)
{
	pthread_mutex_lock(&bpfu_hook_lock);
}

static void fork_unlock(void)
{
	pthread_mutex_unlock(&bpfu_hook_lock);
}

/* A child must not inherit the lock from a thread that it does not have. */
void bpfu_hook_watch_forks(void)
{
	static bool done;

	if (!done)
		done = !pthread_atfork(fork_lock, fork_unlock, fork_unlock);
}

int bpfu_hook_get(struct bpfu_func *func, struct bpfu_hook **out)
{
	struct bpfu_hook *hook = atomic_load(&func->hook);
	int err;

	if (func->gone)
		return -ENOENT;
	if (!hook) {
		bpfu_hook_watch_forks();
		hook = calloc(1, sizeof(*hook));
		if (!hook)
			return -ENOMEM;
		err = bpfu_site_find(func->addr, &hook->site);
		if (err) {
			free(hook);
			return err;
		}
		hook->func = func;
		atomic_store(&hook->after_probe, bpfu_site_after(&hook->site));
		atomic_store(&func->hook, hook);
	}
	*out = hook;
	return 0;
}

static void set_after(struct bpfu_hook *hook)
{
	atomic_store(&hook->after_probe,
		     hook->tramp_thunk ? hook->tramp_thunk : bpfu_site_after(&hook->site));
}

int bpfu_hook_point(struct bpfu_hook *const *hooks, size_t cnt)
{
	struct bpfu_site **sites = calloc(cnt + 1, sizeof(*sites));
	const void **old = calloc(cnt + 1, sizeof(*old));
	size_t changed = 0;
	int err = sites && old ? 0 : -ENOMEM;

	for (size_t i = 0; i < cnt && !err; i++) {
		struct bpfu_hook *hook = hooks[i];
		const void *dest = hook->probe_thunk ? hook->probe_thunk : hook->tramp_thunk;

		set_after(hook);
		if (dest == hook->site.dest)
			continue;
		old[changed] = hook->site.dest;
		hook->site.dest = dest;
		sites[changed++] = &hook->site;
	}
	if (!err)
		err = bpfu_patch(sites, changed);
	for (size_t i = 0; i < changed && err; i++)
		sites[i]->dest = old[i];
	free(sites);
	free(old);
	return err;
}

const char *bpfu_hook_reason(int err)
{
	switch (-err) {
	case ENOENT:
		return "it has been unregistered";
	case EBUSY:
		return "a thread of this process blocks SIGTRAP, which changing its first "
		       "instructions needs";
	case EOPNOTSUPP:
		return "it does not begin with a nop; compile it with BPFU_PROBE_ENTRY";
	case ERANGE:
		return "it is too far from the memory for generated code";
	case E2BIG:
		return "as many programs of this kind as one function can have are on it already";
	case EACCES:
		return "the text of this process cannot be changed";
	default:
		return NULL;
	}
}
