// SPDX-License-Identifier: BSD-2-Clause
/*
 * The switches of the inliner, as a user has them: each changes the instructions of a program that is
 * loaded after it was set, as BPF_OBJ_GET_INFO_BY_FD shows them, and never what the program returns.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <errno.h>
#include <unistd.h>

#include <bpf/btf.h>

#include "bpfu/bpfu.h"
#include "btf/func.h"
#include "btf/percpu_var.h"
#include "helper/helper.h"
#include "insn/insn.h"
#include "util/bits.h"
#include "util/uaccess.h"

#define MAX_INSNS 128
#define VALUE 77

#define MOV_K(d, i) BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_K, d, 0, 0, i)
#define MOV_X(d, s) BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_X, d, s, 0, 0)
#define ADD_K(d, i) BPFU_INSN(BPF_ALU64 | BPF_ADD | BPF_K, d, 0, 0, i)
#define CALL(id) BPFU_INSN(BPF_JMP | BPF_CALL, 0, 0, 0, id)
#define EXIT() BPFU_INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)

static int user_bpf(int cmd, union bpf_attr *attr)
{
	return bpfu_bpf(cmd, attr, sizeof(*attr));
}

static int make_map(enum bpf_map_type type, uint32_t key_size)
{
	uint64_t values[1024]; /* one per possible CPU */
	union bpf_attr attr;
	uint64_t key[2] = { 1 };
	int fd;

	memset(&attr, 0, sizeof(attr));
	attr.map_type = type;
	attr.key_size = key_size;
	attr.value_size = 8;
	attr.max_entries = 2;
	fd = user_bpf(BPF_MAP_CREATE, &attr);
	assert_true(fd >= 0);
	for (size_t i = 0; i < BPFU_ARRAY_SIZE(values); i++)
		values[i] = VALUE;
	memset(&attr, 0, sizeof(attr));
	attr.map_fd = (uint32_t)fd;
	attr.key = bpfu_u64(key);
	attr.value = bpfu_u64(values);
	assert_int_equal(user_bpf(BPF_MAP_UPDATE_ELEM, &attr), 0);
	return fd;
}

/* Types 3 and 4: static functions u64 f(u64, void *) and u64 main(void *). */
static int make_btf(void)
{
	struct btf *btf = btf__new_empty();
	int u64 = btf__add_int(btf, "u64", 8, 0), ptr = btf__add_ptr(btf, 0), proto, main_proto;
	union bpf_attr attr;
	const void *data;
	uint32_t size;
	int fd;

	proto = btf__add_func_proto(btf, u64);
	btf__add_func_param(btf, "i", u64);
	btf__add_func_param(btf, "ctx", ptr);
	main_proto = btf__add_func_proto(btf, u64);
	btf__add_func_param(btf, "ctx", ptr);
	assert_int_equal(btf__add_func(btf, "callback", BTF_FUNC_STATIC, proto), 5);
	assert_int_equal(btf__add_func(btf, "main", BTF_FUNC_GLOBAL, main_proto), 6);
	data = btf__raw_data(btf, &size);
	memset(&attr, 0, sizeof(attr));
	attr.btf = bpfu_u64(data);
	attr.btf_size = size;
	fd = user_bpf(BPF_BTF_LOAD, &attr);
	btf__free(btf);
	assert_true(fd >= 0);
	return fd;
}

struct result {
	struct bpf_insn insns[MAX_INSNS];
	uint32_t cnt;
	uint32_t retval;
};

static void load_and_run(union bpf_attr *load, struct result *result)
{
	struct bpf_prog_info info;
	union bpf_attr attr;
	int fd;

	memset(result, 0, sizeof(*result));
	fd = user_bpf(BPF_PROG_LOAD, load);
	assert_true(fd >= 0);
	memset(&info, 0, sizeof(info));
	info.xlated_prog_insns = bpfu_u64(result->insns);
	info.xlated_prog_len = sizeof(result->insns);
	memset(&attr, 0, sizeof(attr));
	attr.info.bpf_fd = (uint32_t)fd;
	attr.info.info = bpfu_u64(&info);
	attr.info.info_len = sizeof(info);
	assert_int_equal(user_bpf(BPF_OBJ_GET_INFO_BY_FD, &attr), 0);
	result->cnt = info.xlated_prog_len / sizeof(struct bpf_insn);
	memset(&attr, 0, sizeof(attr));
	attr.test.prog_fd = (uint32_t)fd;
	assert_int_equal(user_bpf(BPF_PROG_TEST_RUN, &attr), 0);
	result->retval = attr.test.retval;
	close(fd);
}

static bool calls(const struct result *result, int32_t id)
{
	for (uint32_t i = 0; i < result->cnt; i++)
		if (result->insns[i].code == (BPF_JMP | BPF_CALL) && !result->insns[i].src_reg &&
		    result->insns[i].imm == id)
			return true;
	return false;
}

static void check_on(const char *option, union bpf_attr *load, int32_t helper, bool matters)
{
	struct result on, off;

	load_and_run(load, &on);
	assert_false(calls(&on, helper));
	assert_int_equal(bpfu_option_set(option, "off"), 0);
	assert_string_equal(bpfu_option_get(option), "off");
	load_and_run(load, &off);
	assert_int_equal(bpfu_option_set(option, "on"), 0);
	assert_int_equal(calls(&off, helper), matters);
	if (matters)
		assert_true(on.cnt != off.cnt || memcmp(on.insns, off.insns, sizeof(on.insns)));
	else
		assert_memory_equal(on.insns, off.insns, sizeof(on.insns));
	assert_int_equal(on.retval, off.retval);
}

/*
 * With @option off the helper is called, with all on it is not; the result is the same, compiled and
 * interpreted.
 */
static void check_switch(const char *option, union bpf_attr *load, int32_t helper, bool matters)
{
	bpfu_uaccess_init();
	assert_int_equal(bpfu_option_set("jit", "off"), 0);
	check_on(option, load, helper, matters);
	assert_int_equal(bpfu_option_set("jit", "on"), 0);
	check_on(option, load, helper, matters);
}

static union bpf_attr load_attr(const struct bpf_insn *insns, uint32_t cnt)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT;
	attr.insns = bpfu_u64(insns);
	attr.insn_cnt = cnt;
	attr.license = bpfu_u64("GPL");
	return attr;
}

/* return *lookup(map, a key of @key_size that begins with a word 1), or 0 */
static void check_sized_lookup(const char *option, enum bpf_map_type type, bool matters,
			       bool constant, uint32_t key_size)
{
	int fd = make_map(type, key_size);
	const struct bpf_insn insns[] = {
		constant ? MOV_K(6, 1) : CALL(BPF_FUNC_get_prandom_u32),
		constant ? MOV_X(0, 6) : BPFU_INSN(BPF_ALU64 | BPF_OR | BPF_K, 0, 0, 0, -1),
		BPFU_INSN(BPF_ALU64 | BPF_AND | BPF_K, 0, 0, 0, 1),
		BPFU_INSN(BPF_ST | BPF_MEM | BPF_DW, 10, 0, -16, 0),
		BPFU_INSN(BPF_ST | BPF_MEM | BPF_DW, 10, 0, -8, 0),
		BPFU_INSN(BPF_STX | BPF_MEM | BPF_W, 10, 0, -16, 0),
		BPFU_INSN(BPF_LD | BPF_IMM | BPF_DW, 1, BPF_PSEUDO_MAP_FD, 0, fd),
		BPFU_INSN(0, 0, 0, 0, 0),
		MOV_X(2, 10), ADD_K(2, -16), CALL(BPF_FUNC_map_lookup_elem),
		BPFU_INSN(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1, 0),
		BPFU_INSN(BPF_LDX | BPF_MEM | BPF_DW, 0, 0, 0, 0),
		EXIT(),
	};
	union bpf_attr load = load_attr(insns, BPFU_ARRAY_SIZE(insns));
	struct result result;

	check_switch(option, &load, BPF_FUNC_map_lookup_elem, matters);
	load_and_run(&load, &result);
	assert_int_equal(result.retval, VALUE);
	close(fd);
}

static void check_lookup(const char *option, enum bpf_map_type type, bool matters, bool constant)
{
	check_sized_lookup(option, type, matters, constant, 4);
}

/* The search that is called instead, by size of the key; a helper cannot have its number. */
static void test_inline_hash(void **state)
{
	static const uint32_t key_sizes[] = { 4, 8, 12, 16 };

	for (size_t i = 0; i < BPFU_ARRAY_SIZE(key_sizes); i++) {
		check_sized_lookup("inline_helpers", BPF_MAP_TYPE_HASH, true, false, key_sizes[i]);
		check_sized_lookup("inline_percpu", BPF_MAP_TYPE_HASH, false, false, key_sizes[i]);
		check_sized_lookup("inline_helpers", BPF_MAP_TYPE_PERCPU_HASH, true, true,
				   key_sizes[i]);
		check_sized_lookup("inline_percpu", BPF_MAP_TYPE_PERCPU_HASH, true, false,
				   key_sizes[i]);
	}
}

/* Internal functions are not helpers: a program that names one does not load. */
static void test_internal_call(void **state)
{
	for (int32_t id = BPFU_CALL_HASH_SLOT; id < BPFU_CALL_INTERNAL_END; id++) {
		const struct bpf_insn insns[] = {
			MOV_X(2, 1), CALL(id), MOV_K(0, 0), EXIT(),
		};
		union bpf_attr load = load_attr(insns, BPFU_ARRAY_SIZE(insns));

		assert_int_equal(user_bpf(BPF_PROG_LOAD, &load), -EINVAL);
	}
}

static void test_inline_helpers(void **state)
{
	check_lookup("inline_helpers", BPF_MAP_TYPE_ARRAY, true, false);
	check_lookup("inline_helpers", BPF_MAP_TYPE_ARRAY, true, true);
	check_lookup("inline_helpers", BPF_MAP_TYPE_PERCPU_ARRAY, true, false);
}

static void test_inline_percpu(void **state)
{
	const struct bpf_insn insns[] = { CALL(BPF_FUNC_get_smp_processor_id), MOV_K(0, 3), EXIT() };
	union bpf_attr load = load_attr(insns, BPFU_ARRAY_SIZE(insns));

	check_lookup("inline_percpu", BPF_MAP_TYPE_PERCPU_ARRAY, true, false);
	check_lookup("inline_percpu", BPF_MAP_TYPE_PERCPU_ARRAY, true, true);
	check_lookup("inline_percpu", BPF_MAP_TYPE_ARRAY, false, false);
	check_switch("inline_percpu", &load, BPF_FUNC_get_smp_processor_id, true);
	check_switch("inline_helpers", &load, BPF_FUNC_get_smp_processor_id, true);
}

/* return *ptr(&cpu_number [, this CPU]) ^ this CPU */
static void test_inline_cpu_ptr(void **state)
{
	static const int32_t helpers[] = { BPF_FUNC_this_cpu_ptr, BPF_FUNC_per_cpu_ptr };

	assert_non_null(bpfu_func_by_name("bpf_get_numa_node_id")); /* libbpfu's BTF is there */
	for (size_t i = 0; i < BPFU_ARRAY_SIZE(helpers); i++) {
		const struct bpf_insn insns[] = {
			CALL(BPF_FUNC_get_smp_processor_id),
			MOV_X(6, 0), MOV_X(2, 0),
			BPFU_INSN(BPF_LD | BPF_IMM | BPF_DW, 1, BPF_PSEUDO_BTF_ID, 0,
				  bpfu_percpu_var_at(0)->btf_id),
			BPFU_INSN(0, 0, 0, 0, 0),
			CALL(helpers[i]),
			BPFU_INSN(BPF_JMP | BPF_JNE | BPF_K, 0, 0, 2, 0),
			MOV_K(0, -1), EXIT(),
			BPFU_INSN(BPF_LDX | BPF_MEM | BPF_W, 0, 0, 0, 0),
			BPFU_INSN(BPF_ALU64 | BPF_XOR | BPF_X, 0, 6, 0, 0), EXIT(),
		};
		union bpf_attr load = load_attr(insns, BPFU_ARRAY_SIZE(insns));
		struct result result;

		check_switch("inline_helpers", &load, helpers[i], true);
		if (!i)
			check_switch("inline_percpu", &load, helpers[i], true);
		load_and_run(&load, &result);
		assert_int_equal(result.retval, 0);
	}
}

static void test_inline_loop(void **state)
{
	static const struct bpf_insn insns[] = {
		BPFU_INSN(BPF_ST | BPF_MEM | BPF_DW, 10, 0, -8, 0),
		MOV_K(1, 10),
		BPFU_INSN(BPF_LD | BPF_IMM | BPF_DW, 2, BPF_PSEUDO_FUNC, 0, 7),
		BPFU_INSN(0, 0, 0, 0, 0),
		MOV_X(3, 10), ADD_K(3, -8), MOV_K(4, 0), CALL(BPF_FUNC_loop),
		BPFU_INSN(BPF_LDX | BPF_MEM | BPF_DW, 0, 10, -8, 0), EXIT(),
		/* *ctx += i; return 0 */
		BPFU_INSN(BPF_LDX | BPF_MEM | BPF_DW, 3, 2, 0, 0),
		BPFU_INSN(BPF_ALU64 | BPF_ADD | BPF_X, 3, 1, 0, 0),
		BPFU_INSN(BPF_STX | BPF_MEM | BPF_DW, 2, 3, 0, 0),
		MOV_K(0, 0), EXIT(),
	};
	static const struct bpf_func_info funcs[] = { { 0, 6 }, { 10, 5 } };
	union bpf_attr load = load_attr(insns, BPFU_ARRAY_SIZE(insns));
	struct result result;

	load.prog_btf_fd = (uint32_t)make_btf();
	load.func_info = bpfu_u64(funcs);
	load.func_info_cnt = BPFU_ARRAY_SIZE(funcs);
	load.func_info_rec_size = sizeof(funcs[0]);
	check_switch("inline_loop", &load, BPF_FUNC_loop, true);
	load_and_run(&load, &result);
	assert_int_equal(result.retval, 45);
	close((int)load.prog_btf_fd);
}

/* The structure 2 "struct obj { u64 a; }", the value 5 "struct value { struct obj __kptr *p; }", main 8. */
static int make_kptr_btf(void)
{
	struct btf *btf = btf__new_empty();
	int u64 = btf__add_int(btf, "u64", 8, 0), tag, ptr, proto;
	union bpf_attr attr;
	uint32_t size;
	int fd;

	assert_int_equal(btf__add_struct(btf, "obj", 8), 2);
	btf__add_field(btf, "a", u64, 0, 0);
	tag = btf__add_type_tag(btf, "kptr", 2);
	ptr = btf__add_ptr(btf, tag);
	assert_int_equal(btf__add_struct(btf, "value", 8), 5);
	btf__add_field(btf, "p", ptr, 0, 0);
	ptr = btf__add_ptr(btf, 0);
	proto = btf__add_func_proto(btf, u64);
	btf__add_func_param(btf, "ctx", ptr);
	assert_int_equal(btf__add_func(btf, "main", BTF_FUNC_GLOBAL, proto), 8);
	memset(&attr, 0, sizeof(attr));
	attr.btf = bpfu_u64(btf__raw_data(btf, &size));
	attr.btf_size = size;
	fd = user_bpf(BPF_BTF_LOAD, &attr);
	btf__free(btf);
	assert_true(fd >= 0);
	return fd;
}

static int make_kptr_map(int btf_fd)
{
	union bpf_attr attr;
	int fd;

	memset(&attr, 0, sizeof(attr));
	attr.map_type = BPF_MAP_TYPE_HASH;
	attr.key_size = 8;
	attr.value_size = 8;
	attr.max_entries = 1;
	attr.btf_fd = (uint32_t)btf_fd;
	attr.btf_key_type_id = 1;
	attr.btf_value_type_id = 5;
	fd = user_bpf(BPF_MAP_CREATE, &attr);
	assert_true(fd >= 0);
	return fd;
}

#define KFUNC(name) \
	BPFU_INSN(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_KFUNC_CALL, 0, \
		  (int32_t)bpfu_func_by_name(name)->btf_id)
#define DROP_IF_ANY() \
	BPFU_INSN(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 2, 0), MOV_X(1, 0), KFUNC("bpf_obj_drop_impl")

/* Put a new object into the map's one value, take it out again, and return what it holds. */
static void test_inline_kptr(void **state)
{
	static const struct bpf_func_info funcs[] = { { 0, 8 } };
	int btf_fd = make_kptr_btf(), fd = make_kptr_map(btf_fd);
	const struct bpf_insn insns[] = {
		BPFU_INSN(BPF_ST | BPF_MEM | BPF_DW, 10, 0, -8, 0),
		BPFU_INSN(BPF_ST | BPF_MEM | BPF_DW, 10, 0, -16, 0),
		BPFU_INSN(BPF_LD | BPF_IMM | BPF_DW, 1, BPF_PSEUDO_MAP_FD, 0, fd),
		BPFU_INSN(0, 0, 0, 0, 0),
		MOV_X(2, 10), ADD_K(2, -8), MOV_X(3, 10), ADD_K(3, -16), MOV_K(4, 0),
		CALL(BPF_FUNC_map_update_elem),
		BPFU_INSN(BPF_LD | BPF_IMM | BPF_DW, 1, BPF_PSEUDO_MAP_FD, 0, fd),
		BPFU_INSN(0, 0, 0, 0, 0),
		MOV_X(2, 10), ADD_K(2, -8), CALL(BPF_FUNC_map_lookup_elem),
		BPFU_INSN(BPF_JMP | BPF_JNE | BPF_K, 0, 0, 1, 0), EXIT(),
		MOV_X(6, 0), MOV_K(1, 2), MOV_K(2, 0), KFUNC("bpf_obj_new_impl"),
		BPFU_INSN(BPF_JMP | BPF_JNE | BPF_K, 0, 0, 1, 0), EXIT(),
		BPFU_INSN(BPF_ST | BPF_MEM | BPF_DW, 0, 0, 0, VALUE),
		MOV_X(1, 6), MOV_X(2, 0), CALL(BPF_FUNC_kptr_xchg),
		DROP_IF_ANY(),
		MOV_X(1, 6), MOV_K(2, 0), CALL(BPF_FUNC_kptr_xchg),
		BPFU_INSN(BPF_JMP | BPF_JNE | BPF_K, 0, 0, 1, 0), EXIT(),
		BPFU_INSN(BPF_LDX | BPF_MEM | BPF_DW, 7, 0, 0, 0),
		DROP_IF_ANY(),
		MOV_X(0, 7), EXIT(),
	};
	union bpf_attr load = load_attr(insns, BPFU_ARRAY_SIZE(insns));
	struct result result;

	load.prog_type = BPF_PROG_TYPE_SYSCALL;
	load.prog_flags = BPF_F_SLEEPABLE;
	load.prog_btf_fd = (uint32_t)btf_fd;
	load.func_info = bpfu_u64(funcs);
	load.func_info_cnt = BPFU_ARRAY_SIZE(funcs);
	load.func_info_rec_size = sizeof(funcs[0]);
	check_switch("inline_helpers", &load, BPF_FUNC_kptr_xchg, true);
	load_and_run(&load, &result);
	assert_int_equal(result.retval, VALUE);
	close(fd);
	close(btf_fd);
}

static void test_unknown(void **state)
{
	assert_int_equal(bpfu_option_set("inline_everything", "on"), -EINVAL);
	assert_int_equal(bpfu_option_set("inline_loop", "perhaps"), -EINVAL);
	assert_string_equal(bpfu_option_get("inline_loop"), "on");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_inline_helpers),
		cmocka_unit_test(test_inline_hash),
		cmocka_unit_test(test_internal_call),
		cmocka_unit_test(test_inline_percpu),
		cmocka_unit_test(test_inline_cpu_ptr),
		cmocka_unit_test(test_inline_loop),
		cmocka_unit_test(test_inline_kptr),
		cmocka_unit_test(test_unknown),
	};

	/* Whatever the environment says, this test is about what it sets itself. */
	unsetenv("BPFU_OPTIONS");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
