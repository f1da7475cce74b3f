/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The machine's side of patching: what a patchable entry looks like, the nop and the jump that take
 * its place. Only the machine that the library runs on matters here.
 */
#ifndef BPFU_PROBE_INSN_H
#define BPFU_PROBE_INSN_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)

#define BPFU_ENTRY_SIZE 5
#define BPFU_INT3 0xcc
#define BPFU_BREAKPOINT ((uint8_t)BPFU_INT3)
typedef uint8_t bpfu_breakpoint;

static inline void bpfu_entry_nop(uint8_t *p)
{
	static const uint8_t nop5[] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };

	memcpy(p, nop5, sizeof(nop5));
}

/* jmp rel32 */
static inline int bpfu_entry_jump(uint8_t *p, const void *at, const void *dest)
{
	int64_t rel = (int64_t)((uintptr_t)dest - ((uintptr_t)at + BPFU_ENTRY_SIZE));
	int32_t rel32 = (int32_t)rel;

	if (rel != rel32)
		return -ERANGE;
	p[0] = 0xe9;
	memcpy(p + 1, &rel32, sizeof(rel32));
	return 0;
}

/* Behind an endbr64: one nop of five bytes, or five of one byte. */
static inline int bpfu_entry_find(const void *addr, uint8_t **at, bool *sled)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	static const uint8_t nops[] = { 0x90, 0x90, 0x90, 0x90, 0x90 };
	static const uint8_t nop5[] = { 0x0f, 0x1f, 0x44, 0x00 };
	uint8_t *p = (uint8_t *)addr;

	if (!memcmp(p, endbr64, sizeof(endbr64)))
		p += sizeof(endbr64);
	*sled = !memcmp(p, nops, sizeof(nops));
	if (!*sled && memcmp(p, nop5, sizeof(nop5)))
		return -EOPNOTSUPP;
	*at = p;
	return 0;
}

#elif defined(__aarch64__)

#define BPFU_ENTRY_SIZE 4
#define BPFU_BREAKPOINT 0xd4200000u /* brk #0 */
typedef uint32_t bpfu_breakpoint;

static inline void bpfu_entry_nop(uint8_t *p)
{
	const uint32_t nop = 0xd503201f;

	memcpy(p, &nop, sizeof(nop));
}

/* b imm26 */
static inline int bpfu_entry_jump(uint8_t *p, const void *at, const void *dest)
{
	int64_t rel = (int64_t)((uintptr_t)dest - (uintptr_t)at) / 4;
	uint32_t insn = 0x14000000u | ((uint32_t)rel & 0x3ffffffu);

	if (rel < -(1 << 25) || rel >= 1 << 25)
		return -ERANGE;
	memcpy(p, &insn, sizeof(insn));
	return 0;
}

/* Behind a "bti c": a nop. */
static inline int bpfu_entry_find(const void *addr, uint8_t **at, bool *sled)
{
	const uint32_t nop = 0xd503201f, bti_c = 0xd503245f;
	uint8_t *p = (uint8_t *)addr;

	if (!memcmp(p, &bti_c, sizeof(bti_c)))
		p += sizeof(bti_c);
	*sled = false;
	if (memcmp(p, &nop, sizeof(nop)))
		return -EOPNOTSUPP;
	*at = p;
	return 0;
}

#endif
#endif
