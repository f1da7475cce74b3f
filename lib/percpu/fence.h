/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fences that ThreadSanitizer can live with. It does not model atomic_thread_fence() and warns at
 * each; under it the accesses on both sides are ordered by themselves (BPFU_CPU_ORDER is seq_cst,
 * shared words are atomics), so the fences become empty.
 */
#ifndef BPFU_PERCPU_FENCE_H
#define BPFU_PERCPU_FENCE_H

#include <stdatomic.h>

#include "percpu/cpu.h"

static inline void bpfu_full_fence(void)
{
#ifndef BPFU_TSAN
	atomic_thread_fence(memory_order_seq_cst);
#endif
}

/* Loads before it are done before loads and stores after it. */
static inline void bpfu_acquire_fence(void)
{
#ifndef BPFU_TSAN
	atomic_thread_fence(memory_order_acquire);
#endif
}

/* Loads and stores before it are done before stores after it. */
static inline void bpfu_release_fence(void)
{
#ifndef BPFU_TSAN
	atomic_thread_fence(memory_order_release);
#endif
}

/* In a loop that waits for another thread. */
static inline void bpfu_pause(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

#endif
