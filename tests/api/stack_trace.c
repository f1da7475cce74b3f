// SPDX-License-Identifier: BSD-2-Clause
/*
 * Maps of stacks, and the helpers that fill them: bpf_get_stackid() and bpf_get_stack(), called by raw_tp
 * programs in test runs. Which addresses a stack has is for tests/probe/stack.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api.h"

#define FRAMES_MAX 127 /* sysctl kernel.perf_event_max_stack, unless somebody changed it */
#define DEPTH 8

static int stack_map(uint32_t frames, uint32_t entries, uint32_t flags)
{
	return map_new(BPF_MAP_TYPE_STACK_TRACE, 4, frames * 8, entries, flags);
}

static void create(void)
{
	static const struct {
		uint32_t key_size, value_size, entries, flags;
		int want; /* 1: a descriptor */
	} cases[] = {
		{ 4, 8, 1, 0, 1 },
		{ 4, FRAMES_MAX * 8, 5, 0, 1 },
		{ 4, (FRAMES_MAX + 1) * 8, 5, 0, -EINVAL },
		{ 4, 12, 5, 0, -EINVAL },
		{ 4, 4, 5, 0, -EINVAL },
		{ 4, 0, 5, 0, -EINVAL },
		{ 8, 8, 5, 0, -EINVAL },
		{ 2, 8, 5, 0, -EINVAL },
		{ 4, 8, 0, 0, -EINVAL },
		{ 4, 8, 1u << 31 | 1, 0, -E2BIG },
		{ 4, 8, 5, BPF_F_RDONLY, 1 },
		{ 4, 8, 5, BPF_F_WRONLY, 1 },
		{ 4, 8, 5, BPF_F_RDONLY_PROG, -EINVAL },
		{ 4, 8, 5, BPF_F_WRONLY_PROG, -EINVAL },
		{ 4, 8, 5, BPF_F_NO_PREALLOC, -EINVAL },
		{ 4, 8, 5, BPF_F_MMAPABLE, -EINVAL },
		{ 4, 8, 5, BPF_F_ZERO_SEED, -EINVAL },
		{ 4, 32, 5, BPF_F_STACK_BUILD_ID, 1 },
		{ 4, FRAMES_MAX * 32, 5, BPF_F_STACK_BUILD_ID, 1 },
		{ 4, (FRAMES_MAX + 1) * 32, 5, BPF_F_STACK_BUILD_ID, -EINVAL },
		{ 4, 8, 5, BPF_F_STACK_BUILD_ID, -EINVAL },
		{ 4, 40, 5, BPF_F_STACK_BUILD_ID, -EINVAL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int fd = map_new(BPF_MAP_TYPE_STACK_TRACE, cases[i].key_size, cases[i].value_size,
				 cases[i].entries, cases[i].flags);

		if (!expect_eq(fd < 0 ? fd : 1, cases[i].want))
			printf("  case %zu\n", i);
		if (fd >= 0)
			close(fd);
	}
}

/* An empty map, by all commands. */
static void empty(void)
{
	int fd = stack_map(DEPTH, 5, 0);
	uint64_t value[DEPTH] = { 1 };
	uint32_t key = 0, next;

	expect_eq(map_lookup(fd, &key, value), -ENOENT);
	expect_eq(map_update(fd, &key, value, BPF_ANY), -EINVAL);
	expect_eq(map_update(fd, &key, value, BPF_NOEXIST), -EINVAL);
	expect_eq(map_delete(fd, &key), -ENOENT);
	expect_eq(map_next_key(fd, NULL, &next), -ENOENT);
	expect_eq(map_next_key(fd, &key, &next), -ENOENT);
	expect_eq(map_lookup_delete(fd, &key, value, 0), -ENOENT);
	/* Entries are rounded up to a power of two. */
	key = 7;
	expect_eq(map_delete(fd, &key), -ENOENT);
	expect_eq(map_lookup(fd, &key, value), -ENOENT);
	expect_eq(map_lookup_delete(fd, &key, value, 0), -ENOENT);
	key = 8;
	expect_eq(map_delete(fd, &key), -E2BIG);
	expect_eq(map_lookup(fd, &key, value), -ENOENT);
	expect_eq(map_lookup_delete(fd, &key, value, 0), -ENOENT);
	expect_eq(map_lookup_flags(fd, &key, value, BPF_F_LOCK), -EINVAL);
	expect_eq(map_lookup_delete(fd, &key, value, BPF_F_LOCK), -EINVAL);
	expect_eq(map_lookup_delete(fd, &key, value, 1), -EINVAL);
	close(fd);
}

/* ---- programs ---- */

/* Run @prog with the words @a and @b as its context. What it returns, a signed number of 32 bits. */
static __attribute__((noinline)) int run(int prog, uint64_t a, uint64_t b)
{
	uint64_t args[2] = { a, b };
	union bpf_attr attr = ATTR(.test.prog_fd = (uint32_t)prog, .test.ctx_in = ptr(args),
				   .test.ctx_size_in = sizeof(args));

	expect_eq(sys_attr(BPF_PROG_TEST_RUN, &attr), 0);
	return (int)attr.test.retval;
}

/* Keeps a loop over @counter from being several calls in a row. */
#define SAME_PLACE(counter) __asm__ volatile("" : "+r"(counter))

/* Twice from one place, so that the stacks are the same. The first result; @again gets the second. */
static int run_twice(int prog, uint64_t first, uint64_t second, int *again)
{
	int results[2];

	for (int i = 0; i < 2; i++) {
		SAME_PLACE(i);
		results[i] = run(prog, i ? second : first, 0);
	}
	*again = results[1];
	return results[0];
}

/* bpf_get_stackid(ctx, map, a) */
static int id_prog(int map)
{
	const struct bpf_insn insns[] = {
		LDX_DW(3, 1, 0), LDX_DW(4, 1, 8), LD_MAP_FD(2, map), CALL(BPF_FUNC_get_stackid), EXIT(),
	};

	return prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, insns, ARRAY_SIZE(insns));
}

#define BUFFER 128

/* bpf_get_stack(ctx, the value of map, b, a) */
static int buffer_prog(int map)
{
	const struct bpf_insn insns[] = {
		LDX_DW(4, 1, 0),
		LDX_DW(3, 1, 8),
		LD_MAP_VALUE(2, map, 0),
		INSN(BPF_JMP | BPF_JGT | BPF_K, 3, 0, 2, BUFFER),
		CALL(BPF_FUNC_get_stack),
		EXIT(),
		MOV64_IMM(0, 0),
		EXIT(),
	};

	return prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, insns, ARRAY_SIZE(insns));
}

static uint32_t key_count(int map)
{
	uint32_t key, cnt = 0;

	for (int err = map_next_key(map, NULL, &key); !err; err = map_next_key(map, &key, &key))
		cnt++;
	return cnt;
}

static void ids(void)
{
	static const uint64_t flags[] = { 0, 0, BPF_F_FAST_STACK_CMP, BPF_F_REUSE_STACKID, 1 };
	int map = stack_map(DEPTH, 1024, 0), prog = id_prog(map), results[5], id, shorter;
	uint64_t stack[DEPTH] = { 0 }, rest[DEPTH] = { 0 };
	uint32_t key;

	if (!expect_ok(prog))
		return;
	expect_eq(run(prog, 1ull << 11, 0), -EINVAL); /* build ids are the map's business */
	expect_eq(run(prog, 1ull << 12, 0), -EINVAL);
	expect_eq(run(prog, 1ull << 32, 0), -EINVAL);
	expect_eq(run(prog, 255, 0), -EFAULT);
	expect_eq(key_count(map), 0);
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		SAME_PLACE(i);
		results[i] = run(prog, flags[i], 0);
	}
	id = results[0];
	shorter = results[4];
	if (!expect_true(id >= 0 && id < 1024))
		return;
	expect_eq(results[1], id);
	expect_eq(results[2], id);
	expect_eq(results[3], id);
	expect_eq(key_count(map), 2);
	expect_true(shorter >= 0 && shorter != id);
	key = (uint32_t)id;
	expect_eq(map_lookup(map, &key, stack), 0);
	expect_eq(map_update(map, &key, stack, BPF_ANY), -EINVAL);
	key = (uint32_t)shorter;
	expect_eq(map_lookup(map, &key, rest), 0);
	expect_true(stack[0] && stack[1] && stack[2]);
	expect_mem(rest, stack + 1, 2 * sizeof(stack[0]));
	expect_eq(map_lookup_delete(map, &key, rest, 0), 0);
	expect_mem(rest, stack + 1, 2 * sizeof(stack[0]));
	expect_eq(map_lookup(map, &key, rest), -ENOENT);
	expect_eq(key_count(map), 1);
	key = (uint32_t)id;
	expect_eq(map_delete(map, &key), 0);
	expect_eq(key_count(map), 0);
	expect_true(run(prog, 0, 0) >= 0);
	close(prog);
	close(map);
}

/* A short value keeps the first frames, and what is behind a short stack is zero. */
static void depth(void)
{
	int one = stack_map(1, 16, 0), all = stack_map(FRAMES_MAX, 16, 0);
	int prog_one = id_prog(one), prog_all = id_prog(all), id, end = 0;
	uint64_t first = 0, stack[FRAMES_MAX] = { 0 };
	uint32_t key;

	id = run(prog_all, 0, 0);
	key = (uint32_t)id;
	if (!expect_eq(map_lookup(all, &key, stack), 0))
		return;
	while (end < FRAMES_MAX && stack[end])
		end++;
	expect_true(end > 3 && end < 100);
	for (int i = end; i < FRAMES_MAX; i++)
		expect_eq(stack[i], 0);
	expect_eq(run(prog_all, (uint64_t)end, 0), -EFAULT);
	id = run(prog_all, (uint64_t)end - 1, 0);
	expect_true(id >= 0 || id == -EEXIST);
	key = (uint32_t)run(prog_one, 0, 0);
	expect_eq(map_lookup(one, &key, &first), 0);
	expect_true(first != 0 && first != stack[0]); /* another program's */
	close(prog_one);
	close(prog_all);
	close(one);
	close(all);
}

/* One bucket: everything collides; and as there is one element, nothing can take its place. */
static void collisions(void)
{
	int map = stack_map(DEPTH, 1, 0), prog = id_prog(map);
	uint64_t before[DEPTH] = { 0 }, after[DEPTH] = { 0 };
	uint32_t key = 0;

	expect_eq(run(prog, 0, 0), 0);
	expect_eq(map_lookup(map, &key, before), 0);
	expect_eq(run(prog, 1, 0), -EEXIST);
	expect_eq(run(prog, 1 | BPF_F_FAST_STACK_CMP, 0), -EEXIST);
	expect_eq(run(prog, 1 | BPF_F_REUSE_STACKID, 0), -ENOMEM);
	expect_eq(map_lookup(map, &key, after), 0);
	expect_mem(after, before, sizeof(before));
	expect_eq(map_delete(map, &key), 0);
	expect_eq(run(prog, 1 | BPF_F_REUSE_STACKID, 0), 0);
	expect_eq(map_lookup(map, &key, after), 0);
	expect_mem(after, before + 1, sizeof(before[0]));
	expect_eq(run(prog, 0, 0), -EEXIST);
	close(prog);
	close(map);
}

/* What a run with @flags, of a stack that is not there yet, leads to. True: go on with other flags. */
static bool reuse_step(int map, uint64_t flags, int id, uint32_t used)
{
	static int reused;

	if (id == -ENOMEM) {
		expect_eq(used, 3);
		return false;
	}
	if (!flags) {
		if (id >= 0)
			expect_eq(key_count(map), used + 1);
		else
			expect_eq(id, -EEXIST);
		reused = -1;
		return id < 0;
	}
	expect_true(id >= 0 && id < 4);
	expect_eq(key_count(map), used);
	if (reused >= 0)
		expect_eq(id, reused); /* there it is */
	reused = id;
	return true;
}

/* Four buckets and three elements: a stack whose bucket is taken takes its place if an element is free. */
static void reuse(void)
{
	static const uint64_t flags[] = { 0, BPF_F_REUSE_STACKID, BPF_F_REUSE_STACKID };
	int map = stack_map(DEPTH, 3, 0), prog = id_prog(map);

	for (uint64_t skip = 0; skip < 4; skip++) {
		for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
			uint32_t used = key_count(map);

			SAME_PLACE(i);
			if (!reuse_step(map, flags[i], run(prog, skip | flags[i], 0), used))
				break;
		}
	}
	close(prog);
	close(map);
}

/* Over and over, with more stacks than elements: none gets lost. */
static void elements_come_back(void)
{
	int map = stack_map(DEPTH, 2, 0), prog = id_prog(map);
	uint64_t stack[DEPTH];
	uint32_t key;

	for (int i = 0; i < 200; i++) {
		int id = run(prog, (uint64_t)(i % 3), 0);

		expect_true(id == 0 || id == 1 || id == -EEXIST || id == -ENOMEM);
		if (i % 3 < 2)
			continue;
		while (!map_next_key(map, NULL, &key))
			if (!expect_eq(i % 2 ? map_delete(map, &key) :
					       map_lookup_delete(map, &key, stack, 0), 0))
				return;
	}
	expect_true(run(prog, 0, 0) >= 0);
	close(prog);
	close(map);
}

static void buffers(void)
{
	int map = map_new(BPF_MAP_TYPE_ARRAY, 4, BUFFER, 1, 0), prog = buffer_prog(map);
	uint64_t buf[BUFFER / 8], shorter[BUFFER / 8], ones[BUFFER / 8];
	static const struct {
		uint64_t flags, size;
		int want;
	} bad[] = {
		{ 1ull << 9, BUFFER, -EINVAL },	 { 1ull << 10, BUFFER, -EINVAL },
		{ 1ull << 12, BUFFER, -EINVAL }, { 1ull << 40, BUFFER, -EINVAL },
		{ 0, 12, -EINVAL },		 { BPF_F_USER_BUILD_ID, 64, -EINVAL },
		{ BPF_F_USER_STACK | BPF_F_USER_BUILD_ID, 40, -EINVAL },
		{ 255, BUFFER, -EFAULT },
	};
	uint32_t key = 0;
	int size;

	memset(ones, 0xff, sizeof(ones));
	if (!expect_ok(prog))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		map_update(map, &key, ones, BPF_ANY);
		if (!expect_eq(run(prog, bad[i].flags, bad[i].size), bad[i].want))
			printf("  case %zu\n", i);
		/* What the program asked for is cleared, and no more. */
		expect_eq(map_lookup(map, &key, buf), 0);
		for (size_t byte = 0; byte < BUFFER; byte++)
			if ((((uint8_t *)buf)[byte] != 0) != (byte >= bad[i].size))
				expect_eq(byte, -1);
	}
	expect_eq(run(prog, 0, 0), 0);
	map_update(map, &key, ones, BPF_ANY);
	expect_eq(run(prog, 0, 24), 24);
	expect_eq(map_lookup(map, &key, buf), 0);
	expect_true(buf[0] && buf[1] && buf[2]);
	expect_eq(buf[3], -1);
	expect_eq(run(prog, 1, 16), 16);
	expect_eq(map_lookup(map, &key, shorter), 0);
	expect_mem(shorter, buf + 1, 16);
	size = run(prog, 0, BUFFER);
	expect_true(size > 24 && size <= BUFFER && size % 8 == 0);
	close(prog);
	close(map);
}

/* The stack of the caller of bpf(2), and files and offsets in place of addresses. */
static void user_stacks(void)
{
	int map = map_new(BPF_MAP_TYPE_ARRAY, 4, BUFFER, 1, 0), prog = buffer_prog(map);
	int ids = stack_map(DEPTH, 64, 0), by_file = stack_map(DEPTH * 4, 64, BPF_F_STACK_BUILD_ID);
	int prog_ids = id_prog(ids), prog_files = id_prog(by_file), size, id, again;
	struct bpf_stack_build_id files[DEPTH];
	uint64_t buf[BUFFER / 8] = { 0 }, stack[DEPTH] = { 0 };
	uint32_t key = 0;

	size = run(prog, BPF_F_USER_STACK, BUFFER);
	expect_true(size >= 8 && size <= BUFFER && size % 8 == 0);
	expect_eq(map_lookup(map, &key, buf), 0);
	expect_true(buf[0] && buf[0] >> 48 == 0);
	size = run(prog, BPF_F_USER_STACK | BPF_F_USER_BUILD_ID, BUFFER);
	expect_true(size >= 32 && size <= BUFFER && size % 32 == 0);
	expect_eq(map_lookup(map, &key, files), 0);
	expect_eq(files[0].status, BPF_STACK_BUILD_ID_VALID);
	expect_true(files[0].offset != 0 && files[0].offset < 1ull << 32);
	if (size < BUFFER)
		expect_eq(files[size / 32].status, BPF_STACK_BUILD_ID_EMPTY);

	id = run(prog_ids, BPF_F_USER_STACK, 0);
	expect_true(id >= 0);
	key = (uint32_t)id;
	expect_eq(map_lookup(ids, &key, stack), 0);
	expect_eq(stack[0], buf[0]);
	id = run_twice(prog_files, BPF_F_USER_STACK, BPF_F_USER_STACK, &again);
	expect_true(id >= 0);
	expect_eq(again, id);
	key = (uint32_t)id;
	memset(files, 0, sizeof(files));
	expect_eq(map_lookup(by_file, &key, files), 0);
	expect_eq(files[0].status, BPF_STACK_BUILD_ID_VALID);
	/* A kernel's own addresses are in no file. */
	id = run(prog_files, BPF_F_REUSE_STACKID, 0);
	expect_true(id >= 0);
	key = (uint32_t)id;
	expect_eq(map_lookup(by_file, &key, files), 0);
	expect_eq(files[0].status, BPF_STACK_BUILD_ID_IP);
	expect_true(files[0].ip != 0);
	close(prog);
	close(prog_ids);
	close(prog_files);
	close(map);
	close(ids);
	close(by_file);
}

/* Who may call them: programs that trace, and no others; and nothing else may touch the map. */
static void verdicts(void)
{
	static const struct {
		uint32_t type;
		bool may;
	} types[] = {
		{ BPF_PROG_TYPE_KPROBE, true },
		{ BPF_PROG_TYPE_TRACEPOINT, true },
		{ BPF_PROG_TYPE_RAW_TRACEPOINT, true },
		{ BPF_PROG_TYPE_SOCKET_FILTER, false },
		{ BPF_PROG_TYPE_SCHED_CLS, false },
		{ BPF_PROG_TYPE_XDP, false },
		{ BPF_PROG_TYPE_CGROUP_SKB, false },
		{ BPF_PROG_TYPE_SYSCALL, false },
	};
	int stacks = stack_map(DEPTH, 8, 0), hash = map_new(BPF_MAP_TYPE_HASH, 4, 64, 8, 0), fd;
	const struct bpf_insn id[] = {
		MOV64_IMM(3, 0), LD_MAP_FD(2, stacks), CALL(BPF_FUNC_get_stackid), MOV64_IMM(0, 0), EXIT(),
	};
	const struct bpf_insn buffer[] = {
		MOV64_REG(2, 10), ADD64_IMM(2, -64), MOV64_IMM(3, 64), MOV64_IMM(4, 0),
		CALL(BPF_FUNC_get_stack), MOV64_IMM(0, 0), EXIT(),
	};
	const struct bpf_insn other_map[] = {
		MOV64_IMM(3, 0), LD_MAP_FD(2, hash), CALL(BPF_FUNC_get_stackid), EXIT(),
	};
	const struct bpf_insn lookup[] = {
		ST_W(10, -4, 0), MOV64_REG(2, 10), ADD64_IMM(2, -4), LD_MAP_FD(1, stacks),
		CALL(BPF_FUNC_map_lookup_elem), MOV64_IMM(0, 0), EXIT(),
	};
	const struct bpf_insn no_context[] = {
		MOV64_REG(1, 10), MOV64_IMM(3, 0), LD_MAP_FD(2, stacks), CALL(BPF_FUNC_get_stackid), EXIT(),
	};

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		fd = prog_load(types[i].type, id, ARRAY_SIZE(id));
		if (!expect_eq(fd < 0 ? fd : 0, types[i].may ? 0 : -EINVAL))
			printf("  bpf_get_stackid, type %u\n", types[i].type);
		if (fd >= 0)
			close(fd);
		fd = prog_load(types[i].type, buffer, ARRAY_SIZE(buffer));
		if (!expect_eq(fd < 0 ? fd : 0, types[i].may ? 0 : -EINVAL))
			printf("  bpf_get_stack, type %u\n", types[i].type);
		if (fd >= 0)
			close(fd);
	}
	fd = BPF_PROG_TYPE_RAW_TRACEPOINT;
	expect_eq(prog_load((uint32_t)fd, other_map, ARRAY_SIZE(other_map)), -EINVAL);
	expect_eq(prog_load((uint32_t)fd, lookup, ARRAY_SIZE(lookup)), -EINVAL);
	expect_eq(prog_load((uint32_t)fd, no_context, ARRAY_SIZE(no_context)), -EACCES);
	close(stacks);
	close(hash);
}

API_MAIN(API_TEST(create), API_TEST(empty), API_TEST(ids), API_TEST(depth), API_TEST(collisions),
	 API_TEST(reuse), API_TEST(elements_come_back), API_TEST(buffers), API_TEST(user_stacks),
	 API_TEST(verdicts))
