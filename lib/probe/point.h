/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Probes on any instruction of the process: of functions without a nop at their entry, inside of
 * functions, and returns of functions.
 *
 *      a nop of 5 bytes or more     jmp to a thunk of its own (stub.h)
 *      anything else                a breakpoint; the handler of SIGTRAP runs the programs, and the
 *                                   instruction is executed out of line (outline.h)
 *      returns                      another return address, put there at the entry (returns.h)
 *
 * A point is one address that has been probed. Like thunks (README.md) points are never freed; what
 * changes is an array of programs that the handlers walk in a section.
 */
#ifndef BPFU_PROBE_POINT_H
#define BPFU_PROBE_POINT_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "probe/session.h"

struct bpfu_point_set;
struct bpfu_prog;

/* Where, and what the program is told about it. */
struct bpfu_point_place {
	uintptr_t addr;
	uint64_t func_ip; /* bpf_get_func_ip() */
	uint64_t cookie;
	uint16_t *ref_ctr; /* counts who is interested; NULL: nobody asks */
};

/* One program on @cnt places. */
struct bpfu_point_spec {
	struct bpfu_prog *prog; /* the caller keeps it alive until bpfu_point_detach() and a grace period */
	enum bpfu_when when;    /* not at the entry alone: the places are entries of functions */
	uint32_t cnt;
	const struct bpfu_point_place *places;
};

/*
 * Attach. All or nothing: 0; or for place *@failed (may be NULL; @spec->cnt: no single one)
 *	-EINVAL      no text of a loaded file
 *	-EILSEQ      not the first byte of an instruction
 *	-EOPNOTSUPP  an instruction that cannot be executed elsewhere, or an arm64 with nothing near
 *	-EPERM       libbpfu's own code
 *	-EBUSY       part of an entry that hook.h changes, or somebody else's breakpoint
 *	-E2BIG       BPFU_SESSIONS_MAX sessions are there already
 *	-ERANGE      no memory within reach of it
 *	-EACCES      text cannot be changed
 *	-ENOMEM
 */
int bpfu_point_attach(const struct bpfu_point_spec *spec, struct bpfu_point_set **out,
		      uint32_t *failed);

/* No new run starts after it. The set is freed after a grace period. */
void bpfu_point_detach(struct bpfu_point_set *set);

/* Returns that were not waited for since too many calls were under way. */
uint64_t bpfu_point_missed(const struct bpfu_point_set *set);

/* What an error of bpfu_point_attach() means, NULL: nothing to add to the errno. */
const char *bpfu_point_reason(int err);

/*
 * Called by the handler of SIGTRAP. True if the thread has met a breakpoint of a point or of a stub,
 * and its context leads on. @sync: the signal is that of a breakpoint; else (trap.c) one may have
 * been swallowed by it.
 */
bool bpfu_point_trap(ucontext_t *uc, bool sync);

#endif
