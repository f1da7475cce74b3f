// SPDX-License-Identifier: BSD-2-Clause
/*
 * The life of a guest:
 *
 *	waiting -> booting --ready--> running --exit, signal, failed--> ending -> done
 *
 * It is heard of at least once a second while it runs. Silence means that it hangs, whatever it is doing: for
 * a minute, if it had half of that on a CPU; on a machine that is busy with other things it is given five. A guest that ends before it said how its command ended has crashed.
 */
#include "vm/guest_run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "vm/pvh.h"
#include "vm/qemu_args.h"
#include "vm/subprocess.h"

#define SILENCE_SECONDS 60
#define SILENCE_CPU_SECONDS 30
#define SILENCE_MOST_SECONDS 300
#define END_SECONDS 15 /* to power off */

uint64_t guest_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* The CPU time that @pid has had, in seconds. */
static double cpu_of(pid_t pid)
{
	struct timespec ts;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &ts))
		return 0;
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

/* -------------------------------------------------------------- starting */

static void close_pipes(int fds[NR_GUEST_PIPES])
{
	for (int i = 0; i < NR_GUEST_PIPES; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
		fds[i] = -1;
	}
}

static int make_pipes(struct guest_run *r, int ends[NR_GUEST_PIPES], struct errline *e)
{
	for (int i = 0; i < NR_GUEST_PIPES; i++)
		r->pipes[i] = ends[i] = -1;
	for (int i = 0; i < NR_GUEST_PIPES; i++) {
		int fds[2];

		if (pipe2(fds, O_CLOEXEC))
			return errline_set(e, -errno, "cannot make a pipe: %s", strerror(errno));
		r->pipes[i] = fds[0];
		ends[i] = fds[1];
	}
	return 0;
}

static int spawn(struct guest_run *r, const int ends[NR_GUEST_PIPES], int initrd, struct errline *e)
{
	/* ready to be started, if it can be had so; -1: as it lies there */
	const int kernel = pvh_kernel(r->g->kernel.image);
	char paths[NR_GUEST_PIPES + 2][32];
	const int kept[] = { ends[PIPE_CONSOLE], ends[PIPE_CONTROL], ends[PIPE_OUT], ends[PIPE_ERR], initrd,
			     kernel };
	const struct qemu_files files = {
		.kernel = kernel < 0 ? NULL : paths[NR_GUEST_PIPES + 1],
		.initrd = paths[NR_GUEST_PIPES],
		.console = paths[PIPE_CONSOLE],
		.ports = { [GUEST_CONTROL] = paths[PIPE_CONTROL], [GUEST_OUT] = paths[PIPE_OUT],
			   [GUEST_ERR] = paths[PIPE_ERR] },
	};
	struct qemu_args args;
	int err;

	for (int i = 0; i < NR_GUEST_PIPES; i++)
		snprintf(paths[i], sizeof(paths[i]), "/dev/fd/%d", ends[i]);
	snprintf(paths[NR_GUEST_PIPES], sizeof(paths[0]), "/dev/fd/%d", initrd);
	snprintf(paths[NR_GUEST_PIPES + 1], sizeof(paths[0]), "/dev/fd/%d", kernel);
	err = qemu_args_make(&args, r->g->spec, &r->g->kernel, &files, r->g->qemu_args, e);
	if (!err) {
		r->pid = subprocess_start(args.argv, kept, sizeof(kept) / sizeof(kept[0]) - (kernel < 0),
					  ends[PIPE_QEMU], e);
		err = r->pid < 0 ? (int)r->pid : 0;
		if (err == -ENOENT)
			errline_set(e, err, "no %s here: apt-get install --no-install-recommends %s",
				    args.argv[0], r->g->spec->machine->package);
	}
	qemu_args_release(&args);
	if (kernel >= 0)
		close(kernel);
	return err;
}

void guest_run_start(struct guest_run *r, const char *program)
{
	struct guest *g = r->g;
	const struct initrd_plan plan = {
		.kernel = &g->kernel,
		.init = program,
		.argv = g->argv,
		.env = g->env,
		.files = g->files,
		.nr_files = g->nr_files,
	};
	int ends[NR_GUEST_PIPES], initrd;

	r->start_ns = r->last_ns = guest_now_ns();
	r->pid = -1;
	g->err = make_pipes(r, ends, &g->error);
	if (!g->err) {
		g->err = initrd_make(&plan, &initrd, &g->error);
		if (!g->err) {
			g->err = spawn(r, ends, initrd, &g->error);
			close(initrd);
		}
	}
	close_pipes(ends);
	if (g->err)
		close_pipes(r->pipes);
	r->state = g->err ? GUEST_DONE : GUEST_BOOTING;
}

/* -------------------------------------------------------------- listening */

static void keep_end(char *buf, size_t size, const char *text, size_t len)
{
	size_t have = strlen(buf);

	if (len >= size) {
		text += len - (size - 1);
		len = size - 1;
	}
	if (have + len >= size) {
		size_t gone = have + len - (size - 1);

		memmove(buf, buf + gone, have - gone + 1);
		have -= gone;
	}
	for (size_t i = 0; i < len; i++)
		buf[have + i] = text[i] ? text[i] : ' ';
	buf[have + len] = '\0';
}

static void take_line(struct guest_run *r)
{
	struct guest *g = r->g;
	double seconds = (double)(guest_now_ns() - r->start_ns) * 1e-9;

	if (!strncmp(r->line, "ready ", 6)) {
		snprintf(g->release, sizeof(g->release), "%.120s", r->line + 6);
		g->boot_seconds = seconds;
		r->state = GUEST_RUNNING;
	} else if (!strncmp(r->line, "exit ", 5) || !strncmp(r->line, "signal ", 7)) {
		g->status = r->line[0] == 'e' ? atoi(r->line + 5) : 128 + atoi(r->line + 7);
		r->has_end = true;
		r->state = GUEST_ENDING;
	} else if (!strncmp(r->line, "failed ", 7)) {
		g->err = errline_set(&g->error, -ECHILD, "%s: inside the guest: %.200s", g->label,
				     r->line + 7);
	}
	r->line[0] = '\0';
}

static void take_control(struct guest_run *r, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		size_t at = strlen(r->line);

		if (text[i] == '\n')
			take_line(r);
		else if (at + 1 < sizeof(r->line) && (unsigned char)text[i] >= ' ')
			memcpy(r->line + at, (char[]){ text[i], '\0' }, 2);
	}
}

static void echo_text(FILE *f, const char *text, size_t len)
{
	if (fwrite(text, 1, len, f) == len)
		fflush(f);
}

void guest_run_read(struct guest_run *r, enum guest_pipe p, bool echo)
{
	struct guest *g = r->g;
	char buf[65536];
	ssize_t len = read(r->pipes[p], buf, sizeof(buf));
	int err = 0;

	if (len <= 0) {
		close(r->pipes[p]);
		r->pipes[p] = -1;
		return;
	}
	r->last_ns = guest_now_ns();
	r->last_cpu = cpu_of(r->pid);
	if (p == PIPE_CONSOLE)
		keep_end(g->console, sizeof(g->console), buf, (size_t)len);
	else if (p == PIPE_QEMU)
		keep_end(r->qemu_said, sizeof(r->qemu_said), buf, (size_t)len);
	else if (p == PIPE_CONTROL)
		take_control(r, buf, (size_t)len);
	else if (echo)
		echo_text(p == PIPE_OUT ? stdout : stderr, buf, (size_t)len);
	else
		err = text_buf_add(p == PIPE_OUT ? &g->out : &g->err_out, buf, (size_t)len);
	if (err) {
		g->err = errline_set(&g->error, err, "%s: its output is larger than %u MiB", g->label,
				     TEXT_BUF_MAX >> 20);
		guest_run_kill(r);
	}
}

/* -------------------------------------------------------------- ending */

static void finish(struct guest_run *r)
{
	close_pipes(r->pipes);
	r->g->seconds = (double)(guest_now_ns() - r->start_ns) * 1e-9;
	r->state = GUEST_DONE;
}

void guest_run_kill(struct guest_run *r)
{
	if (r->pid > 0)
		subprocess_stop(r->pid);
	r->pid = -1;
	finish(r);
}

/* What is known of how kernels end, and what helps. */
static const struct {
	const char *sign, *advice;
} signs[] = {
	{ "deadlocked on memory", "give it more memory: mem=1024" },
	{ "Out of memory", "give it more memory: mem=1024" },
	{ "junk within compressed archive", "give it more memory: mem=1024" },
	{ "write error", "give it more memory: mem=1024" },
	{ "unable to mount root fs", "it is built without CONFIG_BLK_DEV_INITRD, or needs more memory: "
				     "mem=1024" },
	{ "Failed to execute /init", "it runs no 64-bit ELF programs, or needs more memory: mem=1024" },
	{ "no virtio-serial ports", "it needs CONFIG_VIRTIO_PCI and CONFIG_VIRTIO_CONSOLE, built in or given "
				    "with bpflab kernel add --modules DIR" },
};

static const char *advice_for(const struct guest *g)
{
	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++)
		if (strstr(g->console, signs[i].sign))
			return signs[i].advice;
	return NULL;
}

/* "Kernel panic - not syncing: WHY", without the brackets of the time stamp in front. */
static bool panic_text(const struct guest *g, char *buf, size_t size)
{
	static const char mark[] = "Kernel panic - not syncing: ";
	const char *p = strstr(g->console, mark);

	if (!p)
		return false;
	p += strlen(mark);
	snprintf(buf, size, "%.*s", (int)strcspn(p, "\r\n"), p);
	return true;
}

static void explain(struct guest_run *r, int status)
{
	struct guest *g = r->g;
	const char *advice = advice_for(g);
	const char *when = r->state == GUEST_BOOTING ? "before its command started" : "while its command ran";
	char panic[200];

	r->qemu_said[strcspn(r->qemu_said, "\n")] = '\0';
	g->err = -ECHILD;
	if (panic_text(g, panic, sizeof(panic)))
		errline_set(&g->error, -ECHILD, "%s: its kernel panicked %s: %s%s%s", g->label, when, panic,
			    advice ? "; " : "", advice ?: "");
	else if (WIFEXITED(status) && WEXITSTATUS(status))
		/* "qemu: invalid kernel header" is the kernel's fault, "cannot allocate memory" is not */
		g->err = errline_set(&g->error, strstr(r->qemu_said, "kernel") ? -ECHILD : -EIO,
				     "%s: %s failed: %.300s", g->label, g->spec->machine->qemu,
				     r->qemu_said[0] ? r->qemu_said : "it says nothing");
	else if (WIFSIGNALED(status))
		g->err = errline_set(&g->error, -EIO, "%s: %s was ended by signal %d", g->label,
				     g->spec->machine->qemu, WTERMSIG(status));
	else
		errline_set(&g->error, -ECHILD, "%s: its kernel ended %s%s%s%s", g->label, when,
			    g->console[0] ? "" : " and printed nothing; is it one for this machine, with a "
			    "serial console?", advice ? ": " : "", advice ?: "");
}

static void too_long(struct guest_run *r, const char *what, double seconds)
{
	struct guest *g = r->g;
	const char *advice = advice_for(g);

	g->err = errline_set(&g->error, -ETIMEDOUT, "%s: %s for %.0f s (%s), so it was ended%s%s", g->label, what,
			     seconds, r->state == GUEST_BOOTING ? "booting" : "running its command",
			     advice ? "; " : "", advice ?: "");
	guest_run_kill(r);
}

/* What is in the pipes when the process is gone; nobody writes any more. */
static void drain(struct guest_run *r, bool echo)
{
	for (int p = 0; p < NR_GUEST_PIPES; p++)
		while (r->pipes[p] >= 0)
			guest_run_read(r, p, echo);
}

void guest_run_check(struct guest_run *r, bool echo)
{
	uint64_t now = guest_now_ns();
	double quiet = (double)(now - r->last_ns) * 1e-9, all = (double)(now - r->start_ns) * 1e-9;
	int status;

	if (waitpid(r->pid, &status, WNOHANG) == r->pid) {
		r->pid = -1;
		drain(r, echo);
		if (!r->g->err && !r->has_end)
			explain(r, status);
		finish(r);
	} else if (r->state == GUEST_ENDING && quiet > END_SECONDS) {
		guest_run_kill(r); /* it has said all that matters */
	} else if (quiet > SILENCE_MOST_SECONDS ||
		   (quiet > SILENCE_SECONDS && cpu_of(r->pid) - r->last_cpu > SILENCE_CPU_SECONDS)) {
		too_long(r, "nothing was heard of it", quiet);
	} else if (all > r->g->max_seconds) {
		too_long(r, "it ran", all);
	}
}
