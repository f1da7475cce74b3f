/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Moving threads out of bytes that are about to become one instruction.
 */
#ifndef BPFU_PROBE_EVICT_H
#define BPFU_PROBE_EVICT_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Move every other thread that stands between two bytes of an instruction of @size bytes at one of
 * the traps in force (trap.h) to the end of it. 0; -EBUSY if a thread does not answer, because it
 * blocks SIGTRAP for longer than a second or does not run at all for ten; -ENOMEM.
 */
int bpfu_evict(size_t size);

/*
 * For the SIGTRAP handler: true if the signal asked for this. @pc, where the thread was interrupted,
 * is moved if it has to be.
 */
bool bpfu_evict_answer(const siginfo_t *info, uintptr_t *pc);

#endif
