/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory accesses of the interpreter. Addresses are what the verifier proved to be good, not
 * necessarily aligned (the stack, packets). An aligned access is one machine access, as in compiled
 * code, and says so to the compiler and to TSan: programs may share values without locks. Others go
 * through memcpy().
 */
#ifndef BPFU_INTERP_MEM_H
#define BPFU_INTERP_MEM_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "insn/opcode.h"

static inline bool mem_is_aligned(uint64_t addr, unsigned int size)
{
	return (addr & (size - 1)) == 0;
}

#define BPFU_INTERP_MEM(bits)                                                                      \
	static inline uint##bits##_t mem_load##bits(uint64_t addr)                                 \
	{                                                                                          \
		uint##bits##_t v;                                                                  \
		if (mem_is_aligned(addr, sizeof(v)))                                               \
			return __atomic_load_n((uint##bits##_t *)(uintptr_t)addr,                  \
					       __ATOMIC_RELAXED);                                  \
		memcpy(&v, (void *)(uintptr_t)addr, sizeof(v));                                    \
		return v;                                                                          \
	}                                                                                          \
	static inline void mem_store##bits(uint64_t addr, uint##bits##_t v)                        \
	{                                                                                          \
		if (mem_is_aligned(addr, sizeof(v)))                                               \
			__atomic_store_n((uint##bits##_t *)(uintptr_t)addr, v, __ATOMIC_RELAXED);  \
		else                                                                               \
			memcpy((void *)(uintptr_t)addr, &v, sizeof(v));                            \
	}

BPFU_INTERP_MEM(8)
BPFU_INTERP_MEM(16)
BPFU_INTERP_MEM(32)
BPFU_INTERP_MEM(64)
#undef BPFU_INTERP_MEM

/*
 * BPF_ATOMIC but for the loads and stores; naturally aligned addresses only. @src and @r0 are
 * registers: the fetching forms put the old value, zero-extended, into one of them.
 */
#define BPFU_INTERP_RMW(bits)                                                                      \
	static inline void mem_rmw##bits(int32_t op, uint64_t addr, uint64_t *src, uint64_t *r0)   \
	{                                                                                          \
		uint##bits##_t *p = (uint##bits##_t *)(uintptr_t)addr;                             \
		uint##bits##_t val = (uint##bits##_t)*src, old = (uint##bits##_t)*r0;              \
		switch ((enum bpfu_atomic_op)op) {                                                 \
		case BPFU_ATOMIC_ADD:                                                              \
			__atomic_fetch_add(p, val, __ATOMIC_SEQ_CST);                              \
			break;                                                                     \
		case BPFU_ATOMIC_OR:                                                               \
			__atomic_fetch_or(p, val, __ATOMIC_SEQ_CST);                               \
			break;                                                                     \
		case BPFU_ATOMIC_AND:                                                              \
			__atomic_fetch_and(p, val, __ATOMIC_SEQ_CST);                              \
			break;                                                                     \
		case BPFU_ATOMIC_XOR:                                                              \
			__atomic_fetch_xor(p, val, __ATOMIC_SEQ_CST);                              \
			break;                                                                     \
		case BPFU_ATOMIC_FETCH_ADD:                                                        \
			*src = __atomic_fetch_add(p, val, __ATOMIC_SEQ_CST);                       \
			break;                                                                     \
		case BPFU_ATOMIC_FETCH_OR:                                                         \
			*src = __atomic_fetch_or(p, val, __ATOMIC_SEQ_CST);                        \
			break;                                                                     \
		case BPFU_ATOMIC_FETCH_AND:                                                        \
			*src = __atomic_fetch_and(p, val, __ATOMIC_SEQ_CST);                       \
			break;                                                                     \
		case BPFU_ATOMIC_FETCH_XOR:                                                        \
			*src = __atomic_fetch_xor(p, val, __ATOMIC_SEQ_CST);                       \
			break;                                                                     \
		case BPFU_ATOMIC_XCHG:                                                             \
			*src = __atomic_exchange_n(p, val, __ATOMIC_SEQ_CST);                      \
			break;                                                                     \
		case BPFU_ATOMIC_CMPXCHG:                                                          \
			__atomic_compare_exchange_n(p, &old, val, false, __ATOMIC_SEQ_CST,         \
						    __ATOMIC_SEQ_CST);                             \
			*r0 = old;                                                                 \
			break;                                                                     \
		case BPFU_ATOMIC_LOAD_ACQ:                                                         \
		case BPFU_ATOMIC_STORE_REL:                                                        \
			break; /* not read-modify-write: mem_acquire(), mem_release() */           \
		}                                                                                  \
	}

BPFU_INTERP_RMW(32)
BPFU_INTERP_RMW(64)
#undef BPFU_INTERP_RMW

/* BPF_LOAD_ACQ and BPF_STORE_REL of @size, one of BPF_B … BPF_DW. */
static inline uint64_t mem_acquire(uint8_t size, uint64_t addr)
{
	void *p = (void *)(uintptr_t)addr;

	switch (size) {
	case BPF_B:
		return __atomic_load_n((uint8_t *)p, __ATOMIC_ACQUIRE);
	case BPF_H:
		return __atomic_load_n((uint16_t *)p, __ATOMIC_ACQUIRE);
	case BPF_W:
		return __atomic_load_n((uint32_t *)p, __ATOMIC_ACQUIRE);
	default:
		return __atomic_load_n((uint64_t *)p, __ATOMIC_ACQUIRE);
	}
}

static inline void mem_release(uint8_t size, uint64_t addr, uint64_t v)
{
	void *p = (void *)(uintptr_t)addr;

	switch (size) {
	case BPF_B:
		__atomic_store_n((uint8_t *)p, (uint8_t)v, __ATOMIC_RELEASE);
		break;
	case BPF_H:
		__atomic_store_n((uint16_t *)p, (uint16_t)v, __ATOMIC_RELEASE);
		break;
	case BPF_W:
		__atomic_store_n((uint32_t *)p, (uint32_t)v, __ATOMIC_RELEASE);
		break;
	default:
		__atomic_store_n((uint64_t *)p, v, __ATOMIC_RELEASE);
	}
}

#endif
