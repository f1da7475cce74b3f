/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Returns of probed functions, by another return address: that of a stub, one for each call that is
 * waited for. The stub finds its record by its own number, so neither longjmp() nor coroutines
 * nor threads that end can bring anything into disorder; what they leave behind is found and used
 * again when records run out.
 *
 *      stack of the caller        records           stubs
 *      | return address | <-ret-- | 7: point, ret | 7: trap, or push 7; call …
 *      | stub 7         | --------------------------^
 */
#ifndef BPFU_PROBE_RETURNS_H
#define BPFU_PROBE_RETURNS_H

#include <stdbool.h>
#include <stdint.h>

#include "probe/regs.h"
#include "probe/session.h"

struct bpfu_point;

#define BPFU_RETURNS_MAX 8192       /* calls that are waited for in the process */
#define BPFU_RETURNS_PER_POINT 1024 /* of one point */

/* What is kept of a call. */
struct bpfu_return {
	struct bpfu_point *point;
	uint64_t epoch; /* probes that were attached later do not see the return */
	uint64_t ret;   /* where the caller goes on */
	uint32_t room;  /* sessions of the call */
};

/* Before the first return probe. 0 or -ENOMEM, -EACCES. */
int bpfu_returns_init(void);

/*
 * At the entry of a function: have it return to a stub. False if no record is free; then the call
 * is what it was. @pending counts the records of the point; @room sessions are kept, which the entry has
 * left in @sessions.
 */
bool bpfu_return_take(struct bpfu_point *point, _Atomic uint32_t *pending, uint64_t epoch,
		      const struct bpfu_session *sessions, uint32_t room, struct bpfu_regs *regs);

/* The record whose stub is at @pc, -1: it is no stub. */
int bpfu_return_at(uintptr_t pc);

/* The call of record @idx has returned: *@out gets what was kept, as does @sessions, and the record is free. */
void bpfu_return_leave(uint32_t idx, struct bpfu_return *out,
		       struct bpfu_session sessions[BPFU_SESSIONS_MAX]);

#endif
