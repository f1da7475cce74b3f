/* SPDX-License-Identifier: BSD-2-Clause */
/* How a function of libbpfu is made traceable; needs no other part of the library. */
#ifndef BPFU_BTF_TRACEABLE_H
#define BPFU_BTF_TRACEABLE_H

#include <stdint.h>

#include "bpfu/bpfu.h"

struct bpfu_traceable {
	void *addr;
	const char *decl;
	uint32_t flags; /* enum bpfu_func_flags */
};

/* In front of the function's definition, which must have external linkage. */
#define BPFU_PATCHABLE BPFU_PROBE_ENTRY

/* Behind it: known as @decl says, a C declaration (see bpfu_func_register()). */
#define BPFU_TRACEABLE(fn, decl_, flags_)                                                          \
	static const struct bpfu_traceable bpfu_traceable_##fn = { (void *)(fn), decl_, flags_ };  \
	static const struct bpfu_traceable *const bpfu_traceable_row_##fn                          \
		__attribute__((used, section("bpfu_traceable"))) = &bpfu_traceable_##fn

#endif
