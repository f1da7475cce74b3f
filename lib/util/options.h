/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Options of the calling thread (bpfu_option_set in <bpfu/bpfu.h>). One row per option in
 * options.c; a program keeps a copy of the options it was loaded with in struct bpfu_prog.
 */
#ifndef BPFU_UTIL_OPTIONS_H
#define BPFU_UTIL_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

enum bpfu_switch { BPFU_SWITCH_OFF, BPFU_SWITCH_ON, BPFU_SWITCH_AUTO };

struct bpfu_options {
	bool jit;            /* compile; false: interpreter */
	bool inline_helpers; /* instructions in place of calls of some helpers */
	bool inline_percpu;  /* also of those that need the internal per-CPU MOV */
	bool inline_loop;    /* bpf_loop() with one known callback as a loop of direct calls */
	bool loop_idioms;    /* loops that copy, fill or add up memory take many bytes at once */
	bool perf_map;       /* lines of /tmp/perf-PID.map */
	bool jitdump;        /* records of jit-PID.dump */
	bool gdb;            /* debuggers are told of images (jit/gdb.h) */
	uint8_t private_stack; /* enum bpfu_switch: BPF stacks outside the thread's own stack */
	bool prog_pack;      /* many images share a page; false: each has its own */
	bool harden;         /* no constant of a program in its image, no speculation past checks */
};

/* The calling thread's options, initialised from BPFU_OPTIONS at the thread's first use. */
struct bpfu_options *bpfu_options_self(void);

#endif
