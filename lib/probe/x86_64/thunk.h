/* SPDX-License-Identifier: BSD-2-Clause */
/* Private to probe/x86_64/: the two kinds of thunks. */
#ifndef BPFU_PROBE_X86_64_THUNK_H
#define BPFU_PROBE_X86_64_THUNK_H

#include "probe/thunk.h"

void bpfu_x86_regs_thunk(struct bpfu_codebuf *cb, const struct bpfu_thunk *thunk);

#endif
