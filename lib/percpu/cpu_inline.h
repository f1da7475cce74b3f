/* SPDX-License-Identifier: BSD-2-Clause */
/* The fast paths of cpu.h; include that. */
#ifndef BPFU_PERCPU_CPU_INLINE_H
#define BPFU_PERCPU_CPU_INLINE_H

static inline void bpfu_cpu_enter(void)
{
	struct bpfu_cpu_self *self = &bpfu_cpu_self;
	uint32_t depth = atomic_load_explicit(&self->depth, memory_order_relaxed);

	atomic_store_explicit(&self->depth, depth + 1, BPFU_CPU_ORDER);
	atomic_signal_fence(memory_order_seq_cst);
	if (bpfu_unlikely(depth == 0 && atomic_load_explicit(&self->revoked, BPFU_CPU_ORDER)))
		bpfu_cpu_enter_slow();
}

static inline void bpfu_cpu_exit(void)
{
	struct bpfu_cpu_self *self = &bpfu_cpu_self;
	uint32_t depth = atomic_load_explicit(&self->depth, memory_order_relaxed);

	atomic_store_explicit(&self->depth, depth - 1, memory_order_release);
	atomic_signal_fence(memory_order_seq_cst);
	if (bpfu_unlikely(depth == 1 && atomic_load_explicit(&self->revoked, BPFU_CPU_ORDER)))
		bpfu_cpu_exit_slow();
}

static inline void bpfu_cpu_relax(void)
{
	if (bpfu_unlikely(atomic_load_explicit(&bpfu_cpu_self.revoked, memory_order_relaxed))) {
		bpfu_cpu_exit();
		bpfu_cpu_enter();
	}
}

#endif
