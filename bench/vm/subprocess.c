// SPDX-License-Identifier: BSD-2-Clause
/* fork, exec, poll. The child is in a process group of its own, so that Ctrl-C reaches us alone. */
#include "vm/subprocess.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/interrupt.h"

#define STOP_MS 2000

static bool is_kept(int fd, const int *fds, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (fds[i] == fd)
			return true;
	return false;
}

static _Noreturn void child(const char *const *argv, const char *dir, const int *fds, size_t nr, int out,
			    int err, pid_t parent, int failed)
{
	int null = open("/dev/null", O_RDWR), why;
	sigset_t none;

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	dup2(null, STDIN_FILENO);
	dup2(out >= 0 ? out : null, STDOUT_FILENO);
	dup2(err >= 0 ? err : null, STDERR_FILENO);
	for (int fd = 3; fd < 1024; fd++)
		if (fd != failed && !is_kept(fd, fds, nr))
			close(fd);
	for (size_t i = 0; i < nr; i++)
		fcntl(fds[i], F_SETFD, 0);
	if (!dir || !chdir(dir))
		execvp(argv[0], (char *const *)argv);
	why = errno;
	if (write(failed, &why, sizeof(why)) != sizeof(why))
		_exit(126);
	_exit(127);
}

static pid_t start(const char *const *argv, const char *dir, const int *fds, size_t nr, int out, int err,
		   struct errline *e)
{
	int failed[2], why = 0;
	pid_t parent = getpid(), pid;

	if (pipe2(failed, O_CLOEXEC))
		return errline_set(e, -errno, "cannot make a pipe: %s", strerror(errno));
	fflush(NULL);
	pid = fork();
	if (!pid)
		child(argv, dir, fds, nr, out, err, parent, failed[1]);
	close(failed[1]);
	if (pid > 0 && read(failed[0], &why, sizeof(why)) == sizeof(why)) {
		waitpid(pid, NULL, 0);
		errno = why;
		pid = -1;
	}
	close(failed[0]);
	if (pid < 0)
		return errline_set(e, -errno, "cannot run '%s': %s", argv[0],
				   errno == ENOENT ? "no such program" : strerror(errno));
	return pid;
}

pid_t subprocess_start(const char *const *argv, const int *fds, size_t nr, int err, struct errline *e)
{
	return start(argv, NULL, fds, nr, -1, err, e);
}

int subprocess_stop(pid_t pid)
{
	int status = 0;

	kill(-pid, SIGKILL);
	kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

struct collector {
	struct subprocess_output *out;
	char line[512]; /* of standard error, as far as it came */
	char last[512];
};

static void end_line(struct collector *c)
{
	/* of apt's lines the first error says why, the last that something was wrong */
	if (c->line[0] && strncmp(c->last, "E: ", 3))
		memcpy(c->last, c->line, sizeof(c->last));
	c->line[0] = '\0';
}

static void take_err(struct collector *c, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		size_t at = strlen(c->line);

		if (text[i] == '\n' || text[i] == '\r')
			end_line(c);
		else if (at + 1 < sizeof(c->line) && (unsigned char)text[i] >= ' ')
			memcpy(c->line + at, (char[]){ text[i], '\0' }, 2);
	}
}

/* Both pipes up to their ends. */
static int collect(struct collector *c, int out, int err)
{
	struct pollfd p[2] = { { .fd = out, .events = POLLIN }, { .fd = err, .events = POLLIN } };
	char buf[16384];

	while (p[0].fd >= 0 || p[1].fd >= 0) {
		if (interrupt_signal())
			return -EINTR;
		if (poll(p, 2, 200) <= 0)
			continue;
		for (int i = 0; i < 2; i++) {
			ssize_t len;

			if (p[i].fd < 0 || !p[i].revents)
				continue;
			len = read(p[i].fd, buf, sizeof(buf));
			if (len <= 0)
				p[i].fd = -1;
			else if (i)
				take_err(c, buf, (size_t)len);
			else if (c->out && text_buf_add(&c->out->out, buf, (size_t)len))
				return -ENOMEM;
		}
	}
	end_line(c);
	return 0;
}

static int finish(pid_t pid, const char *name, const struct collector *c, int err, struct errline *e)
{
	int status = 0;

	if (err) {
		kill(-pid, SIGTERM);
		for (int i = 0; i < STOP_MS / 10 && waitpid(pid, &status, WNOHANG) == 0; i++)
			usleep(10000);
		kill(-pid, SIGKILL);
		waitpid(pid, &status, 0);
		return errline_set(e, err, "'%s' was stopped: %s", name, strerror(-err));
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFSIGNALED(status))
		return errline_set(e, -ECHILD, "'%s' was ended by signal %d", name, WTERMSIG(status));
	if (WEXITSTATUS(status))
		return errline_set(e, -ECHILD, "'%s' failed: %s", name, c->last[0] ? c->last : "it says nothing");
	return 0;
}

int subprocess_run(const char *const *argv, const char *dir, struct subprocess_output *output,
		   struct errline *e)
{
	struct collector c = { .out = output };
	int out[2], err[2], rc;
	pid_t pid;

	if (output)
		memset(output, 0, sizeof(*output));
	if (pipe2(out, O_CLOEXEC))
		return errline_set(e, -errno, "cannot make a pipe: %s", strerror(errno));
	if (pipe2(err, O_CLOEXEC)) {
		close(out[0]);
		close(out[1]);
		return errline_set(e, -errno, "cannot make a pipe: %s", strerror(errno));
	}
	pid = start(argv, dir, NULL, 0, out[1], err[1], e);
	close(out[1]);
	close(err[1]);
	rc = pid < 0 ? (int)pid : finish(pid, argv[0], &c, collect(&c, out[0], err[0]), e);
	close(out[0]);
	close(err[0]);
	if (output)
		snprintf(output->err, sizeof(output->err), "%s", c.last);
	if (rc && output) {
		free(output->out.text);
		output->out = (struct text_buf){ 0 };
	}
	return rc;
}
