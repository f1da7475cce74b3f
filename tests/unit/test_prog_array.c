// SPDX-License-Identifier: BSD-2-Clause
/*
 * PROG_ARRAY: descriptors in, ids out, one kind of programs, and no program kept alive by an array
 * that nobody can reach. The expected errnos are a 6.18 kernel's; where there is one, it is asked.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>

#include "kern_bpf.h"
#include "map/prog_array.h"
#include "map_twin.h"
#include "obj/prog.h"

static _Atomic int released;

static void on_release(struct bpfu_prog *prog)
{
	atomic_fetch_add(&released, 1);
}

/* A program that was never verified, and is never run. */
static struct bpfu_prog *prog_new(enum bpf_prog_type type, enum bpf_attach_type attach, bool jited)
{
	struct bpfu_prog *prog = bpfu_prog_new();

	assert_non_null(prog);
	prog->type = type;
	prog->expected_attach_type = attach;
	prog->jited = jited;
	prog->release_code = on_release;
	assert_int_equal(bpfu_obj_publish(&prog->obj), 0);
	return prog;
}

static int prog_fd(struct bpfu_prog *prog)
{
	int fd = bpfu_fd_install(&prog->obj, -1);

	assert_true(fd >= 0);
	return fd;
}

static void prog_close(int fd)
{
	bpfu_fd_closing(fd);
	close(fd);
}

static void end_of_test(int expected_releases)
{
	bpfu_rcu_barrier();
	bpfu_rcu_barrier();
	bpfu_rcu_barrier();
	assert_int_equal(atomic_exchange(&released, 0), expected_releases);
}

static struct bpfu_map *array_new(uint32_t entries)
{
	union bpf_attr attr = twin_attr(BPF_MAP_TYPE_PROG_ARRAY, 4, 4, entries, 0);
	struct bpfu_map *map;

	assert_int_equal(bpfu_map_create(&attr, NULL, &map), 0);
	return map;
}

static int store(struct bpfu_map *map, uint32_t key, int fd, uint64_t flags)
{
	return bpfu_map_update_user(map, &key, &fd, flags);
}

static struct bpfu_prog *entry(struct bpfu_map *map, uint32_t idx)
{
	return atomic_load(&bpfu_container_of(map, struct bpfu_prog_array, map)->ptrs[idx]);
}

static void descriptors_in_ids_out(void **state)
{
	struct bpfu_map *map = array_new(3);
	struct bpfu_prog *prog = prog_new(BPF_PROG_TYPE_XDP, 0, true);
	struct bpfu_prog *other = prog_new(BPF_PROG_TYPE_XDP, 0, true);
	int fd = prog_fd(prog), other_fd = prog_fd(other);
	uint32_t key = 1, id = 0;

	(void)state;
	assert_int_equal(bpfu_map_lookup_user(map, &key, &id, 0), -ENOENT);
	assert_int_equal(store(map, 1, fd, BPF_ANY), 0);
	assert_ptr_equal(entry(map, 1), prog);
	assert_int_equal(bpfu_map_lookup_user(map, &key, &id, 0), 0);
	assert_int_equal(id, prog->obj.id);
	assert_int_equal(prog->obj.refs, 2);
	assert_int_equal(store(map, 1, other_fd, BPF_ANY), 0);
	assert_int_equal(prog->obj.refs, 1);
	assert_int_equal(bpfu_map_lookup_user(map, &key, &id, 0), 0);
	assert_int_equal(id, other->obj.id);
	/* The entry keeps the program when its descriptor goes. */
	prog_close(other_fd);
	assert_int_equal(other->obj.refs, 1);
	assert_int_equal(bpfu_map_delete_user(map, &key), 0);
	assert_null(entry(map, 1));
	assert_int_equal(bpfu_map_delete_user(map, &key), -ENOENT);
	end_of_test(1);
	prog_close(fd);
	bpfu_map_put(map);
	end_of_test(1);
}

static void errors(void **state)
{
	struct bpfu_map *map = array_new(3);
	struct bpfu_prog *prog = prog_new(BPF_PROG_TYPE_XDP, 0, true);
	int fd = prog_fd(prog), null = open("/dev/null", O_RDONLY), map_fd;
	uint32_t key = 3, next, id;

	(void)state;
	bpfu_obj_get(&map->obj);
	map_fd = bpfu_fd_install(&map->obj, -1);
	assert_true(map_fd >= 0 && null >= 0);
	assert_int_equal(store(map, 0, fd, BPF_NOEXIST), -EINVAL);
	assert_int_equal(store(map, 0, fd, BPF_EXIST), -EINVAL);
	assert_int_equal(store(map, 9, -1, BPF_EXIST), -EINVAL);
	assert_int_equal(store(map, 3, fd, BPF_ANY), -E2BIG);
	assert_int_equal(store(map, 9, -1, BPF_ANY), -E2BIG);
	assert_int_equal(store(map, 0, -1, BPF_ANY), -EBADF);
	assert_int_equal(store(map, 0, 99999, BPF_ANY), -EBADF);
	assert_int_equal(store(map, 0, null, BPF_ANY), -EINVAL);
	assert_int_equal(store(map, 0, map_fd, BPF_ANY), -EINVAL);
	assert_int_equal(bpfu_map_lookup_user(map, &key, &id, 0), -ENOENT);
	assert_int_equal(bpfu_map_delete_user(map, &key), -E2BIG);
	assert_int_equal(bpfu_map_lookup_and_delete_user(map, &key, &id, 0), -TWIN_ENOTSUPP);
	assert_int_equal(bpfu_map_get_next_key(map, NULL, &next), 0);
	assert_int_equal(next, 0);
	key = 2;
	assert_int_equal(bpfu_map_get_next_key(map, &key, &next), -ENOENT);
	assert_int_equal(prog->obj.refs, 1);
	close(null);
	prog_close(map_fd);
	prog_close(fd);
	bpfu_map_put(map);
	end_of_test(1);
}

static void no_batches(void **state)
{
	struct bpfu_map *map = array_new(1);
	struct bpfu_map_batch b = { .count = 1 };

	(void)state;
	assert_int_equal(bpfu_map_lookup_batch(map, &b), -TWIN_ENOTSUPP);
	assert_int_equal(bpfu_map_update_batch(map, &b), -TWIN_ENOTSUPP);
	assert_int_equal(bpfu_map_delete_batch(map, &b), -TWIN_ENOTSUPP);
	assert_int_equal(bpfu_map_lookup_and_delete_batch(map, &b), -TWIN_ENOTSUPP);
	bpfu_map_put(map);
}

/* ---- one kind ---- */

struct variant {
	enum bpf_prog_type type;
	enum bpf_attach_type attach;
	uint32_t flags;
};

/* The first row is what decides; the errno of storing each of the others after it. */
static const struct variant variants[] = {
	{ BPF_PROG_TYPE_XDP, 0, 0 },
	{ BPF_PROG_TYPE_XDP, BPF_XDP, 0 },
	{ BPF_PROG_TYPE_XDP, BPF_XDP_DEVMAP, 0 },
	{ BPF_PROG_TYPE_XDP, 0, BPF_F_XDP_HAS_FRAGS },
	{ BPF_PROG_TYPE_SOCKET_FILTER, 0, 0 },
	{ BPF_PROG_TYPE_SCHED_CLS, 0, 0 },
};

static int kernel_errno_after_first(const struct variant *v)
{
	const struct bpf_insn insns[] = {
		BPFU_INSN(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 1),
		BPFU_INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
	};
	union bpf_attr attr = twin_attr(BPF_MAP_TYPE_PROG_ARRAY, 4, 4, 2, 0);
	int map = kern_bpf(BPF_MAP_CREATE, &attr), fd[2], err = -1;
	uint32_t i;

	assert_true(map >= 0);
	for (i = 0; i < 2; i++) {
		const struct variant *w = i ? v : &variants[0];
		const struct kern_prog prog = { .type = w->type,
						.attach_type = w->attach,
						.flags = w->flags,
						.insns = insns,
						.cnt = BPFU_ARRAY_SIZE(insns) };

		fd[i] = kern_prog_load(&prog, NULL);
		assert_true(fd[i] >= 0);
		err = kern_map_update(map, &i, &fd[i]);
	}
	close(fd[0]);
	close(fd[1]);
	close(map);
	return err;
}

static void one_kind_of_programs(void **state)
{
	bool ask_kernel = !kern_unavailable();
	size_t i;

	(void)state;
	for (i = 0; i < BPFU_ARRAY_SIZE(variants); i++) {
		struct bpfu_map *map = array_new(2);
		struct bpfu_prog *first = prog_new(variants[0].type, variants[0].attach, true);
		struct bpfu_prog *prog = prog_new(variants[i].type, variants[i].attach, true);
		int first_fd = prog_fd(first), fd = prog_fd(prog), err;

		prog->xdp_has_frags = variants[i].flags & BPF_F_XDP_HAS_FRAGS;
		assert_int_equal(store(map, 0, first_fd, BPF_ANY), 0);
		err = store(map, 1, fd, BPF_ANY);
		assert_int_equal(err, i ? -EINVAL : 0);
		if (ask_kernel)
			assert_int_equal(err, kernel_errno_after_first(&variants[i]));
		assert_int_equal(prog->obj.refs, i ? 1 : 2);
		assert_int_equal(bpfu_prog_array_accepts(map, prog), i == 0);
		prog_close(first_fd);
		prog_close(fd);
		bpfu_map_put(map);
	}
	end_of_test(2 * BPFU_ARRAY_SIZE(variants));
}

/* Interpreted and compiled programs jump in different ways. */
static void not_jited_and_interpreted(void **state)
{
	struct bpfu_map *map = array_new(2);
	struct bpfu_prog *jited = prog_new(BPF_PROG_TYPE_XDP, 0, true);
	struct bpfu_prog *interpreted = prog_new(BPF_PROG_TYPE_XDP, 0, false);
	int fd = prog_fd(jited), other_fd = prog_fd(interpreted);

	(void)state;
	/* Loading a program that jumps through the array decides, too. */
	assert_true(bpfu_prog_array_accepts(map, interpreted));
	assert_int_equal(store(map, 0, fd, BPF_ANY), -EINVAL);
	assert_int_equal(store(map, 0, other_fd, BPF_ANY), 0);
	prog_close(fd);
	prog_close(other_fd);
	bpfu_map_put(map);
	end_of_test(2);
}

/* ---- who keeps whom ---- */

static void array_lets_go_at_its_end(void **state)
{
	struct bpfu_map *map = array_new(2);
	struct bpfu_prog *prog = prog_new(BPF_PROG_TYPE_XDP, 0, true);
	int fd = prog_fd(prog);

	(void)state;
	assert_int_equal(store(map, 0, fd, BPF_ANY), 0);
	assert_int_equal(store(map, 1, fd, BPF_ANY), 0);
	prog_close(fd);
	end_of_test(0);
	bpfu_map_put(map);
	end_of_test(1);
}

static void last_uref(struct bpfu_obj *obj)
{
	bpfu_map_of(obj)->ops->release_uref(bpfu_map_of(obj));
}

/* The program holds the array as one of its maps, the array holds the program. */
static void cycle_ends_with_the_last_descriptor(void **state)
{
	struct bpfu_map *map = array_new(2);
	struct bpfu_prog *prog = prog_new(BPF_PROG_TYPE_XDP, 0, true);
	int fd = prog_fd(prog), map_fd;

	(void)state;
	bpfu_obj_get(&map->obj);
	assert_int_equal(bpfu_prog_bind_map(prog, map), 0);
	map->obj.last_uref = last_uref;
	assert_int_equal(bpfu_obj_publish(&map->obj), 0);
	map_fd = bpfu_fd_install(&map->obj, -1);
	assert_true(map_fd >= 0);
	assert_int_equal(store(map, 0, fd, BPF_ANY), 0);
	prog_close(fd);
	end_of_test(0);
	prog_close(map_fd);
	end_of_test(1);
}

/* A command that stores while the last descriptor is closed must not bring the cycle back. */
static void late_store_is_dropped(void **state)
{
	struct bpfu_map *map = array_new(2);
	struct bpfu_prog *prog = prog_new(BPF_PROG_TYPE_XDP, 0, true);
	int fd = prog_fd(prog);

	(void)state;
	map->ops->release_uref(map);
	assert_int_equal(store(map, 0, fd, BPF_ANY), 0);
	assert_null(entry(map, 0));
	prog_close(fd);
	end_of_test(1);
	bpfu_map_put(map);
}

/* A program that has read the entry may still jump there when the last reference goes. */
static void replaced_program_survives_the_section(void **state)
{
	struct bpfu_map *map = array_new(1);
	struct bpfu_prog *prog = prog_new(BPF_PROG_TYPE_XDP, 0, true);
	int fd = prog_fd(prog);
	uint32_t key = 0;

	(void)state;
	assert_int_equal(store(map, 0, fd, BPF_ANY), 0);
	prog_close(fd);
	bpfu_cpu_enter();
	prog = entry(map, 0);
	assert_int_equal(bpfu_map_delete_user(map, &key), 0);
	bpfu_rcu_poll();
	assert_int_equal(atomic_load(&released), 0);
	assert_int_equal(prog->type, BPF_PROG_TYPE_XDP);
	bpfu_cpu_exit();
	bpfu_map_put(map);
	end_of_test(1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(descriptors_in_ids_out),
		cmocka_unit_test(errors),
		cmocka_unit_test(no_batches),
		cmocka_unit_test(one_kind_of_programs),
		cmocka_unit_test(not_jited_and_interpreted),
		cmocka_unit_test(array_lets_go_at_its_end),
		cmocka_unit_test(cycle_ends_with_the_last_descriptor),
		cmocka_unit_test(late_store_is_dropped),
		cmocka_unit_test(replaced_program_survives_the_section),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
