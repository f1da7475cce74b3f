// SPDX-License-Identifier: BSD-2-Clause
/* Commands on elements: results, flags, errors and rights, of the common map types. */
#include <stdlib.h>
#include <unistd.h>

#include "api.h"

static void array_elements(void)
{
	int fd = map_new(BPF_MAP_TYPE_ARRAY, 4, 8, 3, 0);
	uint32_t key, next;
	uint64_t value;

	for (key = 0; key < 3; key++) {
		value = 100 + key;
		expect_eq(map_update(fd, &key, &value, BPF_ANY), 0);
	}
	value = 7;
	key = 1;
	expect_eq(map_update(fd, &key, &value, BPF_NOEXIST), -EEXIST);
	expect_eq(map_update(fd, &key, &value, BPF_EXIST), 0);
	expect_eq(map_update(fd, &key, &value, 3), -EINVAL);
	expect_eq(map_update(fd, &key, &value, 8), -EINVAL);
	expect_eq(map_update(fd, &key, &value, 1ull << 40), -EINVAL);
	expect_eq(map_update(fd, &key, &value, BPF_F_LOCK), -EINVAL);
	value = 0;
	expect_eq(map_lookup(fd, &key, &value), 0);
	expect_eq(value, 7);
	expect_eq(map_lookup_flags(fd, &key, &value, BPF_F_LOCK), -EINVAL);
	expect_eq(map_lookup_flags(fd, &key, &value, 1), -EINVAL);
	expect_eq(map_lookup_flags(fd, &key, &value, 1ull << 33), -EINVAL);
	expect_eq(map_delete(fd, &key), -EINVAL);
	key = 3;
	expect_eq(map_lookup(fd, &key, &value), -ENOENT);
	expect_eq(map_update(fd, &key, &value, BPF_ANY), -E2BIG);
	expect_eq(map_update(fd, &key, &value, BPF_NOEXIST), -E2BIG);
	expect_eq(map_lookup_delete(fd, &key, &value, 0), -API_ENOTSUPP);

	expect_eq(map_next_key(fd, NULL, &next), 0);
	expect_eq(next, 0);
	expect_eq(map_next_key(fd, &next, &key), 0);
	expect_eq(key, 1);
	key = 2;
	expect_eq(map_next_key(fd, &key, &next), -ENOENT);
	key = 77; /* out of range starts over */
	expect_eq(map_next_key(fd, &key, &next), 0);
	expect_eq(next, 0);
	close(fd);
}

static void hash_elements(void)
{
	int fd = map_new(BPF_MAP_TYPE_HASH, 4, 8, 3, 0);
	uint32_t key = 10, next, seen = 0;
	uint64_t value = 1;

	expect_eq(map_next_key(fd, NULL, &next), -ENOENT);
	expect_eq(map_lookup(fd, &key, &value), -ENOENT);
	expect_eq(map_delete(fd, &key), -ENOENT);
	expect_eq(map_update(fd, &key, &value, BPF_EXIST), -ENOENT);
	expect_eq(map_update(fd, &key, &value, BPF_NOEXIST), 0);
	expect_eq(map_update(fd, &key, &value, BPF_NOEXIST), -EEXIST);
	expect_eq(map_update(fd, &key, &value, 3), -EINVAL);
	value = 2;
	expect_eq(map_update(fd, &key, &value, BPF_EXIST), 0);
	for (key = 11; key < 13; key++)
		expect_eq(map_update(fd, &key, &value, BPF_ANY), 0);
	key = 13;
	expect_eq(map_update(fd, &key, &value, BPF_ANY), -E2BIG);
	key = 10;
	expect_eq(map_update(fd, &key, &value, BPF_ANY), 0); /* a full map may be updated */
	value = 0;
	expect_eq(map_lookup(fd, &key, &value), 0);
	expect_eq(value, 2);

	for (int err = map_next_key(fd, NULL, &next); !err; err = map_next_key(fd, &next, &next))
		seen |= 1u << next;
	expect_eq(seen, 7u << 10);
	key = 99; /* not there: starts over */
	expect_eq(map_next_key(fd, &key, &next), 0);

	value = 0;
	key = 11;
	expect_eq(map_lookup_delete(fd, &key, &value, 0), 0);
	expect_eq(value, 2);
	expect_eq(map_lookup_delete(fd, &key, &value, 0), -ENOENT);
	expect_eq(map_lookup_delete(fd, &key, &value, BPF_F_LOCK), -EINVAL);
	expect_eq(map_lookup_delete(fd, &key, &value, 1), -EINVAL);
	key = 12;
	expect_eq(map_delete(fd, &key), 0);
	expect_eq(map_delete(fd, &key), -ENOENT);
	close(fd);
}

/* The user side of a per-CPU map sees all CPUs, each value rounded up to 8 bytes. */
static void percpu_elements(uint32_t type)
{
	uint32_t cpus = bpfu_possible_cpus(), key = 0;
	int fd = map_new(type, 4, 4, 2, 0);
	struct {
		uint32_t value, pad;
	} *values = calloc(cpus, sizeof(*values)), *back = calloc(cpus, sizeof(*back));

	if (!expect_ok(fd))
		goto out;
	for (uint32_t i = 0; i < cpus; i++)
		values[i].value = 1000 + i;
	expect_eq(map_update(fd, &key, values, BPF_ANY), 0);
	expect_eq(map_lookup(fd, &key, back), 0);
	for (uint32_t i = 0; i < cpus; i++)
		expect_eq(back[i].value, 1000 + i);
	expect_eq(map_update(fd, &key, values, 3), -EINVAL);
	key = 9;
	expect_eq(map_lookup(fd, &key, back), -ENOENT);
	close(fd);
out:
	free(values);
	free(back);
}

static void percpu(void)
{
	percpu_elements(BPF_MAP_TYPE_PERCPU_ARRAY);
	percpu_elements(BPF_MAP_TYPE_PERCPU_HASH);
}

/* Which of several errors wins. */
static void descriptors_and_pointers(void)
{
	int fd = map_new(BPF_MAP_TYPE_ARRAY, 4, 8, 2, 0), btf = btf_small();
	struct bpf_insn insns[] = { MOV64_IMM(0, 0), EXIT() };
	int prog = prog_load(BPF_PROG_TYPE_SOCKET_FILTER, insns, 2);
	const int not_maps[] = { 0, btf, prog };
	uint32_t key = 0;
	uint64_t value = 0;
	void *bad = (void *)BAD_PTR;

	for (size_t i = 0; i < ARRAY_SIZE(not_maps); i++) {
		expect_eq(map_lookup(not_maps[i], &key, &value), -EINVAL);
		expect_eq(map_update(not_maps[i], &key, &value, 0), -EINVAL);
		expect_eq(map_delete(not_maps[i], &key), -EINVAL);
		expect_eq(map_next_key(not_maps[i], &key, &value), -EINVAL);
		expect_eq(map_lookup_delete(not_maps[i], &key, &value, 0), -EINVAL);
		expect_eq(map_freeze(not_maps[i]), -EINVAL);
	}
	expect_eq(map_lookup(-1, &key, &value), -EBADF);
	expect_eq(map_update(999, &key, &value, 0), -EBADF);
	expect_eq(map_delete(999, &key), -EBADF);
	expect_eq(map_next_key(999, &key, &value), -EBADF);
	expect_eq(map_lookup_delete(999, &key, &value, 0), -EBADF);
	expect_eq(map_freeze(999), -EBADF);
	/* Flags before the descriptor, the descriptor before pointers. */
	expect_eq(map_lookup_flags(999, bad, bad, 1), -EINVAL);
	expect_eq(map_lookup(999, bad, bad), -EBADF);

	expect_eq(map_lookup(fd, bad, &value), -EFAULT);
	expect_eq(map_lookup(fd, NULL, &value), -EFAULT);
	expect_eq(map_lookup(fd, &key, bad), -EFAULT);
	expect_eq(map_update(fd, bad, &value, 0), -EFAULT);
	expect_eq(map_update(fd, &key, bad, 0), -EFAULT);
	expect_eq(map_update(fd, &key, bad, 99), -EFAULT);
	expect_eq(map_delete(fd, bad), -EFAULT);
	expect_eq(map_next_key(fd, bad, &value), -EFAULT);
	expect_eq(map_next_key(fd, NULL, bad), -EFAULT);
	key = 5; /* -ENOENT before the value's pointer */
	expect_eq(map_lookup(fd, &key, bad), -ENOENT);
	close(fd);
	close(btf);
	close(prog);
}

/* Rights come from the descriptor, not from the map. */
static void rights(void)
{
	uint32_t key = 0;
	uint64_t value = 5;
	int fd;

	fd = map_new(BPF_MAP_TYPE_ARRAY, 4, 8, 1, BPF_F_RDONLY);
	expect_eq(map_lookup(fd, &key, &value), 0);
	expect_eq(map_next_key(fd, NULL, &key), 0);
	expect_eq(map_update(fd, &key, &value, 0), -EPERM);
	expect_eq(map_delete(fd, &key), -EPERM);
	expect_eq(map_freeze(fd), -EPERM);
	close(fd);

	fd = map_new(BPF_MAP_TYPE_HASH, 4, 8, 1, BPF_F_WRONLY);
	expect_eq(map_update(fd, &key, &value, 0), 0);
	expect_eq(map_lookup(fd, &key, &value), -EPERM);
	expect_eq(map_next_key(fd, NULL, &key), -EPERM);
	expect_eq(map_lookup_delete(fd, &key, &value, 0), -EPERM);
	expect_eq(map_delete(fd, &key), 0);
	close(fd);
}

static void frozen(void)
{
	int fd = map_new(BPF_MAP_TYPE_HASH, 4, 8, 2, 0);
	uint32_t key = 0;
	uint64_t value = 5;

	expect_eq(map_update(fd, &key, &value, 0), 0);
	expect_eq(map_freeze(fd), 0);
	expect_eq(map_freeze(fd), -EPERM);
	expect_eq(map_update(fd, &key, &value, 0), -EPERM);
	expect_eq(map_delete(fd, &key), -EPERM);
	expect_eq(map_lookup_delete(fd, &key, &value, 0), -EPERM);
	value = 0;
	expect_eq(map_lookup(fd, &key, &value), 0);
	expect_eq(value, 5);
	close(fd);
}

static void prog_array_elements(void)
{
	struct bpf_insn insns[] = { MOV64_IMM(0, 0), EXIT() };
	int socket = prog_load(BPF_PROG_TYPE_SOCKET_FILTER, insns, 2);
	int raw_tp = prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, insns, 2);
	int fd = map_new(BPF_MAP_TYPE_PROG_ARRAY, 4, 4, 4, 0);
	uint32_t key = 1, value = socket, bad = 999, zero = 0;

	if (!expect_ok(fd) || !expect_ok(socket) || !expect_ok(raw_tp))
		return;
	expect_eq(map_lookup(fd, &key, &value), -ENOENT);
	expect_eq(map_delete(fd, &key), -ENOENT);
	expect_eq(map_update(fd, &key, &bad, 0), -EBADF);
	expect_eq(map_update(fd, &key, &zero, 0), -EINVAL); /* standard input */
	value = fd;
	expect_eq(map_update(fd, &key, &value, 0), -EINVAL);
	value = socket;
	expect_eq(map_update(fd, &key, &value, BPF_NOEXIST), -EINVAL);
	expect_eq(map_update(fd, &key, &value, BPF_EXIST), -EINVAL);
	expect_eq(map_update(fd, &key, &value, 0), 0);
	/* The first program decides the type. */
	value = raw_tp;
	expect_eq(map_update(fd, &key, &value, 0), -EINVAL);
	/* What is read back is the id. */
	expect_eq(map_lookup(fd, &key, &value), 0);
	expect_eq(value, id_of(socket));
	key = 4;
	expect_eq(map_lookup(fd, &key, &value), -ENOENT);
	value = socket;
	expect_eq(map_update(fd, &key, &value, 0), -E2BIG);
	expect_eq(map_delete(fd, &key), -E2BIG);
	key = 1;
	expect_eq(map_delete(fd, &key), 0);
	expect_eq(map_delete(fd, &key), -ENOENT);
	close(fd);
	close(socket);
	close(raw_tp);
}

/* A program array and its program hold each other until the user lets go of the array. */
static void prog_array_cycle(void)
{
	int fd = map_new(BPF_MAP_TYPE_PROG_ARRAY, 4, 4, 1, 0);
	struct bpf_insn insns[] = {
		LD_MAP_FD(2, fd), MOV64_IMM(3, 0), CALL(BPF_FUNC_tail_call), MOV64_IMM(0, 0), EXIT(),
	};
	int prog = prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, insns, ARRAY_SIZE(insns));
	uint32_t key = 0, value = prog, id;

	if (!expect_ok(prog))
		return;
	id = id_of(prog);
	expect_eq(map_update(fd, &key, &value, 0), 0);
	close(prog);
	prog = fd_by_id(BPF_PROG_GET_FD_BY_ID, id);
	expect_ok(prog);
	close(prog);
	close(fd);
	for (int i = 0; i < 100000; i++) { /* the kernel frees from a worker */
		prog = fd_by_id(BPF_PROG_GET_FD_BY_ID, id);
		if (prog < 0)
			break;
		close(prog);
	}
	expect_eq(prog, -ENOENT);
}

static int load_tail_call(uint32_t type, int array)
{
	struct bpf_insn insns[] = {
		LD_MAP_FD(2, array), MOV64_IMM(3, 0), CALL(BPF_FUNC_tail_call), MOV64_IMM(0, 0),
		EXIT(),
	};

	return prog_load(type, insns, ARRAY_SIZE(insns));
}

/* Whoever jumps through an array gets its own context into what is there: one kind only. */
static void prog_array_kind(void)
{
	struct bpf_insn trivial[] = { MOV64_IMM(0, 0), EXIT() };
	int socket = prog_load(BPF_PROG_TYPE_SOCKET_FILTER, trivial, ARRAY_SIZE(trivial));
	int filled = map_new(BPF_MAP_TYPE_PROG_ARRAY, 4, 4, 1, 0);
	int claimed = map_new(BPF_MAP_TYPE_PROG_ARRAY, 4, 4, 1, 0);
	uint32_t key = 0, value = socket;
	int fd;

	/* What is in the array decides who may jump … */
	expect_eq(map_update(filled, &key, &value, 0), 0);
	expect_eq(load_tail_call(BPF_PROG_TYPE_RAW_TRACEPOINT, filled), -EINVAL);
	fd = load_tail_call(BPF_PROG_TYPE_SOCKET_FILTER, filled);
	expect_ok(fd);
	close(fd);
	/* … and the first who jumps decides what may be put in. */
	fd = load_tail_call(BPF_PROG_TYPE_RAW_TRACEPOINT, claimed);
	expect_ok(fd);
	expect_eq(map_update(claimed, &key, &value, 0), -EINVAL);
	close(fd);
	close(filled);
	close(claimed);
	close(socket);
}

API_MAIN(API_TEST(array_elements), API_TEST(hash_elements), API_TEST(percpu),
	 API_TEST(descriptors_and_pointers), API_TEST(rights), API_TEST(frozen),
	 API_TEST(prog_array_elements), API_TEST(prog_array_cycle),
	 API_TEST(prog_array_kind))
