/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A CPU is a slot. A thread that runs programs owns one of bpfu_possible_cpus() slots exclusively;
 * per-CPU storage and bpf_get_smp_processor_id() are indexed by the slot, so no per-CPU update is
 * ever lost, whatever the number of threads.
 *
 * The lease is biased: a thread keeps its slot between runs, and entering costs a store and a load.
 * Another thread that finds no free slot revokes one: it marks the lease, issues membarrier(2), and
 * either takes the slot (owner outside a program) or waits for the owner to leave it.
 *
 * Entering is also the read-side section of rcu.h.
 *
 *      bpfu_cpu_enter()                        revoker
 *      self.depth = 1                          lease->revoked = 1
 *      compiler barrier                        membarrier(PRIVATE_EXPEDITED)
 *      if (lease revoked) slow path            if (owner's depth) wait, else take the slot
 */
#ifndef BPFU_PERCPU_CPU_H
#define BPFU_PERCPU_CPU_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "util/bits.h"

#define BPFU_MAX_CPUS 1024

/* What generated code reaches through the thread pointer. Offsets are ABI between cpu.c and jit/. */
struct bpfu_cpu_self {
	uint64_t percpu_off;          /* bytes to add to a per-CPU pointer; valid while depth > 0 */
	uint32_t cpu;                 /* the slot; valid while depth > 0 */
	_Atomic uint32_t depth;       /* nesting of bpfu_cpu_enter(); written by the owner only */
	_Atomic uint32_t revoked;     /* somebody wants the slot; also 1 while no slot is held */
	_Atomic uint64_t rcu_epoch;   /* epoch entered at, 0: quiescent (rcu.h) */
	void *thread;                 /* registration, private to cpu.c */
};

extern __thread struct bpfu_cpu_self bpfu_cpu_self __attribute__((tls_model("initial-exec")));

/* Offset of bpfu_cpu_self from the thread pointer, the same in every thread (for the JITs). */
int64_t bpfu_cpu_self_tpoff(void);

/*
 * Enter and leave a section in which the calling thread owns a slot. Nests. bpfu_cpu_enter() never
 * fails: it waits for a slot when all are in use by running programs.
 */
static inline void bpfu_cpu_enter(void);
static inline void bpfu_cpu_exit(void);

/*
 * As bpfu_cpu_enter(), but own slot @cpu (BPF_F_TEST_RUN_ON_CPU). Must not be nested.
 * Returns 0 or -ENXIO if there is no such slot.
 */
int bpfu_cpu_enter_on(uint32_t cpu);

/*
 * For long loops of runs inside one section (test_run's repeat): leaves and re-enters if somebody
 * waits for the slot. Only at depth 1.
 */
static inline void bpfu_cpu_relax(void);

/* Slow paths of the inlines. */
void bpfu_cpu_enter_slow(void);
void bpfu_cpu_exit_slow(void);

/* Enter protocol on a sanitizer that does not know membarrier: full fences instead. */
#ifdef __SANITIZE_THREAD__
#define BPFU_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define BPFU_TSAN 1
#endif
#endif
#ifdef BPFU_TSAN
#define BPFU_CPU_ORDER memory_order_seq_cst
#else
#define BPFU_CPU_ORDER memory_order_relaxed
#endif

#include "percpu/cpu_inline.h"

#endif
