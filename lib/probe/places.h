/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The calls that a kretprobe waits for, at most so many at once. A place is taken by the frame of the
 * call's thunk. A call that never returns (longjmp(), an exception, the end of its thread) would keep
 * its place for good, so when none is free those are looked for: places of this thread whose frame
 * is not above the current one, and places of threads that have ended.
 */
#ifndef BPFU_PROBE_PLACES_H
#define BPFU_PROBE_PLACES_H

#include <stdbool.h>
#include <stdint.h>

struct bpfu_call;
struct bpfu_places;

struct bpfu_places *bpfu_places_new(uint32_t cnt); /* NULL without memory */
void bpfu_places_free(struct bpfu_places *places); /* NULL is allowed */

/* Without a free place the call is missed, and counted. */
void bpfu_place_take(struct bpfu_places *places, const struct bpfu_call *call);

/* True if @call had a place; it is free then. */
bool bpfu_place_leave(struct bpfu_places *places, const struct bpfu_call *call);

uint64_t bpfu_places_missed(const struct bpfu_places *places);

#endif
