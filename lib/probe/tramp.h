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

#endif
