// SPDX-License-Identifier: BSD-2-Clause
/*
 * Descriptors are descriptors: what dup, fcntl, close_range, fork, a socket, a signal and the limit on
 * open files do to them, by every spelling that a program may use.
 */
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api.h"

static int new_map(uint32_t *id)
{
	int fd = map_new(BPF_MAP_TYPE_ARRAY, 4, 8, 1, 0);

	expect_ok(fd);
	*id = id_of(fd);
	return fd;
}

/* Freed now, or soon by the kernel's worker. */
static void expect_gone(uint32_t id)
{
	int fd = 0;

	for (int i = 0; i < 100000; i++) {
		fd = fd_by_id(BPF_MAP_GET_FD_BY_ID, id);
		if (fd < 0)
			break;
		close(fd);
	}
	expect_eq(fd, -ENOENT);
}

static void expect_alive(uint32_t id)
{
	int fd = fd_by_id(BPF_MAP_GET_FD_BY_ID, id);

	expect_ok(fd);
	close(fd);
}

enum dup_way { DUP, DUP2, DUP3, FCNTL, FCNTL_CLOEXEC, SYS_DUP, SYS_DUP3, SYS_FCNTL, DUP_WAYS };

static int dup_by(enum dup_way way, int fd)
{
	switch (way) {
	case DUP:
		return dup(fd);
	case DUP2:
		return dup2(fd, 200);
	case DUP3:
		return dup3(fd, 201, O_CLOEXEC);
	case FCNTL:
		return fcntl(fd, F_DUPFD, 100);
	case FCNTL_CLOEXEC:
		return fcntl(fd, F_DUPFD_CLOEXEC, 100);
	case SYS_DUP:
		return syscall(__NR_dup, fd);
	case SYS_DUP3:
		return syscall(__NR_dup3, fd, 202, 0);
	case SYS_FCNTL:
		return syscall(__NR_fcntl, fd, F_DUPFD, 50);
	default:
		return -1;
	}
}

static void dups(void)
{
	for (int way = 0; way < DUP_WAYS; way++) {
		uint32_t id, key = 0;
		int fd = new_map(&id), copy = dup_by(way, fd);
		uint64_t value = 5;

		if (!expect_true(copy >= 0 && copy != fd))
			expect_eq(way, -1);
		close(fd);
		expect_eq(map_update(copy, &key, &value, 0), 0);
		expect_alive(id);
		if (way % 2)
			close(copy);
		else
			syscall(__NR_close, copy);
		expect_gone(id);
		expect_eq(map_lookup(copy, &key, &value), -EBADF);
	}
}

/* A dup onto a descriptor closes it, unless the dup fails. */
static void dup_over(void)
{
	uint32_t id, id2;
	int fd = new_map(&id), fd2 = new_map(&id2);

	expect_eq(dup2(999, fd), -1);
	expect_alive(id);
	expect_eq(dup2(fd, fd), fd);
	expect_alive(id);
	expect_eq(dup3(fd, fd, 0), -1);
	expect_alive(id);
	expect_eq(dup3(0, fd, 12345), -1);
	expect_alive(id);
	expect_eq(dup2(fd2, fd), fd);
	expect_gone(id);
	expect_eq(id_of(fd), id2);
	close(fd2);
	expect_alive(id2);
	expect_eq(dup2(0, fd), fd);
	expect_gone(id2);
	expect_eq(id_of(fd), 0);
	close(fd);
}

static void ranges(void)
{
	uint32_t id, id2, id3;
	int fd = new_map(&id), fd2 = new_map(&id2), fd3 = new_map(&id3);

	expect_eq(dup2(fd2, 300), 300);
	expect_eq(dup2(fd3, 310), 310);
	close(fd2);
	close(fd3);
	expect_eq(close_range(290, ~0u, CLOSE_RANGE_CLOEXEC), 0);
	expect_alive(id2);
	expect_eq(close_range(290, 305, 0), 0);
	expect_gone(id2);
	expect_alive(id3);
	closefrom(250);
	expect_gone(id3);
	expect_alive(id);
	expect_eq(close_range(fd, fd, 0), 0);
	expect_gone(id);
	expect_eq(close_range(5, 4, 0), -1);
}

static void forks(void)
{
	uint32_t id, key = 0;
	int fd = new_map(&id), status;
	uint64_t value = 5;
	pid_t pid;

	expect_eq(map_update(fd, &key, &value, 0), 0);
	pid = fork();
	if (!pid) {
		static const struct bpf_insn insns[] = { MOV64_IMM(0, 3), EXIT() };
		int prog = prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, insns, 2);
		uint32_t retval;

		value = 0;
		if (map_lookup(fd, &key, &value) || value != 5)
			_exit(1);
		if (test_run(prog, &retval) || retval != 3)
			_exit(2);
		close(fd);
		_exit(0);
	}
	expect_eq(waitpid(pid, &status, 0), pid);
	expect_eq(status, 0);
	expect_eq(map_lookup(fd, &key, &value), 0);
	close(fd);
	expect_gone(id);
}

static void sockets(void)
{
	char control[CMSG_SPACE(sizeof(int))] = { 0 }, byte = 'x';
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
			      .msg_controllen = sizeof(control) };
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);
	int pair[2], fd, got;
	uint32_t id;

	fd = new_map(&id);
	expect_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(cmsg), &fd, sizeof(int));
	expect_eq(sendmsg(pair[0], &msg, 0), 1);
	close(fd);
	expect_alive(id); /* in flight */
	msg.msg_controllen = sizeof(control);
	expect_eq(recvmsg(pair[1], &msg, 0), 1);
	memcpy(&got, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(int));
	expect_eq(id_of(got), id);
	close(got);
	expect_gone(id);
	close(pair[0]);
	close(pair[1]);
}

static void limit(void)
{
	struct bpf_insn insns[] = { MOV64_IMM(0, 0), EXIT() };
	struct rlimit old, low;
	int fds[64], cnt = 0;

	getrlimit(RLIMIT_NOFILE, &old);
	low = old;
	low.rlim_cur = 40;
	setrlimit(RLIMIT_NOFILE, &low);
	while (cnt < 64 && (fds[cnt] = map_new(BPF_MAP_TYPE_HASH, 4, 8, 1, 0)) >= 0)
		cnt++;
	expect_eq(cnt < 64 ? fds[cnt] : 0, -EMFILE);
	expect_eq(map_new(BPF_MAP_TYPE_ARRAY, 4, 8, 1, BPF_F_MMAPABLE), -EMFILE);
	expect_eq(prog_load(BPF_PROG_TYPE_SOCKET_FILTER, insns, 2), -EMFILE);
	expect_eq(btf_small(), -EMFILE);
	expect_eq(fd_by_id(BPF_MAP_GET_FD_BY_ID, id_of(fds[0])), -EMFILE);
	setrlimit(RLIMIT_NOFILE, &old);
	while (cnt)
		close(fds[--cnt]);
}

/* ---- signals ---- */

#define SIGNALS 2000

static int shared_map;
static volatile sig_atomic_t handled, handler_failed;

/* So late that the thread gets on, and each time elsewhere. */
static void arm_timer(void)
{
	const struct itimerval soon = { .it_value.tv_usec = 50 + handled * 7 % 100 };

	setitimer(ITIMER_REAL, &soon, NULL);
}

/* What is a system call on a kernel may be called by a handler. */
static void on_alarm(int sig)
{
	int saved_errno = errno, copy = dup(shared_map);
	uint64_t value = 0;
	uint32_t key = 0;

	if (map_lookup(shared_map, &key, &value) || value != 7 || copy < 0 ||
	    map_lookup(copy, &key, &value) || close(copy))
		handler_failed = 1;
	handled++;
	errno = saved_errno;
	if (handled < SIGNALS)
		arm_timer();
}

/* A handler looks up, duplicates and closes wherever it interrupts the same. */
static void signals(void)
{
	const struct sigaction action = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
	uint64_t value = 7, failed = 0;
	uint32_t key = 0, id;

	shared_map = new_map(&id);
	expect_ok(map_update(shared_map, &key, &value, BPF_ANY));
	sigaction(SIGALRM, &action, NULL);
	arm_timer();
	while (handled < SIGNALS) {
		int copy = dup(shared_map);

		failed += copy < 0 || map_lookup(copy, &key, &value) || close(copy);
		for (int i = 0; i < 10; i++)
			failed += map_lookup(shared_map, &key, &value) != 0;
	}
	expect_eq(failed, 0);
	expect_eq(handler_failed, 0);
	expect_alive(id);
	close(shared_map);
	expect_gone(id);
}

API_MAIN(API_TEST(dups), API_TEST(dup_over), API_TEST(ranges), API_TEST(forks),
	 API_TEST(sockets), API_TEST(limit), API_TEST(signals))
