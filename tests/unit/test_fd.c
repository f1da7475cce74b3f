// SPDX-License-Identifier: BSD-2-Clause
/*
 * Descriptors: reported and unreported closes and dups, reuse of a number, access modes, shared
 * memory inodes, running out of descriptors, fork, vfork and SCM_RIGHTS. The shim is not linked
 * here: the tests report, or leave unreported, what it would.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "obj/obj.h"

static int alive;

static void release(struct bpfu_obj *obj)
{
	alive--;
	free(obj);
}

static struct bpfu_obj *make(enum bpfu_obj_kind kind)
{
	struct bpfu_obj *obj = calloc(1, sizeof(*obj));

	assert_non_null(obj);
	bpfu_obj_init(obj, kind, release);
	alive++;
	return obj;
}

static int install(struct bpfu_obj *obj)
{
	int fd = bpfu_fd_install(obj, -1);

	assert_true(fd >= 0);
	return fd;
}

static void expect_obj(int fd, struct bpfu_obj *want)
{
	struct bpfu_obj *obj = bpfu_fd_get(fd);

	assert_ptr_equal(obj, want);
	bpfu_obj_put(obj);
}

static void expect_mode(int fd, int want)
{
	struct bpfu_obj *obj;
	int mode;

	assert_int_equal(bpfu_fd_get_mode(fd, BPFU_OBJ_MAP, -EINVAL, &obj, &mode), 0);
	bpfu_obj_put(obj);
	assert_int_equal(mode, want);
}

static void reported_close(int fd)
{
	bpfu_fd_closing(fd);
	assert_int_equal(close(fd), 0);
}

static void test_install_and_close(void **state)
{
	struct bpfu_obj *obj = make(BPFU_OBJ_MAP), *found;
	int fd = install(obj), copy;

	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	expect_obj(fd, obj);
	assert_int_equal(bpfu_fd_get_kind(fd, BPFU_OBJ_MAP, -EINVAL, &found), 0);
	bpfu_obj_put(found);
	assert_int_equal(bpfu_fd_get_kind(fd, BPFU_OBJ_PROG, -EINVAL, &found), -EINVAL);
	assert_int_equal(bpfu_fd_get_kind(0, BPFU_OBJ_MAP, -EINVAL, &found), -EINVAL);
	assert_int_equal(bpfu_fd_get_kind(-1, BPFU_OBJ_MAP, -EINVAL, &found), -EBADF);
	copy = dup(fd);
	bpfu_fd_duped(fd, copy);
	reported_close(fd);
	assert_int_equal(alive, 1);
	expect_obj(copy, obj);
	assert_int_equal(bpfu_fd_highest(), copy);
	reported_close(copy);
	assert_int_equal(alive, 0);
	assert_null(bpfu_fd_get(copy));
	assert_int_equal(bpfu_fd_highest(), -1);
}

static void test_two_descriptions(void **state)
{
	struct bpfu_obj *obj = make(BPFU_OBJ_PROG);
	int a = install(obj), b;

	bpfu_obj_get(obj);
	b = install(obj);
	reported_close(a);
	expect_obj(b, obj);
	assert_int_equal(atomic_load(&obj->urefs), 1);
	reported_close(b);
	assert_int_equal(alive, 0);
}

/* A memfd of the application is not ours, nor is a number that now means another file. */
static void test_others_descriptors(void **state)
{
	struct bpfu_obj *obj = make(BPFU_OBJ_MAP);
	int fd = install(obj), other;

	other = memfd_create("other", MFD_CLOEXEC);
	assert_null(bpfu_fd_get(other));
	bpfu_fd_closing(other);
	close(fd); /* unreported */
	assert_int_equal(dup2(other, fd), fd);
	assert_null(bpfu_fd_get(fd));
	close(fd);
	close(other);
	/* The same number with another object of ours: the leftover goes. */
	struct bpfu_obj *next = make(BPFU_OBJ_MAP);

	assert_int_equal(install(next), fd);
	assert_int_equal(alive, 1);
	expect_obj(fd, next);
	reported_close(fd);
	assert_int_equal(alive, 0);
}

/* Closes that nobody reports do not pile up. */
static void test_sweep(void **state)
{
	struct bpfu_obj *objs[64];
	int fds[64];

	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < 64; i++)
			fds[i] = install(objs[i] = make(BPFU_OBJ_BTF));
		for (int i = 0; i < 64; i++)
			close(fds[i]);
	}
	assert_true(alive <= 130);
	fds[0] = install(make(BPFU_OBJ_BTF));
	for (int i = 1; i < 64; i++)
		fds[i] = install(make(BPFU_OBJ_BTF));
	for (int i = 0; i < 64; i++)
		reported_close(fds[i]);
	assert_int_equal(alive, 0);
}

/* A dup that nobody reported counts from its first use on. */
static void test_unreported_dup(void **state)
{
	struct bpfu_obj *obj = make(BPFU_OBJ_MAP);
	int fd = install(obj);
	int copy = dup(fd);

	expect_obj(copy, obj);
	reported_close(fd);
	expect_obj(copy, obj);
	reported_close(copy);
	assert_int_equal(alive, 0);
}

static void test_modes(void **state)
{
	struct bpfu_obj *obj = make(BPFU_OBJ_MAP);
	int rw = install(obj), ro, wo;

	bpfu_obj_get(obj);
	ro = bpfu_fd_install_mode(obj, -1, O_RDONLY);
	assert_true(ro >= 0);
	bpfu_obj_get(obj);
	wo = bpfu_fd_install_mode(obj, -1, O_WRONLY);
	assert_true(wo >= 0);
	expect_mode(rw, O_RDWR);
	expect_mode(ro, O_RDONLY);
	expect_mode(wo, O_WRONLY);
	assert_true(fcntl(ro, F_GETFD) & FD_CLOEXEC);
	reported_close(rw);
	reported_close(ro);
	reported_close(wo);
	assert_int_equal(alive, 0);
}

/* Mappable maps: all descriptors are of the memory's inode, with their own modes. */
static void test_memory_inode(void **state)
{
	int mem_fd = memfd_create("values", MFD_CLOEXEC);
	struct bpfu_obj *obj = make(BPFU_OBJ_MAP);
	char *values, *view;
	int rw, ro;

	assert_int_equal(ftruncate(mem_fd, 4096), 0);
	values = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, mem_fd, 0);
	rw = bpfu_fd_install(obj, mem_fd);
	bpfu_obj_get(obj);
	ro = bpfu_fd_install_mode(obj, mem_fd, O_RDONLY);
	expect_mode(rw, O_RDWR);
	expect_mode(ro, O_RDONLY);
	view = mmap(NULL, 4096, PROT_READ, MAP_SHARED, ro, 0);
	assert_ptr_not_equal(view, MAP_FAILED);
	memcpy(values, "shared", 7);
	assert_string_equal(view, "shared");
	assert_int_equal(mprotect(view, 4096, PROT_READ | PROT_WRITE), -1);
	/* One user reference for the inode, however many descriptors it has. */
	assert_int_equal(atomic_load(&obj->urefs), 1);
	reported_close(rw);
	expect_obj(ro, obj);
	reported_close(ro);
	assert_int_equal(alive, 0);
	munmap(view, 4096);
	munmap(values, 4096);
	close(mem_fd);
}

static void test_out_of_descriptors(void **state)
{
	struct rlimit old, low;
	struct bpfu_obj *obj;
	int fds[64], cnt = 0;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	low = old;
	low.rlim_cur = 40;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	for (;;) {
		obj = make(BPFU_OBJ_MAP);
		fds[cnt] = bpfu_fd_install(obj, -1);
		if (fds[cnt] < 0)
			break;
		cnt++;
		assert_true(cnt < 64);
	}
	assert_int_equal(fds[cnt], -EMFILE);
	assert_int_equal(bpfu_fd_install_mode(obj, -1, O_RDONLY), -EMFILE);
	assert_int_equal(alive, cnt + 1); /* the reference stayed ours */
	bpfu_obj_put(obj);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	while (cnt)
		reported_close(fds[--cnt]);
	assert_int_equal(alive, 0);
}

static int wait_for(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void test_fork(void **state)
{
	struct bpfu_obj *obj = make(BPFU_OBJ_MAP);
	int fd = install(obj);
	pid_t pid = fork();

	if (!pid) {
		struct bpfu_obj *found = bpfu_fd_get(fd);
		int more = bpfu_fd_install(make(BPFU_OBJ_PROG), -1);

		if (found != obj || more < 0)
			_exit(1);
		bpfu_obj_put(found);
		bpfu_fd_closing(more);
		bpfu_fd_closing(fd);
		_exit(alive != 0);
	}
	assert_int_equal(wait_for(pid), 0);
	expect_obj(fd, obj);
	reported_close(fd);
	assert_int_equal(alive, 0);
}

/* A child that shares our memory closes its copies before it execs; ours must not notice. */
static int fd_for_vfork;

static int vfork_child(void *arg)
{
	bpfu_fd_closing(fd_for_vfork);
	close(fd_for_vfork);
	_exit(0);
}

static void test_vfork(void **state)
{
	struct bpfu_obj *obj = make(BPFU_OBJ_MAP);
	static char stack[64 * 1024] __attribute__((aligned(16)));
	pid_t pid;

	fd_for_vfork = install(obj);
	pid = clone(vfork_child, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
	assert_true(pid > 0);
	assert_int_equal(wait_for(pid), 0);
	assert_int_equal(alive, 1);
	expect_obj(fd_for_vfork, obj);
	reported_close(fd_for_vfork);
	assert_int_equal(alive, 0);
}

static void send_fd(int sock, int fd)
{
	char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec iov = { "x", 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
			      .msg_controllen = sizeof(control) };
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(cmsg), &fd, sizeof(int));
	assert_int_equal(sendmsg(sock, &msg, 0), 1);
	bpfu_fd_passed(fd);
}

static int receive_fd(int sock)
{
	char control[CMSG_SPACE(sizeof(int))], byte;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
			      .msg_controllen = sizeof(control) };
	int fd;

	assert_int_equal(recvmsg(sock, &msg, 0), 1);
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(int));
	return fd;
}

/* In flight no descriptor is open, yet the object must still be there when it arrives. */
static void test_scm_rights(void **state)
{
	struct bpfu_obj *obj = make(BPFU_OBJ_MAP);
	int fd = install(obj), pair[2], got;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	send_fd(pair[0], fd);
	reported_close(fd);
	assert_int_equal(alive, 1);
	got = receive_fd(pair[1]);
	expect_obj(got, obj);
	reported_close(got);
	assert_int_equal(alive, 0);
	close(pair[0]);
	close(pair[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_install_and_close),
		cmocka_unit_test(test_two_descriptions),
		cmocka_unit_test(test_others_descriptors),
		cmocka_unit_test(test_sweep),
		cmocka_unit_test(test_unreported_dup),
		cmocka_unit_test(test_modes),
		cmocka_unit_test(test_memory_inode),
		cmocka_unit_test(test_out_of_descriptors),
		cmocka_unit_test(test_fork),
		cmocka_unit_test(test_vfork),
		cmocka_unit_test(test_scm_rights),
	};

	return cmocka_run_group_tests_name("fd", tests, NULL, NULL);
}
