// SPDX-License-Identifier: BSD-2-Clause
/* Life and death of a program, and the run counters of BPF_ENABLE_STATS. */
#include "obj/prog.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "percpu/percpu_alloc.h"

_Atomic uint32_t bpfu_stats_users;
static pthread_mutex_t maps_lock = PTHREAD_MUTEX_INITIALIZER; /* see bpfu_prog_lock_maps() */

/* A map and a BTF object begin with their struct bpfu_obj (checked in syscall/prog_cmd.c). */
static struct bpfu_obj *first_member(void *holder)
{
	return holder;
}

static void prog_free(struct bpfu_rcu_head *head)
{
	struct bpfu_prog *prog = bpfu_container_of(head, struct bpfu_prog, rcu);

	if (prog->release_host)
		prog->release_host(prog->host);
	if (prog->release_code)
		prog->release_code(prog);
	bpfu_prog_put(prog->dst_prog);
	if (prog->owns_target)
		free(prog->target);
	for (uint32_t i = 0; i < prog->used_map_cnt; i++)
		bpfu_obj_put(first_member(prog->used_maps[i]));
	for (uint32_t i = 0; i < prog->used_btf_cnt; i++)
		bpfu_obj_put(first_member(prog->used_btfs[i]));
	bpfu_obj_put(first_member(prog->btf));
	if (prog->active)
		bpfu_percpu_free(prog->active, sizeof(*prog->active));
	free(prog->used_maps);
	free(prog->used_btfs);
	free(prog->insns);
	free(prog->subprogs);
	free(prog->func_info);
	free(prog->line_info);
	free(prog);
}

static void prog_release(struct bpfu_obj *obj)
{
	/* A tail call or a tracepoint may be about to enter it. */
	bpfu_call_rcu(&bpfu_prog_of(obj)->rcu, prog_free);
	bpfu_rcu_poll();
}

struct bpfu_prog *bpfu_prog_new(void)
{
	struct bpfu_prog *prog = calloc(1, sizeof(*prog));

	if (prog)
		bpfu_obj_init(&prog->obj, BPFU_OBJ_PROG, prog_release);
	return prog;
}

void bpfu_prog_lock_maps(void)
{
	pthread_mutex_lock(&maps_lock);
}

void bpfu_prog_unlock_maps(void)
{
	pthread_mutex_unlock(&maps_lock);
}

int bpfu_prog_bind_map(struct bpfu_prog *prog, struct bpfu_map *map)
{
	struct bpfu_map **maps;
	bool held = false;
	int err = 0;

	bpfu_prog_lock_maps();
	for (uint32_t i = 0; i < prog->used_map_cnt; i++)
		held |= prog->used_maps[i] == map;
	if (!held) {
		maps = realloc(prog->used_maps, (prog->used_map_cnt + 1) * sizeof(*maps));
		if (maps) {
			maps[prog->used_map_cnt++] = map;
			prog->used_maps = maps;
		} else {
			err = -ENOMEM;
		}
	}
	bpfu_prog_unlock_maps();
	if (held || err)
		bpfu_obj_put(first_member(map));
	return err;
}

int bpfu_prog_extend(struct bpfu_prog *prog)
{
	int err;

	bpfu_prog_lock_maps();
	err = prog->array_entries ? -EBUSY : 0;
	prog->extended += !err;
	bpfu_prog_unlock_maps();
	return err;
}

struct bpfu_prog *bpfu_prog_take_dst(struct bpfu_prog *prog)
{
	struct bpfu_prog *dst;

	bpfu_prog_lock_maps();
	dst = prog->dst_prog;
	prog->dst_prog = NULL;
	bpfu_prog_unlock_maps();
	return dst;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

uint64_t bpfu_prog_call_counted(const struct bpfu_prog *prog, void *ctx)
{
	/* The counters are the only part of a published program that changes. */
	struct bpfu_prog *counted = (struct bpfu_prog *)prog;
	uint64_t start, ret;

	if (!(atomic_load_explicit(&bpfu_stats_users, memory_order_relaxed) % BPFU_STATS_PATCHED))
		return bpfu_prog_func(prog)(ctx, prog);
	start = now_ns();
	ret = bpfu_prog_func(prog)(ctx, prog);

	atomic_fetch_add_explicit(&counted->run_time_ns, now_ns() - start, memory_order_relaxed);
	atomic_fetch_add_explicit(&counted->run_cnt, 1, memory_order_relaxed);
	return ret;
}
