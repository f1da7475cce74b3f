// SPDX-License-Identifier: BSD-2-Clause
/* BPF_ENABLE_STATS: runs are counted while the descriptor is open. */
#include <fcntl.h>
#include <unistd.h>

#include "api.h"

static int enable(uint32_t type)
{
	union bpf_attr attr = ATTR(.enable_stats.type = type);

	return sys_attr(BPF_ENABLE_STATS, &attr);
}

static struct bpf_prog_info info_of(int fd)
{
	struct bpf_prog_info info = { 0 };
	uint32_t len = sizeof(info);

	expect_eq(obj_info(fd, &info, &len), 0);
	return info;
}

static void counts(void)
{
	static const struct bpf_insn insns[] = { MOV64_IMM(0, 0), EXIT() };
	int prog = prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, insns, 2), fd, fd2;
	uint32_t retval;

	expect_eq(enable(1), -EINVAL);
	expect_eq(test_run(prog, &retval), 0);
	expect_eq(info_of(prog).run_cnt, 0);
	fd = enable(BPF_STATS_RUN_TIME);
	if (!expect_ok(fd))
		return;
	expect_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	for (int i = 0; i < 5; i++)
		expect_eq(test_run(prog, &retval), 0);
	expect_eq(info_of(prog).run_cnt, 5);
	fd2 = enable(BPF_STATS_RUN_TIME);
	close(fd);
	expect_eq(test_run(prog, &retval), 0);
	expect_eq(info_of(prog).run_cnt, 6);
	expect_true(info_of(prog).run_time_ns);
	close(fd2);
	expect_eq(test_run(prog, &retval), 0);
	expect_eq(info_of(prog).run_cnt, 6);
	close(prog);
}

/* Each repetition of a test run is a run. */
static void repeats(void)
{
	static const struct bpf_insn insns[] = { MOV64_IMM(0, 0), EXIT() };
	int prog = prog_load(BPF_PROG_TYPE_SOCKET_FILTER, insns, 2);
	uint8_t packet[64] = { 0 };
	union bpf_attr attr = ATTR(.test.prog_fd = prog, .test.data_in = ptr(packet),
				   .test.data_size_in = sizeof(packet), .test.repeat = 10);
	int fd = enable(BPF_STATS_RUN_TIME);

	if (!expect_ok(fd))
		return;
	expect_eq(sys_attr(BPF_PROG_TEST_RUN, &attr), 0);
	expect_eq(info_of(prog).run_cnt, 10);
	close(fd);
	close(prog);
}

API_MAIN(API_TEST(counts), API_TEST(repeats))
