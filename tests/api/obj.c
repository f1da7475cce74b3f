// SPDX-License-Identifier: BSD-2-Clause
/* Pins and ids. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "api.h"

#define F_PATH_FD (1u << 14)

static char dir[64]; /* below bpffs, of this process */

static const char *in_dir(const char *name)
{
	static char paths[8][128];
	static int turn;
	char *path = paths[turn++ % 8];

	snprintf(path, sizeof(paths[0]), "%s/%s", dir, name);
	return path;
}

static int pin_flags(int fd, const char *path, uint32_t flags, int path_fd)
{
	struct {
		uint64_t path;
		uint32_t fd, flags;
		int path_fd;
	} attr = { ptr(path), fd, flags, path_fd };

	return sys_bpf(BPF_OBJ_PIN, &attr, 20);
}

static bool have_bpffs(void)
{
	snprintf(dir, sizeof(dir), "/sys/fs/bpf/bpfu_api_%d", getpid());
	if (!mkdir(dir, 0700))
		return true;
	/* The kernel's may not be mounted or writable. */
	if (api_user)
		expect_eq(errno, 0);
	printf("no bpffs: %s\n", strerror(errno));
	return false;
}

static void pins(void)
{
	struct bpf_insn insns[] = { MOV64_IMM(0, 0), EXIT() };
	int map = map_new(BPF_MAP_TYPE_ARRAY, 4, 8, 1, 0), btf = btf_small(), fd;
	int prog = prog_load(BPF_PROG_TYPE_SOCKET_FILTER, insns, 2);
	uint32_t id = id_of(map), key = 0;
	uint64_t value = 77;
	struct statfs fs;

	if (!have_bpffs())
		return;
	expect_eq(statfs(dir, &fs), 0);
	expect_eq(fs.f_type, 0xcafe4a11);
	expect_eq(obj_pin(map, in_dir("map")), 0);
	expect_eq(obj_pin(map, in_dir("map")), -EEXIST);
	expect_eq(obj_pin(prog, in_dir("prog")), 0);
	expect_eq(obj_pin(btf, in_dir("btf")), -EINVAL);
	expect_eq(obj_pin(999, in_dir("x")), -EINVAL);
	expect_eq(obj_pin(0, in_dir("x")), -EINVAL);
	expect_eq(obj_pin(999, (void *)BAD_PTR), -EINVAL); /* descriptor before path */
	expect_eq(obj_pin(map, (void *)BAD_PTR), -EFAULT);
	expect_eq(obj_pin(map, NULL), -EFAULT);
	expect_eq(obj_pin(map, ""), -ENOENT);
	expect_eq(obj_pin(map, in_dir("no/such")), -ENOENT);
	expect_eq(obj_pin(map, in_dir("map/below")), -ENOTDIR);
	expect_eq(obj_pin(map, in_dir("dot.ted")), -EPERM);
	expect_eq(obj_pin(map, "/tmp/bpfu_api_no_bpffs"), -EPERM);
	expect_eq(obj_pin(map, "bpfu_api_no_folder"), -EPERM);
	expect_eq(obj_pin(map, "/tmp"), -EEXIST);
	expect_eq(obj_pin(map, dir), -EEXIST);

	/* The pin keeps the map. */
	expect_eq(map_update(map, &key, &value, 0), 0);
	close(map);
	map = obj_get(in_dir("map"), 0);
	expect_ok(map);
	expect_eq(id_of(map), id);
	value = 0;
	expect_eq(map_lookup(map, &key, &value), 0);
	expect_eq(value, 77);
	expect_true(fcntl(map, F_GETFD) & FD_CLOEXEC);

	expect_eq(obj_get(in_dir("nothing"), 0), -ENOENT);
	expect_eq(obj_get(dir, 0), -EACCES);
	expect_eq(obj_get("/proc/version", 0), -EACCES);
	expect_eq(obj_get((void *)BAD_PTR, 0), -EFAULT);
	fd = obj_get(in_dir("map"), BPF_F_RDONLY);
	expect_ok(fd);
	expect_eq(map_update(fd, &key, &value, 0), -EPERM);
	expect_eq(map_lookup(fd, &key, &value), 0);
	close(fd);
	fd = obj_get(in_dir("map"), BPF_F_WRONLY);
	expect_eq(map_lookup(fd, &key, &value), -EPERM);
	expect_eq(map_update(fd, &key, &value, 0), 0);
	close(fd);
	expect_eq(obj_get(in_dir("map"), BPF_F_RDONLY | BPF_F_WRONLY), -EINVAL);
	expect_eq(obj_get(in_dir("map"), 1), -EINVAL);
	fd = obj_get(in_dir("prog"), 0);
	expect_ok(fd);
	expect_eq(id_of(fd), id_of(prog));
	close(fd);

	expect_eq(rmdir(dir), -1);
	expect_eq(errno, ENOTEMPTY);
	expect_eq(unlink(in_dir("map")), 0);
	expect_eq(obj_get(in_dir("map"), 0), -ENOENT);
	expect_eq(unlink(in_dir("map")), -1);
	expect_eq(errno, ENOENT);
	expect_eq(unlink(in_dir("prog")), 0);
	expect_eq(rmdir(dir), 0);
	close(map);
	close(prog);
	close(btf);
}

static void pin_flags_test(void)
{
	int map = map_new(BPF_MAP_TYPE_ARRAY, 4, 8, 1, 0);

	if (!have_bpffs())
		return;
	for (uint32_t bit = 0; bit < 32; bit++)
		if (1u << bit != F_PATH_FD)
			expect_eq(pin_flags(map, in_dir("x"), 1u << bit, 0), -EINVAL);
	expect_eq(pin_flags(map, in_dir("x"), 0, 5), -EINVAL); /* without its flag */
	expect_eq(pin_flags(map, in_dir("abs"), F_PATH_FD, -1), 0);
	expect_eq(unlink(in_dir("abs")), 0);
	expect_eq(pin_flags(map, "rel", F_PATH_FD, 999), -EBADF);
	/* Relative to a directory; only a real one can be opened. */
	int at = open("/sys/fs/bpf", O_PATH | O_DIRECTORY);

	if (at >= 0) {
		char name[64];

		snprintf(name, sizeof(name), "%s/rel", strrchr(dir, '/') + 1);
		expect_eq(pin_flags(map, name, F_PATH_FD, at), 0);
		expect_eq(pin_flags(map, in_dir("rel"), 0, 0), -EEXIST);
		expect_eq(unlink(in_dir("rel")), 0);
		close(at);
	}
	expect_eq(rmdir(dir), 0);
	close(map);
}

static void ids(void)
{
	static const struct {
		int next, by_id;
	} kinds[] = {
		{ BPF_MAP_GET_NEXT_ID, BPF_MAP_GET_FD_BY_ID },
		{ BPF_PROG_GET_NEXT_ID, BPF_PROG_GET_FD_BY_ID },
		{ BPF_BTF_GET_NEXT_ID, BPF_BTF_GET_FD_BY_ID },
		{ BPF_LINK_GET_NEXT_ID, BPF_LINK_GET_FD_BY_ID },
	};
	int map = map_new(BPF_MAP_TYPE_ARRAY, 4, 8, 1, 0), second, fd;
	uint32_t id = id_of(map), next, key = 0;
	uint64_t value = 9;
	union bpf_attr attr;

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		expect_eq(next_id(kinds[i].next, 0x7fffffff, &next), -EINVAL);
		expect_eq(next_id(kinds[i].next, ~0u, &next), -EINVAL);
		expect_eq(next_id(kinds[i].next, 0x7ffffffe, &next), -ENOENT);
		expect_eq(fd_by_id(kinds[i].by_id, 0), -ENOENT);
		expect_eq(fd_by_id(kinds[i].by_id, ~0u), -ENOENT);
	}
	expect_eq(next_id(BPF_MAP_GET_NEXT_ID, id - 1, &next), 0);
	expect_eq(next, id);
	second = map_new(BPF_MAP_TYPE_ARRAY, 4, 8, 1, 0);
	expect_true(id_of(second) > id);
	close(second);

	fd = fd_by_id(BPF_MAP_GET_FD_BY_ID, id);
	expect_ok(fd);
	expect_eq(map_update(fd, &key, &value, 0), 0);
	close(fd);
	attr = (union bpf_attr){ .map_id = id, .open_flags = BPF_F_RDONLY };
	fd = sys_attr(BPF_MAP_GET_FD_BY_ID, &attr);
	expect_ok(fd);
	expect_eq(map_update(fd, &key, &value, 0), -EPERM);
	expect_eq(map_lookup(fd, &key, &value), 0);
	close(fd);
	attr.open_flags = BPF_F_RDONLY | BPF_F_WRONLY;
	expect_eq(sys_attr(BPF_MAP_GET_FD_BY_ID, &attr), -EINVAL);
	attr.open_flags = 1;
	expect_eq(sys_attr(BPF_MAP_GET_FD_BY_ID, &attr), -EINVAL);
	attr = (union bpf_attr){ .btf_id = 1, .open_flags = 1 };
	expect_eq(sys_attr(BPF_BTF_GET_FD_BY_ID, &attr), -EINVAL);
	close(map);
}

API_MAIN(API_TEST(pins), API_TEST(pin_flags_test), API_TEST(ids))
