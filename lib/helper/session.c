// SPDX-License-Identifier: BSD-2-Clause
/* Kernel functions of session programs (obj/session.h). */
#include "obj/session.h"

#include "btf/traceable.h"

__thread struct bpfu_session_run bpfu_session_run;

uint64_t bpfu_session_is_return(void);
uint64_t *bpfu_session_cookie(void);

/* A program looks at the whole register, of which a bool need not fill more than a byte. */
BPFU_PATCHABLE uint64_t bpfu_session_is_return(void)
{
	return bpfu_session_run.is_return;
}
BPFU_TRACEABLE(bpfu_session_is_return, "bool bpf_session_is_return(void)",
	       BPFU_FUNC_KFUNC | BPFU_FUNC_SESSION);

/* Without a session the program was reached by a tail call; what it writes then is nobody's. */
BPFU_PATCHABLE uint64_t *bpfu_session_cookie(void)
{
	static __thread uint64_t nobodys __attribute__((tls_model("initial-exec")));

	return bpfu_session_run.cookie ? bpfu_session_run.cookie : &nobodys;
}
BPFU_TRACEABLE(bpfu_session_cookie, "__u64 *bpf_session_cookie(void)",
	       BPFU_FUNC_KFUNC | BPFU_FUNC_SESSION);
