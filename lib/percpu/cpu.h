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
 *      self.state += 1                         owner->attention |= WANTED
 *      compiler barrier                        membarrier(PRIVATE_EXPEDITED)
 *      if (self.attention) slow path           if (owner in a section) wait, else take the slot
 *
 * Whatever the interleaving, either the owner sees the mark or the revoker sees the section: the
 * membarrier is a full fence in every running thread, placed somewhere in the owner's program.
 * Where the kernel lacks it (old kernels, some emulators), the mark FENCED is set in every thread
 * for good, so that each entry takes the slow path, and that has the fence.
 *
 * Entering and leaving together were measured at 0.7 ns (x86-64 virtual machine with 2 CPUs, gcc 12
 * -O2, empty section, best of 7 times 3 million, empty loop subtracted).
 *
 * cpu.c says how slots are handed over and why nobody starves.
 */
#ifndef BPFU_PERCPU_CPU_H
#define BPFU_PERCPU_CPU_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "util/bits.h"

#define BPFU_MAX_CPUS 8192 /* the most that Linux can be built for */

/* Bits of bpfu_cpu_self.attention. */
enum bpfu_cpu_attention {
	BPFU_CPU_WANTED = 1u << 0, /* somebody wants the slot, or the thread has none */
	BPFU_CPU_GP = 1u << 1,     /* rcu.c waits for the section to end */
	BPFU_CPU_FENCED = 1u << 2, /* no membarrier here: entering and leaving need a fence */
};

/* bpfu_cpu_self.state and .rcu_state: how deep in sections, and how many outermost ones ended. */
#define BPFU_STATE_NEST ((1ull << 16) - 1)
#define BPFU_STATE_SEQ  (1ull << 16)

/*
 * What generated code reaches through the thread pointer. Offsets are ABI between cpu.c and jit/.
 */
struct bpfu_cpu_self {
	uint64_t percpu_off;        /* bytes to add to a per-CPU pointer; valid in a section */
	uint32_t cpu;               /* the slot; valid in a section */
	_Atomic uint32_t attention; /* enum bpfu_cpu_attention; 0: enter and leave freely */
	_Atomic uint64_t state;     /* bpfu_cpu_enter() sections; written by the thread only */
	_Atomic uint64_t rcu_state; /* bpfu_rcu_read_lock() sections; written by the thread only */

	/* Of the thread alone. */
	uint32_t tid;        /* lock.c; 0: not known yet */
	uint32_t locks_held; /* lock.c */
	bool slot_is_sure;   /* in a section and WANTED: no need to ask whether the slot is ours */
	bool destructor_set; /* the slot is given back when the thread ends */
	bool ending;         /* destructor has run: own nothing outside sections any more */
	bool in_callback;    /* rcu.c */

	/* Under the lock of the slot table. */
	bool registered;
	bool held; /* .cpu is ours */
	int32_t want;
	int32_t near; /* the CPU that the thread ran on when it asked */
	struct bpfu_cpu_self *next;
	struct bpfu_cpu_self *prev;
	struct bpfu_cpu_self *wait_next;
	_Atomic uint32_t granted; /* futex of the waiting thread */

	/* Under the lock of rcu.c: the sections that the current grace period waits for. */
	bool gp_waits;
	uint64_t gp_state;
	uint64_t gp_rcu_state;
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

/* How deep the calling thread is in sections; 0: it owns no slot that it could rely on. */
static inline uint32_t bpfu_cpu_depth(void);

/*
 * As bpfu_cpu_enter(), but own slot @cpu (BPF_F_TEST_RUN_ON_CPU). Must not be nested.
 * Returns 0 or -ENXIO if there is no such slot.
 */
int bpfu_cpu_enter_on(uint32_t cpu);

/*
 * For long loops of runs inside one section (test_run's repeat): leaves and re-enters if somebody
 * waits for the slot or for the section's end, which is also when callbacks of rcu.h run. Only at depth 1.
 * The slot may be another one after.
 */
static inline void bpfu_cpu_relax(void);

/* Slow paths of the inlines. */
void bpfu_cpu_enter_slow(void);
void bpfu_cpu_exit_slow(void);
void bpfu_cpu_relax_slow(void);

/* ThreadSanitizer does not know membarrier: the fast paths are sequentially consistent for it. */
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
