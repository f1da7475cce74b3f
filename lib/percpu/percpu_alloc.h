/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Per-CPU memory. The region is one reserved address range of bpfu_possible_cpus() units of equal
 * stride; a per-CPU pointer is the address in unit 0, and unit N's copy lies N strides above it:
 *
 *    ptr (unit 0)            ptr + stride           ptr + 2 * stride
 *    +---------------------+----------------------+---------------------+
 *    | cpu_number | ...    | cpu_number | ...     | ...                 |
 *    +---------------------+----------------------+---------------------+
 *
 * bpfu_cpu_self.percpu_off is slot * stride, so generated code resolves with one add. The first
 * four bytes of every unit hold the slot's number (bpfu_percpu_cpu_number()).
 */
#ifndef BPFU_PERCPU_ALLOC_H
#define BPFU_PERCPU_ALLOC_H

#include <stddef.h>
#include <stdint.h>

#include "percpu/cpu.h"

/*
 * Allocate @size zeroed bytes per CPU, aligned to 8 (to 64 from 64 bytes on). Returns the per-CPU
 * pointer or NULL when the region or memory is exhausted. Free with bpfu_percpu_free() and the
 * same size.
 */
void *bpfu_percpu_alloc(size_t size);
void bpfu_percpu_free(void *ptr, size_t size);

/* The per-CPU pointer of each slot's own number (uint32_t). */
void *bpfu_percpu_cpu_number(void);

/* Bytes from one unit to the next. */
uint64_t bpfu_percpu_stride(void);

/* The copy of @ptr that belongs to slot @cpu. */
static inline void *bpfu_percpu_of(void *ptr, uint32_t cpu)
{
	return (char *)ptr + bpfu_percpu_stride() * cpu;
}

/* The copy of the slot that the calling thread owns; only between bpfu_cpu_enter() and _exit(). */
static inline void *bpfu_percpu_this(void *ptr)
{
	return (char *)ptr + bpfu_cpu_self.percpu_off;
}

#endif
