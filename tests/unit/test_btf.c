// SPDX-License-Identifier: BSD-2-Clause
/* Look-up in BTF, life of the object, and size limits; and the kernel's own BTF as a large input. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>

#include <bpf/btf.h>

#include "btf/btf.h"

static struct bpfu_btf *load(struct btf *btf)
{
	struct bpfu_btf *out = NULL;
	uint32_t size;
	const void *data = btf__raw_data(btf, &size);

	assert_int_equal(bpfu_btf_new(data, size, NULL, &out), 0);
	btf__free(btf);
	return out;
}

static void test_lookup(void **state)
{
	struct btf *src = btf__new_empty();
	int i32 = btf__add_int(src, "int", 4, BTF_INT_SIGNED);
	int arr = btf__add_array(src, i32, i32, 10);
	int arr2 = btf__add_array(src, i32, arr, 3);
	int st = btf__add_struct(src, "pair", 12);
	int cst, def, ptr, var, sec, fwd, proto, func;
	struct bpfu_btf *btf;
	uint32_t id;

	btf__add_field(src, "a", i32, 0, 0);
	btf__add_field(src, "b", i32, 32, 0);
	cst = btf__add_const(src, st);
	def = btf__add_typedef(src, "pair_t", cst);
	ptr = btf__add_ptr(src, def);
	var = btf__add_var(src, "v", BTF_VAR_STATIC, arr2);
	sec = btf__add_datasec(src, ".bss", 200);
	btf__add_datasec_var_info(src, var, 0, 120);
	fwd = btf__add_fwd(src, "later", BTF_FWD_STRUCT);
	proto = btf__add_func_proto(src, i32);
	func = btf__add_func(src, "f", BTF_FUNC_STATIC, proto);
	btf = load(src);

	assert_string_equal(bpfu_btf_name(btf, bpfu_btf_type(btf, st)->name_off), "pair");
	assert_string_equal(bpfu_btf_name(btf, 0), "");
	assert_null(bpfu_btf_name(btf, btf->str_len));
	assert_null(bpfu_btf_type(btf, btf->type_cnt));
	assert_int_equal(bpfu_btf_kind(bpfu_btf_type(btf, 0)), BTF_KIND_UNKN);
	assert_int_equal(bpfu_btf_vlen(bpfu_btf_type(btf, st)), 2);
	assert_ptr_equal(bpfu_btf_skip_modifiers(btf, def, &id), bpfu_btf_type(btf, st));
	assert_int_equal(id, st);
	assert_ptr_equal(bpfu_btf_skip_modifiers(btf, ptr, &id), bpfu_btf_type(btf, ptr));
	assert_int_equal(id, ptr);
	assert_null(bpfu_btf_skip_modifiers(btf, 1000, NULL));

	assert_int_equal(bpfu_btf_size(btf, i32), 4);
	assert_int_equal(bpfu_btf_size(btf, arr2), 120);
	assert_int_equal(bpfu_btf_size(btf, def), 12);
	assert_int_equal(bpfu_btf_size(btf, ptr), 8);
	assert_int_equal(bpfu_btf_size(btf, var), 120);
	assert_int_equal(bpfu_btf_size(btf, sec), 200);
	assert_int_equal(bpfu_btf_size(btf, 0), -EINVAL);
	assert_int_equal(bpfu_btf_size(btf, fwd), -EINVAL);
	assert_int_equal(bpfu_btf_size(btf, proto), -EINVAL);
	assert_int_equal(bpfu_btf_size(btf, func), -EINVAL);
	assert_int_equal(bpfu_btf_size(btf, 1000), -EINVAL);
	bpfu_obj_put(&btf->obj);
}

/* Arrays of nothing may have any number of elements. */
static void test_empty_arrays(void **state)
{
	struct btf *src = btf__new_empty();
	int i32 = btf__add_int(src, "int", 4, 0), id = btf__add_struct(src, "nothing", 0);
	struct bpfu_btf *btf;

	for (int i = 0; i < 4; i++)
		id = btf__add_array(src, i32, id, UINT32_MAX);
	btf = load(src);
	assert_int_equal(bpfu_btf_size(btf, id), 0);
	bpfu_obj_put(&btf->obj);
}

static void test_too_large(void **state)
{
	struct bpfu_btf *btf = NULL;
	void *data = calloc(1, BPFU_BTF_MAX_SIZE + 1);

	assert_non_null(data);
	assert_int_equal(bpfu_btf_new(data, BPFU_BTF_MAX_SIZE + 1, NULL, &btf), -E2BIG);
	assert_int_equal(bpfu_btf_new(data, BPFU_BTF_MAX_SIZE, NULL, &btf), -EINVAL);
	assert_int_equal(bpfu_btf_new(data, 0, NULL, &btf), -EINVAL);
	assert_null(btf);
	free(data);
}

/* More than a hundred thousand types; every one of them has to be found again. */
static void test_vmlinux(void **state)
{
	FILE *file = fopen("/sys/kernel/btf/vmlinux", "re");
	char *data = malloc(BPFU_BTF_MAX_SIZE);
	struct bpfu_btf *btf = NULL;
	bool has_task = false;
	size_t size;

	assert_non_null(data);
	if (!file) {
		free(data);
		skip();
	}
	size = fread(data, 1, BPFU_BTF_MAX_SIZE, file);
	fclose(file);
	assert_int_equal(bpfu_btf_new(data, (uint32_t)size, NULL, &btf), 0);
	free(data);
	for (uint32_t id = 1; id < btf->type_cnt; id++) {
		const struct btf_type *t = bpfu_btf_type(btf, id);

		has_task |= bpfu_btf_kind(t) == BTF_KIND_STRUCT && bpfu_btf_size(btf, id) > 1000 &&
			    !strcmp(bpfu_btf_name(btf, t->name_off), "task_struct");
	}
	assert_true(has_task);
	bpfu_obj_put(&btf->obj);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lookup),
		cmocka_unit_test(test_empty_arrays),
		cmocka_unit_test(test_too_large),
		cmocka_unit_test(test_vmlinux),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
