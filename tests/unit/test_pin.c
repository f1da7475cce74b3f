// SPDX-License-Identifier: BSD-2-Clause
/* Pins: the errors of the kernel's bpffs, directories, life of pinned objects. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "obj/obj.h"

#define BPFFS "/sys/fs/bpf"

static int alive;

static void release(struct bpfu_obj *obj)
{
	alive--;
	free(obj);
}

static struct bpfu_obj *make(void)
{
	struct bpfu_obj *obj = calloc(1, sizeof(*obj));

	assert_non_null(obj);
	bpfu_obj_init(obj, BPFU_OBJ_MAP, release);
	alive++;
	return obj;
}

static int get(const char *path)
{
	struct bpfu_obj *obj = NULL;
	int err = bpfu_pin_get(path, &obj);

	assert_true(!err == !!obj);
	bpfu_obj_put(obj);
	return err;
}

/* What a 6.18 kernel answers for the same paths. */
static void test_pin_errors(void **state)
{
	struct bpfu_obj *obj = make();
	char long_name[300], long_path[9000];

	memset(long_name, 'n', sizeof(long_name));
	memcpy(long_name, BPFFS "/", sizeof(BPFFS));
	long_name[sizeof(long_name) - 1] = '\0';
	for (size_t i = 0; i < sizeof(long_path); i++)
		long_path[i] = "/x"[i & 1];
	long_path[sizeof(long_path) - 1] = '\0';

	assert_int_equal(bpfu_pin("", obj), -ENOENT);
	assert_int_equal(bpfu_pin(BPFFS, obj), -EEXIST);
	assert_int_equal(bpfu_pin(BPFFS "/", obj), -EEXIST);
	assert_int_equal(bpfu_pin(BPFFS "/zz", obj), 0);
	assert_int_equal(bpfu_pin(BPFFS "/zz", obj), -EEXIST);
	assert_int_equal(bpfu_pin(BPFFS "/zz/", obj), -EEXIST);
	assert_int_equal(bpfu_pin(BPFFS "/yy/", obj), -ENOENT);
	assert_int_equal(bpfu_pin(BPFFS "/nodir/x", obj), -ENOENT);
	assert_int_equal(bpfu_pin(BPFFS "/zz/x", obj), -ENOTDIR);
	assert_int_equal(bpfu_pin(BPFFS "/a.b", obj), -EPERM);
	assert_int_equal(bpfu_pin("/tmp/bpfu-no-such", obj), -EPERM);
	assert_int_equal(bpfu_pin("/tmp", obj), -EEXIST);
	assert_int_equal(bpfu_pin("/tmp/", obj), -EEXIST);
	assert_int_equal(bpfu_pin("/tmp/bpfu-no-dir/x", obj), -ENOENT);
	assert_int_equal(bpfu_pin("/etc/passwd/x", obj), -ENOTDIR);
	assert_int_equal(bpfu_pin(long_name, obj), -ENAMETOOLONG);
	assert_int_equal(bpfu_pin(long_path, obj), -ENAMETOOLONG);

	assert_int_equal(get(""), -ENOENT);
	assert_int_equal(get(BPFFS), -EACCES);
	assert_int_equal(get(BPFFS "/zz"), 0);
	assert_int_equal(get(BPFFS "/zz/"), -ENOTDIR);
	assert_int_equal(get(BPFFS "/none"), -ENOENT);
	assert_int_equal(get(BPFFS "/nodir/x"), -ENOENT);
	assert_int_equal(get(BPFFS "/zz/x"), -ENOTDIR);
	assert_int_equal(get(BPFFS "/a.b"), -EPERM);
	assert_int_equal(get("/tmp/bpfu-no-such"), -ENOENT);
	assert_int_equal(get("/tmp"), -EACCES);
	assert_int_equal(get("/etc/passwd"), -EACCES);
	assert_int_equal(get(long_path), -ENAMETOOLONG);

	assert_int_equal(bpfu_unpin(BPFFS "/none"), -ENOENT);
	assert_int_equal(bpfu_unpin(BPFFS), -EISDIR);
	assert_int_equal(bpfu_unpin(BPFFS "/zz"), 0);
	assert_int_equal(bpfu_unpin(BPFFS "/zz"), -ENOENT);
	bpfu_obj_put(obj);
	assert_int_equal(alive, 0);
}

static void test_spellings(void **state)
{
	struct bpfu_obj *obj = make();
	char cwd[4096];

	assert_int_equal(bpfu_pin(BPFFS "/./qq", obj), 0);
	assert_int_equal(get(BPFFS "/../bpf//qq"), 0);
	assert_int_equal(get("/../sys/fs/bpf/qq"), 0);
	assert_non_null(getcwd(cwd, sizeof(cwd)));
	assert_int_equal(chdir("/sys"), 0);
	assert_int_equal(get("fs/bpf/qq"), 0);
	assert_int_equal(get("./kernel/../fs/bpf/qq"), 0);
	assert_int_equal(chdir(cwd), 0);
	assert_true(bpfu_pin_is_bpffs(BPFFS));
	assert_true(bpfu_pin_is_bpffs(BPFFS "/a/b"));
	assert_false(bpfu_pin_is_bpffs("/sys/fs/bpfx"));
	assert_false(bpfu_pin_is_bpffs("/sys/fs"));
	assert_false(bpfu_pin_is_bpffs(""));
	assert_int_equal(bpfu_unpin(BPFFS "/qq"), 0);
	bpfu_obj_put(obj);
}

static void test_directories(void **state)
{
	struct bpfu_obj *obj = make();

	assert_int_equal(bpfu_pin_mkdir(BPFFS "/dd"), 0);
	assert_int_equal(bpfu_pin_mkdir(BPFFS "/dd/"), -EEXIST);
	assert_int_equal(bpfu_pin_mkdir(BPFFS "/d.d"), -EPERM);
	assert_int_equal(bpfu_pin_mkdir(BPFFS "/ee/ff"), -ENOENT);
	assert_int_equal(bpfu_pin(BPFFS "/dd", obj), -EEXIST);
	assert_int_equal(get(BPFFS "/dd"), -EACCES);
	assert_int_equal(bpfu_pin(BPFFS "/dd/x", obj), 0);
	assert_int_equal(get(BPFFS "/dd/x"), 0);
	assert_int_equal(bpfu_pin_rmdir(BPFFS "/dd"), -ENOTEMPTY);
	assert_int_equal(bpfu_unpin(BPFFS "/dd"), -EISDIR);
	assert_int_equal(bpfu_pin_rmdir(BPFFS "/dd/x"), -ENOTDIR);
	assert_int_equal(bpfu_unpin(BPFFS "/dd/x"), 0);
	assert_int_equal(bpfu_pin_rmdir(BPFFS "/dd"), 0);
	assert_int_equal(bpfu_pin_rmdir(BPFFS "/dd"), -ENOENT);
	assert_int_equal(bpfu_pin_rmdir(BPFFS), -EBUSY);
	bpfu_obj_put(obj);
}

/* A pin keeps the object alive and counts as a user's reference. */
static void test_life(void **state)
{
	struct bpfu_obj *obj = make();

	assert_int_equal(bpfu_pin(BPFFS "/a", obj), 0);
	assert_int_equal(bpfu_pin(BPFFS "/b", obj), 0);
	assert_int_equal(atomic_load(&obj->urefs), 2);
	bpfu_obj_put(obj);
	assert_int_equal(alive, 1);
	assert_int_equal(bpfu_unpin(BPFFS "/a"), 0);
	assert_int_equal(get(BPFFS "/b"), 0);
	assert_int_equal(alive, 1);
	assert_int_equal(bpfu_unpin(BPFFS "/b"), 0);
	assert_int_equal(alive, 0);
}

static void test_second_root(void **state)
{
	struct bpfu_obj *obj = make();

	assert_int_equal(setenv("BPFU_BPFFS", "/run/bpfu-pins/", 1), 0);
	assert_true(bpfu_pin_is_bpffs("/run/bpfu-pins"));
	assert_int_equal(bpfu_pin("/run/bpfu-pins/a", obj), 0);
	assert_int_equal(get("/run/bpfu-pins/a"), 0);
	assert_int_equal(bpfu_unpin("/run/bpfu-pins/a"), 0);
	assert_int_equal(unsetenv("BPFU_BPFFS"), 0);
	bpfu_obj_put(obj);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pin_errors), cmocka_unit_test(test_spellings),
		cmocka_unit_test(test_directories), cmocka_unit_test(test_life),
		cmocka_unit_test(test_second_root),
	};

	return cmocka_run_group_tests_name("pin", tests, NULL, NULL);
}
