/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Small generated code of points (point.h): the stub that a function returns to, and on x86-64 what a
 * long nop jumps to. Both save every register, vectors included, since nothing is known of the place:
 *
 *      return stub           nop                      common (entry.S)
 *      push number           rsp -= 128               registers -> struct bpfu_regs, vectors aside
 *      call common           push point               bpfu_return_event() or bpfu_point_event()
 *      ret                   call common              everything back
 *                            rsp += 128 + 8
 *                            jmp behind the nop
 *
 * On arm64 the return stub is a breakpoint.
 */
#ifndef BPFU_PROBE_STUB_H
#define BPFU_PROBE_STUB_H

#include <stdint.h>

#include "probe/regs.h"

/*
 * Write return stub @number, of 16 bytes at most. @cell is where the stub finds, within 2 GB, what
 * bpfu_return_common() says.
 */
void bpfu_return_stub(uint8_t *out, uint32_t number, const void *cell);
uint64_t bpfu_return_common(void);

#if defined(__x86_64__)
#define BPFU_NOP_THUNK_MAX 64

/* Once, before any of the code below runs. */
void bpfu_stub_init(void);

/* Write what a nop jumps to at @at; it goes on at @next. The length, or -ERANGE. */
int bpfu_nop_thunk(uint8_t out[BPFU_NOP_THUNK_MAX], const void *at, const void *point,
		   const void *next);

/*
 * Called by entry.S with the registers and the word that was pushed; point.c's. On return the word
 * of a return stub is where the thread goes on.
 */
void bpfu_point_event(struct bpfu_regs *regs, uint64_t *word);
void bpfu_return_event(struct bpfu_regs *regs, uint64_t *word);
#endif

#endif
