// SPDX-License-Identifier: BSD-2-Clause
/*
 * Both sides in one process: descriptors go to whoever made them, everything else by the route of the
 * thread. Needs a kernel that answers; exits 77 without.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "api.h"

static int on(enum bpfu_route route)
{
	return bpfu_route_set(route);
}

static void routes(void)
{
	expect_eq(bpfu_route_set((enum bpfu_route)7), -EINVAL);
	expect_eq(on(BPFU_ROUTE_KERNEL), 0);
	expect_eq(bpfu_route_get(), BPFU_ROUTE_KERNEL);
	expect_eq(on(BPFU_ROUTE_USER), 0);
	expect_eq(bpfu_route_get(), BPFU_ROUTE_USER);
	expect_true(!bpfu_fd_is_user(0));
	expect_true(!bpfu_fd_is_user(-1));
	expect_true(!bpfu_fd_is_user(999));
}

/* Maps of both sides, used under either route. */
static void maps(void)
{
	uint32_t key = 0;
	uint64_t value;
	int fds[2];

	for (int side = 0; side < 2; side++) {
		on(side);
		fds[side] = map_new(BPF_MAP_TYPE_ARRAY, 4, 8, 1, 0);
		expect_ok(fds[side]);
		expect_eq(bpfu_fd_is_user(fds[side]), side == BPFU_ROUTE_USER);
	}
	for (int route = 0; route < 2; route++) {
		on(route);
		for (int side = 0; side < 2; side++) {
			value = 10 * route + side;
			expect_eq(map_update(fds[side], &key, &value, 0), 0);
		}
		for (int side = 0; side < 2; side++) {
			expect_eq(map_lookup(fds[side], &key, &value), 0);
			expect_eq(value, 10 * route + side);
			expect_true(id_of(fds[side]));
		}
		/* Nobody's: the same error from either. */
		expect_eq(map_lookup(999, &key, &value), -EBADF);
		expect_eq(map_lookup(0, &key, &value), -EINVAL);
	}
	close(fds[0]);
	close(fds[1]);
}

static void programs_in_turn(void)
{
	int fds[2];
	uint32_t retval;

	for (int side = 0; side < 2; side++) {
		struct bpf_insn insns[] = { MOV64_IMM(0, 100 + side), EXIT() };

		on(side);
		fds[side] = prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, insns, 2);
		expect_ok(fds[side]);
	}
	for (int i = 0; i < 20; i++) {
		on(i / 3 % 2);
		expect_eq(test_run(fds[i % 2], &retval), 0);
		expect_eq(retval, 100 + i % 2);
	}
	close(fds[0]);
	close(fds[1]);
}

/* Ids and pins are separate worlds. */
static void worlds(void)
{
	uint32_t id, next;
	char path[64];
	int fd, got;

	on(BPFU_ROUTE_USER);
	fd = map_new(BPF_MAP_TYPE_ARRAY, 4, 8, 1, 0);
	id = id_of(fd);
	got = fd_by_id(BPF_MAP_GET_FD_BY_ID, id);
	expect_true(bpfu_fd_is_user(got));
	close(got);
	snprintf(path, sizeof(path), "/sys/fs/bpf/bpfu_route_%d", getpid());
	expect_eq(obj_pin(fd, path), 0);
	on(BPFU_ROUTE_KERNEL);
	expect_eq(obj_get(path, 0), -ENOENT);
	got = next_id(BPF_MAP_GET_NEXT_ID, 0, &next) ? -1 : fd_by_id(BPF_MAP_GET_FD_BY_ID, next);
	expect_true(!bpfu_fd_is_user(got));
	close(got);
	on(BPFU_ROUTE_USER);
	got = obj_get(path, 0);
	expect_true(bpfu_fd_is_user(got));
	close(got);
	expect_eq(unlink(path), 0);
	close(fd);
}

/* Objects of one side are not arguments for the other. */
static void mixed(void)
{
	for (int side = 0; side < 2; side++) {
		int map, btf;
		union bpf_attr attr = ATTR(.map_type = BPF_MAP_TYPE_HASH, .key_size = 4,
					   .value_size = 8, .max_entries = 1,
					   .btf_key_type_id = BTF_ID_INT,
					   .btf_value_type_id = BTF_ID_U64);

		on(side);
		map = map_new(BPF_MAP_TYPE_ARRAY, 4, 8, 1, 0);
		btf = btf_small();
		struct bpf_insn insns[] = { LD_MAP_FD(1, map), MOV64_IMM(0, 0), EXIT() };

		on(!side);
		attr.btf_fd = btf;
		expect_eq(sys_attr(BPF_MAP_CREATE, &attr), -EINVAL);
		expect_eq(prog_load(BPF_PROG_TYPE_SOCKET_FILTER, insns, 4), -EINVAL);
		close(map);
		close(btf);
	}
	on(BPFU_ROUTE_USER);
}

static void *other_thread(void *arg)
{
	return (void *)(long)bpfu_route_get();
}

static enum bpfu_route route_of_new_thread(void)
{
	pthread_t thread;
	void *ret;

	pthread_create(&thread, NULL, other_thread, NULL);
	pthread_join(thread, &ret);
	return (long)ret;
}

static void threads(void)
{
	on(BPFU_ROUTE_KERNEL);
	expect_eq(route_of_new_thread(), BPFU_ROUTE_USER);
	on(BPFU_ROUTE_USER);
	setenv("BPFU_ROUTE", "kernel", 1);
	expect_eq(route_of_new_thread(), BPFU_ROUTE_KERNEL);
	setenv("BPFU_ROUTE", "user", 1);
	expect_eq(route_of_new_thread(), BPFU_ROUTE_USER);
	unsetenv("BPFU_ROUTE");
	expect_eq(bpfu_route_get(), BPFU_ROUTE_USER);
}

API_MAIN(API_TEST(routes), API_TEST(maps), API_TEST(programs_in_turn), API_TEST(worlds),
	 API_TEST(mixed), API_TEST(threads))
