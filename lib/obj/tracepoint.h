/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Raw tracepoints that libbpfu itself fires. The table in tracepoint.c has one row per tracepoint:
 * its name and how many 64-bit arguments a program finds in its context.
 */
#ifndef BPFU_OBJ_TRACEPOINT_H
#define BPFU_OBJ_TRACEPOINT_H

#include <stdatomic.h>
#include <stdint.h>

#include "obj/link.h"
#include "util/bits.h"

enum bpfu_tracepoint_id {
	BPFU_TP_BPF_TEST_FINISH,     /* (int *err) at the end of a test run of an skb or XDP program */
	BPFU_TP_CNT,
};

/* Number of programs attached to each; fire() looks at nothing else while it is 0. */
extern _Atomic uint32_t bpfu_tracepoint_users[BPFU_TP_CNT];

/* Cookie of the attachment that the calling thread's program runs for, 0: none. */
extern __thread uint64_t bpfu_attach_cookie __attribute__((tls_model("initial-exec")));

void bpfu_tracepoint_run(enum bpfu_tracepoint_id id, const uint64_t *args);

/* Run the attached programs with the context @args (as many as the tracepoint has). */
static inline void bpfu_tracepoint_fire(enum bpfu_tracepoint_id id, const uint64_t *args)
{
	if (bpfu_unlikely(atomic_load_explicit(&bpfu_tracepoint_users[id], memory_order_relaxed)))
		bpfu_tracepoint_run(id, args);
}

/*
 * Attach @prog to the tracepoint @name. On success the link holds the caller's reference of @prog.
 * 0, -ENOENT (no such tracepoint), -EINVAL (the program reads more arguments than there are),
 * -ENOMEM.
 */
int bpfu_tracepoint_attach(const char *name, struct bpfu_prog *prog, uint64_t cookie,
			   struct bpfu_link **out);

/* Name of the tracepoint that @link (BPF_LINK_TYPE_RAW_TRACEPOINT) is attached to. */
const char *bpfu_tracepoint_link_name(const struct bpfu_link *link);

#endif
