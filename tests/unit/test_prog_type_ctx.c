// SPDX-License-Identifier: BSD-2-Clause
/*
 * Contexts through the whole library and through the kernel: programs that read each field in every
 * size, write fields and read them back, and touch packets. Return values, packets and contexts that
 * come back must agree.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#include "bpfu/bpfu.h"
#include "kern_bpf.h"
#include "obj/prog.h"
#include "prog_type/prog_type.h"
#include "util/uaccess.h"

#define ACCESS(code, size)                                                                         \
	((uint8_t)((code) | ((size) == 1 ? BPF_B :                                                 \
			     (size) == 2 ? BPF_H :                                                 \
			     (size) == 4 ? BPF_W :                                                 \
					   BPF_DW)))
#define MOV_K(d, i) BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_K, d, 0, 0, i)
#define MOV_X(d, s) BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_X, d, s, 0, 0)
#define EXIT() BPFU_INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)

static const struct {
	enum bpf_prog_type type;
	const char *name;
	uint32_t ctx_size;
} types[] = {
	{ BPF_PROG_TYPE_SOCKET_FILTER, "socket_filter", sizeof(struct __sk_buff) },
	{ BPF_PROG_TYPE_SCHED_CLS, "sched_cls", sizeof(struct __sk_buff) },
	{ BPF_PROG_TYPE_SCHED_ACT, "sched_act", sizeof(struct __sk_buff) },
	{ BPF_PROG_TYPE_XDP, "xdp", sizeof(struct xdp_md) },
	{ BPF_PROG_TYPE_RAW_TRACEPOINT, "raw_tracepoint", 96 },
	{ BPF_PROG_TYPE_SYSCALL, "syscall", 64 },
};

struct side {
	union bpf_attr attr;
	int load, run;
	uint8_t data_out[512], ctx_in[256], ctx_out[256];
};

static uint8_t packet[64], ctx_given[256];
static bool with_ctx;

typedef int (*bpf_fn)(int cmd, union bpf_attr *attr);

static int user_bpf(int cmd, union bpf_attr *attr)
{
	return bpfu_bpf(cmd, attr, sizeof(*attr));
}

static void fill(struct side *s, size_t row)
{
	bool ctx_only = types[row].type == BPF_PROG_TYPE_RAW_TRACEPOINT ||
			types[row].type == BPF_PROG_TYPE_SYSCALL;

	memset(&s->attr, 0, sizeof(s->attr));
	memcpy(s->ctx_in, ctx_given, sizeof(s->ctx_in));
	if (ctx_only || with_ctx) {
		s->attr.test.ctx_in = bpfu_u64(s->ctx_in);
		s->attr.test.ctx_size_in = types[row].ctx_size;
	}
	if (ctx_only)
		return;
	s->attr.test.data_in = bpfu_u64(packet);
	s->attr.test.data_size_in = sizeof(packet);
	s->attr.test.data_out = bpfu_u64(s->data_out);
	s->attr.test.data_size_out = sizeof(s->data_out);
	s->attr.test.ctx_out = bpfu_u64(s->ctx_out);
	s->attr.test.ctx_size_out = sizeof(s->ctx_out);
}

static void run_on(struct side *s, bpf_fn bpf, size_t row, const struct bpf_insn *insns,
		   uint32_t cnt)
{
	union bpf_attr attr;
	int fd;

	memset(s, 0, sizeof(*s));
	memset(&attr, 0, sizeof(attr));
	attr.prog_type = types[row].type;
	attr.insns = bpfu_u64(insns);
	attr.insn_cnt = cnt;
	attr.license = bpfu_u64("GPL");
	attr.prog_flags = types[row].type == BPF_PROG_TYPE_SYSCALL ? BPF_F_SLEEPABLE : 0;
	fd = bpf(BPF_PROG_LOAD, &attr);
	s->load = fd < 0 ? fd : 0;
	if (fd < 0)
		return;
	fill(s, row);
	s->attr.test.prog_fd = (uint32_t)fd;
	s->run = bpf(BPF_PROG_TEST_RUN, &s->attr);
	close(fd);
}

static void both(const char *what, int off, int size, size_t row, const struct bpf_insn *insns,
		 uint32_t cnt)
{
	static struct side ours, theirs;

	run_on(&ours, user_bpf, row, insns, cnt);
	run_on(&theirs, kern_bpf, row, insns, cnt);
	if (ours.load != theirs.load || ours.run != theirs.run)
		fail_msg("%s: %s at %d, %d bytes: ours %d and %d, kernel %d and %d", types[row].name,
			 what, off, size, ours.load, ours.run, theirs.load, theirs.run);
	if (ours.attr.test.retval != theirs.attr.test.retval)
		fail_msg("%s: %s at %d, %d bytes: ours returns 0x%x, the kernel's 0x%x",
			 types[row].name, what, off, size, ours.attr.test.retval,
			 theirs.attr.test.retval);
	assert_int_equal(ours.attr.test.data_size_out, theirs.attr.test.data_size_out);
	assert_memory_equal(ours.data_out, theirs.data_out, sizeof(ours.data_out));
	assert_memory_equal(ours.ctx_in, theirs.ctx_in, sizeof(ours.ctx_in));
	for (uint32_t i = 0; i < sizeof(ours.ctx_out); i++)
		if (ours.ctx_out[i] != theirs.ctx_out[i])
			fail_msg("%s: %s at %d, %d bytes: context byte %u: ours 0x%x, kernel 0x%x",
				 types[row].name, what, off, size, i, ours.ctx_out[i],
				 theirs.ctx_out[i]);
}

/*
 * Fields that the kernel keeps in fewer than 32 bits. Of their upper bytes, which are zero, it loads
 * what is in the lower ones instead.
 */
static bool is_short_field(int off)
{
	static const int offs[] = {
		offsetof(struct __sk_buff, pkt_type),	  offsetof(struct __sk_buff, queue_mapping),
		offsetof(struct __sk_buff, protocol),	  offsetof(struct __sk_buff, vlan_present),
		offsetof(struct __sk_buff, vlan_tci),	  offsetof(struct __sk_buff, vlan_proto),
		offsetof(struct __sk_buff, tc_index),	  offsetof(struct __sk_buff, tc_classid),
		offsetof(struct __sk_buff, gso_segs),	  offsetof(struct __sk_buff, gso_size),
	};

	for (size_t i = 0; i < BPFU_ARRAY_SIZE(offs); i++)
		if (off / 4 * 4 == offs[i])
			return true;
	return false;
}

/* A load of a scalar field. Hashes differ by nature. */
static bool is_readable(size_t row, int off, int size)
{
	const struct bpfu_prog prog = { .type = types[row].type };
	struct bpfu_ctx_access info = { 0 };
	bool skb = types[row].ctx_size == sizeof(struct __sk_buff);

	if (skb && off >= (int)offsetof(struct __sk_buff, hash) &&
	    off < (int)offsetof(struct __sk_buff, tc_classid))
		return false;
	if (skb && off % 4 && is_short_field(off))
		return false;
	return bpfu_prog_type_of(types[row].type)->is_valid_access(off, size, false, &prog, &info) &&
	       info.kind == BPFU_CTX_SCALAR;
}

static bool is_writable(size_t row, int off, int size)
{
	const struct bpfu_prog prog = { .type = types[row].type };
	struct bpfu_ctx_access info = { 0 };

	return bpfu_prog_type_of(types[row].type)->is_valid_access(off, size, true, &prog, &info);
}

static void check_field(size_t row, int off, int size)
{
	const struct bpf_insn low[] = { BPFU_INSN(ACCESS(BPF_LDX | BPF_MEM, size), 0, 1, off, 0),
					EXIT() };
	const struct bpf_insn high[] = { BPFU_INSN(ACCESS(BPF_LDX | BPF_MEM, size), 0, 1, off, 0),
					 BPFU_INSN(BPF_ALU64 | BPF_RSH | BPF_K, 0, 0, 0, 32), EXIT() };
	const struct bpf_insn extended[] = {
		BPFU_INSN(ACCESS(BPF_LDX | BPF_MEMSX, size), 0, 1, off, 0), EXIT()
	};

	both("load", off, size, row, low, 2);
	both("upper half", off, size, row, high, 3);
	if (size < 8)
		both("sign-extending load", off, size, row, extended, 2);
}

static void check_store(size_t row, int off, int size)
{
	static const uint64_t values[] = { 0, 1, 0x1234, 0xfffe, 0xffff, 0x12345678, ~0ull };

	for (size_t i = 0; i < BPFU_ARRAY_SIZE(values); i++) {
		struct bpf_insn insns[] = {
			BPFU_INSN(BPF_LD | BPF_IMM | BPF_DW, 2, 0, 0, 0),
			BPFU_INSN(0, 0, 0, 0, 0),
			BPFU_INSN(ACCESS(BPF_STX | BPF_MEM, size), 1, 2, off, 0),
			BPFU_INSN(ACCESS(BPF_LDX | BPF_MEM, size), 0, 1, off, 0),
			EXIT(),
		};

		bpfu_insn_set_imm64(insns, values[i]);
		both("store", off, size, row, insns, BPFU_ARRAY_SIZE(insns));
		insns[2] = BPFU_INSN(ACCESS(BPF_ST | BPF_MEM, size), 1, 0, off, (int32_t)values[i]);
		both("immediate store", off, size, row, insns, BPFU_ARRAY_SIZE(insns));
	}
}

static void check_all(size_t row)
{
	for (int off = 0; off < (int)types[row].ctx_size; off++) {
		for (int size = 1; size <= 8; size *= 2) {
			if (off % size || off + size > (int)types[row].ctx_size)
				continue;
			if (is_readable(row, off, size))
				check_field(row, off, size);
			if (is_writable(row, off, size) && is_readable(row, off, size))
				check_store(row, off, size);
		}
	}
}

static void test_fields(void **state)
{
	bpfu_uaccess_init(); /* in front of cmocka's handler */
	for (size_t row = 0; row < BPFU_ARRAY_SIZE(types); row++) {
		with_ctx = false;
		memset(ctx_given, 0, sizeof(ctx_given));
		if (types[row].ctx_size < sizeof(struct __sk_buff) && types[row].ctx_size != 24)
			for (uint32_t i = 0; i < sizeof(ctx_given); i++)
				ctx_given[i] = (uint8_t)(i * 11 + 0x70);
		check_all(row);
	}
}

static void test_fields_with_ctx(void **state)
{
	struct __sk_buff *skb = (struct __sk_buff *)ctx_given;

	bpfu_uaccess_init();
	for (size_t row = 0; row < 3; row++) {
		memset(ctx_given, 0, sizeof(ctx_given));
		with_ctx = true;
		skb->mark = 0x81828384;
		skb->priority = 0x85868788;
		skb->ingress_ifindex = 0x898a8b8c;
		memset(skb->cb, 0x9d, sizeof(skb->cb));
		skb->tstamp = 0xa1a2a3a4a5a6a7a8ull;
		skb->wire_len = 0x8123;
		skb->gso_segs = 0x8fff;
		skb->gso_size = 0x9fff;
		skb->hwtstamp = 0xb1b2b3b4b5b6b7b8ull;
		check_all(row);
	}
	with_ctx = false;
}

/* Packets of other kinds change protocol and type. */
static void test_packet_kinds(void **state)
{
	static const uint8_t macs[][6] = { { 0 }, { 255, 255, 255, 255, 255, 255 }, { 1, 2, 3 },
					   { 2, 2, 3 } };
	static const uint16_t protos[] = { 0x0800, 0x86dd, 0x0806, 0x8100, 0x05ff, 0x0600, 0, 0x88a8 };
	uint8_t old[sizeof(packet)];

	bpfu_uaccess_init();
	memcpy(old, packet, sizeof(packet));
	for (size_t row = 0; row < 3; row++) {
		for (size_t m = 0; m < BPFU_ARRAY_SIZE(macs); m++) {
			for (size_t p = 0; p < BPFU_ARRAY_SIZE(protos); p++) {
				memcpy(packet, macs[m], 6);
				packet[12] = (uint8_t)(protos[p] >> 8);
				packet[13] = (uint8_t)protos[p];
				for (int ff = 0; ff < 2; ff++) {
					memset(packet + 14, ff ? 0xff : 0x45, 2);
					check_field(row, offsetof(struct __sk_buff, pkt_type), 4);
					check_field(row, offsetof(struct __sk_buff, protocol), 4);
					check_field(row, offsetof(struct __sk_buff, len), 4);
				}
			}
		}
	}
	memcpy(packet, old, sizeof(packet));
}

/* Direct access: the first and last bytes, written where the type may. */
static void test_packet_access(void **state)
{
	bpfu_uaccess_init();
	for (size_t row = 1; row < 4; row++) {
		bool xdp = types[row].type == BPF_PROG_TYPE_XDP;
		int data = xdp ? 0 : offsetof(struct __sk_buff, data);
		int end = xdp ? 4 : offsetof(struct __sk_buff, data_end);
		int meta = xdp ? 8 : offsetof(struct __sk_buff, data_meta);

		for (int len = 1; len < 70; len += 3) {
			const struct bpf_insn insns[] = {
				BPFU_INSN(BPF_LDX | BPF_MEM | BPF_W, 2, 1, data, 0),
				BPFU_INSN(BPF_LDX | BPF_MEM | BPF_W, 3, 1, end, 0),
				BPFU_INSN(BPF_LDX | BPF_MEM | BPF_W, 5, 1, meta, 0),
				MOV_K(0, 0),
				MOV_X(4, 2),
				BPFU_INSN(BPF_ALU64 | BPF_ADD | BPF_K, 4, 0, 0, len),
				BPFU_INSN(BPF_JMP | BPF_JGT | BPF_X, 4, 3, 4, 0),
				BPFU_INSN(BPF_LDX | BPF_MEM | BPF_B, 0, 2, (int16_t)(len - 1), 0),
				BPFU_INSN(BPF_ST | BPF_MEM | BPF_B, 2, 0, (int16_t)(len - 1), 0x5a),
				BPFU_INSN(BPF_ALU64 | BPF_SUB | BPF_X, 2, 5, 0, 0),
				BPFU_INSN(BPF_ALU64 | BPF_ADD | BPF_X, 0, 2, 0, 0),
				EXIT(),
			};

			both("packet byte", len - 1, 1, row, insns, BPFU_ARRAY_SIZE(insns));
		}
	}
}

static int setup(void **state)
{
	for (size_t i = 0; i < sizeof(packet); i++)
		packet[i] = (uint8_t)(i * 7 + 1);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_fields_with_ctx),
		cmocka_unit_test(test_packet_kinds),
		cmocka_unit_test(test_packet_access),
	};

	if (kern_unavailable())
		return 77;
	return cmocka_run_group_tests(tests, setup, NULL);
}
