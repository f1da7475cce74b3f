// SPDX-License-Identifier: BSD-2-Clause
/* BPF_PROG_LOAD: the checks around the verifier, which of them wins, the log, and BTF records. */
#include <stdlib.h>
#include <unistd.h>

#include "api.h"

/* union bpf_attr with the fields of 6.18 that the host's header may lack. */
union load_attr {
	union bpf_attr a;
	struct {
		uint8_t old[140];
		uint32_t log_true_size;
		int32_t prog_token_fd;
		uint32_t fd_array_cnt;
		uint64_t signature;
		uint32_t signature_size;
		int32_t keyring_id;
	} x;
};

static const struct bpf_insn good[] = { MOV64_IMM(0, 0), EXIT() };
static const struct bpf_insn bad[] = { EXIT() }; /* r0 is not set */

static union load_attr template(void)
{
	return (union load_attr){
		.a = { .prog_type = BPF_PROG_TYPE_SOCKET_FILTER, .insns = ptr(good), .insn_cnt = 2,
		       .license = ptr("GPL") },
	};
}

static int try_load(union load_attr *attr)
{
	int fd = sys_bpf(BPF_PROG_LOAD, attr, sizeof(*attr));

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

static void minimal(void)
{
	union load_attr attr = template();

	expect_eq(try_load(&attr), 0);
	attr.a.insn_cnt = 0;
	expect_eq(try_load(&attr), -E2BIG);
	attr.a.insn_cnt = 1000001;
	expect_eq(try_load(&attr), -E2BIG);
	attr.a.insn_cnt = ~0u;
	expect_eq(try_load(&attr), -E2BIG);
	attr = template();
	attr.a.insns = BAD_PTR;
	expect_eq(try_load(&attr), -EFAULT);
	attr = template();
	attr.a.license = 0;
	expect_eq(try_load(&attr), -EFAULT);
	attr.a.license = ptr("");
	expect_eq(try_load(&attr), 0);
	attr = template();
	attr.a.insns = ptr(bad);
	attr.a.insn_cnt = 1;
	expect_eq(try_load(&attr), -EACCES);
	attr = template();
	attr.a.kern_version = 0x12345; /* ignored */
	expect_eq(try_load(&attr), 0);
}

static void types_and_flags(void)
{
	static const uint32_t plain[] = {
		BPF_PROG_TYPE_SOCKET_FILTER, BPF_PROG_TYPE_KPROBE, BPF_PROG_TYPE_SCHED_CLS,
		BPF_PROG_TYPE_SCHED_ACT, BPF_PROG_TYPE_TRACEPOINT, BPF_PROG_TYPE_XDP,
		BPF_PROG_TYPE_CGROUP_SKB, BPF_PROG_TYPE_RAW_TRACEPOINT,
	};
	union load_attr attr;

	for (size_t i = 0; i < ARRAY_SIZE(plain); i++) {
		attr = template();
		attr.a.prog_type = plain[i];
		if (!expect_eq(try_load(&attr), 0))
			expect_eq(plain[i], -1);
	}
	attr.a.prog_type = BPF_PROG_TYPE_UNSPEC;
	expect_eq(try_load(&attr), -EINVAL);
	attr.a.prog_type = 1000;
	expect_eq(try_load(&attr), -EINVAL);

	for (uint32_t bit = 0; bit < 32; bit++) {
		/* SLEEPABLE, frags, device and token have conditions; the rest is free or unknown. */
		static const uint32_t free_flags = BPF_F_STRICT_ALIGNMENT | BPF_F_ANY_ALIGNMENT |
						   BPF_F_TEST_RND_HI32 | BPF_F_TEST_STATE_FREQ |
						   1u << 7 /* TEST_REG_INVARIANTS */;
		static const uint32_t conditional = BPF_F_SLEEPABLE | BPF_F_XDP_HAS_FRAGS |
						    1u << 6 | 1u << 16;

		if (conditional & 1u << bit)
			continue;
		attr = template();
		attr.a.prog_flags = 1u << bit;
		if (!expect_eq(try_load(&attr), free_flags & 1u << bit ? 0 : -EINVAL))
			expect_eq(bit, -1);
	}
	attr = template();
	attr.a.prog_flags = BPF_F_SLEEPABLE;
	expect_eq(try_load(&attr), -EINVAL);
	attr.a.prog_type = BPF_PROG_TYPE_SYSCALL;
	expect_eq(try_load(&attr), 0);
	attr.a.prog_flags = 0;
	expect_eq(try_load(&attr), -EINVAL);
	/* A token that is none. */
	attr = template();
	attr.a.prog_flags = 1u << 16;
	attr.x.prog_token_fd = 999;
	expect_eq(try_load(&attr), -EBADF);
	attr.x.prog_token_fd = 0;
	expect_eq(try_load(&attr), -EINVAL);
}

static void attach_types(void)
{
	static const struct {
		uint32_t type, attach;
		int want;
	} rows[] = {
		{ BPF_PROG_TYPE_SOCKET_FILTER, 5, 0 },
		{ BPF_PROG_TYPE_SOCKET_FILTER, 500, 0 },
		{ BPF_PROG_TYPE_XDP, BPF_XDP, 0 },
		{ BPF_PROG_TYPE_XDP, BPF_XDP_DEVMAP, 0 },
		{ BPF_PROG_TYPE_KPROBE, BPF_TRACE_KPROBE_MULTI, 0 },
		{ BPF_PROG_TYPE_CGROUP_SKB, BPF_CGROUP_INET_INGRESS, 0 },
		{ BPF_PROG_TYPE_CGROUP_SKB, BPF_CGROUP_INET_EGRESS, 0 },
		{ BPF_PROG_TYPE_CGROUP_SKB, BPF_CGROUP_SOCK_OPS, -EINVAL },
		{ BPF_PROG_TYPE_RAW_TRACEPOINT, 17, 0 },
		{ BPF_PROG_TYPE_CGROUP_SOCK, 0, 0 },
		{ BPF_PROG_TYPE_CGROUP_SOCK, BPF_CGROUP_INET_SOCK_CREATE, 0 },
		{ BPF_PROG_TYPE_CGROUP_SOCK, BPF_CGROUP_INET_EGRESS, -EINVAL },
	};
	union load_attr attr;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		attr = template();
		attr.a.prog_type = rows[i].type;
		attr.a.expected_attach_type = rows[i].attach;
		if (!expect_eq(try_load(&attr), rows[i].want))
			expect_eq(i, -1);
	}
	attr = template();
	attr.a.prog_type = BPF_PROG_TYPE_SYSCALL;
	attr.a.prog_flags = BPF_F_SLEEPABLE;
	attr.a.expected_attach_type = 1;
	expect_eq(try_load(&attr), -EINVAL);
	/* Only tracing types have a target. */
	attr = template();
	attr.a.attach_btf_id = 1;
	expect_eq(try_load(&attr), -EINVAL);
	attr = template();
	attr.a.attach_prog_fd = 999;
	expect_eq(try_load(&attr), -EINVAL);
	attr.a.attach_prog_fd = prog_load(BPF_PROG_TYPE_SOCKET_FILTER, good, 2);
	expect_eq(try_load(&attr), -EINVAL);
	close(attr.a.attach_prog_fd);
	attr.a.attach_prog_fd = btf_small();
	expect_eq(try_load(&attr), -API_ENOTSUPP);
	close(attr.a.attach_prog_fd);
	attr = template();
	attr.a.prog_ifindex = 9999;
	expect_eq(try_load(&attr), -EINVAL);
}

static void names(void)
{
	union load_attr attr = template();

	memcpy(attr.a.prog_name, "fifteen_letters", 15);
	expect_eq(try_load(&attr), 0);
	memcpy(attr.a.prog_name, "sixteen_letters_", 16);
	expect_eq(try_load(&attr), -EINVAL);
	attr = template();
	memcpy(attr.a.prog_name, "a-b", 3);
	expect_eq(try_load(&attr), -EINVAL);
}

/* Several things wrong at once: the order of the checks. */
static void order(void)
{
	union load_attr attr = template();

	attr.a.prog_flags = 1u << 31;
	attr.a.insn_cnt = 0;
	expect_eq(try_load(&attr), -EINVAL); /* flags, count */
	attr = template();
	attr.a.insn_cnt = 0;
	attr.a.attach_btf_id = 1;
	expect_eq(try_load(&attr), -E2BIG); /* count, attach */
	attr = template();
	attr.a.attach_btf_id = 1;
	attr.a.insns = BAD_PTR;
	expect_eq(try_load(&attr), -EINVAL); /* attach, instructions */
	attr = template();
	attr.a.prog_type = 1000;
	attr.a.insns = BAD_PTR;
	expect_eq(try_load(&attr), -EFAULT); /* instructions, type */
	attr = template();
	attr.a.prog_type = 1000;
	attr.a.license = BAD_PTR;
	expect_eq(try_load(&attr), -EFAULT); /* license, type */
	attr = template();
	attr.a.insns = ptr(bad);
	attr.a.insn_cnt = 1;
	attr.a.prog_name[0] = '-';
	expect_eq(try_load(&attr), -EINVAL); /* name, verifier */
	attr = template();
	attr.a.insns = ptr(bad);
	attr.a.insn_cnt = 1;
	attr.a.log_level = 99;
	expect_eq(try_load(&attr), -EINVAL); /* log, verifier */
	attr = template();
	attr.a.insns = ptr(bad);
	attr.a.insn_cnt = 1;
	attr.a.func_info_cnt = 1;
	attr.a.prog_btf_fd = 999;
	expect_eq(try_load(&attr), -EBADF); /* BTF, verifier */
}

/* GPL-only helpers need a license that the kernel calls compatible. */
static void licenses(void)
{
	static const struct {
		const char *license;
		int want;
	} rows[] = {
		{ "GPL", 0 },		       { "GPL v2", 0 },
		{ "GPL and additional rights", 0 }, { "Dual BSD/GPL", 0 },
		{ "Dual MIT/GPL", 0 },	       { "Dual MPL/GPL", 0 },
		{ "gpl", -EINVAL },	       { "GPL ", -EINVAL },
		{ "BSD", -EINVAL },	       { "", -EINVAL },
	};
	/* bpf_probe_read_kernel(fp - 8, 8, ctx) */
	static const struct bpf_insn insns[] = {
		MOV64_REG(3, 1), MOV64_REG(1, 10), ADD64_IMM(1, -8), MOV64_IMM(2, 8),
		CALL(BPF_FUNC_probe_read_kernel), MOV64_IMM(0, 0), EXIT(),
	};
	char no_end[256];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		union load_attr attr = template();

		attr.a.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT;
		attr.a.insns = ptr(insns);
		attr.a.insn_cnt = ARRAY_SIZE(insns);
		attr.a.license = ptr(rows[i].license);
		if (!expect_eq(try_load(&attr), rows[i].want))
			expect_eq(i, -1);
	}
	/* A license without an end is cut, not refused. */
	union load_attr attr = template();

	memset(no_end, 'x', sizeof(no_end));
	attr.a.license = ptr(no_end);
	expect_eq(try_load(&attr), 0);
}

static void log_rules(void)
{
	union load_attr attr = template();
	char log[64] = "";

	attr.a.log_level = 1;
	expect_eq(try_load(&attr), 0);
	attr.a.log_size = 64;
	expect_eq(try_load(&attr), -EINVAL);
	attr.a.log_buf = ptr(log);
	attr.a.log_size = 0;
	expect_eq(try_load(&attr), -EINVAL);
	attr.a.log_size = (~0u >> 2) + 1;
	expect_eq(try_load(&attr), -EINVAL);
	attr.a.log_size = 64;
	attr.a.log_level = 0;
	expect_eq(try_load(&attr), -EINVAL);
	attr.a.log_level = 16;
	expect_eq(try_load(&attr), -EINVAL);
	/* A pointer that cannot be written to. */
	attr.a.log_level = 2;
	attr.a.log_buf = BAD_PTR;
	expect_eq(try_load(&attr), -EFAULT);
}

/* A refused program with its log, whole and cut both ways. */
static void log_text(void)
{
	union load_attr attr = template();
	char whole[4096], cut[64];
	uint32_t size, len;

	attr.a.insns = ptr(bad);
	attr.a.insn_cnt = 1;
	attr.a.log_level = 1;
	attr.a.log_buf = ptr(whole);
	attr.a.log_size = sizeof(whole);
	memset(whole, '#', sizeof(whole));
	expect_eq(try_load(&attr), -EACCES);
	size = attr.x.log_true_size;
	if (!expect_true(size > 40 && size <= sizeof(whole)))
		return;
	expect_eq(strlen(whole), size - 1);
	expect_true(strstr(whole, "R0 !read_ok"));

	/* Rotating: the end. */
	attr.a.log_buf = ptr(cut);
	attr.a.log_size = 40;
	memset(cut, '#', sizeof(cut));
	expect_eq(try_load(&attr), -ENOSPC);
	expect_eq(attr.x.log_true_size, size);
	expect_eq(strlen(cut), 39);
	expect_mem(cut, whole + size - 1 - 39, 39);
	expect_eq(cut[40], '#');
	/* Fixed: the beginning. */
	attr.a.log_level = 1 | 8;
	memset(cut, '#', sizeof(cut));
	expect_eq(try_load(&attr), -ENOSPC);
	expect_eq(attr.x.log_true_size, size);
	len = strlen(cut);
	expect_eq(len, 39);
	expect_mem(cut, whole, len);
	expect_eq(cut[40], '#');
	/* Exactly as large as needed. */
	attr.a.log_level = 1;
	attr.a.log_buf = ptr(whole);
	attr.a.log_size = size;
	expect_eq(try_load(&attr), -EACCES);
	attr.a.log_size = size - 1;
	expect_eq(try_load(&attr), -ENOSPC);
	/* Only the size is asked for. */
	attr.a.log_buf = 0;
	attr.a.log_size = 0;
	attr.x.log_true_size = 0;
	expect_eq(try_load(&attr), -EACCES);
	expect_eq(attr.x.log_true_size, size);
	/* A caller that does not know the field gets nothing written into it. */
	attr.x.log_true_size = 0x55;
	attr.a.log_level = 0;
	expect_eq(sys_bpf(BPF_PROG_LOAD, &attr, 140), -EACCES);
	expect_eq(attr.x.log_true_size, 0x55);
}

/* A good program's log at level 1 is taken back; with statistics there is one line. */
static void log_of_good(void)
{
	union load_attr attr = template();
	char log[4096] = "#";

	attr.a.log_level = 4;
	attr.a.log_buf = ptr(log);
	attr.a.log_size = sizeof(log);
	expect_eq(try_load(&attr), 0);
	expect_true(strstr(log, "processed 2 insns (limit 1000000)"));
	attr.a.log_level = 1;
	expect_eq(try_load(&attr), 0);
	expect_true(!strstr(log, "R10=fp0"));
	attr.a.log_level = 2;
	expect_eq(try_load(&attr), 0);
	expect_true(strstr(log, "0: (b7) r0 = 0"));
	expect_eq(attr.x.log_true_size, strlen(log) + 1);
}

static void func_info(void)
{
	struct {
		struct bpf_func_info info;
		uint32_t more;
	} rec = { { .insn_off = 0, .type_id = BTF_ID_FUNC }, 0 };
	union load_attr attr = template(), base;
	int btf = btf_small(), map = map_new(BPF_MAP_TYPE_ARRAY, 4, 4, 1, 0);

	attr.a.prog_btf_fd = btf;
	attr.a.func_info = ptr(&rec);
	attr.a.func_info_cnt = 1;
	attr.a.func_info_rec_size = sizeof(rec.info);
	base = attr;
	expect_eq(try_load(&attr), 0);
	attr.a.prog_btf_fd = 999;
	expect_eq(try_load(&attr), -EBADF);
	attr.a.prog_btf_fd = map;
	expect_eq(try_load(&attr), -EINVAL);
	attr.a.func_info_cnt = 0; /* without records nobody looks at the descriptor */
	expect_eq(try_load(&attr), 0);
	attr = base;
	attr.a.func_info_rec_size = 4;
	expect_eq(try_load(&attr), -EINVAL);
	attr.a.func_info_rec_size = 10;
	expect_eq(try_load(&attr), -EINVAL);
	attr.a.func_info_rec_size = 256;
	expect_eq(try_load(&attr), -EINVAL);
	attr.a.func_info_rec_size = 12;
	expect_eq(try_load(&attr), 0);
	rec.more = 1;
	expect_eq(try_load(&attr), -E2BIG);
	expect_eq(attr.a.func_info_rec_size, 8); /* what is known, written back */
	attr = base;
	attr.a.func_info = BAD_PTR;
	expect_eq(try_load(&attr), -EFAULT);
	attr = base;
	attr.a.func_info_cnt = 2;
	attr.a.func_info = ptr((struct bpf_func_info[]){ { 0, BTF_ID_FUNC }, { 1, BTF_ID_FUNC } });
	expect_eq(try_load(&attr), -EINVAL); /* there is one function */
	attr = base;
	rec.info.type_id = BTF_ID_INT;
	expect_eq(try_load(&attr), -EINVAL);
	rec.info.type_id = 99;
	expect_eq(try_load(&attr), -EINVAL);
	rec.info.type_id = BTF_ID_FUNC;
	rec.info.insn_off = 1;
	expect_eq(try_load(&attr), -EINVAL);
	close(btf);
	close(map);
}

static void line_info(void)
{
	struct bpf_func_info func = { .insn_off = 0, .type_id = BTF_ID_FUNC };
	struct {
		struct bpf_line_info info;
		uint32_t more;
	} rec = { { .insn_off = 0, .file_name_off = 1, .line_off = 1, .line_col = 1 << 10 }, 0 };
	union load_attr attr = template(), base;
	int btf = btf_small();

	attr.a.prog_btf_fd = btf;
	attr.a.func_info = ptr(&func);
	attr.a.func_info_cnt = 1;
	attr.a.func_info_rec_size = sizeof(func);
	attr.a.line_info = ptr(&rec);
	attr.a.line_info_cnt = 1;
	attr.a.line_info_rec_size = sizeof(rec.info);
	base = attr;
	expect_eq(try_load(&attr), 0);
	attr.a.line_info_rec_size = 12;
	expect_eq(try_load(&attr), -EINVAL);
	attr.a.line_info_rec_size = 18;
	expect_eq(try_load(&attr), -EINVAL);
	attr.a.line_info_rec_size = 20;
	expect_eq(try_load(&attr), 0);
	rec.more = 1;
	expect_eq(try_load(&attr), -E2BIG);
	expect_eq(attr.a.line_info_rec_size, 16);
	attr = base;
	attr.a.line_info = BAD_PTR;
	expect_eq(try_load(&attr), -EFAULT);
	attr = base;
	attr.a.line_info_cnt = ~0u;
	expect_eq(try_load(&attr), -EINVAL);
	attr = base;
	rec.info.insn_off = 2;
	expect_eq(try_load(&attr), -EINVAL);
	rec.info.insn_off = 1; /* the function's first instruction has no line */
	expect_eq(try_load(&attr), -EINVAL);
	rec.info.insn_off = 0;
	rec.info.line_off = 9999;
	expect_eq(try_load(&attr), -EINVAL);
	close(btf);
}

/* Maps of fd_array with a count belong to the program. */
static void fd_array(void)
{
	int map = map_new(BPF_MAP_TYPE_ARRAY, 4, 4, 1, 0), btf = btf_small();
	uint32_t id = id_of(map), got_id = 0;
	int fds[3] = { map, btf, map }, prog, again;
	union load_attr attr = template();
	struct bpf_prog_info info = { .nr_map_ids = 1, .map_ids = ptr(&got_id) };
	uint32_t len = sizeof(info);

	attr.a.fd_array = ptr(fds);
	attr.x.fd_array_cnt = 3;
	prog = sys_bpf(BPF_PROG_LOAD, &attr, sizeof(attr));
	if (!expect_ok(prog))
		return;
	expect_eq(obj_info(prog, &info, &len), 0);
	expect_eq(info.nr_map_ids, 1);
	expect_eq(got_id, id);
	close(map);
	again = fd_by_id(BPF_MAP_GET_FD_BY_ID, id);
	expect_ok(again);
	close(again);
	close(prog);
	fds[2] = 999;
	fds[0] = btf;
	expect_eq(try_load(&attr), -EBADF);
	fds[2] = 0;
	expect_eq(try_load(&attr), -EINVAL);
	attr.a.fd_array = BAD_PTR;
	expect_eq(try_load(&attr), -EFAULT);
	close(btf);
}

API_MAIN(API_TEST(minimal), API_TEST(types_and_flags), API_TEST(attach_types), API_TEST(names),
	 API_TEST(order), API_TEST(licenses), API_TEST(log_rules), API_TEST(log_text),
	 API_TEST(log_of_good), API_TEST(func_info), API_TEST(line_info), API_TEST(fd_array))
