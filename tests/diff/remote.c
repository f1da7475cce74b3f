// SPDX-License-Identifier: BSD-2-Clause
/*
 * The protocol: both machines lay out structures alike (64 bits, little endian), so cases, parcels and
 * results go over the pipes as they are, without what is unused at their ends. The greeting carries
 * sizes, which differ where the two are not of one build.
 */
#include "remote.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#define GREETING_MS 20000 /* an emulator has to start */

struct greeting {
	char word[8]; /* "bpfudiff" */
	uint32_t case_size, result_size;
	uint64_t layout;
	char machine[16];
};

struct request {
	uint32_t parcel_size; /* 0: no parcel, a whole case */
	uint32_t case_size;
	uint64_t seed;	      /* of the case's options */
};

static bool read_all(int fd, void *buf, size_t size)
{
	char *at = buf;

	while (size) {
		ssize_t n = read(fd, at, size);

		if (n <= 0) {
			if (n < 0 && errno == EINTR)
				continue;
			return false;
		}
		at += n;
		size -= (size_t)n;
	}
	return true;
}

static bool write_all(int fd, const void *buf, size_t size)
{
	const char *at = buf;

	while (size) {
		ssize_t n = write(fd, at, size);

		if (n <= 0) {
			if (n < 0 && errno == EINTR)
				continue;
			return false;
		}
		at += n;
		size -= (size_t)n;
	}
	return true;
}

static bool comes_soon(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, GREETING_MS) == 1;
}

static void greet(struct greeting *g)
{
	struct utsname name;

	memset(g, 0, sizeof(*g));
	memcpy(g->word, "bpfudiff", sizeof(g->word));
	g->case_size = sizeof(struct diff_case);
	g->result_size = sizeof(struct result);
	g->layout = parcel_layout();
	uname(&name);
	snprintf(g->machine, sizeof(g->machine), "%.15s", name.machine);
}

static void exec_server(const char *command, uint32_t limit, int in, int out)
{
	char line[1024];

	if ((size_t)snprintf(line, sizeof(line), "exec %s --serve --limit %u", command, limit) >=
	    sizeof(line))
		_exit(126);
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* who is killed with a case that hangs cannot close us */
	dup2(in, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	alarm(0);
	execl("/bin/sh", "sh", "-c", line, NULL);
	_exit(127);
}

int remote_open(struct remote *r, const char *command, uint32_t limit)
{
	struct greeting mine, its;
	int to[2], from[2];

	memset(r, 0, sizeof(*r));
	if (pipe2(to, O_CLOEXEC))
		return -errno;
	if (pipe2(from, O_CLOEXEC)) {
		close(to[0]);
		close(to[1]);
		return -EMFILE;
	}
	signal(SIGPIPE, SIG_IGN);
	r->pid = fork();
	if (!r->pid)
		exec_server(command, limit, to[0], from[1]);
	close(to[0]);
	close(from[1]);
	r->to = to[1];
	r->from = from[0];
	r->open = r->pid > 0;
	greet(&mine);
	if (!r->open || !comes_soon(r->from) || !read_all(r->from, &its, sizeof(its)) ||
	    memcmp(mine.word, its.word, sizeof(mine.word)) != 0) {
		fprintf(stderr, "bpfu-diff: '%s' does not answer as bpfu-diff --serve does\n", command);
		remote_close(r);
		return -EPROTO;
	}
	if (mine.case_size != its.case_size || mine.result_size != its.result_size ||
	    mine.layout != its.layout) {
		fprintf(stderr, "bpfu-diff: '%s' is of another build: make both from one source\n",
			command);
		remote_close(r);
		return -EPROTO;
	}
	its.machine[sizeof(its.machine) - 1] = '\0';
	memcpy(r->machine, its.machine, sizeof(its.machine));
	return 0;
}

void remote_close(struct remote *r)
{
	if (!r->open)
		return;
	close(r->to);
	close(r->from);
	kill(r->pid, SIGTERM); /* it has nothing to lose, and may not read what we closed */
	waitpid(r->pid, NULL, 0);
	r->open = false;
}

/* It has closed its pipes: it ends, or has. */
static bool buried(struct remote *r)
{
	int status = 0;

	close(r->to);
	close(r->from);
	waitpid(r->pid, &status, 0);
	r->open = false;
	if (WIFSIGNALED(status))
		snprintf(r->died, sizeof(r->died), "%s", strsignal(WTERMSIG(status)));
	else
		snprintf(r->died, sizeof(r->died), "exit status %d", WEXITSTATUS(status));
	return false;
}

static void send_request(struct remote *r, const struct request *req, const void *body, size_t size)
{
	if (r->open && (!write_all(r->to, req, sizeof(*req)) || !write_all(r->to, body, size)))
		buried(r);
	r->asked = true;
}

void remote_send(struct remote *r, const struct diff_case *c, uint64_t seed)
{
	const struct request req = { .case_size = sizeof(*c), .seed = seed };

	send_request(r, &req, c, sizeof(*c));
}

void remote_send_parcel(struct remote *r, const struct parcel *p)
{
	const struct request req = { .parcel_size = p->size };

	send_request(r, &req, p->bytes, p->size);
}

static bool read_result(int fd, struct result *res)
{
	return read_all(fd, res, offsetof(struct result, dump)) && res->dump_len <= DUMP_MAX &&
	       read_all(fd, res->dump, res->dump_len);
}

bool remote_receive(struct remote *r, struct result *res)
{
	r->asked = false;
	return r->open && (read_result(r->from, res) || buried(r));
}

/* What a server's standard output is must be written by nobody else. */
static int take_output(void)
{
	int out = dup(STDOUT_FILENO);

	dup2(STDERR_FILENO, STDOUT_FILENO);
	return out;
}

/* One request; false at the end of standard input, or if it cannot be answered. */
static bool serve(struct side *side, struct result *res, uint32_t limit)
{
	static struct diff_case c;
	static struct parcel parcel;
	struct request req;

	alarm(0);
	if (!read_all(STDIN_FILENO, &req, sizeof(req)))
		return false;
	alarm(limit);
	if (req.parcel_size) {
		parcel.size = req.parcel_size;
		return parcel.size <= PARCEL_MAX && read_all(STDIN_FILENO, parcel.bytes, parcel.size) &&
		       parcel_run(&parcel, side, res);
	}
	if (req.case_size != sizeof(c) || !read_all(STDIN_FILENO, &c, sizeof(c)))
		return false;
	side_options(side, &c, req.seed, NULL);
	return side_run(side, &c, res, RUN_EXEC, NULL);
}

int remote_serve(uint32_t limit)
{
	static struct result res;
	int out = take_output();
	struct greeting mine;
	struct side side;
	int err = side_open(&side, SIDE_JIT);

	if (err) {
		fprintf(stderr, "bpfu-diff: libbpfu cannot be used: %s\n", strerror(-err));
		return 1;
	}
	greet(&mine);
	if (!write_all(out, &mine, sizeof(mine)))
		return 1;
	while (serve(&side, &res, limit))
		if (!write_all(out, &res, offsetof(struct result, dump) + res.dump_len))
			return 1;
	side_close(&side);
	return 0;
}
