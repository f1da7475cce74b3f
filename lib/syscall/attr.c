// SPDX-License-Identifier: BSD-2-Clause
/* What the handlers share about attributes: zero tails, write-back, names, modes. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "syscall/syscall.h"
#include "util/bits.h"
#include "util/uaccess.h"

bool bpfu_attr_tail_is_zero(const union bpfu_attr *attr, uint32_t end_of_last_field)
{
	for (uint32_t i = end_of_last_field; i < BPFU_ATTR_SIZE; i++)
		if (attr->bytes[i])
			return false;
	return true;
}

int bpfu_attr_copy_back(const union bpfu_attr *attr, uint64_t uattr, uint32_t size, uint32_t off,
			uint32_t len)
{
	if (off + len > size)
		return 0;
	return bpfu_copy_to_user(uattr + off, attr->bytes + off, len);
}

int bpfu_attr_file_mode(uint32_t flags)
{
	bool rdonly = flags & BPF_F_RDONLY, wronly = flags & BPF_F_WRONLY;

	if (rdonly && wronly)
		return -EINVAL;
	return rdonly ? O_RDONLY : wronly ? O_WRONLY : O_RDWR;
}

int bpfu_attr_token(int fd)
{
	return fcntl(fd, F_GETFD) < 0 ? -EBADF : -EINVAL;
}

/* The kernel's isalnum() is that of Latin-1, whatever the locale here. */
static bool is_name_char(unsigned char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       c == '_' || c == '.' || (c >= 0xc0 && c != 0xd7 && c != 0xf7);
}

int bpfu_attr_name(char dst[BPF_OBJ_NAME_LEN], const char src[BPF_OBJ_NAME_LEN])
{
	size_t len = strnlen(src, BPF_OBJ_NAME_LEN);

	if (len == BPF_OBJ_NAME_LEN)
		return -EINVAL;
	for (size_t i = 0; i < len; i++)
		if (!is_name_char(src[i]))
			return -EINVAL;
	memset(dst, 0, BPF_OBJ_NAME_LEN);
	memcpy(dst, src, len);
	return 0;
}

int bpfu_user_tail_zero(uint64_t uptr, uint32_t known, uint32_t size)
{
	uint8_t chunk[256];

	if (size > 4096)
		return -E2BIG;
	while (known < size) {
		uint32_t n = BPFU_MIN(size - known, (uint32_t)sizeof(chunk));
		int err = bpfu_copy_from_user(chunk, uptr + known, n);

		if (err)
			return err;
		for (uint32_t i = 0; i < n; i++)
			if (chunk[i])
				return -E2BIG;
		known += n;
	}
	return 0;
}
