// SPDX-License-Identifier: BSD-2-Clause
/*
 * The option harden, as a user has it: where speculation barriers appear in a program, as
 * BPF_OBJ_GET_INFO_BY_FD shows it, and that it runs as before.
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
#include "util/bits.h"
#include "util/uaccess.h"

#define MAX_INSNS 128

enum { R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, FP };

#define MOV_K(d, i) BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_K, d, 0, 0, i)
#define MOV_X(d, s) BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_X, d, s, 0, 0)
#define ALU_K(op, d, i) BPFU_INSN(BPF_ALU64 | (op) | BPF_K, d, 0, 0, i)
#define ALU_X(op, d, s) BPFU_INSN(BPF_ALU64 | (op) | BPF_X, d, s, 0, 0)
#define JMP_K(op, d, i, o) BPFU_INSN(BPF_JMP | (op) | BPF_K, d, 0, o, i)
#define LOAD(size, d, s, o) BPFU_INSN(BPF_LDX | BPF_MEM | (size), d, s, o, 0)
#define STORE(size, d, o, s) BPFU_INSN(BPF_STX | BPF_MEM | (size), d, s, o, 0)
#define STORE_K(size, d, o, i) BPFU_INSN(BPF_ST | BPF_MEM | (size), d, 0, o, i)
#define EXIT() BPFU_INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)

static int user_bpf(int cmd, union bpf_attr *attr)
{
	return bpfu_bpf(cmd, attr, sizeof(*attr));
}

static int load(const struct bpf_insn *insns, uint32_t cnt)
{
	union bpf_attr attr;
	int fd;

	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT;
	attr.insns = bpfu_u64(insns);
	attr.insn_cnt = cnt;
	attr.license = bpfu_u64("GPL");
	fd = user_bpf(BPF_PROG_LOAD, &attr);
	assert_true(fd >= 0);
	return fd;
}

/* One letter an instruction: n barrier, s store, l load, a arithmetic, j branch, g goto, e exit. */
static void shape_of(int fd, char *shape)
{
	struct bpf_insn insns[MAX_INSNS];
	struct bpf_prog_info info;
	union bpf_attr attr;
	uint32_t cnt;

	memset(&info, 0, sizeof(info));
	info.xlated_prog_insns = bpfu_u64(insns);
	info.xlated_prog_len = sizeof(insns);
	memset(&attr, 0, sizeof(attr));
	attr.info.bpf_fd = (uint32_t)fd;
	attr.info.info = bpfu_u64(&info);
	attr.info.info_len = sizeof(info);
	assert_int_equal(user_bpf(BPF_OBJ_GET_INFO_BY_FD, &attr), 0);
	cnt = info.xlated_prog_len / sizeof(insns[0]);
	for (uint32_t i = 0; i < cnt; i++) {
		static const char letters[] = "ilssajja"; /* by class */

		*shape++ = insns[i].code == (BPF_ST | BPFU_NOSPEC)      ? 'n' :
			   insns[i].code == (BPF_JMP | BPF_EXIT)	? 'e' :
			   insns[i].code == (BPF_JMP | BPF_JA)		? 'g' :
									  letters[BPF_CLASS(insns[i].code)];
	}
	*shape = '\0';
}

static uint32_t run(int fd, uint64_t arg)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.test.prog_fd = (uint32_t)fd;
	attr.test.ctx_in = bpfu_u64(&arg);
	attr.test.ctx_size_in = sizeof(arg);
	assert_int_equal(user_bpf(BPF_PROG_TEST_RUN, &attr), 0);
	return attr.test.retval;
}

/* Hardened, the program looks like @shape; otherwise like that without the barriers. */
static void check(const struct bpf_insn *insns, uint32_t cnt, const char *shape)
{
	char plain[MAX_INSNS], got[MAX_INSNS + 1];
	uint32_t want[2];
	size_t n = 0;

	for (const char *c = shape; *c; c++)
		if (*c != 'n')
			plain[n++] = *c;
	plain[n] = '\0';
	for (int i = 0; i < 4; i++) {
		bool harden = i & 1;
		int fd;

		assert_int_equal(bpfu_option_set("harden", harden ? "on" : "off"), 0);
		assert_int_equal(bpfu_option_set("jit", i & 2 ? "off" : "on"), 0);
		fd = load(insns, cnt);
		shape_of(fd, got);
		assert_string_equal(got, harden ? shape : plain);
		for (uint32_t arg = 0; arg < 2; arg++) {
			if (!i)
				want[arg] = run(fd, arg);
			assert_int_equal(run(fd, arg), want[arg]);
		}
		close(fd);
	}
	bpfu_option_set("harden", "off");
	bpfu_option_set("jit", "on");
}

#define CHECK(shape, ...)                                                                          \
	do {                                                                                       \
		const struct bpf_insn insns_[] = { __VA_ARGS__ };                                  \
												   \
		check(insns_, BPFU_ARRAY_SIZE(insns_), shape);                                     \
	} while (0)

/* Spectre v4: what was never written, or holds a register, may be seen by a load behind the store. */
static void test_stores(void **state)
{
	/* The second store covers bytes that hold something already. */
	CHECK("snsae", STORE_K(BPF_W, FP, -4, 1), STORE_K(BPF_W, FP, -4, 2), MOV_K(R0, 3), EXIT());
	/* A spilled register is replaced. */
	CHECK("lsnsnle", LOAD(BPF_DW, R1, R1, 0), STORE(BPF_DW, FP, -8, R1),
	      STORE_K(BPF_DW, FP, -8, 7), LOAD(BPF_DW, R0, FP, -8), EXIT());
	/* A pointer replaces plain bytes, and these the pointer. */
	CHECK("asnsnsnsnsnae", MOV_X(R2, FP), STORE_K(BPF_W, FP, -4, 1), STORE_K(BPF_W, FP, -8, 1),
	      STORE(BPF_DW, FP, -8, R2), STORE_K(BPF_W, FP, -4, 1), STORE_K(BPF_DW, FP, -16, 1),
	      MOV_K(R0, 3), EXIT());
	/* Not the stack: nobody reads another's data. */
	CHECK("ae", MOV_K(R0, 3), EXIT());
}

/* Spectre v1: a number that checks have bounded moves a pointer. */
static void test_pointers(void **state)
{
	CHECK("snlaaanale", STORE_K(BPF_DW, FP, -8, 0x01010101), LOAD(BPF_DW, R1, R1, 0),
	      ALU_K(BPF_AND, R1, 3), MOV_X(R2, FP), ALU_K(BPF_ADD, R2, -8), ALU_X(BPF_ADD, R2, R1),
	      LOAD(BPF_B, R0, R2, 0), EXIT());
	/* A constant moves it for everybody. */
	CHECK("snaale", STORE_K(BPF_DW, FP, -8, 7), MOV_X(R2, FP), ALU_K(BPF_ADD, R2, -8),
	      LOAD(BPF_B, R0, R2, 0), EXIT());
}

/*
 * Spectre v1: r7 is a pointer if r8 is 1 and a number of the caller's if it is 0; the branch on r8 knows
 * that, and a processor that predicts it may not.
 */
static void test_confusion(void **state)
{
	CHECK("snlaajaaajnle", STORE_K(BPF_DW, FP, -8, 5), LOAD(BPF_DW, R6, R1, 0), MOV_X(R7, FP),
	      MOV_K(R8, 1), JMP_K(BPF_JEQ, R6, 0, 2), MOV_K(R8, 0), MOV_X(R7, R6), MOV_K(R0, 9),
	      JMP_K(BPF_JEQ, R8, 0, 1), LOAD(BPF_B, R0, R7, -8), EXIT());
	/* A pointer on both ways: nothing to be had by going the wrong one. */
	CHECK("snlaajaajle", STORE_K(BPF_DW, FP, -8, 5), LOAD(BPF_DW, R6, R1, 0), MOV_X(R7, FP),
	      MOV_K(R8, 1), JMP_K(BPF_JEQ, R6, 0, 1), MOV_K(R8, 0), MOV_K(R0, 9),
	      JMP_K(BPF_JEQ, R8, 0, 1), LOAD(BPF_B, R0, R7, -8), EXIT());
}

/* The same in front of a branch, which must go where it went. r5 exists only if r8 is 1. */
static void test_branch(void **state)
{
	CHECK("laajaajnjae", LOAD(BPF_DW, R6, R1, 0), MOV_K(R8, 0), MOV_K(R0, 4),
	      JMP_K(BPF_JEQ, R6, 0, 2), MOV_K(R8, 1), MOV_X(R5, R6), JMP_K(BPF_JEQ, R8, 0, 2),
	      JMP_K(BPF_JEQ, R5, 1, 1), MOV_K(R0, 5), EXIT());
}

/* A loop is walked step by step; the way out of each step is tried and leads nowhere new. */
static void test_loop(void **state)
{
	CHECK("aaaaje", MOV_K(R0, 0), MOV_K(R1, 50), ALU_K(BPF_ADD, R0, 2), ALU_K(BPF_SUB, R1, 1),
	      JMP_K(BPF_JNE, R1, 0, -3), EXIT());
}

static void test_option(void **state)
{
	assert_string_equal(bpfu_option_get("harden"), "off");
	assert_int_equal(bpfu_option_set("harden", "perhaps"), -EINVAL);
	assert_int_equal(bpfu_option_set("harden", "auto"), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_option),    cmocka_unit_test(test_stores),
		cmocka_unit_test(test_pointers),  cmocka_unit_test(test_confusion),
		cmocka_unit_test(test_branch),    cmocka_unit_test(test_loop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
