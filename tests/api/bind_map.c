// SPDX-License-Identifier: BSD-2-Clause
/* BPF_PROG_BIND_MAP: a program holds a map that it does not use. */
#include <unistd.h>

#include "api.h"

static int bind_map(int prog, int map, uint32_t flags)
{
	union bpf_attr attr = ATTR(.prog_bind_map.prog_fd = prog, .prog_bind_map.map_fd = map,
				   .prog_bind_map.flags = flags);

	return sys_attr(BPF_PROG_BIND_MAP, &attr);
}

static void binds(void)
{
	static const struct bpf_insn insns[] = { MOV64_IMM(0, 0), EXIT() };
	int prog = prog_load(BPF_PROG_TYPE_SOCKET_FILTER, insns, 2);
	int map = map_new(BPF_MAP_TYPE_ARRAY, 4, 4, 1, 0), fd;
	uint32_t id = id_of(map), ids[2] = { 0 };
	struct bpf_prog_info info = { .nr_map_ids = 2, .map_ids = ptr(ids) };
	uint32_t len = sizeof(info);

	expect_eq(bind_map(prog, map, 1), -EINVAL);
	expect_eq(bind_map(999, map, 0), -EBADF);
	expect_eq(bind_map(map, map, 0), -EINVAL);
	expect_eq(bind_map(prog, 999, 0), -EBADF);
	expect_eq(bind_map(prog, prog, 0), -EINVAL);
	expect_eq(bind_map(prog, map, 0), 0);
	expect_eq(bind_map(prog, map, 0), 0);
	expect_eq(obj_info(prog, &info, &len), 0);
	expect_eq(info.nr_map_ids, 1);
	expect_eq(ids[0], id);
	close(map);
	fd = fd_by_id(BPF_MAP_GET_FD_BY_ID, id);
	expect_ok(fd);
	close(fd);
	close(prog);
	for (int i = 0; i < 100000; i++) { /* the kernel frees from a worker */
		fd = fd_by_id(BPF_MAP_GET_FD_BY_ID, id);
		if (fd < 0)
			break;
		close(fd);
	}
	expect_eq(fd, -ENOENT);
}

API_MAIN(API_TEST(binds))
