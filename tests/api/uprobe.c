// SPDX-License-Identifier: BSD-2-Clause
/*
 * uprobes and uretprobes of this process, as perf events and as uprobe.multi: how often the program
 * runs, what it is told, what links tell, what is refused.
 */
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "api.h"

#define SELF "/proc/self/exe"
#define UPROBE_MULTI 48
#define UPROBE_MULTI_RETURN 1
#define LINK_TYPE_UPROBE_MULTI 12

/* ---- what is probed ---- */

long begins_with_nop(long a);
long begins_with_push(long a);
long begins_with_nop5(long a);

#if defined(__x86_64__)
#define FUNCTION(name, insns)                                                                      \
	__asm__(".pushsection .text\n.globl " #name "\n.type " #name ", @function\n" #name         \
		":\n.cfi_startproc\n" insns "\n.cfi_endproc\n.size " #name ", . - " #name          \
		"\n.popsection")
FUNCTION(begins_with_nop, "nop; lea 1(%rdi), %rax; ret");
FUNCTION(begins_with_push, "push %rbx; lea 1(%rdi), %rax; pop %rbx; ret");
FUNCTION(begins_with_nop5, ".byte 0x0f, 0x1f, 0x44, 0, 0; lea 1(%rdi), %rax; ret");
#define PT_ARG (14 * 8)
#define PT_RET (10 * 8)
#define PT_PC (16 * 8)
#else
#define FUNCTION(name, insns)                                                                      \
	__asm__(".pushsection .text\n.globl " #name "\n.type " #name ", %function\n" #name         \
		":\n.cfi_startproc\n" insns "\n.cfi_endproc\n.size " #name ", . - " #name          \
		"\n.popsection")
FUNCTION(begins_with_nop, "nop; add x0, x0, #1; ret");
FUNCTION(begins_with_push, "str x0, [sp, #-16]!; ldr x0, [sp], #16; add x0, x0, #1; ret");
FUNCTION(begins_with_nop5, "nop; add x0, x0, #1; ret");
#define PT_ARG 0
#define PT_RET 0
#define PT_PC (32 * 8)
#endif

/* ---- the program ---- */

/* What it writes down; see load(). */
struct seen {
	uint64_t hits, func_ip, cookies, arg, ret, pc;
};

static int map_fd;

static struct seen seen(void)
{
	struct seen s = { 0 }, zero = { 0 };
	uint32_t key = 0;

	expect_eq(map_lookup(map_fd, &key, &s), 0);
	expect_eq(map_update(map_fd, &key, &zero, 0), 0);
	return s;
}

static int load(uint32_t attach_type)
{
	const struct bpf_insn insns[] = {
		MOV64_REG(6, 1),
		LD_MAP_VALUE(7, map_fd, 0),
		MOV64_IMM(1, 1),
		INSN(BPF_STX | BPF_ATOMIC | BPF_DW, 7, 1, 0, BPF_ADD),
		MOV64_REG(1, 6),
		CALL(BPF_FUNC_get_func_ip),
		STX_DW(7, 0, 8),
		MOV64_REG(1, 6),
		CALL(BPF_FUNC_get_attach_cookie),
		INSN(BPF_STX | BPF_ATOMIC | BPF_DW, 7, 0, 16, BPF_ADD),
		LDX_DW(0, 6, PT_ARG),
		STX_DW(7, 0, 24),
		LDX_DW(0, 6, PT_RET),
		STX_DW(7, 0, 32),
		LDX_DW(0, 6, PT_PC),
		STX_DW(7, 0, 40),
		MOV64_IMM(0, 0),
		EXIT(),
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_KPROBE,
		.insns = ptr(insns),
		.insn_cnt = ARRAY_SIZE(insns),
		.license = ptr("GPL"),
		.expected_attach_type = attach_type,
	};

	return sys_attr(BPF_PROG_LOAD, &attr);
}

/* ---- attaching ---- */

static int perf_type(void)
{
	FILE *f = fopen("/sys/bus/event_source/devices/uprobe/type", "r");
	int type = -1;

	expect_true(f && fscanf(f, "%d", &type) == 1);
	if (f)
		fclose(f);
	return type;
}

static int perf_event(const char *path, uint64_t offset, uint64_t config, int pid)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = (uint32_t)perf_type(),
		.config = config,
		.config1 = ptr(path),
		.config2 = offset,
	};
	int fd = (int)syscall(__NR_perf_event_open, &attr, pid, pid == -1 ? 0 : -1, -1,
			      PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int link_event(int prog, int event, uint64_t cookie)
{
	union bpf_attr attr = { .link_create = { .attach_type = BPF_PERF_EVENT } };

	attr.link_create.prog_fd = (uint32_t)prog;
	attr.link_create.target_fd = (uint32_t)event;
	attr.link_create.perf_event.bpf_cookie = cookie;
	return sys_attr(BPF_LINK_CREATE, &attr);
}

struct multi {
	uint32_t prog_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, ref_ctr_offsets, cookies;
	uint32_t cnt, multi_flags, pid, pad;
};

/* The whole attribute but what is behind pid. */
static int link_multi(struct multi *m)
{
	m->attach_type = UPROBE_MULTI;
	return sys_bpf(BPF_LINK_CREATE, m, offsetof(struct multi, pad));
}

/* ---- the tests ---- */

static void expect_entry(long (*fn)(long), uint64_t cookie)
{
	struct seen s;

	expect_eq(fn(41), 42);
	s = seen();
	expect_eq(s.hits, 1);
	expect_eq(s.func_ip, ptr(fn));
	expect_eq(s.pc, ptr(fn));
	expect_eq(s.arg, 41);
	expect_eq(s.cookies, cookie);
}

static void entries(void)
{
	long (*const fns[])(long) = { begins_with_nop, begins_with_push, begins_with_nop5 };
	int prog = load(0), event, link;

	if (!expect_ok(prog))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(fns); i++) {
		event = perf_event(SELF, api_file_offset(fns[i]), 0, 0);
		link = link_event(prog, event, 100 + i);
		if (!expect_ok(event) || !expect_ok(link))
			continue;
		expect_entry(fns[i], 100 + i);
		close(link);
		close(event);
		expect_eq(fns[i](41), 42);
		expect_eq(seen().hits, 0);
	}
	close(prog);
}

static void returns(void)
{
	int prog = load(0), event = perf_event(SELF, api_file_offset(begins_with_push), 1, getpid());
	int link = link_event(prog, event, 7);
	struct seen s;

	expect_ok(event);
	if (!expect_ok(link))
		return;
	expect_eq(begins_with_push(1), 2);
	s = seen();
	expect_eq(s.hits, 1);
	expect_eq(s.ret, 2);
	expect_eq(s.func_ip, ptr(begins_with_push));
	expect_true(s.pc - ptr(returns) < 4096);
	expect_eq(s.cookies, 7);
	close(link);
	close(event);
	expect_eq(begins_with_push(1), 2);
	expect_eq(seen().hits, 0);
	close(prog);
}

/* The older way: the program goes with the event. */
static void by_ioctl(void)
{
	int prog = load(0), event = perf_event(SELF, api_file_offset(begins_with_nop), 0, 0);

	expect_ok(event);
	expect_eq(ioctl(event, PERF_EVENT_IOC_SET_BPF, prog), 0);
	expect_eq(ioctl(event, PERF_EVENT_IOC_ENABLE, 0), 0);
	expect_entry(begins_with_nop, 0);
	close(prog);
	expect_entry(begins_with_nop, 0);
	close(event);
	begins_with_nop(1);
	expect_eq(seen().hits, 0);
}

static void many(void)
{
	uint64_t offsets[] = { api_file_offset(begins_with_nop), api_file_offset(begins_with_push),
			       api_file_offset(begins_with_nop5) };
	uint64_t cookies[] = { 1, 20, 300 };
	int prog = load(UPROBE_MULTI), link;
	struct multi m = { .prog_fd = (uint32_t)prog, .path = ptr(SELF), .offsets = ptr(offsets),
			   .cookies = ptr(cookies), .cnt = 3 };
	struct seen s;

	link = link_multi(&m);
	if (!expect_ok(link))
		return;
	expect_eq(begins_with_nop(1) + begins_with_push(1) + begins_with_nop5(1), 6);
	s = seen();
	expect_eq(s.hits, 3);
	expect_eq(s.cookies, 321);
	expect_eq(s.func_ip, ptr(begins_with_nop5));
	close(link);
	m.multi_flags = UPROBE_MULTI_RETURN;
	link = link_multi(&m);
	expect_ok(link);
	expect_eq(begins_with_nop(1) + begins_with_push(1) + begins_with_nop5(5), 10);
	s = seen();
	expect_eq(s.hits, 3);
	expect_eq(s.cookies, 321);
	expect_eq(s.ret, 6);
	expect_eq(s.func_ip, ptr(begins_with_nop5));
	close(link);
	expect_eq(begins_with_nop(1) + begins_with_push(1) + begins_with_nop5(1), 6);
	expect_eq(seen().hits, 0);
	close(prog);
}

static void many_errors(void)
{
	uint64_t offset = api_file_offset(begins_with_nop);
	int prog = load(UPROBE_MULTI), other = load(0);
	const struct multi good = { .prog_fd = (uint32_t)prog, .path = ptr(SELF),
				    .offsets = ptr(&offset), .cnt = 1 };
	struct multi m = good;

	m.prog_fd = (uint32_t)other;
	expect_eq(link_multi(&m), -EINVAL);
	m = good;
	m.path = 0;
	expect_eq(link_multi(&m), -EINVAL);
	m = good;
	m.offsets = 0;
	expect_eq(link_multi(&m), -EINVAL);
	m = good;
	m.cnt = 0;
	expect_eq(link_multi(&m), -EINVAL);
	m.cnt = (1u << 20) + 1;
	expect_eq(link_multi(&m), -E2BIG);
	m = good;
	m.multi_flags = 2;
	expect_eq(link_multi(&m), -EINVAL);
	m = good;
	m.flags = 1;
	expect_eq(link_multi(&m), -EINVAL);
	m = good;
	m.path = ptr("/nonexistent");
	expect_eq(link_multi(&m), -ENOENT);
	m.path = ptr("/");
	expect_eq(link_multi(&m), -EBADF);
	m.path = BAD_PTR;
	expect_eq(link_multi(&m), -EFAULT);
	m = good;
	m.offsets = BAD_PTR;
	expect_eq(link_multi(&m), -EFAULT);
	m = good;
	m.pid = 0x3fffffff;
	expect_eq(link_multi(&m), -ESRCH);
	offset = 1ull << 40;
	m = good;
	expect_eq(link_multi(&m), -EINVAL);
	close(prog);
	close(other);
}

static void event_errors(void)
{
	uint64_t offset = api_file_offset(begins_with_nop);

	expect_eq(perf_event("/nonexistent", offset, 0, 0), -ENOENT);
	expect_eq(perf_event("/", offset, 0, 0), -EINVAL);
	expect_eq(perf_event((const char *)BAD_PTR, offset, 0, 0), -EFAULT);
	expect_eq(perf_event(SELF, 1ull << 40, 0, 0), -EINVAL);
}

/* struct bpf_link_info of newer headers. */
struct info {
	uint32_t type, id, prog_id, pad;
	union {
		struct {
			uint32_t type, pad;
			uint64_t name;
			uint32_t name_len, offset;
			uint64_t cookie;
		} event;
		struct {
			uint64_t path, offsets, ref_ctr_offsets, cookies;
			uint32_t path_size, count, flags, pid;
		} multi;
	};
	uint64_t room[4];
};

static void link_info(void)
{
	uint64_t offset = api_file_offset(begins_with_nop), cookie = 9, offset_out = 0, cookie_out = 0;
	int prog = load(0), event = perf_event(SELF, offset, 1, 0), link;
	struct info info = { 0 };
	uint32_t len = sizeof(info);
	struct multi m = { .path = ptr(SELF), .offsets = ptr(&offset), .cookies = ptr(&cookie),
			   .cnt = 1 };

	link = link_event(prog, event, 5);
	expect_eq(obj_info(link, &info, &len), 0);
	expect_eq(info.type, BPF_LINK_TYPE_PERF_EVENT);
	expect_eq(info.event.type, 2);
	expect_eq(info.event.offset, offset);
	close(link);
	close(event);
	close(prog);

	prog = load(UPROBE_MULTI);
	m.prog_fd = (uint32_t)prog;
	link = link_multi(&m);
	memset(&info, 0, sizeof(info));
	info.multi.offsets = ptr(&offset_out);
	info.multi.cookies = ptr(&cookie_out);
	info.multi.count = 1;
	expect_eq(obj_info(link, &info, &len), 0);
	expect_eq(info.type, LINK_TYPE_UPROBE_MULTI);
	expect_eq(info.multi.count, 1);
	expect_eq(info.multi.flags, 0);
	expect_eq(offset_out, offset);
	expect_eq(cookie_out, 9);
	close(link);
	close(prog);
}

static void start(void)
{
	map_fd = map_new(BPF_MAP_TYPE_ARRAY, 4, sizeof(struct seen), 1, 0);
	expect_ok(map_fd);
	if (perf_event(SELF, api_file_offset(begins_with_nop), 0, 0) < 0 && !api_user) {
		printf("this kernel has no uprobes\n");
		exit(77);
	}
}

API_MAIN(API_TEST(start), API_TEST(entries), API_TEST(returns), API_TEST(by_ioctl), API_TEST(many),
	 API_TEST(many_errors), API_TEST(event_errors), API_TEST(link_info))
