/* SPDX-License-Identifier: BSD-2-Clause */
/* BPF_MAP_TYPE_PROG_ARRAY: what loading a program and ending an array need beyond the map's ops. */
#ifndef BPFU_MAP_PROG_ARRAY_H
#define BPFU_MAP_PROG_ARRAY_H

#include <stdbool.h>

struct bpfu_map;
struct bpfu_prog;

/*
 * All programs that an array holds, and all that jump through it, must be of one kind: a tail call
 * passes the context on as it is. The first program decides. Returns false if @prog does not fit;
 * the loader calls it for each PROG_ARRAY that a program uses (-EINVAL), updates do so themselves.
 */
bool bpfu_prog_array_accepts(struct bpfu_map *map, const struct bpfu_prog *prog);

/*
 * Drop all programs of @map. Done when its last user reference goes (ops->release_uref): a program
 * in an array that it jumps through itself would otherwise keep both for ever.
 */
void bpfu_prog_array_clear(struct bpfu_map *map);

#endif
