// SPDX-License-Identifier: BSD-2-Clause
/*
 * helper.def against the running kernel: who may call a helper, the GPL mark, and each argument of
 * each prototype, found by loading programs that get one argument wrong.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "helper/helper.h"
#include "kern_bpf.h"
#include "prog_type/prog_type.h"

#define MAX_HELPER 256

static char log_buf[KERN_LOG_SIZE];
static int array_fd, str_fd;

#define MOV_K(dst, imm) BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_K, dst, 0, 0, imm)
#define MOV_X(dst, src) BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0, 0)
#define CALL(id) BPFU_INSN(BPF_JMP | BPF_CALL, 0, 0, 0, id)
#define EXIT() BPFU_INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)

static const struct {
	enum bpf_prog_type type;
	enum bpf_attach_type attach_type;
	uint32_t flags;
} types[] = {
	{ BPF_PROG_TYPE_SOCKET_FILTER },  { BPF_PROG_TYPE_SCHED_CLS },
	{ BPF_PROG_TYPE_SCHED_ACT },	  { BPF_PROG_TYPE_CGROUP_SKB, BPF_CGROUP_INET_INGRESS },
	{ BPF_PROG_TYPE_XDP },		  { BPF_PROG_TYPE_RAW_TRACEPOINT },
	{ BPF_PROG_TYPE_KPROBE },	  { BPF_PROG_TYPE_TRACEPOINT },
	{ BPF_PROG_TYPE_SYSCALL, 0, BPF_F_SLEEPABLE },
	{ BPF_PROG_TYPE_CGROUP_SOCK, BPF_CGROUP_INET_SOCK_CREATE },
};

/* Rows where the kernel means another helper of the same number, with a BTF argument. */
static bool is_other_helper(int id, enum bpf_prog_type type)
{
	return type == BPF_PROG_TYPE_SYSCALL && id == BPF_FUNC_xdp_get_buff_len;
}

static int load_call(int id, int row, const char *license)
{
	/* Reading r1 after the call is an error, so the log always shows the call. */
	const struct bpf_insn insns[] = { CALL(id), MOV_X(0, 1), EXIT() };
	const struct kern_prog prog = { types[row].type, types[row].attach_type, types[row].flags,
					license, insns, BPFU_ARRAY_SIZE(insns) };
	int fd = kern_prog_load(&prog, log_buf);

	if (fd >= 0)
		close(fd);
	return fd;
}

static void test_permissions(void **state)
{
	int checked = 0;

	for (int id = 1; id < MAX_HELPER; id++) {
		const struct bpfu_helper *helper = bpfu_helper_by_id(id);

		for (size_t row = 0; helper && row < BPFU_ARRAY_SIZE(types); row++) {
			const struct bpfu_prog_type *type = bpfu_prog_type_of(types[row].type);
			bool theirs, ours = type->helper_allowed(helper, id, NULL);

			load_call(id, (int)row, NULL);
			theirs = !strstr(log_buf, "program of this type cannot use helper");
			if (is_other_helper(id, types[row].type))
				continue;
			if (ours != theirs)
				fail_msg("%s in %s: ours %d, kernel %d", helper->name, type->name,
					 ours, theirs);
			checked++;
		}
	}
	assert_true(checked > 200);
}

static void test_gpl(void **state)
{
	for (int id = 1; id < MAX_HELPER; id++) {
		const struct bpfu_helper *helper = bpfu_helper_by_id(id);

		for (size_t row = 0; helper && row < BPFU_ARRAY_SIZE(types); row++) {
			const struct bpfu_prog_type *type = bpfu_prog_type_of(types[row].type);
			bool theirs;

			if (!type->helper_allowed(helper, id, NULL))
				continue;
			load_call(id, (int)row, "Proprietary");
			theirs = strstr(log_buf, "GPL-restricted") != NULL;
			if (theirs != !!(helper->flags & BPFU_HELPER_GPL_ONLY))
				fail_msg("%s: kernel's gpl_only is %d", helper->name, theirs);
		}
	}
}

static void test_names(void **state)
{
	assert_string_equal(bpfu_helper_name(1), "bpf_map_lookup_elem");
	assert_string_equal(bpfu_helper_name(211), "bpf_cgrp_storage_delete");
	assert_string_equal(bpfu_helper_name(-1), "unknown");
	assert_string_equal(bpfu_helper_name(100000), "unknown");
	for (int id = 1; id < 209; id++) {
		load_call(id, 0, NULL);
		/* The log prints "call NAME#ID". */
		assert_non_null(strstr(log_buf, bpfu_helper_name(id)));
	}
}

/* ---- prototypes ---- */

/* Where an argument points, or its value. */
enum value { GOOD, UNSET, ONE, ZERO, RDONLY };

struct code {
	struct bpf_insn insns[64];
	uint32_t cnt;
};

static void emit(struct code *c, struct bpf_insn insn)
{
	assert_true(c->cnt < BPFU_ARRAY_SIZE(c->insns));
	c->insns[c->cnt++] = insn;
}

static void emit_fp(struct code *c, int reg, int off)
{
	emit(c, MOV_X(reg, 10));
	emit(c, BPFU_INSN(BPF_ALU64 | BPF_ADD | BPF_K, reg, 0, 0, off));
}

static void emit_map(struct code *c, int reg, int fd, int pseudo)
{
	emit(c, BPFU_INSN(BPF_LD | BPF_IMM | BPF_DW, reg, pseudo, 0, fd));
	emit(c, BPFU_INSN(0, 0, 0, 0, 0));
}

static void emit_good(struct code *c, int reg, uint32_t arg)
{
	switch (arg & ~BPFU_ARG_MAYBE_NULL) {
	case BPFU_ARG_CONST_MAP_PTR:
		emit_map(c, reg, array_fd, BPF_PSEUDO_MAP_FD);
		break;
	case BPFU_ARG_PTR_TO_CTX:
		emit(c, MOV_X(reg, 6));
		break;
	case BPFU_ARG_PTR_TO_CONST_STR:
		emit_map(c, reg, str_fd, BPF_PSEUDO_MAP_VALUE);
		break;
	case BPFU_ARG_ANYTHING:
		emit(c, MOV_K(reg, 0));
		break;
	case BPFU_ARG_CONST_SIZE:
	case BPFU_ARG_CONST_SIZE_OR_ZERO:
		emit(c, MOV_K(reg, 8));
		break;
	default:
		emit_fp(c, reg, -8 * reg);
		break;
	}
}

static bool is_pointer(uint32_t arg)
{
	arg &= ~BPFU_ARG_MAYBE_NULL;
	return arg != BPFU_ARG_NONE && arg != BPFU_ARG_ANYTHING && arg != BPFU_ARG_CONST_SIZE &&
	       arg != BPFU_ARG_CONST_SIZE_OR_ZERO;
}

static bool is_memory(uint32_t arg)
{
	arg &= ~BPFU_ARG_MAYBE_NULL;
	return arg == BPFU_ARG_PTR_TO_MEM || arg == BPFU_ARG_PTR_TO_UNINIT_MEM ||
	       arg == BPFU_ARG_PTR_TO_MEM_WRITE || arg == BPFU_ARG_PTR_TO_LONG ||
	       arg == BPFU_ARG_PTR_TO_MAP_VALUE || arg == BPFU_ARG_PTR_TO_MAP_KEY;
}

static bool is_written(uint32_t arg)
{
	arg &= ~BPFU_ARG_MAYBE_NULL;
	return arg == BPFU_ARG_PTR_TO_UNINIT_MEM || arg == BPFU_ARG_PTR_TO_MEM_WRITE ||
	       arg == BPFU_ARG_PTR_TO_LONG;
}

/* A call of @id with all arguments good but @bad (0-based), which is @value. */
static void build_call(struct code *c, const struct bpfu_helper *helper, int id, int bad,
		       enum value value)
{
	c->cnt = 0;
	emit(c, MOV_X(6, 1));
	for (int i = 1; i <= 16; i++)
		emit(c, BPFU_INSN(BPF_ST | BPF_MEM | BPF_DW, 10, 0, -8 * i, 0));
	emit(c, CALL(BPF_FUNC_ktime_get_ns)); /* forgets r1 … r5 */
	for (int i = 0; i < 5; i++) {
		uint32_t arg = helper->arg[i];
		/* A NULL buffer comes with size 0. */
		bool size_of_null = bad >= 0 && i == bad + 1 && value == ZERO &&
				    helper->arg[bad] & BPFU_ARG_MAYBE_NULL &&
				    arg == BPFU_ARG_CONST_SIZE_OR_ZERO;

		if (i != bad && size_of_null)
			emit(c, MOV_K(i + 1, 0));
		else if (i != bad && arg != BPFU_ARG_NONE)
			emit_good(c, i + 1, arg);
		else if (i == bad && value == RDONLY)
			emit_map(c, i + 1, str_fd, BPF_PSEUDO_MAP_VALUE);
		else if (i == bad && value != UNSET)
			emit(c, MOV_K(i + 1, value == ONE));
	}
	emit(c, CALL(id));
	emit(c, MOV_K(0, 0));
	emit(c, EXIT());
}

/* What the table says the kernel must answer. */
static bool is_accepted(uint32_t arg, enum value value)
{
	switch (value) {
	case UNSET:
		return arg == BPFU_ARG_NONE;
	case ONE:
		return !is_pointer(arg);
	case ZERO:
		return arg == BPFU_ARG_CONST_SIZE ? false :
		       is_pointer(arg)		  ? arg & BPFU_ARG_MAYBE_NULL :
						    true;
	case RDONLY:
		return is_memory(arg) ? !is_written(arg) : arg == BPFU_ARG_PTR_TO_CONST_STR;
	default:
		return true;
	}
}

/* snprintf wants a multiple of 8 as the size of its arguments. */
static bool is_bad_size(int id, int arg, enum value value)
{
	return id == BPF_FUNC_snprintf && arg == 4 && value == ONE;
}

static void check_arg(const struct bpfu_helper *helper, int id, size_t row, int bad,
		      enum value value)
{
	static const char *const what[] = { "good", "unset", "one", "zero", "read-only memory" };
	struct code c;
	struct kern_prog prog = { types[row].type, types[row].attach_type, types[row].flags, NULL,
				  c.insns, 0 };
	bool expected = bad < 0 || (is_accepted(helper->arg[bad], value) &&
				    !is_bad_size(id, bad, value));
	int fd;

	build_call(&c, helper, id, bad, value);
	prog.cnt = c.cnt;
	fd = kern_prog_load(&prog, log_buf);
	if (fd >= 0)
		close(fd);
	if ((fd >= 0) != expected)
		fail_msg("%s, argument %d %s: the kernel says %d, the table %s\n%s", helper->name,
			 bad + 1, what[value], fd, expected ? "accepts" : "rejects", log_buf);
}

static bool takes_function(const struct bpfu_helper *helper)
{
	for (int i = 0; i < 5; i++)
		if (helper->arg[i] == BPFU_ARG_PTR_TO_FUNC)
			return true;
	return false;
}

/* These look at what an argument says, beyond its kind. */
static bool has_own_checks(int id)
{
	return id == BPF_FUNC_this_cpu_ptr || id == BPF_FUNC_per_cpu_ptr ||
	       id == BPF_FUNC_tail_call || id == BPF_FUNC_map_lookup_percpu_elem ||
	       id == BPF_FUNC_get_func_ip || id == BPF_FUNC_get_stackid ||
	       id == BPF_FUNC_kptr_xchg;
}

/* Programs on functions need one to be loaded for; tests/probe has them. */
static bool is_on_func_only(const struct bpfu_helper *helper)
{
	return helper->flags == BPFU_HELPER_ON_FUNC;
}

static void test_prototypes(void **state)
{
	for (int id = 1; id < MAX_HELPER; id++) {
		const struct bpfu_helper *helper = bpfu_helper_by_id(id);
		size_t row = 0;

		if (!helper || takes_function(helper) || has_own_checks(id) ||
		    is_on_func_only(helper))
			continue;
		while (!bpfu_prog_type_of(types[row].type)->helper_allowed(helper, id, NULL) ||
		       (helper->flags & BPFU_HELPER_MIGHT_SLEEP && !types[row].flags))
			row++;
		check_arg(helper, id, row, -1, GOOD);
		for (int i = 0; i < 5; i++) {
			check_arg(helper, id, row, i, UNSET);
			if (helper->arg[i] == BPFU_ARG_NONE)
				break;
			check_arg(helper, id, row, i, ONE);
			check_arg(helper, id, row, i, ZERO);
			if (is_pointer(helper->arg[i]))
				check_arg(helper, id, row, i, RDONLY);
		}
	}
}

/* ---- packets ---- */

/* r7 = data with 64 readable bytes behind it, or leave; for tc and XDP. r6 is the context. */
static void emit_packet(struct code *c, enum bpf_prog_type type)
{
	bool xdp = type == BPF_PROG_TYPE_XDP;
	int data = xdp ? (int)offsetof(struct xdp_md, data) : (int)offsetof(struct __sk_buff, data);
	int end = xdp ? (int)offsetof(struct xdp_md, data_end) :
			(int)offsetof(struct __sk_buff, data_end);

	emit(c, BPFU_INSN(BPF_LDX | BPF_MEM | BPF_W, 7, 6, (int16_t)data, 0));
	emit(c, BPFU_INSN(BPF_LDX | BPF_MEM | BPF_W, 8, 6, (int16_t)end, 0));
	emit(c, MOV_X(2, 7));
	emit(c, BPFU_INSN(BPF_ALU64 | BPF_ADD | BPF_K, 2, 0, 0, 64));
	emit(c, BPFU_INSN(BPF_JMP | BPF_JLE | BPF_X, 2, 8, 2, 0));
	emit(c, MOV_K(0, 0));
	emit(c, EXIT());
}

/* Argument @packet_arg (-1: none) points to the packet; @use: the packet is read after the call. */
static bool kernel_takes_packet(const struct bpfu_helper *helper, int id, size_t row, int packet_arg,
				bool use)
{
	struct code c = { .cnt = 0 };
	struct kern_prog prog = { types[row].type, types[row].attach_type, types[row].flags, NULL,
				  c.insns, 0 };
	int fd;

	emit(&c, MOV_X(6, 1));
	for (int i = 1; i <= 6; i++)
		emit(&c, BPFU_INSN(BPF_ST | BPF_MEM | BPF_DW, 10, 0, (int16_t)(-8 * i), 0));
	emit_packet(&c, types[row].type);
	for (int i = 0; i < 5; i++) {
		if (i == packet_arg)
			emit(&c, MOV_X(i + 1, 7));
		else if (helper->arg[i] != BPFU_ARG_NONE)
			emit_good(&c, i + 1, helper->arg[i]);
	}
	emit(&c, CALL(id));
	emit(&c, use ? BPFU_INSN(BPF_LDX | BPF_MEM | BPF_B, 0, 7, 0, 0) : MOV_K(0, 0));
	emit(&c, MOV_K(0, 0));
	emit(&c, EXIT());
	prog.cnt = c.cnt;
	fd = kern_prog_load(&prog, log_buf);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static void test_packets(void **state)
{
	for (int id = 1; id < MAX_HELPER; id++) {
		const struct bpfu_helper *helper = bpfu_helper_by_id(id);

		if (!helper || takes_function(helper) || has_own_checks(id) ||
		    helper->flags & BPFU_HELPER_MIGHT_SLEEP)
			continue;
		for (size_t row = 0; row < BPFU_ARRAY_SIZE(types); row++) {
			const struct bpfu_prog_type *type = bpfu_prog_type_of(types[row].type);

			if (!type->may_write_packet || !type->helper_allowed(helper, id, NULL))
				continue;
			assert_true(kernel_takes_packet(helper, id, row, -1, false));
			if (kernel_takes_packet(helper, id, row, -1, true) ==
			    !!(helper->flags & BPFU_HELPER_CHANGES_PKT))
				fail_msg("%s: CHANGES_PKT is wrong\n%s", helper->name, log_buf);
			for (int i = 0; i < 5; i++)
				if (is_memory(helper->arg[i]) &&
				    kernel_takes_packet(helper, id, row, i, false) !=
					    !!(helper->flags & BPFU_HELPER_PKT_ACCESS))
					fail_msg("%s, argument %d: PKT_ACCESS is wrong\n%s",
						 helper->name, i + 1, log_buf);
		}
	}
}

static int setup(void **state)
{
	array_fd = kern_array_new(8, 0);
	str_fd = kern_const_str("abc");
	return array_fd < 0 || str_fd < 0;
}

static int teardown(void **state)
{
	close(array_fd);
	close(str_fd);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_permissions),
		cmocka_unit_test(test_gpl),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_prototypes),
		cmocka_unit_test(test_packets),
	};

	if (kern_unavailable())
		return 77;
	return cmocka_run_group_tests(tests, setup, teardown);
}
