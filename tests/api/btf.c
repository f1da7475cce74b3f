// SPDX-License-Identifier: BSD-2-Clause
/* BPF_BTF_LOAD and look-up by id: attribute, log and life; what BTF must look like is btf/'s test. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "api.h"

union btf_attr {
	union bpf_attr a;
	struct {
		uint8_t old[28];
		uint32_t log_true_size;
		uint32_t flags;
		int32_t token_fd;
	} x;
};

struct blob {
	struct btf_header hdr;
	uint32_t types[4];
	char strings[5];
};

static const struct blob good = {
	.hdr = { .magic = BTF_MAGIC, .version = 1, .hdr_len = sizeof(struct btf_header),
		 .type_len = 16, .str_off = 16, .str_len = 5 },
	.types = { 1, BTF_KIND_INT << 24, 4, 32 },
	.strings = "\0int",
};
#define BLOB_SIZE (offsetof(struct blob, strings) + 5)

static union btf_attr template(const void *blob)
{
	return (union btf_attr){ .a = { .btf = ptr(blob), .btf_size = BLOB_SIZE } };
}

static int try_load(union btf_attr *attr)
{
	int fd = sys_bpf(BPF_BTF_LOAD, attr, sizeof(*attr));

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

static void attribute(void)
{
	union btf_attr attr = template(&good);

	expect_eq(try_load(&attr), 0);
	attr.a.btf = BAD_PTR;
	expect_eq(try_load(&attr), -EFAULT);
	attr = template(&good);
	attr.a.btf_size = 0;
	expect_eq(try_load(&attr), -EINVAL);
	attr.a.btf_size = 8;
	expect_eq(try_load(&attr), -EINVAL);
	attr.a.btf_size = 16 * 1024 * 1024 + 1;
	expect_eq(try_load(&attr), -E2BIG);
	attr = template(&good);
	attr.x.flags = 1;
	expect_eq(try_load(&attr), -EINVAL);
	attr.x.flags = 1u << 16; /* a token that is none */
	attr.x.token_fd = 999;
	expect_eq(try_load(&attr), -EBADF);
	attr.x.token_fd = 0;
	expect_eq(try_load(&attr), -EINVAL);
	/* Too large before the flag of the log. */
	attr = template(&good);
	attr.a.btf_size = ~0u;
	attr.a.btf_log_level = 99;
	expect_eq(try_load(&attr), -E2BIG);
}

static void log_rules(void)
{
	struct blob bad = good;
	union btf_attr attr = template(&bad);
	char log[4096], cut[16];
	uint32_t size;

	bad.types[0] = 99; /* a name outside of the strings */
	expect_eq(try_load(&attr), -EINVAL);
	attr.a.btf_log_level = 99;
	expect_eq(try_load(&attr), -EINVAL);
	attr.a.btf_log_level = 0;
	attr.a.btf_log_buf = ptr(log);
	attr.a.btf_log_size = sizeof(log);
	expect_eq(try_load(&attr), -EINVAL);
	memset(log, '#', sizeof(log));
	attr.a.btf_log_level = 1;
	expect_eq(try_load(&attr), -EINVAL);
	size = attr.x.log_true_size;
	if (!expect_true(size > 16 && size < sizeof(log)))
		return;
	expect_eq(strlen(log), size - 1);
	attr.a.btf_log_buf = ptr(cut);
	attr.a.btf_log_size = 10;
	expect_eq(try_load(&attr), -ENOSPC);
	expect_mem(cut, log + size - 1 - 9, 10);
	expect_eq(attr.x.log_true_size, size);
	attr.a.btf_log_level = 1 | 8;
	expect_eq(try_load(&attr), -ENOSPC);
	expect_mem(cut, log, 9);
	attr.a.btf_log_buf = 0;
	attr.a.btf_log_size = 0;
	expect_eq(try_load(&attr), -EINVAL);
	expect_eq(attr.x.log_true_size, size);
}

static void ids(void)
{
	union btf_attr attr = template(&good);
	int fd = sys_bpf(BPF_BTF_LOAD, &attr, sizeof(attr)), again;
	struct bpf_btf_info info = { 0 };
	uint32_t len = sizeof(info), next;

	if (!expect_ok(fd) || !expect_eq(obj_info(fd, &info, &len), 0))
		return;
	expect_true(info.id);
	again = fd_by_id(BPF_BTF_GET_FD_BY_ID, info.id);
	expect_ok(again);
	close(again);
	expect_eq(next_id(BPF_BTF_GET_NEXT_ID, info.id - 1, &next), 0);
	expect_eq(next, info.id);
	close(fd);
	again = fd_by_id(BPF_BTF_GET_FD_BY_ID, info.id);
	expect_eq(again, -ENOENT);
}

/* The text comes back as it was loaded; names go by the rules of the kernel. */
static void info(void)
{
	union btf_attr attr = template(&good);
	int fd = sys_bpf(BPF_BTF_LOAD, &attr, sizeof(attr));
	uint8_t back[BLOB_SIZE + 8];
	char name[8] = "#######";
	struct bpf_btf_info info = { .btf = ptr(back), .btf_size = sizeof(back),
				     .name = ptr(name), .name_len = sizeof(name) };
	uint32_t len = sizeof(info);

	memset(back, 0xee, sizeof(back));
	expect_eq(obj_info(fd, &info, &len), 0);
	expect_eq(len, sizeof(info));
	expect_eq(info.btf_size, BLOB_SIZE);
	expect_mem(back, &good, BLOB_SIZE);
	expect_eq(back[BLOB_SIZE], 0xee);
	expect_eq(info.kernel_btf, 0);
	expect_eq(info.name_len, 0); /* only the kernel's own have names */
	expect_eq(name[0], 0);

	memset(back, 0xee, sizeof(back));
	info = (struct bpf_btf_info){ .btf = ptr(back), .btf_size = 10 };
	expect_eq(obj_info(fd, &info, &len), 0);
	expect_eq(info.btf_size, BLOB_SIZE);
	expect_mem(back, &good, 10);
	expect_eq(back[10], 0xee);

	info = (struct bpf_btf_info){ .name = ptr(name) };
	expect_eq(obj_info(fd, &info, &len), -EINVAL);
	info = (struct bpf_btf_info){ .name_len = 4 };
	expect_eq(obj_info(fd, &info, &len), -EINVAL);
	info = (struct bpf_btf_info){ .btf = BAD_PTR, .btf_size = 4 };
	expect_eq(obj_info(fd, &info, &len), -EFAULT);
	info = (struct bpf_btf_info){ .name = BAD_PTR, .name_len = 4 };
	expect_eq(obj_info(fd, &info, &len), -EFAULT);
	len = 12; /* a short struct gets what fits */
	info = (struct bpf_btf_info){ .id = 0x5555 };
	expect_eq(obj_info(fd, &info, &len), 0);
	expect_eq(len, 12);
	expect_eq(info.id, 0x5555);
	expect_eq(info.btf_size, BLOB_SIZE);
	close(fd);
}

API_MAIN(API_TEST(attribute), API_TEST(log_rules), API_TEST(ids), API_TEST(info))
