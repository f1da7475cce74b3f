// SPDX-License-Identifier: BSD-2-Clause
/*
 * BPF_PROG_TEST_RUN of every type against the running kernel: the same attribute is given to both,
 * and errno, return value, sizes, packet and context that come back must agree. Ours runs a C
 * function in place of the program, so that nothing but the type is under test.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>
#include <linux/if_ether.h>

#include "helper/bodies.h"
#include "helper/helper.h"
#include "kern_bpf.h"
#include "obj/prog.h"
#include "prog_type/prog_type.h"
#include "util/uaccess.h"

#define BUF_SIZE (80 * 1024)

/* One call of a helper: what both sides do. Memory arguments are 16 bytes on the stack. */
struct call {
	int id; /* 0: none, the program returns plain_value() */
	uint64_t arg[5];
};

static struct call current;

static int32_t plain_value(void);

static bool is_mem(uint32_t arg)
{
	return arg == BPFU_ARG_PTR_TO_MEM || arg == BPFU_ARG_PTR_TO_UNINIT_MEM;
}

#define PATTERN 0x0102030405060708ull

static uint64_t our_prog(void *ctx, const struct bpfu_prog *prog)
{
	const struct bpfu_helper *helper = bpfu_helper_by_id(current.id);
	uint64_t mem[2] = { PATTERN, PATTERN }, arg[5], ret;

	if (!helper)
		return (uint64_t)plain_value();
	for (int i = 0; i < 5; i++)
		arg[i] = helper->arg[i] == BPFU_ARG_PTR_TO_CTX ? bpfu_u64(ctx) :
			 is_mem(helper->arg[i])		       ? bpfu_u64(mem) :
								 current.arg[i];
	ret = helper->fn(arg[0], arg[1], arg[2], arg[3], arg[4]);
	return ret ? ret : (uint32_t)mem[0];
}

static uint32_t emit_imm64(struct bpf_insn *insn, int reg, uint64_t value)
{
	insn[0] = BPFU_INSN(BPF_LD | BPF_IMM | BPF_DW, reg, 0, 0, 0);
	insn[1] = BPFU_INSN(0, 0, 0, 0, 0);
	bpfu_insn_set_imm64(insn, value);
	return 2;
}

static uint32_t their_prog(struct bpf_insn *insns)
{
	const struct bpfu_helper *helper = bpfu_helper_by_id(current.id);
	uint32_t n = 0;

	if (!helper) {
		insns[n++] = BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, plain_value());
		insns[n++] = BPFU_INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
		return n;
	}
	insns[n++] = BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_X, 6, 1, 0, 0);
	n += emit_imm64(insns + n, 0, PATTERN);
	insns[n++] = BPFU_INSN(BPF_STX | BPF_MEM | BPF_DW, 10, 0, -16, 0);
	insns[n++] = BPFU_INSN(BPF_STX | BPF_MEM | BPF_DW, 10, 0, -8, 0);
	for (int i = 0; i < 5; i++) {
		if (helper->arg[i] == BPFU_ARG_PTR_TO_CTX) {
			insns[n++] = BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_X, i + 1, 6, 0, 0);
		} else if (is_mem(helper->arg[i])) {
			insns[n++] = BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_X, i + 1, 10, 0, 0);
			insns[n++] = BPFU_INSN(BPF_ALU64 | BPF_ADD | BPF_K, i + 1, 0, 0, -16);
		} else {
			n += emit_imm64(insns + n, i + 1, current.arg[i]);
		}
	}
	insns[n++] = BPFU_INSN(BPF_JMP | BPF_CALL, 0, 0, 0, current.id);
	insns[n++] = BPFU_INSN(BPF_JMP | BPF_JNE | BPF_K, 0, 0, 1, 0);
	insns[n++] = BPFU_INSN(BPF_LDX | BPF_MEM | BPF_W, 0, 10, -16, 0);
	insns[n++] = BPFU_INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
	return n;
}

/* ---- one run on both sides ---- */

struct side {
	union bpf_attr attr;
	int ret;
	uint8_t data_out[BUF_SIZE], ctx_in[BUF_SIZE], ctx_out[1024];
};

struct run {
	enum bpf_prog_type type;
	enum bpf_attach_type attach_type;
	const char *name;
	uint8_t data[BUF_SIZE], ctx[BUF_SIZE];
	uint32_t data_size, ctx_size;
	uint32_t data_room, ctx_room; /* 0: not wanted */
	uint32_t flags, cpu, repeat, batch_size, duration;
	bool null_data, size_without_data;
};

static struct run run;
static uint8_t pattern[BUF_SIZE];
static struct side ours, theirs;

/* Bytes of the large buffers that a run may touch; clearing all of them for each takes too long. */
static uint32_t touched(void)
{
	uint32_t most = BPFU_MAX(run.data_size, run.ctx_size) + 20000;

	return BPFU_MIN(most, (uint32_t)BUF_SIZE);
}

/* cgroup_skb programs must return 0 … 3. */
static int32_t plain_value(void)
{
	return run.type == BPF_PROG_TYPE_CGROUP_SKB ? 3 : 7;
}

static void fill(struct side *s)
{
	memset(&s->attr, 0, sizeof(s->attr));
	memset(s->data_out, 0xee, touched());
	memset(s->ctx_out, 0xee, sizeof(s->ctx_out));
	memcpy(s->ctx_in, run.ctx, touched());
	if (run.data_size && !run.null_data)
		s->attr.test.data_in = bpfu_u64(run.data);
	s->attr.test.data_size_in = run.data_size;
	if (run.ctx_size) {
		s->attr.test.ctx_in = bpfu_u64(s->ctx_in);
		s->attr.test.ctx_size_in = run.ctx_size;
	}
	if (run.data_room) {
		s->attr.test.data_out = run.size_without_data ? 0 : bpfu_u64(s->data_out);
		s->attr.test.data_size_out = run.data_room;
	}
	if (run.ctx_room) {
		s->attr.test.ctx_out = bpfu_u64(s->ctx_out);
		s->attr.test.ctx_size_out = run.ctx_room;
	}
	s->attr.test.flags = run.flags;
	s->attr.test.cpu = run.cpu;
	s->attr.test.repeat = run.repeat;
	s->attr.test.batch_size = run.batch_size;
	s->attr.test.duration = run.duration;
}

static void compare(const char *what)
{
	uint32_t room = BPFU_MIN(run.data_room, touched());

	if (ours.ret != theirs.ret)
		fail_msg("%s: %s: ours %d, kernel %d", run.name, what, ours.ret, theirs.ret);
	if (ours.ret && ours.ret != -ENOSPC)
		return;
	if (ours.attr.test.retval != theirs.attr.test.retval)
		fail_msg("%s: %s: ours returns 0x%x, the kernel's 0x%x", run.name, what,
			 ours.attr.test.retval, theirs.attr.test.retval);
	if (ours.attr.test.data_size_out != theirs.attr.test.data_size_out)
		fail_msg("%s: %s: data_size_out: ours %u, kernel %u", run.name, what,
			 ours.attr.test.data_size_out, theirs.attr.test.data_size_out);
	if (ours.attr.test.ctx_size_out != theirs.attr.test.ctx_size_out)
		fail_msg("%s: %s: ctx_size_out: ours %u, kernel %u", run.name, what,
			 ours.attr.test.ctx_size_out, theirs.attr.test.ctx_size_out);
	for (uint32_t i = 0; memcmp(ours.data_out, theirs.data_out, room) && i < room; i++)
		if (ours.data_out[i] != theirs.data_out[i])
			fail_msg("%s: %s: packet byte %u: ours 0x%x, kernel 0x%x", run.name, what,
				 i, ours.data_out[i], theirs.data_out[i]);
	for (uint32_t i = 0; i < sizeof(ours.ctx_out); i++)
		if (ours.ctx_out[i] != theirs.ctx_out[i])
			fail_msg("%s: %s: context byte %u: ours 0x%x, kernel 0x%x", run.name, what,
				 i, ours.ctx_out[i], theirs.ctx_out[i]);
	assert_memory_equal(ours.ctx_in, theirs.ctx_in, touched());
}

static void both(const char *what)
{
	static char log_buf[KERN_LOG_SIZE];
	struct bpfu_prog prog = { .type = run.type,
				  .expected_attach_type = run.attach_type,
				  .func = our_prog };
	struct bpf_insn insns[64];
	const struct kern_prog load = { run.type, run.attach_type,
					run.type == BPF_PROG_TYPE_SYSCALL ? BPF_F_SLEEPABLE : 0,
					NULL, insns, their_prog(insns) };
	const struct bpfu_prog_type *type = bpfu_prog_type_of(run.type);
	int fd = kern_prog_load(&load, log_buf);

	if (fd < 0)
		fail_msg("%s: %s: cannot load: %s", run.name, what, log_buf);
	fill(&theirs);
	theirs.attr.test.prog_fd = (uint32_t)fd;
	theirs.ret = kern_bpf(BPF_PROG_TEST_RUN, &theirs.attr);
	close(fd);
	fill(&ours);
	prog.type_ops = type;
	ours.ret = type->test_run ? type->test_run(&prog, &ours.attr) : -524;
	compare(what);
}

static void reset(enum bpf_prog_type type, const char *name)
{
	bpfu_uaccess_init(); /* in front of cmocka's handler */
	memset(&run, 0, sizeof(run));
	memset(&current, 0, sizeof(current));
	memcpy(run.data, pattern, sizeof(run.data));
	run.type = type;
	run.name = name;
	if (type == BPF_PROG_TYPE_CGROUP_SKB)
		run.attach_type = BPF_CGROUP_INET_EGRESS;
}

static void with_packet(enum bpf_prog_type type, const char *name)
{
	reset(type, name);
	run.data_size = 64;
	run.data_room = sizeof(run.data);
}

static const struct {
	enum bpf_prog_type type;
	const char *name;
} packet_types[] = {
	{ BPF_PROG_TYPE_SOCKET_FILTER, "socket_filter" },
	{ BPF_PROG_TYPE_SCHED_CLS, "sched_cls" },
	{ BPF_PROG_TYPE_SCHED_ACT, "sched_act" },
	{ BPF_PROG_TYPE_CGROUP_SKB, "cgroup_skb" },
	{ BPF_PROG_TYPE_XDP, "xdp" },
};

#define FOR_PACKET_TYPES(i)                                                                        \
	for (size_t i = 0; i < BPFU_ARRAY_SIZE(packet_types) &&                                    \
			   (with_packet(packet_types[i].type, packet_types[i].name), true);        \
	     i++)

/* ---- tests ---- */

static void test_data_sizes(void **state)
{
	static const uint32_t sizes[] = { 0,    1,    13,   14,   15,   16,   33,   34,   54,
					  3000, 3519, 3520, 3521, 3712, 3713, 3776, 4096, 8000,
					  70000, 73152, 73153, 75000 };

	FOR_PACKET_TYPES(i) {
		for (size_t k = 0; k < BPFU_ARRAY_SIZE(sizes); k++) {
			char what[64];

			run.data_size = sizes[k];
			snprintf(what, sizeof(what), "data_size_in %u", sizes[k]);
			both(what);
		}
	}
}

/* Packets that end before the header they announce does. */
static void test_cut_headers(void **state)
{
	static const uint16_t protocols[] = { ETH_P_IP, ETH_P_IPV6, ETH_P_ARP };

	FOR_PACKET_TYPES(i) {
		for (size_t k = 0; k < BPFU_ARRAY_SIZE(protocols); k++) {
			run.data[12] = (uint8_t)(protocols[k] >> 8);
			run.data[13] = (uint8_t)protocols[k];
			for (run.data_size = 30; run.data_size < 60; run.data_size++) {
				char what[64];

				snprintf(what, sizeof(what), "%u bytes of protocol %04x", run.data_size,
					 protocols[k]);
				both(what);
			}
		}
	}
}

static void test_data_out(void **state)
{
	FOR_PACKET_TYPES(i) {
		for (uint32_t room = 0; room < 70; room += 3) {
			run.data_room = room;
			both("data_size_out");
			run.size_without_data = true;
			both("data_size_out without data_out");
			run.size_without_data = false;
		}
		run.data_room = 64;
		run.null_data = true;
		both("data_in NULL");
	}
}

static void test_attributes(void **state)
{
	FOR_PACKET_TYPES(i) {
		run.repeat = 3;
		both("repeat");
		run.repeat = 0;
		run.duration = 5;
		both("duration");
		run.duration = 0;
		run.batch_size = 1;
		both("batch_size");
		run.batch_size = 0;
		run.cpu = 1;
		both("cpu");
		run.cpu = 0;
		for (uint32_t bit = 3; bit < 32; bit++) {
			run.flags = 1u << bit;
			both("flags");
		}
		run.flags = BPF_F_TEST_RUN_ON_CPU;
		both("on cpu");
	}
}

static void test_skb_ctx(void **state)
{
	FOR_PACKET_TYPES(i) {
		if (run.type == BPF_PROG_TYPE_XDP)
			continue;
		run.ctx_room = 512;
		for (uint32_t off = 0; off < sizeof(struct __sk_buff) + 8; off++) {
			char what[64];

			snprintf(what, sizeof(what), "context byte %u set", off);
			memset(run.ctx, 0, sizeof(run.ctx));
			run.ctx[off] = 1;
			run.ctx_size = sizeof(struct __sk_buff);
			both(what);
			run.ctx_size = sizeof(struct __sk_buff) + 8;
			both(what);
			run.ctx_size = off + 1;
			both(what);
		}
	}
}

static void test_skb_ctx_values(void **state)
{
	struct __sk_buff *ctx = (struct __sk_buff *)run.ctx;

	with_packet(BPF_PROG_TYPE_SCHED_CLS, "sched_cls");
	run.ctx_size = sizeof(*ctx);
	run.ctx_room = sizeof(*ctx);
	memset(ctx->cb, 0x5a, sizeof(ctx->cb));
	ctx->mark = 0x12345678;
	ctx->priority = 9;
	ctx->ingress_ifindex = 77;
	ctx->tstamp = 1234567;
	ctx->gso_size = 0x12345;
	ctx->hwtstamp = 99;
	both("plain values");
	for (uint32_t len = 62; len < 67; len++) {
		ctx->wire_len = len;
		both("wire_len around the length");
	}
	for (uint32_t len = 65534; len < 65540; len++) {
		ctx->wire_len = len;
		both("wire_len around 64 KiB");
		ctx->wire_len = 0;
		ctx->gso_segs = len;
		both("gso_segs around 64 Ki");
		ctx->gso_segs = 0;
	}
	ctx->ifindex = 1;
	both("ifindex 1");
	ctx->ifindex = 123456;
	both("no such interface");
	ctx->ifindex = 0;
	for (uint32_t room = 1; room < 256; room += 17) {
		run.ctx_room = room;
		both("ctx_size_out");
	}
}

static void test_xdp_ctx(void **state)
{
	struct xdp_md *md = (struct xdp_md *)run.ctx;

	with_packet(BPF_PROG_TYPE_XDP, "xdp");
	run.ctx_size = sizeof(*md);
	run.ctx_room = sizeof(*md);
	both("all zero");
	for (uint32_t end = 0; end < 70; end++) {
		md->data_end = end;
		both("data_end");
	}
	for (uint32_t off = 0; off < 20; off++) {
		md->data = off;
		md->data_end = off / 4 * 5;
		both("short linear part");
	}
	md->data_end = run.data_size;
	for (uint32_t off = 0; off < 300; off++) {
		md->data = off;
		both("meta data");
	}
	run.data_size = 600;
	md->data_end = run.data_size;
	for (uint32_t off = 64; off < 270; off++) {
		char what[64];

		snprintf(what, sizeof(what), "%u bytes of meta data", off);
		md->data = off;
		both(what);
	}
	run.data_size = 64;
	md->data_end = run.data_size;
	md->data = 8;
	run.ctx_room = 8;
	both("ctx_size_out");
	run.ctx_room = 24;
	md->egress_ifindex = 1;
	both("egress_ifindex");
	md->egress_ifindex = 0;
	md->rx_queue_index = 1;
	both("queue without interface");
	md->ingress_ifindex = 1;
	both("queue that is not there");
	md->rx_queue_index = 0;
	both("loopback");
	md->ingress_ifindex = 123456;
	both("no such interface");
	md->ingress_ifindex = 0;
	md->data_meta = 4;
	both("data_meta");
	md->data_meta = 0;
	run.ctx_size = 4;
	both("short context");
	memset(md, 0, sizeof(*md));
	run.ctx_size = 0;
	both("context wanted, none given");
	run.attach_type = BPF_XDP_DEVMAP;
	both("devmap");
	run.attach_type = BPF_XDP_CPUMAP;
	both("cpumap");
	run.attach_type = BPF_XDP;
	both("xdp attach type");
}

static void call1(int id, uint64_t a2)
{
	current = (struct call){ id, { 0, a2 } };
}

/* Not INT32_MIN: the kernel's tail helper negates it. */
static void test_xdp_adjust(void **state)
{
	static const int32_t offs[] = { 0,    1,    -1,  4,	 -4,  8,   -8,  50,  51,    -215,
					-216, -217, 200, -252, -256, 255, 64,  1000, -50,   -51,
					3455, 3456, 3457, -3000, -1000000, INT32_MAX };
	static const int helpers[] = { BPF_FUNC_xdp_adjust_head, BPF_FUNC_xdp_adjust_tail,
				       BPF_FUNC_xdp_adjust_meta };
	static const uint32_t sizes[] = { 64, 300, 3520, 3521, 9000 };

	for (size_t h = 0; h < BPFU_ARRAY_SIZE(helpers); h++) {
		for (size_t i = 0; i < BPFU_ARRAY_SIZE(offs); i++) {
			for (uint32_t repeat = 0; repeat < 4; repeat++) {
				char what[64];

				with_packet(BPF_PROG_TYPE_XDP, "xdp");
				call1(helpers[h], (uint64_t)(int64_t)offs[i]);
				snprintf(what, sizeof(what), "%s(%d) x %u",
					 bpfu_helper_name(helpers[h]), offs[i], repeat);
				run.repeat = repeat;
				for (size_t k = 0; k < BPFU_ARRAY_SIZE(sizes); k++) {
					run.data_size = sizes[k];
					both(what);
				}
				run.data_size = 100;
				run.ctx_size = sizeof(struct xdp_md);
				run.ctx_room = sizeof(struct xdp_md);
				((struct xdp_md *)run.ctx)->data = 12;
				((struct xdp_md *)run.ctx)->data_end = 100;
				both(what);
			}
		}
	}
}

static void test_xdp_bytes(void **state)
{
	static const uint32_t offs[] = { 0, 1, 48, 56, 57, 60, 64, 65535, 65536, UINT32_MAX };
	static const uint32_t sizes[] = { 64, 3524, 9000 };

	for (size_t i = 0; i < BPFU_ARRAY_SIZE(offs); i++) {
		for (uint64_t len = 1; len <= 16; len += 3) {
			with_packet(BPF_PROG_TYPE_XDP, "xdp");
			for (size_t k = 0; k < BPFU_ARRAY_SIZE(sizes); k++) {
				run.data_size = sizes[k];
				current = (struct call){ BPF_FUNC_xdp_load_bytes,
							 { 0, offs[i], 0, len } };
				both("xdp_load_bytes");
				current.arg[1] = sizes[k] - offs[i];
				both("xdp_load_bytes from the end");
				current.id = BPF_FUNC_xdp_store_bytes;
				both("xdp_store_bytes from the end");
				current.arg[1] = offs[i];
				both("xdp_store_bytes");
			}
			call1(BPF_FUNC_xdp_get_buff_len, 0);
			both("xdp_get_buff_len");
		}
	}
}

static void test_skb_bytes(void **state)
{
	static const uint32_t offs[] = { 0,  1,	 14,    47,    48,	  49,	    50,	     51,
					 60, 64, 65535, 65536, INT32_MAX, 1u << 31, UINT32_MAX };

	for (size_t i = 0; i < BPFU_ARRAY_SIZE(offs); i++) {
		for (uint64_t len = 1; len <= 16; len += 5) {
			FOR_PACKET_TYPES(t) {
				/* A helper's result is no value for a cgroup program. */
				if (run.type == BPF_PROG_TYPE_XDP ||
				    run.type == BPF_PROG_TYPE_CGROUP_SKB)
					continue;
				current = (struct call){ BPF_FUNC_skb_load_bytes,
							 { 0, offs[i], 0, len } };
				both("skb_load_bytes");
				for (uint64_t from = 0; from < 3; from++) {
					current = (struct call){ BPF_FUNC_skb_load_bytes_relative,
								 { 0, offs[i], 0, len, from } };
					both("skb_load_bytes_relative");
				}
				if (run.type == BPF_PROG_TYPE_SOCKET_FILTER)
					continue;
				for (uint64_t flags = 0; flags < 8; flags++) {
					current = (struct call){ BPF_FUNC_skb_store_bytes,
								 { 0, offs[i], 0, len, flags } };
					both("skb_store_bytes");
				}
			}
		}
	}
}

static void test_skb_change(void **state)
{
	static const int helpers[] = { BPF_FUNC_skb_change_tail, BPF_FUNC_skb_change_head,
				       BPF_FUNC_skb_pull_data };
	static const uint32_t lens[] = { 0,    1,   13,    14,    15,	 20,	63,   64,
					 65,   100, 1000,  3000,  16000, 16064, 16065, 16384,
					 16400, 65536, 1u << 31, UINT32_MAX };

	for (size_t h = 0; h < BPFU_ARRAY_SIZE(helpers); h++) {
		for (size_t i = 0; i < BPFU_ARRAY_SIZE(lens); i++) {
			for (uint32_t repeat = 0; repeat < 4; repeat++) {
				char what[64];

				with_packet(BPF_PROG_TYPE_SCHED_CLS, "sched_cls");
				run.ctx_room = 256;
				run.repeat = repeat;
				call1(helpers[h], lens[i]);
				snprintf(what, sizeof(what), "%s(%u) x %u",
					 bpfu_helper_name(helpers[h]), lens[i], repeat);
				both(what);
				if (helpers[h] == BPF_FUNC_skb_pull_data)
					continue;
				current.arg[2] = 1;
				both("flags of skb_change_*");
			}
		}
	}
}

static void test_csum(void **state)
{
	static const uint32_t offs[] = { 0, 13, 24, 62, 63, 64, 65534, 65536 };
	static const uint64_t flags[] = { 0, 1, 2, 3, 4, 5, 0x10, 0x12, 0x14, 0x22, 0x24, 0x34,
					  0x42, 0x72, 0x80, 0x82, 0x90, 0x94, 0x104, 1ull << 40 };
	static const uint64_t values[] = { 0, 1, 0xffff, 0x1234, 0xdeadbeef, 0xffffffff };

	for (size_t i = 0; i < BPFU_ARRAY_SIZE(offs); i++) {
		for (size_t f = 0; f < BPFU_ARRAY_SIZE(flags); f++) {
			for (size_t v = 0; v < BPFU_ARRAY_SIZE(values); v++) {
				char what[96];

				with_packet(BPF_PROG_TYPE_SCHED_CLS, "sched_cls");
				current = (struct call){ BPF_FUNC_l3_csum_replace,
							 { 0, offs[i], values[v],
							   values[(v + 1) % 6], flags[f] } };
				snprintf(what, sizeof(what), "csum_replace(%u, 0x%x, 0x%x, 0x%llx)",
					 offs[i], (uint32_t)current.arg[2], (uint32_t)current.arg[3],
					 (unsigned long long)flags[f]);
				both(what);
				current.id = BPF_FUNC_l4_csum_replace;
				both(what);
				memset(run.data + 24, 0, 2);
				both(what);
			}
		}
	}
}

static void test_redirect(void **state)
{
	static const uint64_t flags[] = { 0, 1, 2, 1ull << 32 };

	for (size_t i = 0; i < BPFU_ARRAY_SIZE(flags); i++) {
		current = (struct call){ BPF_FUNC_redirect, { 1, flags[i] } };
		with_packet(BPF_PROG_TYPE_XDP, "xdp");
		current = (struct call){ BPF_FUNC_redirect, { 1, flags[i] } };
		both("redirect");
		with_packet(BPF_PROG_TYPE_SCHED_CLS, "sched_cls");
		current = (struct call){ BPF_FUNC_redirect, { 1, flags[i] } };
		both("redirect");
	}
}

/* Each field that a raw_tp or syscall run must not use, and the sizes around the limits. */
static void check_ctx_only(enum bpf_prog_type type, const char *name)
{
	static const uint32_t sizes[] = { 0, 1, 8, 95, 96, 97, 4096, 65535, 65536 };

	for (size_t i = 0; i < BPFU_ARRAY_SIZE(sizes); i++) {
		reset(type, name);
		run.ctx_size = sizes[i];
		both("context size");
	}
	reset(type, name);
	run.data_size = 64;
	both("data_in");
	run.null_data = true;
	both("data_size_in");
	reset(type, name);
	run.data_room = 64;
	both("data_out");
	run.size_without_data = true;
	both("data_size_out");
	reset(type, name);
	run.ctx_room = 64;
	both("ctx_out");
	reset(type, name);
	run.duration = 1;
	both("duration");
	reset(type, name);
	run.repeat = 1;
	both("repeat");
	reset(type, name);
	run.batch_size = 1;
	both("batch_size");
	for (uint32_t bit = 0; bit < 32; bit++) {
		reset(type, name);
		run.flags = 1u << bit;
		both("flags");
	}
	for (uint32_t cpu = 0; cpu < 2; cpu++) {
		reset(type, name);
		run.cpu = cpu;
		both("cpu");
	}
	run.cpu = 100000;
	run.flags = BPF_F_TEST_RUN_ON_CPU;
	both("no such cpu");
}

static void test_raw_tp(void **state)
{
	check_ctx_only(BPF_PROG_TYPE_RAW_TRACEPOINT, "raw_tracepoint");
}

static void test_syscall(void **state)
{
	check_ctx_only(BPF_PROG_TYPE_SYSCALL, "syscall");
}

static void test_none(void **state)
{
	reset(BPF_PROG_TYPE_KPROBE, "kprobe");
	both("kprobe");
	reset(BPF_PROG_TYPE_TRACEPOINT, "tracepoint");
	both("tracepoint");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_data_sizes), cmocka_unit_test(test_cut_headers),
		cmocka_unit_test(test_data_out),
		cmocka_unit_test(test_attributes), cmocka_unit_test(test_skb_ctx),
		cmocka_unit_test(test_skb_ctx_values), cmocka_unit_test(test_xdp_ctx),
		cmocka_unit_test(test_xdp_adjust), cmocka_unit_test(test_xdp_bytes),
		cmocka_unit_test(test_skb_bytes), cmocka_unit_test(test_skb_change),
		cmocka_unit_test(test_csum), cmocka_unit_test(test_redirect),
		cmocka_unit_test(test_raw_tp), cmocka_unit_test(test_syscall),
		cmocka_unit_test(test_none),
	};

	for (uint32_t i = 0; i < sizeof(pattern); i++)
		pattern[i] = (uint8_t)(i * 7 + 1);
	if (kern_unavailable())
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
