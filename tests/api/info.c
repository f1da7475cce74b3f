// SPDX-License-Identifier: BSD-2-Clause
/* BPF_OBJ_GET_INFO_BY_FD of maps and programs. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "api.h"

/* struct bpf_map_info of 6.18. */
struct map_info {
	struct bpf_map_info known;
	uint8_t pad[104 - sizeof(struct bpf_map_info)];
	uint8_t beyond[64];
};
#define MAP_INFO_SIZE 104

static void sizes(void)
{
	int map = map_new(BPF_MAP_TYPE_ARRAY, 4, 8, 3, 0);
	uint8_t buf[8192] = { 0 };
	uint32_t len;

	len = 4096;
	expect_eq(obj_info(map, buf, &len), 0);
	expect_eq(len, MAP_INFO_SIZE);
	len = 4097;
	expect_eq(obj_info(map, buf, &len), -E2BIG);
	memset(buf, 0, sizeof(buf));
	buf[MAP_INFO_SIZE] = 1;
	len = MAP_INFO_SIZE + 1;
	expect_eq(obj_info(map, buf, &len), -E2BIG);
	len = MAP_INFO_SIZE;
	expect_eq(obj_info(map, buf, &len), 0);
	expect_eq(buf[MAP_INFO_SIZE], 1);
	/* What fits. */
	memset(buf, 0, sizeof(buf));
	len = 10;
	expect_eq(obj_info(map, buf, &len), 0);
	expect_eq(len, 10);
	expect_eq(buf[0], BPF_MAP_TYPE_ARRAY);
	expect_eq(buf[8], 4);
	expect_eq(buf[12], 0);
	len = 0;
	expect_eq(obj_info(map, buf, &len), 0);
	expect_eq(len, 0);
	len = 80;
	expect_eq(obj_info(map, (void *)BAD_PTR, &len), -EFAULT);
	expect_eq(obj_info(999, buf, &len), -EBADFD); /* so the kernel says here */
	expect_eq(obj_info(-1, buf, &len), -EBADFD);
	expect_eq(obj_info(0, buf, &len), -EINVAL);
	close(map);
}

static void map(void)
{
	int btf = btf_small(), fd;
	union bpf_attr attr = ATTR(.map_type = BPF_MAP_TYPE_HASH, .key_size = 4, .value_size = 8,
				   .max_entries = 17,
				   .map_flags = BPF_F_NO_PREALLOC | BPF_F_RDONLY, .btf_fd = btf,
				   .btf_key_type_id = BTF_ID_INT, .btf_value_type_id = BTF_ID_PAIR);
	struct bpf_btf_info btf_info = { 0 };
	struct bpf_map_info info = { .ifindex = 0x33 };
	uint32_t len = sizeof(info), btf_len = sizeof(btf_info);

	memcpy(attr.map_name, "some.map_1", sizeof("some.map_1"));
	fd = sys_attr(BPF_MAP_CREATE, &attr);
	if (!expect_ok(fd))
		return;
	expect_eq(obj_info(btf, &btf_info, &btf_len), 0);
	expect_eq(obj_info(fd, &info, &len), 0);
	expect_eq(info.type, BPF_MAP_TYPE_HASH);
	expect_true(info.id);
	expect_eq(info.key_size, 4);
	expect_eq(info.value_size, 8);
	expect_eq(info.max_entries, 17);
	expect_eq(info.map_flags, BPF_F_NO_PREALLOC); /* rights are the descriptor's */
	expect_eq(strcmp(info.name, "some.map_1"), 0);
	expect_eq(info.ifindex, 0x33); /* only filled in for maps on a device */
	expect_eq(info.btf_id, btf_info.id);
	expect_eq(info.btf_key_type_id, BTF_ID_INT);
	expect_eq(info.btf_value_type_id, BTF_ID_PAIR);
	expect_eq(info.map_extra, 0);
	close(fd);
	close(btf);
}

/* A frozen array's contents as a hash. */
static void map_hash(void)
{
	int fd = map_new(BPF_MAP_TYPE_ARRAY, 4, 8, 2, 0), hash = map_new(BPF_MAP_TYPE_HASH, 4, 8, 2, 0);
	uint64_t info[13] = { 0 };
	uint8_t digest[32];
	/* SHA-256 of 16 zero bytes. */
	static const uint8_t want[] = {
		0x37, 0x47, 0x08, 0xff, 0xf7, 0x71, 0x9d, 0xd5, 0x97, 0x9e, 0xc8,
		0x75, 0xd5, 0x6c, 0xd2, 0x28, 0x6f, 0x6d, 0x3c, 0xf7, 0xec, 0x31,
		0x7a, 0x3b, 0x25, 0x63, 0x2a, 0xab, 0x28, 0xec, 0x37, 0xbb,
	};
	uint32_t len = sizeof(info);

	info[11] = ptr(digest);
	info[12] = 32;
	expect_eq(obj_info(fd, info, &len), -EPERM);
	info[12] = 16;
	expect_eq(obj_info(fd, info, &len), -EINVAL);
	info[12] = 32;
	expect_eq(obj_info(hash, info, &len), -EINVAL);
	info[11] = 0;
	expect_eq(obj_info(fd, info, &len), -EINVAL);
	info[11] = ptr(digest);
	expect_eq(map_freeze(fd), 0);
	expect_eq(obj_info(fd, info, &len), 0);
	expect_mem(digest, want, sizeof(want));
	close(fd);
	close(hash);
}

/* Two functions, a map, a line each: everything that prog info can tell. */
static int load_rich(int map, int btf)
{
	const struct bpf_insn insns[] = {
		LD_MAP_FD(1, map), MOV64_REG(6, 1), CALL_REL(2), /* 0-3 */
		MOV64_IMM(0, 1), EXIT(),			    /* 4-5 */
		MOV64_IMM(0, 7), EXIT(),			    /* 6-7 */
	};
	const struct bpf_func_info funcs[] = { { 0, BTF_ID_FUNC }, { 6, BTF_ID_FUNC } };
	const struct bpf_line_info lines[] = { { 0, 1, 1, 1 << 10 }, { 4, 1, 1, 2 << 10 },
					       { 6, 1, 1, 3 << 10 } };
	union bpf_attr attr = ATTR(.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT, .insns = ptr(insns),
				   .insn_cnt = ARRAY_SIZE(insns), .license = ptr("GPL"),
				   .prog_btf_fd = btf, .func_info = ptr(funcs),
				   .func_info_cnt = 2, .func_info_rec_size = 8,
				   .line_info = ptr(lines), .line_info_cnt = 3,
				   .line_info_rec_size = 16);

	memcpy(attr.prog_name, "rich", sizeof("rich"));
	return sys_attr(BPF_PROG_LOAD, &attr);
}

static void prog_scalars(void)
{
	int map = map_new(BPF_MAP_TYPE_ARRAY, 4, 8, 1, 0), btf = btf_small();
	int fd = load_rich(map, btf);
	struct bpf_btf_info btf_info = { 0 };
	struct bpf_prog_info info = { 0 };
	uint32_t len = sizeof(info), btf_len = sizeof(btf_info);

	if (!expect_ok(fd))
		return;
	expect_eq(obj_info(btf, &btf_info, &btf_len), 0);
	expect_eq(obj_info(fd, &info, &len), 0);
	expect_eq(len, 232);
	expect_eq(info.type, BPF_PROG_TYPE_RAW_TRACEPOINT);
	expect_true(info.id);
	expect_eq(strcmp(info.name, "rich"), 0);
	expect_true(info.load_time);
	expect_eq(info.created_by_uid, getuid());
	expect_eq(info.gpl_compatible, 1);
	expect_eq(info.btf_id, btf_info.id);
	expect_eq(info.nr_map_ids, 1);
	expect_eq(info.xlated_prog_len, 8 * 8);
	expect_true(info.jited_prog_len);
	expect_eq(info.nr_jited_ksyms, 2);
	expect_eq(info.nr_jited_func_lens, 2);
	expect_eq(info.nr_func_info, 2);
	expect_eq(info.nr_line_info, 3);
	expect_eq(info.nr_jited_line_info, 3);
	expect_eq(info.nr_prog_tags, 2);
	expect_eq(info.func_info_rec_size, 8);
	expect_eq(info.line_info_rec_size, 16);
	expect_eq(info.jited_line_info_rec_size, 8);
	expect_eq(info.run_cnt, 0);
	expect_eq(info.verified_insns, 7);
	expect_eq(info.attach_btf_id, 0);
	close(fd);
	close(map);
	close(btf);
}

/* The tag is a hash of what was loaded, without the descriptor of the map. */
static void prog_tag(void)
{
	struct bpf_insn insns[] = { MOV64_IMM(0, 2), EXIT() };
	static const uint8_t want[8] = { 0x61, 0x4b, 0x43, 0x4c, 0xd8, 0x32, 0x4e, 0xcc };
	struct bpf_prog_info info = { 0 }, other = { 0 };
	int map[2] = { map_new(BPF_MAP_TYPE_ARRAY, 4, 8, 1, 0), map_new(BPF_MAP_TYPE_HASH, 4, 8, 1, 0) };
	uint32_t len = sizeof(info);
	int fd = prog_load(BPF_PROG_TYPE_SOCKET_FILTER, insns, 2);

	expect_eq(obj_info(fd, &info, &len), 0);
	expect_mem(info.tag, want, 8);
	close(fd);
	for (int i = 0; i < 2; i++) {
		struct bpf_insn with_map[] = { LD_MAP_FD(1, map[i]), MOV64_IMM(0, 0), EXIT() };

		info = (struct bpf_prog_info){ 0 };
		fd = prog_load(BPF_PROG_TYPE_SOCKET_FILTER, with_map, 4);
		expect_eq(obj_info(fd, &info, &len), 0);
		if (i)
			expect_mem(info.tag, other.tag, 8);
		other = info;
		close(fd);
		close(map[i]);
	}
}

static void prog_arrays(void)
{
	int map = map_new(BPF_MAP_TYPE_ARRAY, 4, 8, 1, 0), btf = btf_small();
	int fd = load_rich(map, btf);
	uint32_t ids[4] = { 0, 0x55 }, lens[4] = { 0 }, total = 0, len;
	uint64_t ksyms[4] = { 0 }, jited_lines[4] = { 0 };
	struct bpf_func_info funcs[4];
	struct bpf_line_info lines[4];
	struct bpf_insn xlated[16];
	uint8_t tags[4][8] = { 0 }, code[4096];
	struct bpf_prog_info info = {
		.nr_map_ids = 4, .map_ids = ptr(ids),
		.xlated_prog_len = sizeof(xlated), .xlated_prog_insns = ptr(xlated),
		.jited_prog_len = sizeof(code), .jited_prog_insns = ptr(code),
		.nr_jited_ksyms = 4, .jited_ksyms = ptr(ksyms),
		.nr_jited_func_lens = 4, .jited_func_lens = ptr(lens),
		.nr_func_info = 4, .func_info = ptr(funcs), .func_info_rec_size = 8,
		.nr_line_info = 4, .line_info = ptr(lines), .line_info_rec_size = 16,
		.nr_jited_line_info = 4, .jited_line_info = ptr(jited_lines),
		.jited_line_info_rec_size = 8,
		.nr_prog_tags = 4, .prog_tags = ptr(tags),
	};

	len = sizeof(info);
	memset(xlated, 0xee, sizeof(xlated));
	expect_eq(obj_info(fd, &info, &len), 0);
	expect_eq(ids[0], id_of(map));
	expect_eq(ids[1], 0x55);
	/* The map is named by its id. */
	expect_eq(xlated[0].code, BPF_LD | BPF_IMM | BPF_DW);
	expect_eq(xlated[0].src_reg, BPF_PSEUDO_MAP_FD);
	expect_eq(xlated[0].imm, id_of(map));
	expect_eq(xlated[1].imm, 0);
	expect_eq(xlated[3].code, BPF_JMP | BPF_CALL);
	expect_eq(xlated[3].src_reg, BPF_PSEUDO_CALL);
	expect_eq(xlated[3].off, 2); /* relative */
	expect_eq(xlated[3].imm, 1); /* function 1 */
	expect_eq(xlated[7].code, BPF_JMP | BPF_EXIT);
	expect_eq(xlated[8].code, 0xee);
	expect_eq(lines[2].insn_off, 6);
	expect_eq(lines[2].line_col, 3 << 10);
	expect_eq(funcs[1].insn_off, 6);
	expect_eq(funcs[1].type_id, BTF_ID_FUNC);
	/* Code: the functions one after the other, lines within them. */
	for (int i = 0; i < 2; i++)
		total += lens[i];
	expect_true(lens[0] && lens[1]);
	expect_eq(total, info.jited_prog_len);
	expect_eq(jited_lines[0], ksyms[0]);
	expect_true(jited_lines[1] > jited_lines[0] && jited_lines[1] < ksyms[0] + lens[0]);
	expect_eq(jited_lines[2], ksyms[1]);
	expect_true(memcmp(tags[0], tags[1], 8));
	close(fd);
	close(map);
	close(btf);
}

/* Less room than there is: so much and no more. */
static void prog_arrays_cut(void)
{
	int map = map_new(BPF_MAP_TYPE_ARRAY, 4, 8, 1, 0), btf = btf_small();
	int fd = load_rich(map, btf);
	struct bpf_insn xlated[4];
	struct bpf_func_info funcs[2];
	uint8_t code[64];
	struct bpf_prog_info info = {
		.xlated_prog_len = 16, .xlated_prog_insns = ptr(xlated),
		.jited_prog_len = 10, .jited_prog_insns = ptr(code),
		.nr_func_info = 1, .func_info = ptr(funcs), .func_info_rec_size = 8,
	};
	uint32_t len = sizeof(info);

	memset(xlated, 0xee, sizeof(xlated));
	memset(funcs, 0xee, sizeof(funcs));
	memset(code, 0xee, sizeof(code));
	expect_eq(obj_info(fd, &info, &len), 0);
	expect_eq(info.xlated_prog_len, 64);
	expect_eq(info.nr_func_info, 2);
	expect_eq(xlated[2].code, 0xee);
	expect_eq(funcs[1].insn_off, 0xeeeeeeee);
	expect_eq(code[10], 0xee);
	close(fd);
	close(map);
	close(btf);
}

static void prog_errors(void)
{
	int map = map_new(BPF_MAP_TYPE_ARRAY, 4, 8, 1, 0), btf = btf_small();
	int fd = load_rich(map, btf);
	const struct bpf_prog_info bad[] = {
		{ .nr_func_info = 1, .func_info = ptr(bad) },		      /* no size */
		{ .nr_func_info = 1, .func_info = ptr(bad), .func_info_rec_size = 12 },
		{ .func_info_rec_size = 12 },
		{ .line_info_rec_size = 8 },
		{ .nr_line_info = 1 },
		{ .jited_line_info_rec_size = 4 },
	};
	const struct bpf_prog_info fault[] = {
		{ .nr_map_ids = 1, .map_ids = BAD_PTR },
		{ .xlated_prog_len = 8, .xlated_prog_insns = BAD_PTR },
		{ .jited_prog_len = 8, .jited_prog_insns = BAD_PTR },
		{ .nr_jited_ksyms = 1, .jited_ksyms = BAD_PTR },
		{ .nr_jited_func_lens = 1, .jited_func_lens = BAD_PTR },
		{ .nr_func_info = 1, .func_info = BAD_PTR, .func_info_rec_size = 8 },
		{ .nr_line_info = 1, .line_info = BAD_PTR, .line_info_rec_size = 16 },
		{ .nr_jited_line_info = 1, .jited_line_info = BAD_PTR, .jited_line_info_rec_size = 8 },
		{ .nr_prog_tags = 1, .prog_tags = BAD_PTR },
	};
	uint32_t len = sizeof(bad[0]);

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct bpf_prog_info info = bad[i];

		if (!expect_eq(obj_info(fd, &info, &len), -EINVAL))
			expect_eq(i, -1);
	}
	for (size_t i = 0; i < ARRAY_SIZE(fault); i++) {
		struct bpf_prog_info info = fault[i];

		if (!expect_eq(obj_info(fd, &info, &len), -EFAULT))
			expect_eq(i, -1);
	}
	close(fd);
	close(map);
	close(btf);
}

/* One function: the arrays of functions have one entry. */
static void prog_plain(void)
{
	struct bpf_insn insns[] = { MOV64_IMM(0, 2), EXIT() };
	int fd = prog_load(BPF_PROG_TYPE_SOCKET_FILTER, insns, 2);
	uint64_t ksym = 0;
	uint32_t func_len = 0, len;
	uint8_t tag[8];
	struct bpf_prog_info info = {
		.nr_jited_ksyms = 1, .jited_ksyms = ptr(&ksym),
		.nr_jited_func_lens = 1, .jited_func_lens = ptr(&func_len),
		.nr_prog_tags = 1, .prog_tags = ptr(tag),
	};

	len = sizeof(info);
	expect_eq(obj_info(fd, &info, &len), 0);
	expect_eq(info.nr_jited_ksyms, 1);
	expect_eq(info.nr_jited_func_lens, 1);
	expect_eq(info.nr_prog_tags, 1);
	expect_mem(tag, info.tag, 8);
	expect_true(ksym);
	expect_eq(func_len, info.jited_prog_len);
	expect_eq(info.nr_func_info, 0);
	expect_eq(info.nr_line_info, 0);
	expect_eq(info.nr_map_ids, 0);
	close(fd);
}

API_MAIN(API_TEST(sizes), API_TEST(map), API_TEST(map_hash), API_TEST(prog_scalars),
	 API_TEST(prog_tag), API_TEST(prog_arrays), API_TEST(prog_arrays_cut),
	 API_TEST(prog_errors), API_TEST(prog_plain))
