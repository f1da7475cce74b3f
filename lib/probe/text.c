// SPDX-License-Identifier: BSD-2-Clause
/* Writing to text; see text.h. Callers are serialised by the lock of patch.c. */
#include "probe/text.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "percpu/sys.h"

static enum bpfu_text_mode mode;
static int mem_fd = -1; /* /proc/self/mem; not kept: the application may close any descriptor */

void bpfu_text_open(void)
{
	mem_fd = (int)bpfu_sys6(SYS_openat, AT_FDCWD, (long)"/proc/self/mem", O_RDWR | O_CLOEXEC, 0,
				0, 0);
}

void bpfu_text_close(void)
{
	if (mem_fd >= 0)
		bpfu_sys6(SYS_close, mem_fd, 0, 0, 0, 0, 0);
	mem_fd = -1;
}

static int write_mem(void *at, const void *bytes, size_t n)
{
	if (mem_fd < 0)
		return -EACCES;
	if (bpfu_sys6(SYS_pwrite64, mem_fd, (long)bytes, (long)n, (long)at, 0, 0) != (long)n)
		return -EACCES;
	/* An emulator that translates code may have another idea of what is at @at. */
	return memcmp(at, bytes, n) ? -EACCES : 0;
}

/* Functions that return 1 and 2. */
#if defined(__x86_64__)
static const uint8_t codes[2][6] = { { 0xb8, 1, 0, 0, 0, 0xc3 },   /* mov eax, 1; ret */
				     { 0xb8, 2, 0, 0, 0, 0xc3 } }; /* mov eax, 2; ret */
#elif defined(__aarch64__)
static const uint32_t codes[2][2] = { { 0x52800020, 0xd65f03c0 },   /* mov w0, #1; ret */
				      { 0x52800040, 0xd65f03c0 } }; /* mov w0, #2; ret */
#endif

/*
 * True if code that has run runs as changed afterwards. Decided once, on a page of its own: an emulator may
 * go on with its translation of what was there.
 */
static bool is_change_seen(void)
{
	static int known;
	size_t page_size = sysconf(_SC_PAGESIZE);
	unsigned int (*volatile func)(void);
	void *page;

	if (known)
		return known > 0;
	known = 1;
	page = mmap(NULL, page_size, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return true;
	func = (unsigned int (*)(void))(uintptr_t)page;
	for (unsigned int i = 0; i < 2 && known > 0; i++) {
		if (write_mem(page, codes[i], sizeof(codes[i]))) {
			known = -1;
			break;
		}
		__builtin___clear_cache(page, (char *)page + sizeof(codes[i]));
		known = func() == i + 1 ? 1 : -1;
	}
	munmap(page, page_size);
	return known > 0;
}

/* One page of text with @n bytes at @at changed. */
static int remap_page(uint8_t *page, size_t page_size, const uint8_t *at, const void *bytes, size_t n)
{
	uint8_t *copy = mmap(NULL, page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			     -1, 0);

	if (copy == MAP_FAILED)
		return -ENOMEM;
	memcpy(copy, page, page_size);
	memcpy(copy + (at - page), bytes, n);
	if (mprotect(copy, page_size, PROT_READ | PROT_EXEC)) {
		munmap(copy, page_size);
		return -EACCES;
	}
	__builtin___clear_cache((char *)copy, (char *)copy + page_size);
	/* Threads that execute the page meanwhile fault, and wait until it is there again. */
	if (mremap(copy, page_size, page_size, MREMAP_MAYMOVE | MREMAP_FIXED, page) != page) {
		munmap(copy, page_size);
		return -EACCES;
	}
	return 0;
}

static int write_remap(uint8_t *at, const uint8_t *bytes, size_t n)
{
	size_t page_size = sysconf(_SC_PAGESIZE);

	while (n) {
		uint8_t *page = (uint8_t *)((uintptr_t)at & ~(page_size - 1));
		size_t part = page + page_size - at;
		int err;

		if (part > n)
			part = n;
		err = remap_page(page, page_size, at, bytes, part);
		if (err)
			return err;
		at += part;
		bytes += part;
		n -= part;
	}
	return 0;
}

int bpfu_text_write(void *at, const void *bytes, size_t n)
{
	if (mode == BPFU_TEXT_NEVER)
		return -EACCES;
	if (mode == BPFU_TEXT_AUTO && is_change_seen() && !write_mem(at, bytes, n))
		return 0;
	return write_remap(at, bytes, n);
}

void bpfu_text_sync(void)
{
	const int sync = MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE;
	const int reg = MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE;

	/*
	 * Each process registers once, a child of fork() again. Kernels without the command: the
	 * interrupt of the page that changed has to do, as in jit/image.c.
	 */
	if (bpfu_sys6(SYS_membarrier, sync, 0, 0, 0, 0, 0) == -EPERM &&
	    !bpfu_sys6(SYS_membarrier, reg, 0, 0, 0, 0, 0))
		bpfu_sys6(SYS_membarrier, sync, 0, 0, 0, 0, 0);
}

void bpfu_text_set_mode(enum bpfu_text_mode m)
{
	mode = m;
}
