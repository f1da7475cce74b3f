/* SPDX-License-Identifier: BSD-2-Clause */
/* When programs on functions run, and what is kept of a call for those that run twice. */
#ifndef BPFU_PROBE_SESSION_H
#define BPFU_PROBE_SESSION_H

#include "obj/prog.h"
#include "obj/session.h"

/* At the entry, at the return, or at both as a session (obj/session.h). */
enum bpfu_when { BPFU_WHEN_ENTERED = 1, BPFU_WHEN_LEFT = 2, BPFU_WHEN_BOTH = 3 };

/* Of a program on a multi link: @returns is the flag of the link. */
static inline enum bpfu_when bpfu_when_of(const struct bpfu_prog *prog, bool returns)
{
	return returns ? BPFU_WHEN_LEFT : bpfu_prog_is_session(prog) ? BPFU_WHEN_BOTH : BPFU_WHEN_ENTERED;
}

#define BPFU_SESSIONS_MAX 32 /* on one function or place */

/*
 * Each session on a function has a number of its own, by which a call finds what it keeps: the lowest that
 * is free. -1: none is.
 */
static inline int bpfu_session_number(uint32_t *taken)
{
	int number = ~*taken ? __builtin_ctz(~*taken) : -1;

	if (number >= 0)
		*taken |= 1u << number;
	return number;
}

/* How many a call has to keep: the highest number and all below. */
static inline uint32_t bpfu_session_room(uint32_t taken)
{
	return taken ? 32 - (uint32_t)__builtin_clz(taken) : 0;
}

#endif
