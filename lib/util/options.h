/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Options of the calling thread (bpfu_option_set in <bpfu/bpfu.h>). One row per option in
 * options.c; a program keeps a copy of the options it was loaded with in struct bpfu_prog.
 */
#ifndef BPFU_UTIL_OPTIONS_H
#define BPFU_UTIL_OPTIONS_H

#include <stdbool.h>

struct bpfu_options {
	bool jit; /* compile; false: interpreter */
};

/* The calling thread's options, initialised from BPFU_OPTIONS at the thread's first use. */
struct bpfu_options *bpfu_options_self(void);

#endif
