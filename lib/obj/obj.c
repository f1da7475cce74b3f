// SPDX-License-Identifier: BSD-2-Clause
/*
 * References and ids. Ids are handed out in a cycle per kind, so a number that a caller still holds
 * is not soon used for something else. A table is an array sorted by id: ids grow, so publishing
 * appends, and the walks of BPF_*_GET_NEXT_ID are binary searches.
 *
 * An object in a table may be on its way out (refs 0, not yet removed); a look-up takes a reference
 * only if there still is one, under the table's lock, which the removal also takes.
 */
#include "obj/obj.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "obj/prog.h"
#include "obj/run.h"
#include "percpu/sys.h"
#include "util/bits.h"
#include "util/log.h"

struct id_table {
	struct bpfu_obj **objs; /* sorted by id */
	uint32_t cnt;
	uint32_t cap;
	uint32_t last;          /* id given out last */
};

/* Guards tables; with signals blocked, as handlers may close descriptors. */
static pthread_mutex_t ids_lock = PTHREAD_MUTEX_INITIALIZER;
static struct id_table tables[BPFU_OBJ_KINDS];

static void ids_lock_get(uint64_t *signals)
{
	bpfu_signals_block_async(signals);
	pthread_mutex_lock(&ids_lock);
}

static void ids_lock_put(const uint64_t *signals)
{
	pthread_mutex_unlock(&ids_lock);
	bpfu_signals_restore(signals);
}

/* ---- fork: a child must not inherit locks that other threads held ---- */

static void fork_prepare(void)
{
	bpfu_run_fork_lock();
	bpfu_prog_lock_maps();
	bpfu_pin_fork_lock();
	bpfu_fd_fork_lock();
	pthread_mutex_lock(&ids_lock);
}

static void fork_parent(void)
{
	pthread_mutex_unlock(&ids_lock);
	bpfu_fd_fork_unlock(false);
	bpfu_pin_fork_unlock();
	bpfu_prog_unlock_maps();
	bpfu_run_fork_unlock();
}

static void fork_child(void)
{
	pthread_mutex_unlock(&ids_lock);
	bpfu_fd_fork_unlock(true);
	bpfu_pin_fork_unlock();
	bpfu_prog_unlock_maps();
	bpfu_run_fork_unlock();
}

static void fork_handlers(void)
{
	pthread_atfork(fork_prepare, fork_parent, fork_child);
}

/* ---- references ---- */

void bpfu_obj_init(struct bpfu_obj *obj, enum bpfu_obj_kind kind,
		   void (*release)(struct bpfu_obj *obj))
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, fork_handlers);
	obj->kind = kind;
	obj->id = 0;
	atomic_init(&obj->refs, 1);
	atomic_init(&obj->urefs, 0);
	obj->release = release;
	obj->last_uref = NULL;
}

void bpfu_obj_get(struct bpfu_obj *obj)
{
	int32_t old = atomic_fetch_add_explicit(&obj->refs, 1, memory_order_relaxed);

	BPFU_BUG_ON(old <= 0, "reference taken on a dead object");
	(void)old;
}

static bool get_unless_zero(struct bpfu_obj *obj)
{
	int32_t refs = atomic_load_explicit(&obj->refs, memory_order_relaxed);

	while (refs > 0)
		if (atomic_compare_exchange_weak(&obj->refs, &refs, refs + 1))
			return true;
	return false;
}

static void unpublish(struct bpfu_obj *obj);

void bpfu_obj_put(struct bpfu_obj *obj)
{
	int32_t old;

	if (!obj)
		return;
	old = atomic_fetch_sub_explicit(&obj->refs, 1, memory_order_acq_rel);
	BPFU_BUG_ON(old <= 0, "reference dropped on a dead object");
	if (old != 1)
		return;
	unpublish(obj);
	obj->release(obj);
}

void bpfu_obj_get_user(struct bpfu_obj *obj)
{
	bpfu_obj_get(obj);
	atomic_fetch_add(&obj->urefs, 1);
}

void bpfu_obj_put_user(struct bpfu_obj *obj)
{
	if (atomic_fetch_sub(&obj->urefs, 1) == 1 && obj->last_uref)
		obj->last_uref(obj);
	bpfu_obj_put(obj);
}

/* ---- ids ---- */

/* Index of the first object with an id of at least @id. */
static uint32_t lower_bound(const struct id_table *t, uint32_t id)
{
	uint32_t lo = 0, hi = t->cnt;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (t->objs[mid]->id < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* The smallest free id above @last, from 1 again after INT_MAX; 0 if all are taken. */
static uint32_t next_free_id(const struct id_table *t)
{
	uint32_t id = t->last;

	for (uint32_t tries = 0; tries <= t->cnt + 1; tries++) {
		uint32_t idx;

		id = id >= INT_MAX ? 1 : id + 1;
		idx = lower_bound(t, id);
		if (idx == t->cnt || t->objs[idx]->id != id)
			return id;
	}
	return 0;
}

static int table_insert(struct id_table *t, struct bpfu_obj *obj)
{
	uint32_t id, idx;

	if (t->cnt == t->cap) {
		uint32_t cap = t->cap ? t->cap * 2 : 64;
		struct bpfu_obj **objs = realloc(t->objs, cap * sizeof(*objs));

		if (!objs)
			return -ENOMEM;
		t->objs = objs;
		t->cap = cap;
	}
	id = next_free_id(t);
	if (!id)
		return -ENOSPC;
	idx = lower_bound(t, id);
	memmove(&t->objs[idx + 1], &t->objs[idx], (t->cnt - idx) * sizeof(*t->objs));
	t->objs[idx] = obj;
	t->cnt++;
	t->last = id;
	obj->id = id;
	return 0;
}

int bpfu_obj_publish(struct bpfu_obj *obj)
{
	uint64_t signals;
	int err;

	ids_lock_get(&signals);
	err = table_insert(&tables[obj->kind], obj);
	ids_lock_put(&signals);
	return err;
}

static void unpublish(struct bpfu_obj *obj)
{
	struct id_table *t = &tables[obj->kind];
	uint64_t signals;
	uint32_t idx;

	if (!obj->id)
		return;
	ids_lock_get(&signals);
	idx = lower_bound(t, obj->id);
	t->cnt--;
	memmove(&t->objs[idx], &t->objs[idx + 1], (t->cnt - idx) * sizeof(*t->objs));
	if (!t->cnt) {
		free(t->objs);
		t->objs = NULL;
		t->cap = 0;
	}
	ids_lock_put(&signals);
}

struct bpfu_obj *bpfu_obj_by_id(enum bpfu_obj_kind kind, uint32_t id)
{
	struct id_table *t = &tables[kind];
	struct bpfu_obj *obj = NULL;
	uint64_t signals;
	uint32_t idx;

	ids_lock_get(&signals);
	idx = lower_bound(t, id);
	if (idx < t->cnt && t->objs[idx]->id == id && get_unless_zero(t->objs[idx]))
		obj = t->objs[idx];
	ids_lock_put(&signals);
	return obj;
}

int bpfu_obj_next_id(enum bpfu_obj_kind kind, uint32_t start, uint32_t *next)
{
	struct id_table *t = &tables[kind];
	int err = -ENOENT;
	uint64_t signals;
	uint32_t idx;

	if (start >= INT_MAX)
		return err;
	ids_lock_get(&signals);
	idx = lower_bound(t, start + 1);
	if (idx < t->cnt) {
		*next = t->objs[idx]->id;
		err = 0;
	}
	ids_lock_put(&signals);
	return err;
}
