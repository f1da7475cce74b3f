/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * SIGTRAP: breakpoints of ours. Everything else goes to the handler that was there before.
 */
#ifndef BPFU_PROBE_TRAP_H
#define BPFU_PROBE_TRAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* See that the handler is installed, in front of what the application has installed since. */
void bpfu_trap_init(void);

/* A breakpoint at @at, and where a thread that meets it shall go on. Sorted by @at. */
struct bpfu_trap {
	uintptr_t at;
	uintptr_t to;
};

/*
 * The breakpoints in force, one set at a time. bpfu_trap_clear() returns when no handler looks at
 * the set any more.
 */
void bpfu_trap_set(const struct bpfu_trap *traps, size_t cnt);
void bpfu_trap_clear(void);

/* For a signal handler: if *@pc is inside an instruction of @size bytes at a trap in force, its end. */
void bpfu_trap_step_over(uintptr_t *pc, size_t size);

#endif
