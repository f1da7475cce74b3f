/* SPDX-License-Identifier: BSD-2-Clause */
/* The fast paths of cpu.h; include that. */
#ifndef BPFU_PERCPU_CPU_INLINE_H
#define BPFU_PERCPU_CPU_INLINE_H

#include "percpu/cpu.h"

static inline void bpfu_cpu_enter(void)
{
	uint64_t state = atomic_load_explicit(&bpfu_cpu_self.state, memory_order_relaxed);

	atomic_store_explicit(&bpfu_cpu_self.state, state + 1, BPFU_CPU_ORDER);
	atomic_signal_fence(memory_order_seq_cst);
	/* Also when nested: a signal may have come between these two accesses of an outer entry. */
	if (bpfu_unlikely(atomic_load_explicit(&bpfu_cpu_self.attention, BPFU_CPU_ORDER)))
		bpfu_cpu_enter_slow();
	atomic_signal_fence(memory_order_seq_cst);
}

/* One section less; the end of the outermost one is counted, so that rcu.c can tell two apart. */
static inline uint64_t bpfu_state_left(uint64_t state)
{
	state--;
	return state & BPFU_STATE_NEST ? state : state + BPFU_STATE_SEQ;
}

static inline void bpfu_cpu_exit(void)
{
	uint64_t state = atomic_load_explicit(&bpfu_cpu_self.state, memory_order_relaxed);

#ifdef BPFU_TSAN
	atomic_store_explicit(&bpfu_cpu_self.state, bpfu_state_left(state), memory_order_seq_cst);
#else
	atomic_store_explicit(&bpfu_cpu_self.state, bpfu_state_left(state), memory_order_release);
#endif
	atomic_signal_fence(memory_order_seq_cst);
	if (bpfu_unlikely(atomic_load_explicit(&bpfu_cpu_self.attention, BPFU_CPU_ORDER)))
		bpfu_cpu_exit_slow();
}

static inline uint32_t bpfu_cpu_depth(void)
{
	return atomic_load_explicit(&bpfu_cpu_self.state, memory_order_relaxed) & BPFU_STATE_NEST;
}

static inline void bpfu_cpu_relax(void)
{
	if (bpfu_unlikely(atomic_load_explicit(&bpfu_cpu_self.attention, memory_order_relaxed) &
			  (BPFU_CPU_WANTED | BPFU_CPU_GP)))
		bpfu_cpu_relax_slow();
}

#endif
