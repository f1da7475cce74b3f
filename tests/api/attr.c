// SPDX-License-Identifier: BSD-2-Clause
/* The attribute itself: sizes, unknown tails, bad pointers, unknown commands. */
#include <sys/mman.h>
#include <unistd.h>

#include "api.h"

#define KNOWN 168 /* sizeof(union bpf_attr) of 6.18 */

/* An array of one entry, and zeros as far as @size. */
static void array_attr(void *attr, size_t size)
{
	union bpf_attr array = ATTR(.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4,
				    .value_size = 4, .max_entries = 1);

	memset(attr, 0, size);
	memcpy(attr, &array, sizeof(array));
}

/* Newer kernels know more fields, so only what is far outside is certain to be unknown. */
static void sizes(void)
{
	struct {
		union bpf_attr attr;
		char tail[8192];
	} big;
	int fd;

	array_attr(&big, sizeof(big));
	for (unsigned int size = 16; size < 1024; size += 60) {
		fd = sys_bpf(BPF_MAP_CREATE, &big, size);
		if (expect_ok(fd))
			close(fd);
	}
	fd = sys_bpf(BPF_MAP_CREATE, &big, 4096);
	if (expect_ok(fd))
		close(fd);
	expect_eq(sys_bpf(BPF_MAP_CREATE, &big, 4097), -E2BIG);
	expect_eq(sys_bpf(BPF_MAP_CREATE, &big, ~0u), -E2BIG);
	/* A short attribute is zero-extended: no entries. */
	expect_eq(sys_bpf(BPF_MAP_CREATE, &big, 12), -EINVAL);
	expect_eq(sys_bpf(BPF_MAP_CREATE, &big, 0), -EINVAL);
	/* Part of a field counts: one entry, from its lowest byte. */
	fd = sys_bpf(BPF_MAP_CREATE, &big, 13);
	if (expect_ok(fd))
		close(fd);
}

static void unknown_tail(void)
{
	union {
		union bpf_attr attr;
		uint8_t bytes[4096];
	} big;

	array_attr(&big, sizeof(big));
	for (unsigned int at = 512; at < sizeof(big); at += 511) {
		big.bytes[at] = 1;
		expect_eq(sys_bpf(BPF_MAP_CREATE, &big, sizeof(big)), -E2BIG);
		expect_eq(sys_bpf(BPF_MAP_CREATE, &big, at + 1), -E2BIG);
		/* The size decides what is looked at; the command may still refuse. */
		int fd = sys_bpf(BPF_MAP_CREATE, &big, at);

		if (expect_ok(fd))
			close(fd);
		big.bytes[at] = 0;
	}
	/* The size is checked before the command is. */
	big.bytes[1000] = 1;
	expect_eq(sys_bpf(9999, &big, sizeof(big)), -E2BIG);
	big.bytes[1000] = 0;
	expect_eq(sys_bpf(9999, &big, sizeof(big)), -EINVAL);
	expect_eq(sys_bpf(-1, &big, sizeof(big)), -EINVAL);
}

/* Bytes that exist, but not for this command. */
static void fields_after_the_last(void)
{
	static const struct {
		int cmd;
		unsigned int end; /* of the command's last field */
	} rows[] = {
		{ BPF_MAP_LOOKUP_ELEM, 32 },
		{ BPF_MAP_UPDATE_ELEM, 32 },
		{ BPF_MAP_DELETE_ELEM, 16 },
		{ BPF_MAP_GET_NEXT_KEY, 24 },
		{ BPF_MAP_LOOKUP_AND_DELETE_ELEM, 32 },
		{ BPF_MAP_FREEZE, 4 },
		{ BPF_MAP_LOOKUP_BATCH, 56 },
		{ BPF_MAP_UPDATE_BATCH, 56 },
		{ BPF_MAP_DELETE_BATCH, 56 },
		{ BPF_MAP_LOOKUP_AND_DELETE_BATCH, 56 },
		{ BPF_OBJ_PIN, 20 },
		{ BPF_OBJ_GET, 20 },
		{ BPF_PROG_TEST_RUN, 76 },
		{ BPF_PROG_GET_NEXT_ID, 8 },
		{ BPF_MAP_GET_NEXT_ID, 8 },
		{ BPF_BTF_GET_NEXT_ID, 8 },
		{ BPF_LINK_GET_NEXT_ID, 8 },
		{ BPF_PROG_GET_FD_BY_ID, 4 },
		{ BPF_MAP_GET_FD_BY_ID, 12 },
		{ BPF_LINK_GET_FD_BY_ID, 4 },
		{ BPF_OBJ_GET_INFO_BY_FD, 16 },
		{ BPF_RAW_TRACEPOINT_OPEN, 24 },
		{ BPF_BTF_LOAD, 40 },
		{ BPF_TASK_FD_QUERY, 48 },
		{ BPF_LINK_UPDATE, 16 },
		{ BPF_ENABLE_STATS, 4 },
		{ BPF_ITER_CREATE, 8 },
		{ BPF_LINK_DETACH, 4 },
		{ BPF_PROG_BIND_MAP, 12 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint8_t attr[KNOWN] = { 0 };

		/* The last byte that a 6.18 kernel knows. */
		attr[KNOWN - 1] = 1;
		if (!expect_eq(sys_bpf(rows[i].cmd, attr, sizeof(attr)), -EINVAL))
			expect_eq(rows[i].cmd, -1);
		attr[KNOWN - 1] = 0;
		attr[rows[i].end] = 1;
		if (!expect_eq(sys_bpf(rows[i].cmd, attr, sizeof(attr)), -EINVAL))
			expect_eq(rows[i].cmd, -1);
	}
}

static void bad_pointer(void)
{
	long page = sysconf(_SC_PAGESIZE);
	char *mem = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	union bpf_attr attr = ATTR(.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4,
				   .max_entries = 1);
	int fd;

	mprotect(mem + page, page, PROT_NONE);
	expect_eq(sys_bpf(BPF_MAP_CREATE, NULL, 32), -EFAULT);
	expect_eq(sys_bpf(BPF_MAP_CREATE, (void *)BAD_PTR, 32), -EFAULT);
	expect_eq(sys_bpf(BPF_MAP_CREATE, mem + page, 32), -EFAULT);
	expect_eq(sys_bpf(BPF_MAP_CREATE, mem + page - 16, 32), -EFAULT);
	expect_eq(sys_bpf(9999, NULL, 32), -EFAULT);
	expect_eq(sys_bpf(9999, NULL, 0), -EINVAL);
	memcpy(mem + page - 16, &attr, 16);
	fd = sys_bpf(BPF_MAP_CREATE, mem + page - 16, 16);
	if (expect_ok(fd))
		close(fd);
	munmap(mem, 2 * page);
}

API_MAIN(API_TEST(sizes), API_TEST(unknown_tail), API_TEST(fields_after_the_last),
	 API_TEST(bad_pointer))
