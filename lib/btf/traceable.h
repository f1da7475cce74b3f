/* SPDX-License-Identifier: BSD-2-Clause */
/* How a function of libbpfu is made traceable; needs no other part of the library. */
#ifndef BPFU_BTF_TRACEABLE_H
#define BPFU_BTF_TRACEABLE_H

#include <stdint.h>

#include "bpfu/bpfu.h"

struct bpfu_traceable {
	void *addr;
	const char *decl;
	uint32_t flags; /* enum bpfu_func_flags, enum bpfu_func_kind */
};

/* In front of the function's definition, which must have external linkage. */
#define BPFU_PATCHABLE BPFU_PROBE_ENTRY

/* Behind it: known as @decl says, a C declaration (see bpfu_func_register()). */
#define BPFU_TRACEABLE(fn, decl_, flags_)                                                          \
	static const struct bpfu_traceable bpfu_traceable_##fn = { (void *)(fn), decl_, flags_ };  \
	static const struct bpfu_traceable *const bpfu_traceable_row_##fn                          \
		__attribute__((used, section("bpfu_traceable"))) = &bpfu_traceable_##fn

/* Flags besides those of the public header. */
enum bpfu_func_kind {
	BPFU_FUNC_KFUNC = 1u << 16, /* programs may call it; arguments are numbers, the result is one
				     * or points to a number that may be written */
	BPFU_FUNC_EVENT = 1u << 17, /* no function: .addr is a tracepoint, a struct bpfu_tp */
	BPFU_FUNC_SESSION = 1u << 18, /* KFUNC of session programs (probe/kprobe.h) only */
};

/* The object @tp is the tracepoint that @decl_ describes. */
#define BPFU_EVENT(tp, decl_)                                                                      \
	static const struct bpfu_traceable bpfu_traceable_##tp = { &(tp), decl_, BPFU_FUNC_EVENT };\
	static const struct bpfu_traceable *const bpfu_traceable_row_##tp                          \
		__attribute__((used, section("bpfu_traceable"))) = &bpfu_traceable_##tp

#endif
