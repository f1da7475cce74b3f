// SPDX-License-Identifier: BSD-2-Clause
/* Mapping the memory of an array: rights, sharing, freezing, and life after close. */
#include <sys/mman.h>
#include <unistd.h>

#include "api.h"

#define page ((size_t)sysconf(_SC_PAGESIZE))

/* -errno or 0; a mapping that was made is undone. */
static int try_map(int fd, size_t len, int prot, int flags, off_t off)
{
	void *mem = mmap(NULL, len, prot, flags, fd, off);

	if (mem == MAP_FAILED)
		return -errno;
	munmap(mem, len);
	return 0;
}

static void errors(void)
{
	struct bpf_insn insns[] = { MOV64_IMM(0, 0), EXIT() };
	int prog = prog_load(BPF_PROG_TYPE_SOCKET_FILTER, insns, 2);
	int hash = map_new(BPF_MAP_TYPE_HASH, 4, 8, 1, 0);
	int plain = map_new(BPF_MAP_TYPE_ARRAY, 4, 8, 1, 0);
	int fd = map_new(BPF_MAP_TYPE_ARRAY, 4, 8, 1, BPF_F_MMAPABLE);
	const int rw = PROT_READ | PROT_WRITE;

	expect_eq(try_map(prog, page, PROT_READ, MAP_SHARED, 0), -ENODEV);
	expect_eq(try_map(hash, page, PROT_READ, MAP_SHARED, 0), -API_ENOTSUPP);
	expect_eq(try_map(hash, page, rw, MAP_PRIVATE, 0), -API_ENOTSUPP);
	expect_eq(try_map(plain, page, PROT_READ, MAP_SHARED, 0), -EINVAL);
	expect_eq(try_map(fd, page, rw, MAP_SHARED, 0), 0);
	expect_eq(try_map(fd, page, PROT_READ, MAP_SHARED, 0), 0);
	expect_eq(try_map(fd, 8, PROT_READ, MAP_SHARED, 0), 0);
	expect_eq(try_map(fd, page, rw, MAP_PRIVATE, 0), -EINVAL);
	expect_eq(try_map(fd, page, PROT_READ, MAP_PRIVATE, 0), -EINVAL);
	expect_eq(try_map(fd, 2 * page, PROT_READ, MAP_SHARED, 0), -EINVAL);
	expect_eq(try_map(fd, page, PROT_READ, MAP_SHARED, page), -EINVAL);
	expect_eq(try_map(fd, page, rw | PROT_EXEC, MAP_SHARED, 0), -EPERM);
	expect_eq(try_map(fd, 0, PROT_READ, MAP_SHARED, 0), -EINVAL);
	close(prog);
	close(hash);
	close(plain);
	close(fd);
}

static void restricted(void)
{
	int fd = map_new(BPF_MAP_TYPE_ARRAY, 4, 8, 1, BPF_F_MMAPABLE | BPF_F_RDONLY);
	const int rw = PROT_READ | PROT_WRITE;

	expect_eq(try_map(fd, page, PROT_READ, MAP_SHARED, 0), -EINVAL);
	expect_eq(try_map(fd, page, rw, MAP_SHARED, 0), -EACCES);
	close(fd);
	fd = map_new(BPF_MAP_TYPE_ARRAY, 4, 8, 1, BPF_F_MMAPABLE | BPF_F_WRONLY);
	expect_eq(try_map(fd, page, PROT_READ, MAP_SHARED, 0), -EACCES);
	close(fd);
	fd = map_new(BPF_MAP_TYPE_ARRAY, 4, 8, 1, BPF_F_MMAPABLE | BPF_F_RDONLY_PROG);
	expect_eq(try_map(fd, page, PROT_READ, MAP_SHARED, 0), 0);
	expect_eq(try_map(fd, page, rw, MAP_SHARED, 0), -EACCES);
	close(fd);
	fd = map_new(BPF_MAP_TYPE_ARRAY, 4, 8, 1, BPF_F_MMAPABLE | BPF_F_WRONLY_PROG);
	expect_eq(try_map(fd, page, rw, MAP_SHARED, 0), 0);
	close(fd);
}

static void shared_with_commands(void)
{
	int fd = map_new(BPF_MAP_TYPE_ARRAY, 4, 8, 3000, BPF_F_MMAPABLE);
	size_t len = (3000 * 8 + page - 1) / page * page;
	uint64_t *mem = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), *second, value;
	uint32_t key = 2999;

	expect_true(mem != MAP_FAILED);
	mem[key] = 0x1122334455667788;
	expect_eq(map_lookup(fd, &key, &value), 0);
	expect_eq(value, 0x1122334455667788);
	value = 42;
	expect_eq(map_update(fd, &key, &value, 0), 0);
	expect_eq(mem[key], 42);
	/* Part of it, again. */
	second = mmap(NULL, page, PROT_READ, MAP_SHARED, fd, page);
	expect_true(second != MAP_FAILED);
	mem[page / 8] = 77;
	expect_eq(second[0], 77);
	munmap(second, page);
	/* The memory outlives the descriptor. */
	close(fd);
	mem[0] = 1;
	expect_eq(mem[key], 42);
	munmap(mem, len);
}

/* Only while nobody can write may a map be frozen, and then nobody can any more. */
static void freezing(void)
{
	int fd = map_new(BPF_MAP_TYPE_ARRAY, 4, 8, 2 * page / 8, BPF_F_MMAPABLE);
	char *mem = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	char *view;

	expect_true(mem != MAP_FAILED);
	expect_eq(map_freeze(fd), -EBUSY);
	munmap(mem, page); /* half of it is still there */
	expect_eq(map_freeze(fd), -EBUSY);
	munmap(mem + page, page);
	view = mmap(NULL, page, PROT_READ, MAP_SHARED, fd, 0);
	expect_true(view != MAP_FAILED);
	expect_eq(map_freeze(fd), 0);
	expect_eq(view[0], 0);
	expect_eq(mprotect(view, page, PROT_READ | PROT_WRITE), -1);
	expect_eq(errno, EACCES);
	munmap(view, page);
	expect_eq(try_map(fd, page, PROT_READ | PROT_WRITE, MAP_SHARED, 0), -EPERM);
	expect_eq(try_map(fd, page, PROT_READ, MAP_SHARED, 0), 0);
	close(fd);
}

/* As libbpf maps global data: over a mapping that is there. */
static void fixed(void)
{
	int fd = map_new(BPF_MAP_TYPE_ARRAY, 4, 8, 1, BPF_F_MMAPABLE);
	uint64_t *mem = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	void *over;

	*mem = 5;
	over = mmap(mem, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
	expect_true(over == mem);
	expect_eq(*mem, 0);
	*mem = 6;
	expect_eq(map_freeze(fd), -EBUSY);
	/* Replaced by something else, the map is free again. */
	over = mmap(mem, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	expect_true(over == mem);
	expect_eq(map_freeze(fd), 0);
	munmap(mem, page);
	close(fd);
}

/* Holes in the middle split a mapping. */
static void holes(void)
{
	int fd = map_new(BPF_MAP_TYPE_ARRAY, 4, 8, 5 * page / 8, BPF_F_MMAPABLE);
	uint32_t id = id_of(fd);
	char *mem = mmap(NULL, 5 * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	expect_true(mem != MAP_FAILED);
	munmap(mem + 2 * page, page);
	close(fd);
	mem[0] = 1;
	mem[4 * page] = 2;
	fd = fd_by_id(BPF_MAP_GET_FD_BY_ID, id);
	expect_ok(fd);
	munmap(mem, 2 * page);
	expect_eq(map_freeze(fd), -EBUSY);
	munmap(mem + page, 4 * page);
	expect_eq(map_freeze(fd), 0);
	close(fd);
	for (int i = 0; i < 100000; i++) {
		fd = fd_by_id(BPF_MAP_GET_FD_BY_ID, id);
		if (fd < 0)
			break;
		close(fd);
	}
	expect_eq(fd, -ENOENT);
}

API_MAIN(API_TEST(errors), API_TEST(restricted), API_TEST(shared_with_commands),
	 API_TEST(freezing), API_TEST(fixed), API_TEST(holes))
