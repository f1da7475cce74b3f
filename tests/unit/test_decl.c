// SPDX-License-Identifier: BSD-2-Clause
/* Declarations of traceable functions: what is understood, what becomes of it in BTF, what is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "btf/decl.h"
#include "btf/vmlinux.h"

static struct bpfu_decl decl;

static const struct btf_param *param(uint32_t idx)
{
	const struct btf_type *proto = bpfu_btf_type(bpfu_vmlinux(), decl.proto_id);

	assert_int_equal(bpfu_btf_kind(proto), BTF_KIND_FUNC_PROTO);
	assert_true(idx < bpfu_btf_vlen(proto));
	return (const struct btf_param *)(proto + 1) + idx;
}

/* "const struct x *" of a type, as BTF has it. */
static const char *type_text(uint32_t id)
{
	static char text[256];
	const struct btf_type *t = bpfu_btf_type(bpfu_vmlinux(), id);
	char inner[200];

	if (!id)
		return "void";
	switch (bpfu_btf_kind(t)) {
	case BTF_KIND_PTR:
		snprintf(inner, sizeof(inner), "%.180s", type_text(t->type));
		snprintf(text, sizeof(text), "*%s", inner);
		break;
	case BTF_KIND_CONST:
		snprintf(inner, sizeof(inner), "%.180s", type_text(t->type));
		snprintf(text, sizeof(text), "const %s", inner);
		break;
	default:
		snprintf(text, sizeof(text), "%d:%s", (int)bpfu_btf_kind(t),
			 bpfu_btf_name(bpfu_vmlinux(), t->name_off));
	}
	return text;
}

static void test_types(void **state)
{
	assert_int_equal(bpfu_decl_parse("unsigned long  f ( char a,long unsigned int b, "
					 "const struct door * const d, uint32_t, enum how e, "
					 "const char **names, void *p)", &decl), 0);
	assert_string_equal(decl.name, "f");
	assert_int_equal(decl.arg_cnt, 7);
	assert_int_equal(decl.ret.size, 8);
	assert_int_equal(decl.args[0].size, 1);
	assert_int_equal(decl.args[1].size, 8);
	assert_false(decl.args[1].is_pointer);
	assert_int_equal(decl.args[2].size, 8);
	assert_true(decl.args[2].is_pointer);
	assert_int_equal(decl.args[3].size, 4);
	assert_int_equal(decl.args[4].size, 4);
	assert_string_equal(bpfu_btf_name(bpfu_vmlinux(), param(2)->name_off), "d");
	assert_string_equal(bpfu_btf_name(bpfu_vmlinux(), param(3)->name_off), "");
	assert_string_equal(type_text(param(0)->type), "1:char");
	assert_string_equal(type_text(param(1)->type), "1:unsigned long");
	assert_string_equal(type_text(param(2)->type), "*const 7:door");
	assert_string_equal(type_text(param(3)->type), "8:uint32_t");
	assert_string_equal(type_text(param(4)->type), "6:how");
	assert_string_equal(type_text(param(5)->type), "**const 1:char");
	assert_string_equal(type_text(param(6)->type), "*void");
}

static void test_no_arguments(void **state)
{
	assert_int_equal(bpfu_decl_parse("void f(void);", &decl), 0);
	assert_int_equal(decl.arg_cnt, 0);
	assert_int_equal(decl.ret.size, 0);
	assert_int_equal(bpfu_decl_parse("bool f()", &decl), 0);
	assert_int_equal(decl.arg_cnt, 0);
	assert_int_equal(decl.ret.size, 1);
}

static void test_same_types_once(void **state)
{
	uint32_t cnt;

	assert_int_equal(bpfu_decl_parse("int g(struct s *a, const u64 b)", &decl), 0);
	cnt = bpfu_vmlinux()->type_cnt;
	assert_int_equal(bpfu_decl_parse("int h(struct s *a, const u64 b)", &decl), 0);
	assert_int_equal(bpfu_vmlinux()->type_cnt, cnt + 1); /* the prototype */
}

static void test_refused(void **state)
{
	static const struct {
		const char *text;
		int err;
	} rows[] = {
		{ "", -EINVAL },
		{ "int", -EINVAL },
		{ "int f", -EINVAL },
		{ "int f(", -EINVAL },
		{ "int f(int", -EINVAL },
		{ "int f(int a", -EINVAL },
		{ "int f(int a,)", -EINVAL },
		{ "int f(void, int a)", -EINVAL },
		{ "int f(int a) {", -EINVAL },
		{ "int f(int a);;", -EINVAL },
		{ "int f(int a[3])", -EINVAL },
		{ "int f(int (*fn)(void))", -EINVAL },
		{ "long long long f(void)", -EINVAL },
		{ "unsigned signed f(void)", -EINVAL },
		{ "short char f(void)", -EINVAL },
		{ "some_type_t f(void)", -EINVAL },
		{ "int f(struct)", -EINVAL },
		{ "int 3f(void)", -EINVAL },
		{ "int a123456789b123456789c123456789d123456789e123456789f123456789g123(void)",
		  -EINVAL },
		{ "double f(void)", -EOPNOTSUPP },
		{ "int f(float x)", -EOPNOTSUPP },
		{ "int f(struct door d)", -EOPNOTSUPP },
		{ "struct door f(void)", -EOPNOTSUPP },
		{ "int f(const char *fmt, ...)", -EOPNOTSUPP },
		{ "int f(int, int, int, int, int, int, int, int, int, int, int, int, int)", -E2BIG },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int err = bpfu_decl_parse(rows[i].text, &decl);

		if (err != rows[i].err)
			fail_msg("\"%s\": %d", rows[i].text, err);
	}
}

/* What the whole object looks like to who loads it. */
static void test_blob(void **state)
{
	struct bpfu_btf *btf;
	uint32_t size;
	void *data;

	assert_int_equal(bpfu_decl_parse("int f(struct s *a)", &decl), 0);
	assert_true(bpfu_vmlinux_add_func("f", decl.proto_id) > 0);
	assert_int_equal(bpfu_vmlinux_blob(&data, &size), 0);
	assert_int_equal(bpfu_btf_new(data, size, NULL, &btf), 0);
	assert_int_equal(btf->type_cnt, bpfu_vmlinux()->type_cnt);
	bpfu_obj_put(&btf->obj);
	free(data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_types),	   cmocka_unit_test(test_no_arguments),
		cmocka_unit_test(test_same_types_once), cmocka_unit_test(test_blob),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
