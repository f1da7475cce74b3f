// SPDX-License-Identifier: BSD-2-Clause
/* BPF_MAP_CREATE: which attributes are accepted, for each type and in general. */
#include <fcntl.h>
#include <unistd.h>

#include "api.h"

static int try_attr(union bpf_attr *attr)
{
	int fd = sys_attr(BPF_MAP_CREATE, attr);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

static int try_new(uint32_t type, uint32_t key, uint32_t value, uint32_t entries, uint32_t flags)
{
	union bpf_attr attr = ATTR(.map_type = type, .key_size = key, .value_size = value,
				   .max_entries = entries, .map_flags = flags);

	return try_attr(&attr);
}

static void arrays(void)
{
	static const uint32_t types[] = { BPF_MAP_TYPE_ARRAY, BPF_MAP_TYPE_PERCPU_ARRAY };

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		uint32_t t = types[i];

		expect_eq(try_new(t, 4, 8, 4, 0), 0);
		expect_eq(try_new(t, 4, 1, 1, 0), 0);
		expect_eq(try_new(t, 4, 8, 0, 0), -EINVAL);
		expect_eq(try_new(t, 4, 0, 4, 0), -EINVAL);
		expect_eq(try_new(t, 8, 8, 4, 0), -EINVAL);
		expect_eq(try_new(t, 0, 8, 4, 0), -EINVAL);
		expect_eq(try_new(t, 4, 8, 4, BPF_F_NO_PREALLOC), -EINVAL);
		expect_eq(try_new(t, 4, 8, 4, BPF_F_RDONLY), 0);
		expect_eq(try_new(t, 4, 8, 4, BPF_F_WRONLY), 0);
		expect_eq(try_new(t, 4, 8, 4, BPF_F_RDONLY | BPF_F_WRONLY), -EINVAL);
		expect_eq(try_new(t, 4, 8, 4, BPF_F_RDONLY_PROG), 0);
		expect_eq(try_new(t, 4, 8, 4, BPF_F_RDONLY_PROG | BPF_F_WRONLY_PROG), -EINVAL);
		expect_eq(try_new(t, 4, 8, 4, BPF_F_MMAPABLE),
			  t == BPF_MAP_TYPE_ARRAY ? 0 : -EINVAL);
		expect_eq(try_new(t, 4, 8, 4, BPF_F_INNER_MAP),
			  t == BPF_MAP_TYPE_ARRAY ? 0 : -EINVAL);
		expect_eq(try_new(t, 4, 8, 4, 1u << 31), -EINVAL);
	}
	expect_eq(try_new(BPF_MAP_TYPE_PERCPU_ARRAY, 4, 0x7fffffff, 4, 0), -E2BIG);
	expect_eq(try_new(BPF_MAP_TYPE_PERCPU_ARRAY, 4, 32 * 1024 + 8, 4, 0), -E2BIG);
}

static void hashes(void)
{
	static const uint32_t types[] = { BPF_MAP_TYPE_HASH, BPF_MAP_TYPE_PERCPU_HASH };

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		uint32_t t = types[i];

		expect_eq(try_new(t, 4, 8, 4, 0), 0);
		expect_eq(try_new(t, 1, 1, 1, 0), 0);
		expect_eq(try_new(t, 256, 8, 4, 0), 0);
		expect_eq(try_new(t, 4, 8, 4, BPF_F_NO_PREALLOC), 0);
		expect_eq(try_new(t, 4, 8, 4, BPF_F_ZERO_SEED), 0);
		expect_eq(try_new(t, 4, 8, 4, BPF_F_NO_COMMON_LRU), -EINVAL);
		expect_eq(try_new(t, 4, 8, 4, BPF_F_MMAPABLE), -EINVAL);
		expect_eq(try_new(t, 4, 8, 0, 0), -EINVAL);
		expect_eq(try_new(t, 0, 8, 4, 0), -EINVAL);
		expect_eq(try_new(t, 4, 0, 4, 0), -EINVAL);
	}
	expect_eq(try_new(BPF_MAP_TYPE_HASH, 0x7fffffff, 8, 4, 0), -E2BIG);
	expect_eq(try_new(BPF_MAP_TYPE_HASH, 4, 0x7fffffff, 4, 0), -E2BIG);
}

static void prog_arrays(void)
{
	expect_eq(try_new(BPF_MAP_TYPE_PROG_ARRAY, 4, 4, 4, 0), 0);
	expect_eq(try_new(BPF_MAP_TYPE_PROG_ARRAY, 4, 8, 4, 0), -EINVAL);
	expect_eq(try_new(BPF_MAP_TYPE_PROG_ARRAY, 8, 4, 4, 0), -EINVAL);
	expect_eq(try_new(BPF_MAP_TYPE_PROG_ARRAY, 4, 4, 0, 0), -EINVAL);
	expect_eq(try_new(BPF_MAP_TYPE_PROG_ARRAY, 4, 4, 4, BPF_F_RDONLY_PROG), -EINVAL);
	expect_eq(try_new(BPF_MAP_TYPE_PROG_ARRAY, 4, 4, 4, BPF_F_MMAPABLE), -EINVAL);
}

static void general(void)
{
	union bpf_attr attr = ATTR(.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4,
				   .max_entries = 1);

	expect_eq(try_new(BPF_MAP_TYPE_UNSPEC, 4, 4, 1, 0), -EINVAL);
	expect_eq(try_new(1000, 4, 4, 1, 0), -EINVAL);
	expect_eq(try_new(~0u, 4, 4, 1, 0), -EINVAL);

	attr.map_extra = 1;
	expect_eq(try_attr(&attr), -EINVAL);
	attr.map_extra = 0;
	attr.map_ifindex = 9999;
	expect_eq(try_attr(&attr), -EINVAL);
	attr.map_ifindex = 0;
	attr.inner_map_fd = 99; /* not looked at by this type */
	expect_eq(try_attr(&attr), 0);
	attr.inner_map_fd = 0;
	attr.numa_node = 77; /* nor this without its flag */
	expect_eq(try_attr(&attr), 0);
	attr.map_flags = BPF_F_NUMA_NODE;
	expect_eq(try_attr(&attr), -EINVAL);
	attr.numa_node = 0;
	expect_eq(try_attr(&attr), 0);
}

static void names(void)
{
	static const struct {
		const char name[BPF_OBJ_NAME_LEN + 1];
		int want;
	} rows[] = {
		{ "", 0 },
		{ "a", 0 },
		{ "Some_name.09", 0 },
		{ "fifteen_letters", 0 },
		{ "sixteen_letters_", -EINVAL },
		{ "with-dash", -EINVAL },
		{ "with space", -EINVAL },
		{ "sl/ash", -EINVAL },
		{ "latin\xe4", 0 }, /* the kernel's idea of a letter */
		{ "latin\xd7", -EINVAL },
		{ "latin\xa9", -EINVAL },
		{ "new\nline", -EINVAL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		union bpf_attr attr = ATTR(.map_type = BPF_MAP_TYPE_HASH, .key_size = 4,
					   .value_size = 4, .max_entries = 1);

		memcpy(attr.map_name, rows[i].name, BPF_OBJ_NAME_LEN);
		if (!expect_eq(try_attr(&attr), rows[i].want))
			expect_eq(i, -1);
	}
}

static int try_btf(uint32_t type, uint32_t key, uint32_t value, int btf, uint32_t key_id,
		   uint32_t value_id)
{
	union bpf_attr attr = ATTR(.map_type = type, .key_size = key, .value_size = value,
				   .max_entries = 1, .btf_fd = btf, .btf_key_type_id = key_id,
				   .btf_value_type_id = value_id);

	return try_attr(&attr);
}

static void with_btf(void)
{
	static const uint32_t types[] = { BPF_MAP_TYPE_ARRAY, BPF_MAP_TYPE_PERCPU_ARRAY,
					  BPF_MAP_TYPE_HASH, BPF_MAP_TYPE_PERCPU_HASH };
	int btf = btf_small(), map = map_new(BPF_MAP_TYPE_ARRAY, 4, 4, 1, 0);

	if (!expect_ok(btf))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		uint32_t t = types[i];
		bool array = t == BPF_MAP_TYPE_ARRAY || t == BPF_MAP_TYPE_PERCPU_ARRAY;

		expect_eq(try_btf(t, 4, 8, btf, BTF_ID_INT, BTF_ID_U64), 0);
		expect_eq(try_btf(t, 4, 8, btf, BTF_ID_INT, BTF_ID_PAIR), 0);
		expect_eq(try_btf(t, 4, 8, btf, BTF_ID_INT, BTF_ID_INT), -EINVAL);
		expect_eq(try_btf(t, 4, 8, btf, BTF_ID_INT, 0), -EINVAL);
		expect_eq(try_btf(t, 4, 8, btf, BTF_ID_INT, 99), -EINVAL);
		expect_eq(try_btf(t, 4, 8, btf, 99, BTF_ID_U64), -EINVAL);
		expect_eq(try_btf(t, 4, 8, btf, 0, BTF_ID_U64), -EINVAL);
		expect_eq(try_btf(t, 4, 8, btf, BTF_ID_FUNC, BTF_ID_U64), -EINVAL);
		expect_eq(try_btf(t, 4, 8, -1, BTF_ID_INT, BTF_ID_U64), -EBADF);
		expect_eq(try_btf(t, 4, 8, map, BTF_ID_INT, BTF_ID_U64), -EINVAL);
		if (!array) {
			expect_eq(try_btf(t, 8, 8, btf, BTF_ID_PAIR, BTF_ID_U64), 0);
			expect_eq(try_btf(t, 8, 8, btf, BTF_ID_U64, BTF_ID_U64), 0);
		}
		/* Global data: one element without a key. */
		expect_eq(try_btf(t, 4, 8, btf, 0, BTF_ID_DATASEC),
			  t == BPF_MAP_TYPE_ARRAY ? 0 : -EINVAL);
		/* A descriptor that no id refers to is not looked at. */
		expect_eq(try_btf(t, 4, 8, 999, 0, 0), 0);
	}
	expect_eq(try_btf(BPF_MAP_TYPE_PROG_ARRAY, 4, 4, btf, BTF_ID_INT, BTF_ID_INT), 0);
	close(btf);
	close(map);
}

/* The descriptor is closed on exec, and a map may outlive nothing but its users. */
static void descriptor(void)
{
	int fd = map_new(BPF_MAP_TYPE_HASH, 4, 4, 1, 0);
	uint32_t id = id_of(fd);

	expect_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	expect_true(id);
	close(fd);
	/* The kernel frees from a worker. */
	for (int i = 0; i < 1000; i++) {
		fd = fd_by_id(BPF_MAP_GET_FD_BY_ID, id);
		if (fd < 0)
			break;
		close(fd);
	}
	expect_eq(fd, -ENOENT);
}

API_MAIN(API_TEST(arrays), API_TEST(hashes), API_TEST(prog_arrays), API_TEST(general),
	 API_TEST(names), API_TEST(with_btf), API_TEST(descriptor))
