// SPDX-License-Identifier: BSD-2-Clause
/*
 * The option private_stack, as a user has it: which programs get private stacks, what the verifier
 * makes of it, and that results do not depend on it. Where frames are: test_jit_private_stack.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <errno.h>
#include <unistd.h>

#include "bpfu/bpfu.h"
#include "insn/insn.h"
#include "jit/jit.h"
#include "obj/obj.h"
#include "obj/prog.h"
#include "util/bits.h"
#include "util/uaccess.h"

#define MOV_K(d, i) BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_K, d, 0, 0, i)
#define ST(off, i) BPFU_INSN(BPF_ST | BPF_MEM | BPF_DW, BPF_REG_10, 0, off, i)
#define LDX(d, off) BPFU_INSN(BPF_LDX | BPF_MEM | BPF_DW, d, BPF_REG_10, off, 0)
#define ADD_X(d, s) BPFU_INSN(BPF_ALU64 | BPF_ADD | BPF_X, d, s, 0, 0)
#define CALL_REL(rel) BPFU_INSN(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, rel)
#define EXIT() BPFU_INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)

static int user_bpf(int cmd, union bpf_attr *attr)
{
	return bpfu_bpf(cmd, attr, sizeof(*attr));
}

static int load(enum bpf_prog_type type, const char *option, const struct bpf_insn *insns,
		uint32_t cnt)
{
	union bpf_attr attr;
	int fd;

	assert_int_equal(bpfu_option_set("private_stack", option), 0);
	memset(&attr, 0, sizeof(attr));
	attr.prog_type = type;
	attr.prog_flags = type == BPF_PROG_TYPE_SYSCALL ? BPF_F_SLEEPABLE : 0;
	attr.insns = bpfu_u64(insns);
	attr.insn_cnt = cnt;
	attr.license = bpfu_u64("GPL");
	fd = user_bpf(BPF_PROG_LOAD, &attr);
	assert_int_equal(bpfu_option_set("private_stack", "auto"), 0);
	return fd;
}

/* Bytes of private stack that a run of the program takes. */
static uint32_t private_bytes(int fd)
{
	struct bpfu_obj *obj;
	uint32_t size;

	assert_int_equal(bpfu_fd_get_kind((uint32_t)fd, BPFU_OBJ_PROG, -EINVAL, &obj), 0);
	size = bpfu_prog_of(obj)->jit ? bpfu_prog_of(obj)->jit->private_stack.size : 0;
	bpfu_obj_put(obj);
	return size;
}

static uint32_t retval(int fd, bool skb)
{
	static const char packet[64];
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.test.prog_fd = (uint32_t)fd;
	if (skb) {
		attr.test.data_in = bpfu_u64(packet);
		attr.test.data_size_in = sizeof(packet);
	}
	assert_int_equal(user_bpf(BPF_PROG_TEST_RUN, &attr), 0);
	return attr.test.retval;
}

/* The frame of main has @a bytes, that of the function it calls @b; returns 3. */
struct two_frames {
	struct bpf_insn insns[9];
};

static struct two_frames two_frames(int16_t a, int16_t b)
{
	return (struct two_frames){ {
		ST(-a, 1),
		CALL_REL(3),
		LDX(BPF_REG_1, -a),
		ADD_X(BPF_REG_0, BPF_REG_1),
		EXIT(),
		ST(-b, 2),
		LDX(BPF_REG_0, -b),
		EXIT(),
	} };
}

/*
 * @bytes: of private stack (-EACCES: the program is refused). The result is the same compiled and
 * interpreted.
 */
static void check(enum bpf_prog_type type, const char *option, int16_t a, int16_t b, int bytes)
{
	struct two_frames p = two_frames(a, b);

	for (int jit = 0; jit < 2; jit++) {
		bool has_jit = jit && bpfu_jit_available();
		int fd;

		assert_int_equal(bpfu_option_set("jit", jit ? "on" : "off"), 0);
		fd = load(type, option, p.insns, 8);
		if (bytes < 0) {
			assert_int_equal(fd, bytes);
			continue;
		}
		if (fd < 0)
			fail_msg("type %d, %s, frames of %d and %d bytes: %s", type, option, a, b,
				 strerror(-fd));
		assert_int_equal(private_bytes(fd), has_jit ? (uint32_t)bytes : 0);
		assert_int_equal(retval(fd, type == BPF_PROG_TYPE_SOCKET_FILTER), 3);
		close(fd);
	}
	assert_int_equal(bpfu_option_set("jit", "on"), 0);
}

static void test_auto(void **state)
{
	const enum bpf_prog_type tracing = BPF_PROG_TYPE_RAW_TRACEPOINT;
	const enum bpf_prog_type network = BPF_PROG_TYPE_SOCKET_FILTER;

	/* Frames of 64 bytes (rounded to 16) and more, in programs of the tracing kind. */
	check(tracing, "auto", 512, 512, 1024);
	check(tracing, "auto", 56, 56, 128);
	check(tracing, "auto", 48, 56, 64);
	check(tracing, "auto", 56, 48, 64);
	check(tracing, "auto", 48, 48, 0);
	check(network, "auto", 256, 256, 0);
	check(network, "auto", 264, 256, -EACCES);
	check(BPF_PROG_TYPE_SYSCALL, "auto", 256, 256, 0);
}

static void test_on(void **state)
{
	check(BPF_PROG_TYPE_RAW_TRACEPOINT, "on", 8, 8, 32);
	check(BPF_PROG_TYPE_SOCKET_FILTER, "on", 8, 512, 16 + 512);
	check(BPF_PROG_TYPE_SOCKET_FILTER, "on", 512, 512, 1024);
	check(BPF_PROG_TYPE_SYSCALL, "on", 512, 512, 1024);
}

static void test_off(void **state)
{
	check(BPF_PROG_TYPE_RAW_TRACEPOINT, "off", 256, 256, 0);
	check(BPF_PROG_TYPE_RAW_TRACEPOINT, "off", 264, 256, -EACCES);
	check(BPF_PROG_TYPE_SOCKET_FILTER, "off", 264, 256, -EACCES);
}

/* One tail call anywhere, and the frames are on the thread's stack, with its limit. */
static void test_tail_call(void **state)
{
	static const char *const options[] = { "auto", "on" };
	union bpf_attr attr;
	int map;

	memset(&attr, 0, sizeof(attr));
	attr.map_type = BPF_MAP_TYPE_PROG_ARRAY;
	attr.key_size = attr.value_size = 4;
	attr.max_entries = 1;
	map = user_bpf(BPF_MAP_CREATE, &attr);
	assert_true(map >= 0);
	for (size_t i = 0; i < BPFU_ARRAY_SIZE(options); i++) {
		for (int16_t a = 256; a <= 264; a += 8) {
			const struct bpf_insn insns[] = {
				BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_X, 6, 1, 0, 0),
				ST(-a, 1),
				CALL_REL(7),
				BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_X, 1, 6, 0, 0),
				BPFU_INSN(BPF_LD | BPF_IMM | BPF_DW, 2, BPF_PSEUDO_MAP_FD, 0, map),
				BPFU_INSN(0, 0, 0, 0, 0),
				MOV_K(3, 0),
				BPFU_INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_tail_call),
				MOV_K(0, 7),
				EXIT(),
				ST(-256, 2), MOV_K(0, 0), EXIT(),
			};
			int fd = load(BPF_PROG_TYPE_RAW_TRACEPOINT, options[i], insns,
				      BPFU_ARRAY_SIZE(insns));

			if (a > 256) {
				assert_int_equal(fd, -EACCES);
				continue;
			}
			assert_true(fd >= 0);
			assert_int_equal(private_bytes(fd), 0);
			assert_int_equal(retval(fd, false), 7);
			close(fd);
		}
	}
	close(map);
}

static void test_values(void **state)
{
	assert_string_equal(bpfu_option_get("private_stack"), "auto");
	assert_int_equal(bpfu_option_set("private_stack", "off"), 0);
	assert_string_equal(bpfu_option_get("private_stack"), "off");
	assert_int_equal(bpfu_option_set("private_stack", "on"), 0);
	assert_string_equal(bpfu_option_get("private_stack"), "on");
	assert_int_equal(bpfu_option_set("private_stack", "always"), -EINVAL);
	assert_int_equal(bpfu_option_set("private_stack", ""), -EINVAL);
	assert_string_equal(bpfu_option_get("private_stack"), "on");
	assert_int_equal(bpfu_option_set("private_stack", "auto"), 0);
	assert_string_equal(bpfu_option_get("private_stack"), "auto");
	assert_int_equal(bpfu_option_set("jit", "auto"), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_auto),
		cmocka_unit_test(test_on),
		cmocka_unit_test(test_off),
		cmocka_unit_test(test_tail_call),
	};

	/* Whatever the environment says, this test is about what it sets itself. */
	unsetenv("BPFU_OPTIONS");
	bpfu_uaccess_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
