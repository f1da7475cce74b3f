/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sessions: one program that runs at the entry of a function and, if it returned 0 there, at the return of
 * the same call. Who runs it (probe/) says which of the two it is, and keeps eight bytes of the call for it.
 */
#ifndef BPFU_OBJ_SESSION_H
#define BPFU_OBJ_SESSION_H

#include <stdbool.h>
#include <stdint.h>

/* Of one call and one program. */
struct bpfu_session {
	uint64_t cookie; /* the program's own, 0 at the entry */
	uint64_t due;    /* the return is to be seen */
};

/* The run that is going on, which bpf_session_is_return() and bpf_session_cookie() tell of. */
struct bpfu_session_run {
	uint64_t *cookie; /* NULL: no session */
	bool is_return;
};

extern __thread struct bpfu_session_run bpfu_session_run
	__attribute__((tls_model("initial-exec")));

/* To be given back to bpfu_session_end(): the run that this one interrupts, if any. */
static inline struct bpfu_session_run bpfu_session_begin(struct bpfu_session *session, bool is_return)
{
	struct bpfu_session_run outer = bpfu_session_run;

	bpfu_session_run = (struct bpfu_session_run){ &session->cookie, is_return };
	return outer;
}

static inline void bpfu_session_end(struct bpfu_session_run outer)
{
	bpfu_session_run = outer;
}

#endif
