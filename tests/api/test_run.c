// SPDX-License-Identifier: BSD-2-Clause
/* BPF_PROG_TEST_RUN: what each type of program takes and gives back. */
#include <unistd.h>

#include "api.h"

static const struct bpf_insn ret42[] = { MOV64_IMM(0, 42), EXIT() };

static int run(union bpf_attr *attr)
{
	return sys_attr(BPF_PROG_TEST_RUN, attr);
}

static void descriptors(void)
{
	uint32_t retval;
	int map = map_new(BPF_MAP_TYPE_ARRAY, 4, 4, 1, 0);

	expect_eq(test_run(-1, &retval), -EBADF);
	expect_eq(test_run(999, &retval), -EBADF);
	expect_eq(test_run(0, &retval), -EINVAL);
	expect_eq(test_run(map, &retval), -EINVAL);
	close(map);
}

/* Types without a way to be run say so. */
static void not_runnable(void)
{
	static const uint32_t types[] = { BPF_PROG_TYPE_KPROBE, BPF_PROG_TYPE_TRACEPOINT };
	uint32_t retval;

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		int fd = prog_load(types[i], ret42, 2);

		expect_eq(test_run(fd, &retval), -API_ENOTSUPP);
		close(fd);
	}
}

static void raw_tp(void)
{
	static const struct bpf_insn sum[] = {
		LDX_DW(0, 1, 0), LDX_DW(2, 1, 8), INSN(BPF_ALU64 | BPF_ADD | BPF_X, 0, 2, 0, 0),
		EXIT(),
	};
	uint64_t args[13] = { 40, 2 };
	int fd = prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, sum, ARRAY_SIZE(sum));
	union bpf_attr attr, base = ATTR(.test.prog_fd = fd, .test.ctx_in = ptr(args),
					 .test.ctx_size_in = 16);

	attr = base;
	expect_eq(run(&attr), 0);
	expect_eq(attr.test.retval, 42);
	expect_eq(attr.test.duration, 0);
	attr = base;
	attr.test.ctx_size_in = 8; /* less than it reads */
	expect_eq(run(&attr), -EINVAL);
	attr.test.ctx_size_in = 96;
	expect_eq(run(&attr), 0);
	attr.test.ctx_size_in = 104;
	expect_eq(run(&attr), -EINVAL);
	attr = base;
	attr.test.ctx_in = 0;
	expect_eq(run(&attr), -EINVAL);
	attr = base;
	attr.test.ctx_in = BAD_PTR;
	expect_eq(run(&attr), -EFAULT);
	attr = base;
	attr.test.repeat = 1;
	expect_eq(run(&attr), -EINVAL);
	attr = base;
	attr.test.data_in = ptr(args);
	expect_eq(run(&attr), -EINVAL);
	attr = base;
	attr.test.ctx_out = ptr(args);
	attr.test.ctx_size_out = 8;
	expect_eq(run(&attr), -EINVAL);
	attr = base;
	attr.test.batch_size = 1;
	expect_eq(run(&attr), -EINVAL);
	attr = base;
	attr.test.cpu = 1; /* without its flag */
	expect_eq(run(&attr), -EINVAL);
	attr.test.flags = BPF_F_TEST_RUN_ON_CPU;
	attr.test.cpu = 0;
	expect_eq(run(&attr), 0);
	attr.test.cpu = 100000;
	expect_eq(run(&attr), -ENXIO);
	close(fd);
}

/* The CPU asked for is the one it runs on. */
static void on_cpu(void)
{
	static const struct bpf_insn which[] = { CALL(BPF_FUNC_get_smp_processor_id), EXIT() };
	int fd = prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, which, 2);
	uint32_t cpus = sysconf(_SC_NPROCESSORS_ONLN);

	for (uint32_t cpu = 0; cpu < cpus; cpu++) {
		union bpf_attr attr = ATTR(.test.prog_fd = fd, .test.cpu = cpu,
					   .test.flags = BPF_F_TEST_RUN_ON_CPU);

		expect_eq(run(&attr), 0);
		expect_eq(attr.test.retval, cpu);
	}
	close(fd);
}

static void packets(uint32_t type)
{
	uint8_t in[64] = { 1, 2, 3 }, out[128], want[64];
	int fd = prog_load(type, ret42, 2);
	union bpf_attr attr, base = ATTR(.test.prog_fd = fd, .test.data_in = ptr(in),
					 .test.data_size_in = sizeof(in), .test.repeat = 3);

	if (!expect_ok(fd))
		return;
	in[12] = 8; /* an IPv4 frame */
	in[20] = 99;
	memcpy(want, in, sizeof(want));
	/* A socket filter does not see the link layer, and its header comes back empty. */
	if (type == BPF_PROG_TYPE_SOCKET_FILTER)
		memset(want, 0, 14);
	attr = base;
	expect_eq(run(&attr), 0);
	expect_eq(attr.test.retval, 42);
	expect_eq(attr.test.data_size_out, 64);

	attr = base;
	attr.test.data_out = ptr(out);
	attr.test.data_size_out = sizeof(out);
	memset(out, 0xee, sizeof(out));
	expect_eq(run(&attr), 0);
	expect_eq(attr.test.data_size_out, 64);
	expect_mem(out, want, 64);
	expect_eq(out[64], 0xee);
	/* Too small: as much as fits, and the truth about the size. */
	attr = base;
	attr.test.data_out = ptr(out);
	attr.test.data_size_out = 20;
	attr.test.retval = 7;
	memset(out, 0xee, sizeof(out));
	expect_eq(run(&attr), -ENOSPC);
	expect_eq(attr.test.data_size_out, 64);
	expect_eq(attr.test.retval, 42);
	expect_mem(out, want, 20);
	expect_eq(out[20], 0xee);

	attr = base;
	attr.test.data_size_in = 0;
	expect_eq(run(&attr), -EINVAL);
	attr.test.data_size_in = 13;
	expect_eq(run(&attr), -EINVAL);
	attr.test.data_size_in = 100000;
	if (type != BPF_PROG_TYPE_XDP)
		expect_eq(run(&attr), -EINVAL);
	attr = base;
	attr.test.data_in = BAD_PTR;
	expect_eq(run(&attr), -EFAULT);
	attr = base;
	attr.test.data_out = BAD_PTR;
	attr.test.data_size_out = 64;
	expect_eq(run(&attr), -EFAULT);
	attr = base;
	attr.test.flags = 0x80000000;
	expect_eq(run(&attr), -EINVAL);
	attr = base;
	attr.test.cpu = 1; /* not looked at by XDP */
	expect_eq(run(&attr), type == BPF_PROG_TYPE_XDP ? 0 : -EINVAL);
	attr = base;
	attr.test.batch_size = 1;
	expect_eq(run(&attr), -EINVAL);
	attr = base;
	attr.test.ctx_size_in = 8; /* size without a pointer */
	expect_eq(run(&attr), -EINVAL);
	attr = base;
	attr.test.ctx_in = ptr(in);
	expect_eq(run(&attr), -EINVAL);
	close(fd);
}

static void socket_filter(void)
{
	packets(BPF_PROG_TYPE_SOCKET_FILTER);
}

static void tc(void)
{
	packets(BPF_PROG_TYPE_SCHED_CLS);
	packets(BPF_PROG_TYPE_SCHED_ACT);
}

static void xdp(void)
{
	packets(BPF_PROG_TYPE_XDP);
}

static void syscall_prog(void)
{
	/* ctx->b = ctx->a + 1; return ctx->a */
	static const struct bpf_insn insns[] = {
		LDX_DW(0, 1, 0), MOV64_REG(2, 0), ADD64_IMM(2, 1), STX_DW(1, 2, 8), EXIT(),
	};
	union bpf_attr load = ATTR(.prog_type = BPF_PROG_TYPE_SYSCALL, .insns = ptr(insns),
				   .insn_cnt = ARRAY_SIZE(insns), .license = ptr("GPL"),
				   .prog_flags = BPF_F_SLEEPABLE);
	uint64_t ctx[2] = { 7, 0 };
	int fd = sys_attr(BPF_PROG_LOAD, &load);
	union bpf_attr attr, base = ATTR(.test.prog_fd = fd, .test.ctx_in = ptr(ctx),
					 .test.ctx_size_in = sizeof(ctx));

	if (!expect_ok(fd))
		return;
	attr = base;
	expect_eq(run(&attr), 0);
	expect_eq(attr.test.retval, 7);
	expect_eq(ctx[1], 8); /* the context comes back into ctx_in */
	attr = base;
	attr.test.ctx_size_in = 8;
	expect_eq(run(&attr), -EINVAL);
	attr = base;
	attr.test.data_in = ptr(ctx);
	expect_eq(run(&attr), -EINVAL);
	attr = base;
	attr.test.repeat = 1;
	expect_eq(run(&attr), -EINVAL);
	attr = base;
	attr.test.flags = 1;
	expect_eq(run(&attr), -EINVAL);
	close(fd);
}

/* A short attribute has no room for results that lie behind its end. */
static void short_attribute(void)
{
	int fd = prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, ret42, 2);
	union bpf_attr attr = ATTR(.test.prog_fd = fd);

	expect_eq(sys_bpf(BPF_PROG_TEST_RUN, &attr, 8), 0);
	expect_eq(attr.test.retval, 42);
	close(fd);
}

API_MAIN(API_TEST(descriptors), API_TEST(not_runnable), API_TEST(raw_tp), API_TEST(on_cpu),
	 API_TEST(socket_filter), API_TEST(tc), API_TEST(xdp), API_TEST(syscall_prog),
	 API_TEST(short_attribute))
