/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Trampolines: fentry, fmod_ret and fexit programs on a function. README.md has the picture.
 */
#ifndef BPFU_PROBE_TRAMP_H
#define BPFU_PROBE_TRAMP_H

#include <stdint.h>

#include "btf/func.h"
#include "obj/link.h"

#define BPFU_TRAMP_LINKS_MAX 38 /* programs on one function, BPF_MAX_TRAMP_LINKS */

/*
 * Attach @prog (of type TRACING, verified for prog->target) to its function; @cookie is what
 * bpf_get_attach_cookie() returns. On success the link holds the caller's reference of @prog.
 *
 * 0; -ENOENT (the function was unregistered); -EBUSY (the program is attached already, or a thread
 * blocks the signal that the first change of the function needs); -E2BIG (too many programs);
 * -EOPNOTSUPP (the function has no patchable entry); -ERANGE (out of reach of generated code);
 * -EACCES (text cannot be changed in this process); -ENOMEM. All but -ENOMEM are explained by a
 * line of diagnostics.
 */
int bpfu_tramp_attach(struct bpfu_prog *prog, uint64_t cookie, struct bpfu_link **out);

struct bpfu_host;
struct bpfu_tramp;

/*
 * The same for @subprog of a BPF program; host.c has looked whether it may be.
 * With bpfu_hook_lock held. 0, -EBUSY, -E2BIG or -ENOMEM.
 */
int bpfu_tramp_attach_host(struct bpfu_host *host, uint32_t subprog, struct bpfu_prog *prog,
			   uint64_t cookie, struct bpfu_link **out);

/* Of a BPF program that goes; NULL is allowed. */
void bpfu_tramp_free(struct bpfu_tramp *t);

#endif
