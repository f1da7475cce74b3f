// SPDX-License-Identifier: BSD-2-Clause
/*
 * Program types against the running kernel: every context access (offset, size, direction), the
 * attach types, return values, and packet writes that a load may ask for.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "kern_bpf.h"
#include "obj/prog.h"
#include "prog_type/prog_type.h"

#define ST_SIZE(code, size)                                                                        \
	((uint8_t)((code) | ((size) == 1 ? BPF_B :                                                 \
			     (size) == 2 ? BPF_H :                                                 \
			     (size) == 4 ? BPF_W :                                                 \
					   BPF_DW)))

enum access { LOAD, LOAD_SX, STORE, STORE_IMM, ACCESS_KINDS };

static const struct {
	enum bpf_prog_type type;
	enum bpf_attach_type attach_type;
	uint32_t flags;
} types[] = {
	{ BPF_PROG_TYPE_SOCKET_FILTER },
	{ BPF_PROG_TYPE_SCHED_CLS },
	{ BPF_PROG_TYPE_SCHED_ACT },
	{ BPF_PROG_TYPE_CGROUP_SKB, BPF_CGROUP_INET_INGRESS },
	{ BPF_PROG_TYPE_CGROUP_SKB, BPF_CGROUP_INET_EGRESS },
	{ BPF_PROG_TYPE_CGROUP_SOCK, BPF_CGROUP_INET_SOCK_CREATE },
	{ BPF_PROG_TYPE_CGROUP_SOCK, BPF_CGROUP_INET4_POST_BIND },
	{ BPF_PROG_TYPE_CGROUP_SOCK, BPF_CGROUP_INET6_POST_BIND },
	{ BPF_PROG_TYPE_XDP },
	{ BPF_PROG_TYPE_XDP, BPF_XDP_DEVMAP },
	{ BPF_PROG_TYPE_RAW_TRACEPOINT },
	{ BPF_PROG_TYPE_KPROBE },
	{ BPF_PROG_TYPE_TRACEPOINT },
	{ BPF_PROG_TYPE_SYSCALL, 0, BPF_F_SLEEPABLE },
};

static bool kernel_accepts(size_t row, const struct bpf_insn *insns, uint32_t cnt)
{
	const struct kern_prog prog = { types[row].type, types[row].attach_type, types[row].flags,
					NULL, insns, cnt };
	int fd = kern_prog_load(&prog, NULL);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static bool kernel_access(size_t row, int off, int size, enum access access)
{
	const struct bpf_insn op[] = {
		[LOAD] = BPFU_INSN(ST_SIZE(BPF_LDX | BPF_MEM, size), 0, 1, off, 0),
		[LOAD_SX] = BPFU_INSN(ST_SIZE(BPF_LDX | BPF_MEMSX, size), 0, 1, off, 0),
		[STORE] = BPFU_INSN(ST_SIZE(BPF_STX | BPF_MEM, size), 1, 0, off, 0),
		[STORE_IMM] = BPFU_INSN(ST_SIZE(BPF_ST | BPF_MEM, size), 1, 0, off, 0),
	};
	const struct bpf_insn insns[] = {
		BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0),
		op[access],
		BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0),
		BPFU_INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
	};

	return kernel_accepts(row, insns, BPFU_ARRAY_SIZE(insns));
}

/*
 * Where we differ: the kernel's tracepoint check lets negative offsets through (an unsigned
 * comparison), and it turns __sk_buff.sk into a pointer to a structure that we do not have.
 */
static bool differs(enum bpf_prog_type type, int off, int size)
{
	if (type == BPF_PROG_TYPE_TRACEPOINT && off < 0)
		return true;
	return type != BPF_PROG_TYPE_XDP && type != BPF_PROG_TYPE_RAW_TRACEPOINT &&
	       type != BPF_PROG_TYPE_KPROBE && type != BPF_PROG_TYPE_TRACEPOINT &&
	       type != BPF_PROG_TYPE_SYSCALL && off == offsetof(struct __sk_buff, sk) && size == 8;
}

static void check_access(size_t row, int off)
{
	const struct bpfu_prog_type *type = bpfu_prog_type_of(types[row].type);
	const struct bpfu_prog prog = { .type = types[row].type,
					.expected_attach_type = types[row].attach_type };

	for (int size = 1; size <= 8; size *= 2) {
		/* That misaligned accesses are refused need not be found at every offset. */
		if (off % size && off > 16)
			continue;
		for (int access = LOAD; access < ACCESS_KINDS; access++) {
			struct bpfu_ctx_access info = { .is_ldsx = access == LOAD_SX };
			bool ours, theirs;

			if ((access == LOAD_SX && size == 8) ||
			    differs(types[row].type, off, size))
				continue;
			ours = type->is_valid_access(off, size, access >= STORE, &prog, &info);
			theirs = kernel_access(row, off, size, access);
			if (ours != theirs)
				fail_msg("%s: offset %d size %d access %d: ours %d, kernel %d",
					 type->name, off, size, access, ours, theirs);
		}
	}
}

static void test_access(void **state)
{
	for (size_t row = 0; row < BPFU_ARRAY_SIZE(types); row++)
		for (int off = -8; off < 208; off++)
			check_access(row, off);
}

/* The far ends of the large contexts. */
static void test_access_ends(void **state)
{
	for (size_t row = 0; row < BPFU_ARRAY_SIZE(types); row++) {
		for (int off = 8176; off < 8208; off++)
			check_access(row, off);
		for (int off = 32752; off < 32768; off++)
			check_access(row, off);
	}
}

static void test_attach_types(void **state)
{
	const struct bpf_insn insns[] = {
		BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0),
		BPFU_INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
	};

	for (size_t row = 0; row < BPFU_ARRAY_SIZE(types); row++) {
		const struct bpfu_prog_type *type = bpfu_prog_type_of(types[row].type);

		for (uint32_t attach = 0; attach < 64; attach++) {
			const struct kern_prog prog = { types[row].type, attach, types[row].flags,
							NULL, insns, 2 };
			int theirs = kern_prog_load(&prog, NULL), ours;
			union bpf_attr attr;

			memset(&attr, 0, sizeof(attr));
			attr.expected_attach_type = attach;
			ours = type->load_check ? type->load_check(&attr) : 0;
			if (theirs >= 0) {
				close(theirs);
				theirs = 0;
			}
			if (ours != theirs)
				fail_msg("%s: attach type %u: ours %d, kernel %d", type->name,
					 attach, ours, theirs);
		}
	}
}

static void test_return_values(void **state)
{
	for (size_t row = 0; row < BPFU_ARRAY_SIZE(types); row++) {
		const struct bpfu_prog_type *type = bpfu_prog_type_of(types[row].type);
		const struct bpfu_prog prog = { .type = types[row].type,
						.expected_attach_type = types[row].attach_type };

		for (int32_t value = -2; value < 6; value++) {
			const struct bpf_insn insns[] = {
				BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, value),
				BPFU_INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
			};
			int32_t min = 0, max = 0;
			bool has = false, ours;

			if (type->retval_range)
				type->retval_range(&prog, &has, &min, &max);
			ours = !has || (value >= min && value <= max);
			if (ours != kernel_accepts(row, insns, 2))
				fail_msg("%s: return %d: ours %d", type->name, value, ours);
		}
	}
}

/* if (data + 1 <= data_end) *data = 0; through the offsets of the type's context */
static void test_packet_write(void **state)
{
	for (size_t row = 0; row < BPFU_ARRAY_SIZE(types); row++) {
		const struct bpfu_prog_type *type = bpfu_prog_type_of(types[row].type);
		bool xdp = types[row].type == BPF_PROG_TYPE_XDP;
		int data = xdp ? 0 : offsetof(struct __sk_buff, data);
		int end = xdp ? 4 : offsetof(struct __sk_buff, data_end);
		const struct bpf_insn insns[] = {
			BPFU_INSN(BPF_LDX | BPF_MEM | BPF_W, 2, 1, data, 0),
			BPFU_INSN(BPF_LDX | BPF_MEM | BPF_W, 3, 1, end, 0),
			BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_X, 4, 2, 0, 0),
			BPFU_INSN(BPF_ALU64 | BPF_ADD | BPF_K, 4, 0, 0, 1),
			BPFU_INSN(BPF_JMP | BPF_JGT | BPF_X, 4, 3, 1, 0),
			BPFU_INSN(BPF_ST | BPF_MEM | BPF_B, 2, 0, 0, 0),
			BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0),
			BPFU_INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
		};

		if (type->may_write_packet != kernel_accepts(row, insns, BPFU_ARRAY_SIZE(insns)))
			fail_msg("%s: may_write_packet is %d", type->name, type->may_write_packet);
	}
}

/* Conversions leave no access to the 32-bit packet fields, whatever the registers. */
static void test_convert(void **state)
{
	static const enum bpf_prog_type with_packet[] = { BPF_PROG_TYPE_SCHED_CLS,
							  BPF_PROG_TYPE_CGROUP_SKB,
							  BPF_PROG_TYPE_XDP };

	for (size_t i = 0; i < BPFU_ARRAY_SIZE(with_packet); i++) {
		const struct bpfu_prog_type *type = bpfu_prog_type_of(with_packet[i]);
		bool xdp = with_packet[i] == BPF_PROG_TYPE_XDP;
		const int offs[] = { xdp ? 0 : (int)offsetof(struct __sk_buff, data),
				     xdp ? 4 : (int)offsetof(struct __sk_buff, data_end) };

		for (int k = 0; k < 2; k++) {
			struct bpf_insn insn = BPFU_INSN(BPF_LDX | BPF_MEM | BPF_W, 7, 6, offs[k], 0);
			struct bpf_insn buf[BPFU_CTX_INSNS_MAX];
			uint32_t target = 0;

			assert_int_equal(type->convert_ctx_access(&insn, buf, NULL, &target), 1);
			assert_int_equal(buf[0].code, BPF_LDX | BPF_MEM | BPF_DW);
			assert_int_equal(buf[0].dst_reg, 7);
			assert_int_equal(buf[0].src_reg, 6);
			assert_int_equal(target, 4);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_access),	      cmocka_unit_test(test_access_ends),
		cmocka_unit_test(test_attach_types),  cmocka_unit_test(test_return_values),
		cmocka_unit_test(test_packet_write),  cmocka_unit_test(test_convert),
	};

	if (kern_unavailable())
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
