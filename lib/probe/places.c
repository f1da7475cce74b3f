// SPDX-License-Identifier: BSD-2-Clause
/* Places of kretprobes (places.h). No locks: takers and leavers are the traced threads. */
#include "probe/places.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include "percpu/sys.h"

struct place {
	_Atomic(const struct bpfu_call *) call; /* NULL: free */
	_Atomic int32_t tid;
};

struct bpfu_places {
	uint32_t cnt;
	_Atomic uint64_t missed;
	struct place places[];
};

/* Where this thread looks first: where it has found something. */
static __thread uint32_t hint __attribute__((tls_model("initial-exec")));
static __thread int32_t own_tid __attribute__((tls_model("initial-exec")));

struct bpfu_places *bpfu_places_new(uint32_t cnt)
{
	struct bpfu_places *p = calloc(1, sizeof(*p) + cnt * sizeof(p->places[0]));

	if (p)
		p->cnt = cnt;
	return p;
}

void bpfu_places_free(struct bpfu_places *places)
{
	free(places);
}

/* The thread's number; a child of fork() notices that it has another when places run out. */
static int32_t tid_of_self(bool ask)
{
	if (!own_tid || ask)
		own_tid = (int32_t)bpfu_sys6(SYS_gettid, 0, 0, 0, 0, 0, 0);
	return own_tid;
}

static bool take(struct bpfu_places *p, const struct bpfu_call *call, int32_t tid)
{
	for (uint32_t n = 0, i = hint % p->cnt; n < p->cnt; n++, i = i + 1 == p->cnt ? 0 : i + 1) {
		const struct bpfu_call *none = NULL;

		if (atomic_load_explicit(&p->places[i].call, memory_order_relaxed) ||
		    !atomic_compare_exchange_strong(&p->places[i].call, &none, call))
			continue;
		atomic_store_explicit(&p->places[i].tid, tid, memory_order_relaxed);
		hint = i;
		return true;
	}
	return false;
}

/* Free the places of calls that will not return. */
static void reclaim(struct bpfu_places *p, const struct bpfu_call *call)
{
	int32_t pid = (int32_t)bpfu_sys6(SYS_getpid, 0, 0, 0, 0, 0, 0);
	int32_t self = tid_of_self(true);

	for (uint32_t i = 0; i < p->cnt; i++) {
		const struct bpfu_call *theirs = atomic_load(&p->places[i].call);
		int32_t tid = atomic_load_explicit(&p->places[i].tid, memory_order_relaxed);
		bool dead = theirs && tid &&
			    (tid == self ? (uintptr_t)theirs <= (uintptr_t)call :
					   bpfu_sys6(SYS_tgkill, pid, tid, 0, 0, 0, 0) == -ESRCH);

		if (dead)
			atomic_compare_exchange_strong(&p->places[i].call, &theirs, NULL);
	}
}

void bpfu_place_take(struct bpfu_places *places, const struct bpfu_call *call)
{
	if (take(places, call, tid_of_self(false)))
		return;
	reclaim(places, call);
	if (!take(places, call, tid_of_self(false)))
		atomic_fetch_add_explicit(&places->missed, 1, memory_order_relaxed);
}

bool bpfu_place_leave(struct bpfu_places *p, const struct bpfu_call *call)
{
	for (uint32_t n = 0, i = hint % p->cnt; n < p->cnt; n++, i = i ? i - 1 : p->cnt - 1) {
		if (atomic_load_explicit(&p->places[i].call, memory_order_relaxed) != call)
			continue;
		atomic_store_explicit(&p->places[i].tid, 0, memory_order_relaxed);
		atomic_store_explicit(&p->places[i].call, NULL, memory_order_release);
		return true;
	}
	return false;
}

uint64_t bpfu_places_missed(const struct bpfu_places *places)
{
	return places->missed;
}
