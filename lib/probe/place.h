/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The addresses that have been probed, and their code: private to point.c and place.c. Look-ups take no
 * lock, since the handler of a breakpoint makes them; changes are made with hook.c's lock held.
 */
#ifndef BPFU_PROBE_PLACE_H
#define BPFU_PROBE_PLACE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "probe/insn.h"
#include "probe/outline.h"
#include "probe/patch.h"
#include "probe/regs.h"

struct bpfu_point_list;
struct point_probe;

struct bpfu_point {
	uintptr_t at;
	struct bpfu_point *next;         /* in its bucket; written before it can be found */
	_Atomic(struct bpfu_point_list *) list; /* point.c's, as the next five */
	_Atomic uint32_t pending;        /* returns that are waited for */
	struct point_probe *first;       /* latest first */
	uint32_t cnt;
	uint32_t sessions;               /* numbers that are taken (session.h) */

	uint8_t insn[BPFU_OUTLINE_INSN_MAX]; /* what is there when nobody probes it */
	uint8_t len;
	bool by_jump;                    /* site is used instead of a breakpoint */
	_Atomic bool armed;
	_Atomic uint32_t arming_cnt;     /* counted between that and the change of the text */
	const void *slot;                /* the instruction out of line; NULL: the handler does it */
	struct bpfu_site site;
};

/* How far behind a breakpoint the program counter of its signal is. */
#if defined(__x86_64__)
#define BPFU_TRAP_SIZE 1
#else
#define BPFU_TRAP_SIZE 0
#endif

/* The point at @at, NULL: it has never been probed. */
struct bpfu_point *bpfu_point_find(uintptr_t at);

/* The same, made at the first call. 0 or the errors of bpfu_point_attach(). */
int bpfu_point_get(uintptr_t at, struct bpfu_point **out);

/*
 * Give each of the @cnt points (NULL is skipped) the code that its ->cnt asks for. 0, -EACCES, -ENOMEM;
 * on failure some may have it, and the caller undoes it by another call.
 */
int bpfu_points_arm(struct bpfu_point *const *points, uint32_t cnt);

/* True if the breakpoint of @point is why the thread has trapped. */
bool bpfu_point_is_trap(const struct bpfu_point *point, bool sync);

/* Where the thread goes on to execute the instruction at @point, or that is done to @regs. */
void bpfu_point_step(const struct bpfu_point *point, struct bpfu_regs *regs);

#endif
