// SPDX-License-Identifier: BSD-2-Clause
/*
 * Which helper may be given which type of map. Most map types can be used with the generic helpers;
 * special ones name the only helpers they know, special helpers the only map types.
 */
#include <errno.h>

#include "helper/helper.h"
#include "map/map.h"
#include "verifier/env.h"

#define MAX_PER_ROW 8

/* A map of this type goes with these helpers only. */
static const struct {
	enum bpf_map_type type;
	int32_t helper[MAX_PER_ROW]; /* 0 ends the list */
} by_type[] = {
	{ BPF_MAP_TYPE_PROG_ARRAY, { BPF_FUNC_tail_call } },
	{ BPF_MAP_TYPE_PERF_EVENT_ARRAY,
	  { BPF_FUNC_perf_event_read, BPF_FUNC_perf_event_output, BPF_FUNC_skb_output,
	    BPF_FUNC_perf_event_read_value, BPF_FUNC_xdp_output } },
	{ BPF_MAP_TYPE_RINGBUF,
	  { BPF_FUNC_ringbuf_output, BPF_FUNC_ringbuf_reserve, BPF_FUNC_ringbuf_query,
	    BPF_FUNC_ringbuf_reserve_dynptr, BPF_FUNC_ringbuf_submit_dynptr,
	    BPF_FUNC_ringbuf_discard_dynptr } },
	{ BPF_MAP_TYPE_USER_RINGBUF, { BPF_FUNC_user_ringbuf_drain } },
	{ BPF_MAP_TYPE_STACK_TRACE, { BPF_FUNC_get_stackid } },
	{ BPF_MAP_TYPE_CGROUP_ARRAY,
	  { BPF_FUNC_skb_under_cgroup, BPF_FUNC_current_task_under_cgroup } },
	{ BPF_MAP_TYPE_CGROUP_STORAGE, { BPF_FUNC_get_local_storage } },
	{ BPF_MAP_TYPE_PERCPU_CGROUP_STORAGE, { BPF_FUNC_get_local_storage } },
	{ BPF_MAP_TYPE_DEVMAP, { BPF_FUNC_redirect_map, BPF_FUNC_map_lookup_elem } },
	{ BPF_MAP_TYPE_DEVMAP_HASH, { BPF_FUNC_redirect_map, BPF_FUNC_map_lookup_elem } },
	{ BPF_MAP_TYPE_CPUMAP, { BPF_FUNC_redirect_map } },
	{ BPF_MAP_TYPE_XSKMAP, { BPF_FUNC_redirect_map, BPF_FUNC_map_lookup_elem } },
	{ BPF_MAP_TYPE_ARRAY_OF_MAPS, { BPF_FUNC_map_lookup_elem } },
	{ BPF_MAP_TYPE_HASH_OF_MAPS, { BPF_FUNC_map_lookup_elem } },
	{ BPF_MAP_TYPE_QUEUE,
	  { BPF_FUNC_map_peek_elem, BPF_FUNC_map_pop_elem, BPF_FUNC_map_push_elem } },
	{ BPF_MAP_TYPE_STACK,
	  { BPF_FUNC_map_peek_elem, BPF_FUNC_map_pop_elem, BPF_FUNC_map_push_elem } },
	{ BPF_MAP_TYPE_BLOOM_FILTER, { BPF_FUNC_map_peek_elem, BPF_FUNC_map_push_elem } },
};

/* This helper takes maps of these types only. */
static const struct {
	int32_t helper;
	enum bpf_map_type type[MAX_PER_ROW]; /* 0 ends the list */
} by_helper[] = {
	{ BPF_FUNC_tail_call, { BPF_MAP_TYPE_PROG_ARRAY } },
	{ BPF_FUNC_perf_event_read, { BPF_MAP_TYPE_PERF_EVENT_ARRAY } },
	{ BPF_FUNC_perf_event_output, { BPF_MAP_TYPE_PERF_EVENT_ARRAY } },
	{ BPF_FUNC_perf_event_read_value, { BPF_MAP_TYPE_PERF_EVENT_ARRAY } },
	{ BPF_FUNC_skb_output, { BPF_MAP_TYPE_PERF_EVENT_ARRAY } },
	{ BPF_FUNC_xdp_output, { BPF_MAP_TYPE_PERF_EVENT_ARRAY } },
	{ BPF_FUNC_ringbuf_output, { BPF_MAP_TYPE_RINGBUF } },
	{ BPF_FUNC_ringbuf_reserve, { BPF_MAP_TYPE_RINGBUF } },
	{ BPF_FUNC_ringbuf_query, { BPF_MAP_TYPE_RINGBUF } },
	{ BPF_FUNC_user_ringbuf_drain, { BPF_MAP_TYPE_USER_RINGBUF } },
	{ BPF_FUNC_get_stackid, { BPF_MAP_TYPE_STACK_TRACE } },
	{ BPF_FUNC_map_push_elem,
	  { BPF_MAP_TYPE_QUEUE, BPF_MAP_TYPE_STACK, BPF_MAP_TYPE_BLOOM_FILTER } },
	{ BPF_FUNC_map_peek_elem,
	  { BPF_MAP_TYPE_QUEUE, BPF_MAP_TYPE_STACK, BPF_MAP_TYPE_BLOOM_FILTER } },
	{ BPF_FUNC_map_pop_elem, { BPF_MAP_TYPE_QUEUE, BPF_MAP_TYPE_STACK } },
	{ BPF_FUNC_map_lookup_percpu_elem,
	  { BPF_MAP_TYPE_PERCPU_ARRAY, BPF_MAP_TYPE_PERCPU_HASH,
	    BPF_MAP_TYPE_LRU_PERCPU_HASH } },
};

static bool type_takes(enum bpf_map_type type, int32_t id)
{
	for (size_t i = 0; i < BPFU_ARRAY_SIZE(by_type); i++) {
		if (by_type[i].type != type)
			continue;
		for (int k = 0; k < MAX_PER_ROW && by_type[i].helper[k]; k++)
			if (by_type[i].helper[k] == id)
				return true;
		return false;
	}
	return true;
}

static bool helper_takes(int32_t id, enum bpf_map_type type)
{
	for (size_t i = 0; i < BPFU_ARRAY_SIZE(by_helper); i++) {
		if (by_helper[i].helper != id)
			continue;
		for (int k = 0; k < MAX_PER_ROW && by_helper[i].type[k]; k++)
			if (by_helper[i].type[k] == type)
				return true;
		return false;
	}
	return true;
}

static bool helper_writes(int32_t id)
{
	return id == BPF_FUNC_map_update_elem || id == BPF_FUNC_map_delete_elem ||
	       id == BPF_FUNC_map_push_elem || id == BPF_FUNC_map_pop_elem;
}

int bpfu_vrf_helper_map_ok(struct bpfu_env *env, const struct bpfu_map *map, int32_t id)
{
	if (!type_takes(map->type, id) || !helper_takes(id, map->type)) {
		bpfu_vrf_log(env, "cannot pass map_type %d into func %s#%d\n", map->type,
			     bpfu_helper_name(id), id);
		return -EINVAL;
	}
	/* Pointers into the map could be used to change it, and it is not to be changed. */
	if (helper_writes(id) && map->map_flags & BPF_F_RDONLY_PROG) {
		bpfu_vrf_log(env, "write into map forbidden\n");
		return -EACCES;
	}
	return 0;
}
