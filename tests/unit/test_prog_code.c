// SPDX-License-Identifier: BSD-2-Clause
/* The public functions that show what a program became: bpfu_prog_code(), bpfu_prog_symbol(). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <unistd.h>

#include "bpfu/bpfu.h"
#include "helper/helper.h"
#include "insn/insn.h"
#include "jit/jit.h"
#include "obj/prog.h"

static int bpfu(int cmd, union bpf_attr *attr)
{
	return bpfu_bpf(cmd, attr, sizeof(*attr));
}

static int make_map(enum bpf_map_type type, const char *name, uint32_t entries)
{
	union bpf_attr attr = { .map_type = type, .key_size = 4, .value_size = 24,
				.max_entries = entries };
	int fd;

	snprintf(attr.map_name, sizeof(attr.map_name), "%s", name);
	fd = bpfu(BPF_MAP_CREATE, &attr);
	assert_true(fd >= 0);
	return fd;
}

static int load(const struct bpf_insn *insns, uint32_t cnt)
{
	union bpf_attr attr = { .prog_type = BPF_PROG_TYPE_SYSCALL, .prog_flags = BPF_F_SLEEPABLE,
				.insns = (uintptr_t)insns, .insn_cnt = cnt,
				.license = (uintptr_t)"GPL" };
	int fd = bpfu(BPF_PROG_LOAD, &attr);

	assert_true(fd >= 0);
	return fd;
}

/* r0 = lookup(map, &0) is NULL ? ktime : f(); a function that returns 7 */
static int load_prog(int map_fd)
{
	const struct bpf_insn insns[] = {
		BPFU_INSN(BPF_ST | BPF_MEM | BPF_W, 10, 0, -4, 0),
		BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_X, 2, 10, 0, 0),
		BPFU_INSN(BPF_ALU64 | BPF_ADD | BPF_K, 2, 0, 0, -4),
		BPFU_INSN(BPF_LD | BPF_IMM | BPF_DW, 1, BPF_PSEUDO_MAP_FD, 0, map_fd),
		BPFU_INSN(0, 0, 0, 0, 0),
		BPFU_INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_map_lookup_elem),
		BPFU_INSN(BPF_JMP | BPF_JNE | BPF_K, 0, 0, 2, 0),
		BPFU_INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_ktime_get_ns),
		BPFU_INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
		BPFU_INSN(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, 1),
		BPFU_INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
		BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 7),
		BPFU_INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
	};

	return load(insns, BPFU_ARRAY_SIZE(insns));
}

static void check_shape(const struct bpfu_code *code)
{
	uint32_t end = 0;

	assert_int_equal(code->func_cnt, 2);
	assert_int_equal(code->insn_off[code->insn_cnt], code->size);
	for (uint32_t i = 0; i < code->insn_cnt; i++)
		assert_true(code->insn_off[i] <= code->insn_off[i + 1]);
	for (uint32_t f = 0; f < code->func_cnt; f++) {
		assert_true(code->func_off[f] >= end);
		assert_true(code->func_len[f] > 0);
		end = code->func_off[f] + code->func_len[f];
	}
	assert_true(end <= code->size);
}

static void test_code(void **state)
{
	int map = make_map(BPF_MAP_TYPE_HASH, "table", 8), prog = load_prog(map);
	struct bpfu_code *code, *again;

	assert_int_equal(bpfu_prog_code(prog, NULL, &code), 0);
	check_shape(code);
	assert_memory_equal(code->bytes, (const void *)(uintptr_t)code->base, code->size);
	bpfu_code_free(code);
	for (int i = 0; i < 2; i++) {
		const char *arch = i ? "aarch64" : "x86_64";

		assert_int_equal(bpfu_prog_code(prog, arch, &code), 0);
		assert_int_equal(bpfu_prog_code(prog, arch, &again), 0);
		check_shape(code);
		assert_int_equal(code->size, again->size);
		assert_memory_equal(code->bytes, again->bytes, code->size);
		bpfu_code_free(code);
		bpfu_code_free(again);
	}
	assert_int_equal(bpfu_prog_code(prog, "vax", &code), -EOPNOTSUPP);
	assert_int_equal(bpfu_prog_code(map, NULL, &code), -EINVAL);
	assert_int_equal(bpfu_prog_code(-1, NULL, &code), -EBADF);
	close(prog);
	close(map);
}

static void test_interpreted(void **state)
{
	int map = make_map(BPF_MAP_TYPE_HASH, "table", 8), prog;
	struct bpfu_code *code;

	assert_int_equal(bpfu_option_set("jit", "off"), 0);
	prog = load_prog(map);
	assert_int_equal(bpfu_option_set("jit", "on"), 0);
	assert_int_equal(bpfu_prog_code(prog, NULL, &code), -ENOENT);
	assert_int_equal(bpfu_prog_code(prog, "x86_64", &code), 0);
	check_shape(code);
	bpfu_code_free(code);
	close(prog);
	close(map);
}

/* The 64-bit constant of the first LD_IMM64 after @from, as the program holds it. */
static uint64_t constant(int prog, uint32_t from)
{
	struct bpfu_obj *obj = bpfu_fd_get(prog);
	struct bpfu_prog *p = bpfu_container_of(obj, struct bpfu_prog, obj);
	uint64_t value = 0;

	for (uint32_t i = from; i < p->insn_cnt && !value; i++)
		if (bpfu_insn_is_ld_imm64(&p->insns[i]))
			value = bpfu_insn_imm64(&p->insns[i]);
	bpfu_obj_put(obj);
	assert_true(value != 0);
	return value;
}

static void expect_symbol(int prog, uint64_t addr, const char *want)
{
	char name[128] = "";

	assert_int_equal(bpfu_prog_symbol(prog, addr, name, sizeof(name)), 0);
	assert_string_equal(name, want);
}

static void test_symbols(void **state)
{
	uint64_t ktime = (uintptr_t)bpfu_helper_by_id(BPF_FUNC_ktime_get_ns)->fn;
	char name[128];
	int map, prog;

	map = make_map(BPF_MAP_TYPE_ARRAY, "arr", 8);
	prog = load_prog(map);
	expect_symbol(prog, ktime, "bpf_ktime_get_ns");
	assert_int_equal(bpfu_prog_symbol(prog, ktime + 1, name, sizeof(name)), -ENOENT);
	assert_int_equal(bpfu_prog_symbol(prog, 0, name, sizeof(name)), -ENOENT);
	assert_int_equal(bpfu_prog_symbol(map, ktime, name, sizeof(name)), -EINVAL);
	expect_symbol(prog, constant(prog, 0), "map arr");
	/* The lookup was inlined: the address of the values. */
	expect_symbol(prog, constant(prog, 5), "map arr[0] value");
	expect_symbol(prog, constant(prog, 5) + 24 * 7 + 3, "map arr[7] value+3");
	assert_int_equal(bpfu_prog_symbol(prog, constant(prog, 5) + 24 * 8, name, sizeof(name)),
			 -ENOENT);
	/* A short buffer gets what fits. */
	assert_int_equal(bpfu_prog_symbol(prog, constant(prog, 0), name, 5), 0);
	assert_string_equal(name, "map ");
	close(prog);
	close(map);

	map = make_map(BPF_MAP_TYPE_PERCPU_ARRAY, "pa", 1);
	prog = load_prog(map);
	expect_symbol(prog, constant(prog, 5) + 8, "map pa value per CPU+8");
	close(prog);
	close(map);
}

static void test_text(void **state)
{
	const struct bpf_insn call = BPFU_INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_ktime_get_ns);
	char text[64];

	bpfu_insn_text(text, sizeof(text), &call);
	assert_string_equal(text, "(85) call bpf_ktime_get_ns#5");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_code),
		cmocka_unit_test(test_interpreted),
		cmocka_unit_test(test_symbols),
		cmocka_unit_test(test_text),
	};

	if (!bpfu_jit_available())
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
