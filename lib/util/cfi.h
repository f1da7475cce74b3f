/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How to get from a frame of compiled code to its caller's, by the unwind tables (.eh_frame) that every
 * loaded file has for exceptions. They are what makes stacks of code without frame pointers right.
 */
#ifndef BPFU_UTIL_CFI_H
#define BPFU_UTIL_CFI_H

#include <stdbool.h>
#include <stdint.h>

enum bpfu_cfi_kind {
	BPFU_CFI_SP = 1, /* the caller's frame begins at sp + cfa */
	BPFU_CFI_FP,     /* … at fp + cfa */
	BPFU_CFI_DEREF,  /* … at what lies at fp + cfa: functions that align their stack */
	BPFU_CFI_SIGNAL, /* the return from a signal handler: the registers lie at sp */
	BPFU_CFI_END,    /* the thread begins here; or what a table says is beyond these kinds */
};

#define BPFU_CFI_SAME INT16_MIN /* the register still has what the caller had in it */

struct bpfu_cfi {
	uint8_t kind; /* enum bpfu_cfi_kind */
	int32_t cfa;
	int16_t fp, ra; /* where they were saved, in words from the beginning of the caller's frame */
};

/*
 * The rule at @pc. False: no loaded file has that code. Any thread, signal handlers included; takes time
 * (frames.c keeps what it says).
 */
bool bpfu_cfi_find(uintptr_t pc, struct bpfu_cfi *out);

/*
 * What file @pc is in: where it is loaded, and its unwind table's header, which may be NULL. False: none.
 * As bpfu_cfi_find() never waits for the dynamic linker.
 */
bool bpfu_loaded_file(uintptr_t pc, const void **start, const void **eh_frame_hdr);

#endif
