// SPDX-License-Identifier: BSD-2-Clause
/*
 * A command in a process group of its own, so that it can be stopped with its children. The child waits
 * on a pipe until the counters are attached; they count from its exec on, and are inherited.
 */
#include "measure/command.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "measure/sample.h"
#include "util/interrupt.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

#define STOP_MS 2000

static void child(char *const *argv, bool quiet, int go, int failed)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), err;
	sigset_t none;
	char c;

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	dup2(null, STDIN_FILENO);
	dup2(quiet ? null : STDERR_FILENO, STDOUT_FILENO);
	if (quiet)
		dup2(null, STDERR_FILENO);
	if (read(go, &c, 1) != 1)
		_exit(1);
	execvp(argv[0], argv);
	err = errno;
	if (write(failed, &err, sizeof(err)) != sizeof(err))
		_exit(126);
	_exit(127);
}

static int open_counter(pid_t pid, uint32_t type, uint64_t config)
{
	struct perf_event_attr attr = {
		.type = type,
		.size = sizeof(attr),
		.config = config,
		.disabled = 1,
		.inherit = 1,
		.enable_on_exec = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd >= 0 || errno != EACCES)
		return fd;
	attr.exclude_kernel = 1;
	return (int)syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static bool read_counter(int fd, uint64_t *value)
{
	return fd >= 0 && read(fd, value, sizeof(*value)) == sizeof(*value);
}

/* Wait for @pid; false if a signal came first. SIGINT and SIGTERM are blocked but for here. */
static bool wait_interruptible(int pidfd, const sigset_t *mask)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	while (!interrupt_signal())
		if (ppoll(&p, 1, NULL, mask) == 1)
			return true;
	return false;
}

/* The whole group, the hard way if it does not end soon. */
static void stop_group(pid_t pid, int pidfd)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	kill(-pid, SIGTERM);
	poll(&p, 1, STOP_MS);
	kill(-pid, SIGKILL);
}

static int check_status(const char *name, int status, int exec_err, struct errline *e)
{
	if (exec_err)
		return errline_set(e, -exec_err, "cannot run '%s': %s", name,
				   exec_err == ENOENT ? "no such command" : strerror(exec_err));
	if (WIFSIGNALED(status))
		return errline_set(e, -ECHILD, "'%s' was ended by signal %d (%s)", name,
				   WTERMSIG(status), strsignal(WTERMSIG(status)));
	if (WEXITSTATUS(status))
		return errline_set(e, -ECHILD, "'%s' failed with exit status %d: the time of a failure "
				   "says nothing", name, WEXITSTATUS(status));
	return 0;
}

static int measure(pid_t pid, int go, int failed, const char *name, const sigset_t *mask,
		   struct command_result *r, struct errline *e)
{
	int misses = open_counter(pid, PERF_TYPE_HW_CACHE,
				  PERF_COUNT_HW_CACHE_ITLB | PERF_COUNT_HW_CACHE_OP_READ << 8 |
					  PERF_COUNT_HW_CACHE_RESULT_MISS << 16);
	int insns = open_counter(pid, PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0), status = 0, exec_err = 0;
	uint64_t begin = sample_now_ns();
	bool ended;

	if (pidfd < 0) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		return errline_set(e, -errno, "pidfd_open: %s (Linux 5.3 has it)", strerror(errno));
	}
	ended = write(go, "x", 1) == 1 && wait_interruptible(pidfd, mask);
	r->seconds = (double)(sample_now_ns() - begin) * 1e-9;
	if (!ended)
		stop_group(pid, pidfd);
	waitpid(pid, &status, 0);
	close(pidfd);
	r->has_counters = read_counter(misses, &r->itlb_misses) &&
			  read_counter(insns, &r->instructions);
	if (misses >= 0)
		close(misses);
	if (insns >= 0)
		close(insns);
	if (!ended)
		return -EINTR;
	if (read(failed, &exec_err, sizeof(exec_err)) != sizeof(exec_err))
		exec_err = 0;
	return check_status(name, status, exec_err, e);
}

int command_run(char *const *argv, bool quiet, struct command_result *result, struct errline *e)
{
	int go[2] = { -1, -1 }, failed[2] = { -1, -1 }, err;
	sigset_t block, before;
	pid_t pid;

	memset(result, 0, sizeof(*result));
	if (pipe2(go, O_CLOEXEC) || pipe2(failed, O_CLOEXEC))
		return errline_set(e, -errno, "cannot make a pipe: %s", strerror(errno));
	sigemptyset(&block);
	sigaddset(&block, SIGINT);
	sigaddset(&block, SIGTERM);
	sigprocmask(SIG_BLOCK, &block, &before);
	fflush(NULL);
	pid = fork();
	if (!pid)
		child(argv, quiet, go[0], failed[1]);
	close(go[0]);
	close(failed[1]);
	if (pid < 0)
		err = errline_set(e, -errno, "cannot start '%s': %s", argv[0], strerror(errno));
	else
		setpgid(pid, pid); /* whoever is first */
	if (pid > 0)
		err = measure(pid, go[1], failed[0], argv[0], &before, result, e);
	close(go[1]);
	close(failed[0]);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return err;
}
