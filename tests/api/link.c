// SPDX-License-Identifier: BSD-2-Clause
/*
 * Links, on the one attach point that both sides have: the raw tracepoint bpf_test_finish, which is
 * fired at the end of each test run of a packet program.
 */
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "api.h"

/*
 * The kernel's tracepoint is fired by every test run on the machine. Programs that count go on only
 * in this process, which they know by a name of its own: r6 = r1, and out with 0 unless it is ours.
 */
#define ONLY_HERE(name)                                                                            \
	MOV64_REG(6, 1), MOV64_REG(1, 10), ADD64_IMM(1, -16), MOV64_IMM(2, 16),                    \
		CALL(BPF_FUNC_get_current_comm), LDX_DW(2, 10, -16),                               \
		INSN(BPF_LD | BPF_IMM | BPF_DW, 1, 0, 0, (int32_t)(name)),                         \
		INSN(0, 0, 0, 0, (int32_t)((name) >> 32)),                                         \
		INSN(BPF_JMP | BPF_JEQ | BPF_X, 2, 1, 2, 0), MOV64_IMM(0, 0), EXIT()

/* Name this process after its number; the first eight bytes of the name. */
static uint64_t own_name(void)
{
	char name[16];
	uint64_t head;

	snprintf(name, sizeof(name), "%08x", (unsigned int)getpid());
	expect_eq(prctl(PR_SET_NAME, name), 0);
	memcpy(&head, name, sizeof(head));
	return head;
}

static int raw_tp_open(const char *name, int prog, uint64_t cookie)
{
	struct {
		uint64_t name;
		uint32_t prog_fd, pad;
		uint64_t cookie;
	} attr = { ptr(name), prog, 0, cookie };

	return sys_bpf(BPF_RAW_TRACEPOINT_OPEN, &attr, sizeof(attr));
}

static int load_ret0(uint32_t type)
{
	static const struct bpf_insn insns[] = { MOV64_IMM(0, 0), EXIT() };

	return prog_load(type, insns, 2);
}

static void open_errors(void)
{
	static const struct bpf_insn second_arg[] = { LDX_DW(0, 1, 8), EXIT() };
	int raw_tp = load_ret0(BPF_PROG_TYPE_RAW_TRACEPOINT);
	int filter = load_ret0(BPF_PROG_TYPE_SOCKET_FILTER);
	int reads_more = prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, second_arg, 2);
	int map = map_new(BPF_MAP_TYPE_ARRAY, 4, 4, 1, 0), link;

	expect_eq(raw_tp_open("no_such_tracepoint", raw_tp, 0), -ENOENT);
	expect_eq(raw_tp_open("", raw_tp, 0), -ENOENT);
	expect_eq(raw_tp_open(NULL, raw_tp, 0), -EFAULT);
	expect_eq(raw_tp_open((void *)BAD_PTR, raw_tp, 0), -EFAULT);
	expect_eq(raw_tp_open("bpf_test_finish", filter, 0), -EINVAL);
	expect_eq(raw_tp_open("no_such_tracepoint", filter, 0), -EINVAL);
	expect_eq(raw_tp_open("bpf_test_finish", map, 0), -EINVAL);
	expect_eq(raw_tp_open("bpf_test_finish", 999, 0), -EBADF);
	expect_eq(raw_tp_open("bpf_test_finish", reads_more, 0), -EINVAL);
	link = raw_tp_open("bpf_test_finish", raw_tp, 0);
	expect_ok(link);
	close(link);
	close(raw_tp);
	close(filter);
	close(reads_more);
	close(map);
}

/* An array whose element 0 the program counts in. */
static int load_counter(int map)
{
	const uint64_t name = own_name();
	const struct bpf_insn insns[] = {
		ONLY_HERE(name),
		LD_MAP_VALUE(1, map, 0),
		MOV64_IMM(2, 1),
		INSN(BPF_STX | BPF_ATOMIC | BPF_DW, 1, 2, 0, BPF_ADD),
		MOV64_IMM(0, 0),
		EXIT(),
	};

	return prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, insns, ARRAY_SIZE(insns));
}

static void run_filter(int times)
{
	int filter = load_ret0(BPF_PROG_TYPE_SOCKET_FILTER);
	uint8_t packet[64] = { 0 };

	for (int i = 0; i < times; i++) {
		union bpf_attr attr = ATTR(.test.prog_fd = filter, .test.data_in = ptr(packet),
					   .test.data_size_in = sizeof(packet), .test.repeat = 5);

		expect_eq(sys_attr(BPF_PROG_TEST_RUN, &attr), 0);
	}
	close(filter);
}

static uint64_t count_of(int map)
{
	uint32_t key = 0;
	uint64_t value = 0;

	expect_eq(map_lookup(map, &key, &value), 0);
	return value;
}

static void fires(void)
{
	int map = map_new(BPF_MAP_TYPE_ARRAY, 4, 8, 1, 0), other = map_new(BPF_MAP_TYPE_ARRAY, 4, 8, 1, 0);
	int prog = load_counter(map), prog2 = load_counter(other), link, link2;

	run_filter(1);
	expect_eq(count_of(map), 0);
	link = raw_tp_open("bpf_test_finish", prog, 0);
	expect_ok(link);
	run_filter(3); /* once per test run, however often it repeats */
	expect_eq(count_of(map), 3);
	link2 = raw_tp_open("bpf_test_finish", prog2, 0);
	expect_ok(link2);
	close(prog2); /* the link holds it */
	run_filter(2);
	expect_eq(count_of(map), 5);
	expect_eq(count_of(other), 2);
	close(link);
	run_filter(1);
	expect_eq(count_of(map), 5);
	expect_eq(count_of(other), 3);
	close(link2);
	run_filter(1);
	expect_eq(count_of(other), 3);
	/* The same program may be attached twice. */
	link = raw_tp_open("bpf_test_finish", prog, 0);
	link2 = raw_tp_open("bpf_test_finish", prog, 0);
	run_filter(1);
	expect_eq(count_of(map), 7);
	close(link);
	close(link2);
	close(prog);
	close(map);
	close(other);
}

/* A program learns which of its links it runs for. */
static void cookies(void)
{
	int map = map_new(BPF_MAP_TYPE_ARRAY, 4, 8, 1, 0);
	const uint64_t name = own_name();
	const struct bpf_insn insns[] = {
		ONLY_HERE(name),
		MOV64_REG(1, 6),
		CALL(BPF_FUNC_get_attach_cookie),
		LD_MAP_VALUE(1, map, 0),
		INSN(BPF_STX | BPF_ATOMIC | BPF_DW, 1, 0, 0, BPF_ADD),
		MOV64_IMM(0, 0),
		EXIT(),
	};
	int prog = prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, insns, ARRAY_SIZE(insns));
	int link = raw_tp_open("bpf_test_finish", prog, 0x1000000000000000);
	int link2 = raw_tp_open("bpf_test_finish", prog, 7);
	uint32_t retval;

	if (!expect_ok(link) || !expect_ok(link2))
		return;
	run_filter(2);
	expect_eq(count_of(map), 0x200000000000000e);
	/* Without a link there is none. */
	expect_eq(test_run(prog, &retval), 0);
	expect_eq(count_of(map), 0x200000000000000e);
	close(link);
	close(link2);
	close(prog);
	close(map);
}

struct link_info { /* of 6.18 */
	uint32_t type, id, prog_id, pad;
	uint64_t tp_name;
	uint32_t tp_name_len, pad2;
	uint64_t cookie;
	uint8_t rest[24];
};

static void info(void)
{
	int prog = load_ret0(BPF_PROG_TYPE_RAW_TRACEPOINT);
	int link = raw_tp_open("bpf_test_finish", prog, 0xfeedface12345678), again;
	char name[32] = "";
	struct link_info info = { .tp_name = ptr(name), .tp_name_len = sizeof(name) };
	uint32_t len = sizeof(info), next;

	if (!expect_ok(link))
		return;
	expect_eq(obj_info(link, &info, &len), 0);
	expect_eq(len, 64);
	expect_eq(info.type, BPF_LINK_TYPE_RAW_TRACEPOINT);
	expect_true(info.id);
	expect_eq(info.prog_id, id_of(prog));
	expect_eq(strcmp(name, "bpf_test_finish"), 0);
	expect_eq(info.tp_name_len, 16);
	expect_eq(info.cookie, 0xfeedface12345678);

	again = fd_by_id(BPF_LINK_GET_FD_BY_ID, info.id);
	expect_ok(again);
	close(again);
	expect_eq(next_id(BPF_LINK_GET_NEXT_ID, info.id - 1, &next), 0);
	expect_eq(next, info.id);

	info = (struct link_info){ .tp_name = ptr(name), .tp_name_len = 5 };
	expect_eq(obj_info(link, &info, &len), -ENOSPC);
	expect_eq(strcmp(name, "bpf_"), 0);
	info = (struct link_info){ .tp_name = ptr(name) };
	expect_eq(obj_info(link, &info, &len), -EINVAL);
	info = (struct link_info){ .tp_name_len = 5 };
	expect_eq(obj_info(link, &info, &len), -EINVAL);
	info = (struct link_info){ 0 };
	expect_eq(obj_info(link, &info, &len), 0);
	expect_eq(info.tp_name_len, 16);
	info = (struct link_info){ .tp_name = BAD_PTR, .tp_name_len = 16 };
	expect_eq(obj_info(link, &info, &len), -EFAULT);
	next = info.id;
	close(link);
	expect_eq(fd_by_id(BPF_LINK_GET_FD_BY_ID, next), -ENOENT);
	close(prog);
}

static int update(int link, int prog, uint32_t flags, int old)
{
	union bpf_attr attr = ATTR(.link_update.link_fd = link, .link_update.new_prog_fd = prog,
				   .link_update.flags = flags, .link_update.old_prog_fd = old);

	return sys_attr(BPF_LINK_UPDATE, &attr);
}

static int detach(int link)
{
	union bpf_attr attr = ATTR(.link_detach.link_fd = link);

	return sys_attr(BPF_LINK_DETACH, &attr);
}

static int iter_create(int link, uint32_t flags)
{
	union bpf_attr attr = ATTR(.iter_create.link_fd = link, .iter_create.flags = flags);

	return sys_attr(BPF_ITER_CREATE, &attr);
}

static void other_commands(void)
{
	int prog = load_ret0(BPF_PROG_TYPE_RAW_TRACEPOINT);
	int link = raw_tp_open("bpf_test_finish", prog, 0);

	expect_eq(update(link, prog, 0, 0), -EINVAL);
	expect_eq(update(link, 999, 0, 0), -EBADF);
	expect_eq(update(link, prog, 0, 5), -EINVAL);
	expect_eq(update(link, prog, 8, 0), -EINVAL);
	expect_eq(update(link, prog, BPF_F_REPLACE, prog), -EINVAL);
	expect_eq(update(link, prog, BPF_F_REPLACE, 999), -EBADF);
	expect_eq(update(prog, prog, 0, 0), -EINVAL);
	expect_eq(update(999, prog, 0, 0), -EBADF);
	expect_eq(detach(link), -EOPNOTSUPP);
	expect_eq(detach(prog), -EINVAL);
	expect_eq(detach(999), -EBADF);
	expect_eq(iter_create(link, 0), -EINVAL);
	expect_eq(iter_create(link, 1), -EINVAL);
	expect_eq(iter_create(prog, 0), -EINVAL);
	expect_eq(iter_create(999, 0), -EBADF);
	close(link);
	close(prog);
}

/* BPF_LINK_CREATE: targets that do not exist on either side. */
static void create(void)
{
	static const struct {
		uint32_t type, attach;
		int want;
	} rows[] = {
		{ BPF_PROG_TYPE_SOCKET_FILTER, 0, -EINVAL },
		{ BPF_PROG_TYPE_SOCKET_FILTER, BPF_PERF_EVENT, -EINVAL },
		{ BPF_PROG_TYPE_RAW_TRACEPOINT, 0, -EINVAL },
		{ BPF_PROG_TYPE_RAW_TRACEPOINT, BPF_PERF_EVENT, -EINVAL },
		{ BPF_PROG_TYPE_KPROBE, BPF_PERF_EVENT, -EBADF },
		{ BPF_PROG_TYPE_KPROBE, BPF_XDP, -EINVAL },
		{ BPF_PROG_TYPE_TRACEPOINT, BPF_PERF_EVENT, -EBADF },
		{ BPF_PROG_TYPE_XDP, BPF_XDP, -EINVAL },
		{ BPF_PROG_TYPE_XDP, BPF_PERF_EVENT, -EINVAL },
		{ BPF_PROG_TYPE_SCHED_CLS, 0, -EINVAL },
		{ BPF_PROG_TYPE_SCHED_CLS, 46 /* BPF_TCX_INGRESS */, -ENODEV },
		{ BPF_PROG_TYPE_CGROUP_SKB, BPF_CGROUP_INET_INGRESS, -EBADF },
		{ BPF_PROG_TYPE_CGROUP_SKB, BPF_XDP, -EINVAL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		union bpf_attr attr = ATTR(.link_create.prog_fd = load_ret0(rows[i].type),
					   .link_create.target_fd = 99999,
					   .link_create.attach_type = rows[i].attach);

		if (!expect_eq(sys_attr(BPF_LINK_CREATE, &attr), rows[i].want))
			expect_eq(i, -1);
		close(attr.link_create.prog_fd);
	}
	union bpf_attr attr = ATTR(.link_create.prog_fd = 999);

	expect_eq(sys_attr(BPF_LINK_CREATE, &attr), -EBADF);
	attr.link_create.prog_fd = 0;
	expect_eq(sys_attr(BPF_LINK_CREATE, &attr), -EINVAL);
}

static void task_fd_query(void)
{
	int prog = load_ret0(BPF_PROG_TYPE_RAW_TRACEPOINT);
	int link = raw_tp_open("bpf_test_finish", prog, 0);
	char name[32] = "";
	union bpf_attr attr, base = ATTR(.task_fd_query.pid = getpid(), .task_fd_query.fd = link,
					 .task_fd_query.buf_len = sizeof(name),
					 .task_fd_query.buf = ptr(name));

	attr = base;
	expect_eq(sys_attr(BPF_TASK_FD_QUERY, &attr), 0);
	expect_eq(attr.task_fd_query.fd_type, BPF_FD_TYPE_RAW_TRACEPOINT);
	expect_eq(attr.task_fd_query.prog_id, id_of(prog));
	expect_eq(attr.task_fd_query.buf_len, 15);
	expect_eq(strcmp(name, "bpf_test_finish"), 0);
	attr = base;
	attr.task_fd_query.buf_len = 5;
	expect_eq(sys_attr(BPF_TASK_FD_QUERY, &attr), -ENOSPC);
	expect_eq(attr.task_fd_query.buf_len, 15);
	expect_eq(strcmp(name, "bpf_"), 0);
	attr = base;
	attr.task_fd_query.flags = 1;
	expect_eq(sys_attr(BPF_TASK_FD_QUERY, &attr), -EINVAL);
	attr = base;
	attr.task_fd_query.pid = 0x7ffffff0;
	expect_eq(sys_attr(BPF_TASK_FD_QUERY, &attr), -ENOENT);
	attr = base;
	attr.task_fd_query.fd = prog;
	expect_eq(sys_attr(BPF_TASK_FD_QUERY, &attr), -API_ENOTSUPP);
	attr = base;
	attr.task_fd_query.fd = 999;
	expect_eq(sys_attr(BPF_TASK_FD_QUERY, &attr), -EBADF);
	close(link);
	close(prog);
}

API_MAIN(API_TEST(open_errors), API_TEST(fires), API_TEST(cookies), API_TEST(info),
	 API_TEST(other_commands), API_TEST(create), API_TEST(task_fd_query))
