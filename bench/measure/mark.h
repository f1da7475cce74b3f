/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Marks around what is counted: instructions that do nothing on any processor, with an operand that no
 * compiler would choose, so that an emulator's plugin sees them pass (bench/plugin). They take no
 * argument; windows are told apart by their order. The plugin counts what is executed between them,
 * without the marks themselves. One more, MARK_READY, comes once before all windows: a plugin that was told
 * to wait for it (from=ready) lets everything before run at full speed. The emulator first has to leave the
 * translation that this mark is in: a system call between it and the first window sees to that.
 */
#ifndef BPFLAB_MARK_H
#define BPFLAB_MARK_H

#include <stdint.h>
#include <string.h>

enum mark {
	MARK_NONE,
	MARK_BEGIN = 1,
	MARK_END = 2,
	MARK_READY = 3,
};

/* x86-64: nopl 0x5a5a5a00+mark(%rax), seven bytes. arm64: movz xzr, #0x5a00+mark. */
#define MARK_X86_64 { 0x0f, 0x1f, 0x80, 0x00, 0x5a, 0x5a, 0x5a }
#define MARK_X86_64_LEN 7
#define MARK_ARM64(mark) (0xd2800000u | (0x5a00u | (mark)) << 5 | 31)

/* The mark that the instruction of @len bytes at @bytes is. */
static inline enum mark mark_of_x86_64(const uint8_t *bytes, size_t len)
{
	static const uint8_t begin[MARK_X86_64_LEN] = MARK_X86_64;

	if (len != MARK_X86_64_LEN || memcmp(bytes, begin, 3) || memcmp(bytes + 4, begin + 4, 3))
		return MARK_NONE;
	return bytes[3] >= MARK_BEGIN && bytes[3] <= MARK_READY ? bytes[3] : MARK_NONE;
}

static inline enum mark mark_of_arm64(const uint8_t *bytes, size_t len)
{
	uint32_t word;

	if (len != sizeof(word))
		return MARK_NONE;
	memcpy(&word, bytes, sizeof(word));
	return word == MARK_ARM64(MARK_BEGIN) ? MARK_BEGIN :
	       word == MARK_ARM64(MARK_END)   ? MARK_END :
	       word == MARK_ARM64(MARK_READY) ? MARK_READY :
						MARK_NONE;
}

#if defined(__x86_64__)
#define mark_begin() asm volatile("nopl 0x5a5a5a01(%%rax)" ::: "memory")
#define mark_end() asm volatile("nopl 0x5a5a5a02(%%rax)" ::: "memory")
#define mark_ready() asm volatile("nopl 0x5a5a5a03(%%rax)" ::: "memory")
#elif defined(__aarch64__)
#define mark_begin() asm volatile("movz xzr, #0x5a01" ::: "memory")
#define mark_end() asm volatile("movz xzr, #0x5a02" ::: "memory")
#define mark_ready() asm volatile("movz xzr, #0x5a03" ::: "memory")
#endif

#endif
