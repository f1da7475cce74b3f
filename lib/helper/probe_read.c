// SPDX-License-Identifier: BSD-2-Clause
/*
 * The probe_read family: reads of any address, faults caught. There is one address space, so the
 * user and kernel forms are the same. A failed read clears the destination, as the kernel does, so
 * that no program sees stale stack.
 */
#include <errno.h>
#include <string.h>

#include "helper/bodies.h"
#include "util/bits.h"
#include "util/uaccess.h"

static uint64_t read_mem(uint64_t dst, uint32_t size, uint64_t src)
{
	int err = bpfu_copy_from_user(bpfu_ptr(dst), src, size);

	if (err)
		memset(bpfu_ptr(dst), 0, size);
	return (int64_t)err;
}

/*
 * Length with the NUL; the last byte becomes the NUL if the string is longer. What follows is left as
 * the program had it, so that a buffer that was cleared before can be the key of a map.
 */
static uint64_t read_str(uint64_t dst, uint32_t size, uint64_t src)
{
	char *buf = bpfu_ptr(dst);
	int len;

	if (!size)
		return 0;
	len = bpfu_strncpy_from_user(buf, src, size);
	if (len < 0)
		memset(buf, 0, size);
	else if ((uint32_t)len == size)
		buf[size - 1] = '\0';
	return (int64_t)len;
}

/* As the kernel copies from user space, by words: zeros to the end of the one with the NUL. */
static uint64_t read_str_by_words(uint64_t dst, uint32_t size, uint64_t src)
{
	int64_t len = (int64_t)read_str(dst, size, src);
	int64_t end = BPFU_ROUND_UP(len, 8);

	if (len > 0 && end <= size)
		memset((char *)bpfu_ptr(dst) + len, 0, (size_t)(end - len));
	return (uint64_t)len;
}

uint64_t bpfu_helper_probe_read(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	return read_mem(r1, (uint32_t)r2, r3);
}

uint64_t bpfu_helper_probe_read_kernel(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4,
				       uint64_t r5)
{
	return read_mem(r1, (uint32_t)r2, r3);
}

uint64_t bpfu_helper_probe_read_user(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4,
				     uint64_t r5)
{
	return read_mem(r1, (uint32_t)r2, r3);
}

uint64_t bpfu_helper_copy_from_user(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	return read_mem(r1, (uint32_t)r2, r3);
}

uint64_t bpfu_helper_probe_read_str(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	return read_str_by_words(r1, (uint32_t)r2, r3);
}

uint64_t bpfu_helper_probe_read_kernel_str(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4,
					   uint64_t r5)
{
	return read_str(r1, (uint32_t)r2, r3);
}

uint64_t bpfu_helper_probe_read_user_str(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4,
					 uint64_t r5)
{
	return read_str_by_words(r1, (uint32_t)r2, r3);
}
