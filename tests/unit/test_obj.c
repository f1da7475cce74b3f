// SPDX-License-Identifier: BSD-2-Clause
/* Objects: references, ids in a cycle, look-up while objects die, user references. */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "obj/obj.h"
#include "obj/prog.h"
#include "util/bits.h"

struct thing {
	struct bpfu_obj obj;
	int last_urefs;
};

static _Atomic int released;

static void thing_release(struct bpfu_obj *obj)
{
	released++;
	free(bpfu_container_of(obj, struct thing, obj));
}

static struct thing *thing_new(enum bpfu_obj_kind kind)
{
	struct thing *thing = calloc(1, sizeof(*thing));

	assert_non_null(thing);
	bpfu_obj_init(&thing->obj, kind, thing_release);
	return thing;
}

static void test_references(void **state)
{
	struct thing *thing = thing_new(BPFU_OBJ_MAP);

	released = 0;
	bpfu_obj_get(&thing->obj);
	bpfu_obj_put(&thing->obj);
	assert_int_equal(released, 0);
	bpfu_obj_put(&thing->obj);
	assert_int_equal(released, 1);
	bpfu_obj_put(NULL);
}

static void test_ids(void **state)
{
	struct thing *things[300];
	uint32_t first, id, walked = 0;

	for (int i = 0; i < 300; i++) {
		things[i] = thing_new(BPFU_OBJ_PROG);
		assert_int_equal(bpfu_obj_publish(&things[i]->obj), 0);
		assert_int_not_equal(things[i]->obj.id, 0);
	}
	first = things[0]->obj.id;
	for (int i = 0; i < 300; i++) {
		struct bpfu_obj *obj = bpfu_obj_by_id(BPFU_OBJ_PROG, first + i);

		assert_ptr_equal(obj, &things[i]->obj);
		bpfu_obj_put(obj);
	}
	assert_null(bpfu_obj_by_id(BPFU_OBJ_MAP, first));
	assert_null(bpfu_obj_by_id(BPFU_OBJ_PROG, 0));
	assert_null(bpfu_obj_by_id(BPFU_OBJ_PROG, UINT_MAX));

	/* Every third goes; the walk sees the others in order. */
	for (int i = 0; i < 300; i += 3)
		bpfu_obj_put(&things[i]->obj);
	for (id = 0; !bpfu_obj_next_id(BPFU_OBJ_PROG, id, &id); walked++)
		assert_true((id - first) % 3 != 0);
	assert_int_equal(walked, 200);
	assert_int_equal(bpfu_obj_next_id(BPFU_OBJ_PROG, INT_MAX, &id), -ENOENT);
	assert_int_equal(bpfu_obj_next_id(BPFU_OBJ_PROG, UINT_MAX, &id), -ENOENT);
	assert_null(bpfu_obj_by_id(BPFU_OBJ_PROG, first));

	/* An id is not used again at once. */
	things[0] = thing_new(BPFU_OBJ_PROG);
	assert_int_equal(bpfu_obj_publish(&things[0]->obj), 0);
	assert_int_equal(things[0]->obj.id, first + 300);
	bpfu_obj_put(&things[0]->obj);
	for (int i = 0; i < 300; i++)
		if (i % 3)
			bpfu_obj_put(&things[i]->obj);
	assert_int_equal(bpfu_obj_next_id(BPFU_OBJ_PROG, 0, &id), -ENOENT);
}

static void count_last(struct bpfu_obj *obj)
{
	bpfu_container_of(obj, struct thing, obj)->last_urefs++;
}

static void test_user_references(void **state)
{
	struct thing *thing = thing_new(BPFU_OBJ_MAP);

	thing->obj.last_uref = count_last;
	bpfu_obj_get_user(&thing->obj);
	bpfu_obj_get_user(&thing->obj);
	bpfu_obj_get(&thing->obj);
	bpfu_obj_put_user(&thing->obj);
	assert_int_equal(thing->last_urefs, 0);
	bpfu_obj_put_user(&thing->obj);
	assert_int_equal(thing->last_urefs, 1);
	/* Found again by id, say. */
	bpfu_obj_get_user(&thing->obj);
	bpfu_obj_put_user(&thing->obj);
	assert_int_equal(thing->last_urefs, 2);
	released = 0;
	bpfu_obj_put(&thing->obj);
	bpfu_obj_put(&thing->obj);
	assert_int_equal(released, 1);
}

/* Look-ups race with the last put: each returns a live object or none. */
static _Atomic uint32_t current_id;
static _Atomic bool stop;

static void *finder(void *arg)
{
	while (!stop) {
		struct bpfu_obj *obj = bpfu_obj_by_id(BPFU_OBJ_LINK, current_id);
		uint32_t id;

		bpfu_obj_next_id(BPFU_OBJ_LINK, 0, &id);
		if (obj) {
			assert_int_equal(obj->kind, BPFU_OBJ_LINK);
			bpfu_obj_put(obj);
		}
	}
	return NULL;
}

static void test_find_races_with_put(void **state)
{
	pthread_t threads[3];

	released = 0;
	stop = false;
	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, finder, NULL), 0);
	for (int i = 0; i < 5000; i++) {
		struct thing *thing = thing_new(BPFU_OBJ_LINK);

		assert_int_equal(bpfu_obj_publish(&thing->obj), 0);
		current_id = thing->obj.id;
		bpfu_obj_put(&thing->obj);
	}
	stop = true;
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(released, 5000);
}

/* A fork while other threads publish leaves the child with usable tables, and programs' maps to be had. */
static void *publisher(void *arg)
{
	while (!stop) {
		struct thing *thing = thing_new(BPFU_OBJ_BTF);

		bpfu_obj_publish(&thing->obj);
		bpfu_prog_lock_maps();
		bpfu_obj_put(&thing->obj);
		bpfu_prog_unlock_maps();
	}
	return NULL;
}

static void test_fork(void **state)
{
	pthread_t thread;

	stop = false;
	assert_int_equal(pthread_create(&thread, NULL, publisher, NULL), 0);
	for (int i = 0; i < 20; i++) {
		int status;
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (!pid) {
			uint32_t id;

			alarm(20);
			bpfu_obj_next_id(BPFU_OBJ_BTF, 0, &id);
			bpfu_prog_lock_maps();
			bpfu_prog_unlock_maps();
			_exit(0);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
	stop = true;
	pthread_join(thread, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_references),
		cmocka_unit_test(test_ids),
		cmocka_unit_test(test_user_references),
		cmocka_unit_test(test_find_races_with_put),
		cmocka_unit_test(test_fork),
	};

	return cmocka_run_group_tests_name("obj", tests, NULL, NULL);
}
