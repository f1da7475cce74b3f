// SPDX-License-Identifier: BSD-2-Clause
/* BPF_MAP_*_BATCH: counts, cursors, flags and errors. */
#include <unistd.h>

#include "api.h"

struct batch {
	int fd;
	void *in, *out, *keys, *values;
	uint32_t count;
	uint64_t elem_flags, flags;
};

static int do_batch(int cmd, struct batch *b)
{
	union bpf_attr attr = ATTR(.batch.in_batch = ptr(b->in), .batch.out_batch = ptr(b->out),
				   .batch.keys = ptr(b->keys), .batch.values = ptr(b->values),
				   .batch.count = b->count, .batch.map_fd = b->fd,
				   .batch.elem_flags = b->elem_flags, .batch.flags = b->flags);
	int err = sys_attr(cmd, &attr);

	b->count = attr.batch.count;
	return err;
}

#define CNT 64

static void fill(int fd, uint32_t cnt)
{
	uint32_t keys[CNT];
	uint64_t values[CNT];
	struct batch b = { .fd = fd, .keys = keys, .values = values, .count = cnt };

	for (uint32_t i = 0; i < cnt; i++) {
		keys[i] = i;
		values[i] = 100 + i;
	}
	expect_eq(do_batch(BPF_MAP_UPDATE_BATCH, &b), 0);
	expect_eq(b.count, cnt);
}

static void array_batch(void)
{
	int fd = map_new(BPF_MAP_TYPE_ARRAY, 4, 8, CNT, 0);
	uint32_t keys[CNT], cursor = 0;
	uint64_t values[CNT];
	struct batch b = { .fd = fd, .out = &cursor, .keys = keys, .values = values, .count = 40 };

	fill(fd, CNT);
	expect_eq(do_batch(BPF_MAP_LOOKUP_BATCH, &b), 0);
	expect_eq(b.count, 40);
	expect_eq(keys[39], 39);
	expect_eq(values[39], 139);
	b.in = &cursor;
	b.count = 40;
	expect_eq(do_batch(BPF_MAP_LOOKUP_BATCH, &b), -ENOENT); /* the end */
	expect_eq(b.count, CNT - 40);
	expect_eq(keys[0], 40);
	b.count = 0;
	expect_eq(do_batch(BPF_MAP_LOOKUP_BATCH, &b), 0);
	b.count = 1;
	expect_eq(do_batch(BPF_MAP_DELETE_BATCH, &b), -API_ENOTSUPP);
	expect_eq(do_batch(BPF_MAP_LOOKUP_AND_DELETE_BATCH, &b), -API_ENOTSUPP);
	close(fd);
}

static void hash_batch(void)
{
	int fd = map_new(BPF_MAP_TYPE_HASH, 4, 8, CNT, 0);
	uint32_t keys[CNT], cursor = 0, seen = 0, total = 0;
	uint64_t values[CNT];
	struct batch b = { .fd = fd, .out = &cursor, .keys = keys, .values = values };
	int err;

	fill(fd, 32);
	do {
		b.count = 20;
		err = do_batch(BPF_MAP_LOOKUP_BATCH, &b);
		if (err && !expect_eq(err, -ENOENT))
			break;
		for (uint32_t i = 0; i < b.count; i++) {
			seen |= 1u << keys[i];
			expect_eq(values[i], 100 + keys[i]);
		}
		total += b.count;
		b.in = &cursor;
	} while (!err);
	expect_eq(seen, ~0u);
	expect_eq(total, 32);

	b.in = NULL;
	b.count = CNT;
	expect_eq(do_batch(BPF_MAP_LOOKUP_AND_DELETE_BATCH, &b), -ENOENT);
	expect_eq(b.count, 32);
	expect_eq(map_next_key(fd, NULL, keys), -ENOENT);

	fill(fd, 32);
	keys[0] = 3;
	keys[1] = 4;
	keys[2] = 77;
	keys[3] = 5;
	b.count = 4;
	expect_eq(do_batch(BPF_MAP_DELETE_BATCH, &b), -ENOENT); /* stops at the missing one */
	expect_eq(b.count, 2);
	expect_eq(map_delete(fd, &keys[3]), 0);
	close(fd);
}

static void flags_and_errors(void)
{
	int fd = map_new(BPF_MAP_TYPE_HASH, 4, 8, 4, 0);
	uint32_t keys[8] = { 0, 1, 2, 3, 4 }, cursor;
	uint64_t values[8] = { 0 };
	struct batch b = { .fd = fd, .out = &cursor, .keys = keys, .values = values, .count = 2 };
	struct batch bad;

	bad = b;
	bad.flags = 1;
	expect_eq(do_batch(BPF_MAP_UPDATE_BATCH, &bad), 0); /* not looked at for this command */
	bad = b;
	bad.elem_flags = 1;
	expect_eq(do_batch(BPF_MAP_UPDATE_BATCH, &bad), -EINVAL);
	expect_eq(do_batch(BPF_MAP_DELETE_BATCH, &bad), -EINVAL);
	expect_eq(do_batch(BPF_MAP_LOOKUP_BATCH, &bad), -EINVAL);
	bad = b;
	bad.flags = 1;
	expect_eq(do_batch(BPF_MAP_LOOKUP_BATCH, &bad), -EINVAL);
	bad = b;
	bad.fd = 999;
	expect_eq(do_batch(BPF_MAP_UPDATE_BATCH, &bad), -EBADF);
	bad.fd = 0;
	expect_eq(do_batch(BPF_MAP_UPDATE_BATCH, &bad), -EINVAL);
	bad = b;
	bad.keys = (void *)BAD_PTR;
	expect_eq(do_batch(BPF_MAP_UPDATE_BATCH, &bad), -EFAULT);
	expect_eq(bad.count, 0);
	bad.count = 2;
	expect_eq(do_batch(BPF_MAP_DELETE_BATCH, &bad), -EFAULT);
	bad = b;
	bad.values = (void *)BAD_PTR;
	expect_eq(do_batch(BPF_MAP_UPDATE_BATCH, &bad), -EFAULT);
	/* Too many for the map: those before are done. */
	bad = b;
	bad.count = 5;
	expect_eq(do_batch(BPF_MAP_UPDATE_BATCH, &bad), -E2BIG);
	expect_eq(bad.count, 4);
	close(fd);

	fd = map_new(BPF_MAP_TYPE_HASH, 4, 8, 4, BPF_F_RDONLY);
	b.fd = fd;
	expect_eq(do_batch(BPF_MAP_UPDATE_BATCH, &b), -EPERM);
	expect_eq(do_batch(BPF_MAP_DELETE_BATCH, &b), -EPERM);
	expect_eq(do_batch(BPF_MAP_LOOKUP_AND_DELETE_BATCH, &b), -EPERM);
	close(fd);
	fd = map_new(BPF_MAP_TYPE_HASH, 4, 8, 4, BPF_F_WRONLY);
	b.fd = fd;
	expect_eq(do_batch(BPF_MAP_LOOKUP_BATCH, &b), -EPERM);
	close(fd);
	fd = map_new(BPF_MAP_TYPE_PROG_ARRAY, 4, 4, 4, 0);
	b.fd = fd;
	expect_eq(do_batch(BPF_MAP_LOOKUP_BATCH, &b), -API_ENOTSUPP);
	expect_eq(do_batch(BPF_MAP_UPDATE_BATCH, &b), -API_ENOTSUPP);
	close(fd);
}

API_MAIN(API_TEST(array_batch), API_TEST(hash_batch), API_TEST(flags_and_errors))
