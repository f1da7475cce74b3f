// SPDX-License-Identifier: BSD-2-Clause
/*
 * Shapes: which maps a case finds, and which program type it has. A few shapes are enough for
 * variety and let every side build its maps once. The prog array ties a shape to a program type, as
 * the first program that uses one decides for which type it is.
 */
#include "diff.h"

#include <string.h>

static const enum bpf_prog_type types[] = {
	BPF_PROG_TYPE_SYSCALL,
	BPF_PROG_TYPE_XDP,
	BPF_PROG_TYPE_SCHED_CLS,
	BPF_PROG_TYPE_RAW_TRACEPOINT,
};

static uint64_t forbidden; /* 1 << map type */
static bool no_kptr;

void shape_forbid(uint32_t type)
{
	forbidden |= 1ull << type;
}

void shape_forbid_kptr(void)
{
	no_kptr = true;
}

enum bpf_prog_type shape_prog_type(uint32_t shape)
{
	return types[shape % 4];
}

void shape_maps(uint32_t shape, struct map_spec specs[SLOT_ALL])
{
	struct rng rng = { .state = shape * 77 + 5 };
	uint32_t sizes[] = { 8, 16, 24, 40, 64, 72 };
	uint32_t entries = rng_range(&rng, 1, 5);

#define SIZE() sizes[rng_below(&rng, 6)]
	memset(specs, 0, SLOT_ALL * sizeof(*specs));
	specs[SLOT_OUT] = (struct map_spec){ BPF_MAP_TYPE_ARRAY, 4, OUT_VALUE_SIZE, 1, 0 };
	specs[SLOT_ARRAY] = (struct map_spec){ BPF_MAP_TYPE_ARRAY, 4, SIZE(), entries, 0 };
	specs[SLOT_HASH] = (struct map_spec){ BPF_MAP_TYPE_HASH, 8, SIZE(), 8, 0 };
	specs[SLOT_PERCPU_ARRAY] =
		(struct map_spec){ BPF_MAP_TYPE_PERCPU_ARRAY, 4, SIZE(), entries, 0 };
	specs[SLOT_PERCPU_HASH] = (struct map_spec){ BPF_MAP_TYPE_PERCPU_HASH, 4, SIZE(), 8, 0 };
	specs[SLOT_LRU_HASH] = (struct map_spec){ BPF_MAP_TYPE_LRU_HASH, 4, SIZE(), 1024, 0 };
	specs[SLOT_LPM] =
		(struct map_spec){ BPF_MAP_TYPE_LPM_TRIE, 8, SIZE(), 8, BPF_F_NO_PREALLOC };
	specs[SLOT_QUEUE] = (struct map_spec){ BPF_MAP_TYPE_QUEUE, 0, SIZE(), 3, 0 };
	specs[SLOT_STACK] = (struct map_spec){ BPF_MAP_TYPE_STACK, 0, SIZE(), 3, 0 };
	specs[SLOT_INNER] = (struct map_spec){ BPF_MAP_TYPE_ARRAY, 4, SIZE(), 2, 0 };
	specs[SLOT_OF_MAPS] = (struct map_spec){ BPF_MAP_TYPE_ARRAY_OF_MAPS, 4, 4, 2, 0 };
	specs[SLOT_PROGS] = (struct map_spec){ BPF_MAP_TYPE_PROG_ARRAY, 4, 4, CASE_PROGS + 1, 0 };
	/* Programs on raw tracepoints cannot make objects. */
	if (!no_kptr && shape_prog_type(shape) != BPF_PROG_TYPE_RAW_TRACEPOINT)
		specs[SLOT_KPTR] = (struct map_spec){ BPF_MAP_TYPE_ARRAY, 4,
						      sizeof(struct case_owner), 2, 0 };
	if (rng_percent(&rng, 50))
		specs[SLOT_HASH].flags = BPF_F_NO_PREALLOC;
	/* Sleepable programs cannot use these. */
	if (shape_prog_type(shape) == BPF_PROG_TYPE_SYSCALL)
		specs[SLOT_PROGS].type = specs[SLOT_LPM].type = 0;
	for (int slot = 0; slot < SLOT_ALL; slot++)
		if (forbidden & 1ull << specs[slot].type)
			specs[slot].type = 0;
#undef SIZE
}
