// SPDX-License-Identifier: BSD-2-Clause
/* Guests side by side: starting them as CPUs come free, listening to all, ending all with us. */
#include "vm/boot.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "measure/progress.h"
#include "util/interrupt.h"
#include "util/output.h"
#include "vm/guest_run.h"
#include "vm/qemu_args.h"

#define POLL_MS 100

static unsigned int usable_cpus(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set))
		return 1;
	return (unsigned int)CPU_COUNT(&set);
}

/* -------------------------------------------------------------- --print-command */

static int write_initrd(int fd, const char *path, struct errline *e)
{
	struct output o;
	char buf[65536];
	ssize_t len = 0;
	off_t at = 0;
	int err = output_open(&o, path, e);

	if (err)
		return err;
	while ((len = pread(fd, buf, sizeof(buf), at)) > 0) {
		fwrite(buf, 1, (size_t)len, o.file);
		at += len;
	}
	return output_commit(&o, e);
}

static int print_one(const struct guest *g, const struct guest_settings *settings, const char *program,
		     struct errline *e)
{
	const struct qemu_files files = {
		.initrd = settings->initrd ? settings->initrd : "INITRD",
		.console = "/dev/stderr",
		.ports = { [GUEST_CONTROL] = "/dev/stderr", [GUEST_OUT] = "/dev/stdout",
			   [GUEST_ERR] = "/dev/stderr" },
	};
	const struct initrd_plan plan = { .kernel = &g->kernel, .init = program, .argv = g->argv,
					  .env = g->env, .files = g->files, .nr_files = g->nr_files };
	struct qemu_args args;
	int err = qemu_args_make(&args, g->spec, &g->kernel, &files, g->qemu_args, e), fd;

	if (!err && settings->initrd) {
		err = initrd_make(&plan, &fd, e);
		if (!err) {
			err = write_initrd(fd, settings->initrd, e);
			close(fd);
		}
	}
	if (!err)
		qemu_args_print(stdout, &args);
	qemu_args_release(&args);
	return err;
}

/* -------------------------------------------------------------- running */

static void show(const struct guest_run *runs, size_t nr)
{
	static const char *const states[] = { "waiting", "booting", "running", "powering off", "done" };
	char text[256] = "";
	double share = 0;
	size_t len = 0;

	for (size_t i = 0; i < nr; i++) {
		double seconds = (double)(guest_now_ns() - runs[i].start_ns) * 1e-9;

		share += runs[i].state / (double)GUEST_DONE / (double)nr;
		if (runs[i].state == GUEST_DONE || runs[i].state == GUEST_WAITING || len >= sizeof(text))
			continue;
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%.40s %s %.0f s", len ? ", " : "",
					runs[i].g->label, states[runs[i].state], seconds);
	}
	progress_show(share, text);
}

/* Listen to all that run, for a moment. */
static void listen_to(struct guest_run *runs, size_t nr, bool echo)
{
	struct pollfd *p = calloc(nr * NR_GUEST_PIPES, sizeof(*p));
	nfds_t used = nr * NR_GUEST_PIPES;

	for (size_t i = 0; i < used && p; i++) {
		const struct guest_run *r = &runs[i / NR_GUEST_PIPES];
		bool runs_now = r->state != GUEST_WAITING && r->state != GUEST_DONE;

		p[i] = (struct pollfd){ .fd = runs_now ? r->pipes[i % NR_GUEST_PIPES] : -1, .events = POLLIN };
	}
	if (p && poll(p, used, POLL_MS) > 0)
		for (size_t i = 0; i < used; i++)
			if (p[i].revents && runs[i / NR_GUEST_PIPES].state != GUEST_DONE)
				guest_run_read(&runs[i / NR_GUEST_PIPES], i % NR_GUEST_PIPES, echo);
	free(p);
}

static int run_all(struct guest_run *runs, size_t nr, char (*programs)[4096], bool echo)
{
	const unsigned int cpus = usable_cpus();

	for (;;) {
		unsigned int busy = 0;
		size_t left = 0;

		for (size_t i = 0; i < nr; i++)
			if (runs[i].state != GUEST_WAITING && runs[i].state != GUEST_DONE)
				busy += runs[i].g->spec->smp;
		for (size_t i = 0; i < nr; i++) {
			if (runs[i].state == GUEST_WAITING &&
			    (!busy || busy + runs[i].g->spec->smp <= cpus)) {
				guest_run_start(&runs[i], programs[i]);
				busy += runs[i].g->spec->smp;
			}
			left += runs[i].state != GUEST_DONE;
		}
		if (!left)
			return 0;
		listen_to(runs, nr, echo);
		for (size_t i = 0; i < nr; i++)
			if (runs[i].state != GUEST_WAITING && runs[i].state != GUEST_DONE)
				guest_run_check(&runs[i], echo);
		show(runs, nr);
		if (interrupt_signal())
			return -EINTR;
	}
}

int guests_run(struct guest *guests, size_t nr, const struct guest_settings *settings, struct errline *e)
{
	struct guest_run *runs = calloc(nr, sizeof(*runs));
	char (*programs)[4096] = calloc(nr, sizeof(*programs));
	int err = runs && programs ? 0 : errline_set(e, -ENOMEM, "out of memory");

	for (size_t i = 0; i < nr && !err; i++) {
		struct guest *g = &guests[i];

		runs[i].g = g;
		if (g->given)
			g->kernel = *g->given;
		else
			err = store_find(&g->kernel, g->spec->version, g->spec->machine, e);
		if (!err)
			err = guest_program(g->spec->machine, programs[i], sizeof(programs[i]), e);
		if (!err && settings->print_only)
			err = print_one(g, settings, programs[i], e);
	}
	if (!err && !settings->print_only) {
		err = run_all(runs, nr, programs, settings->echo);
		progress_end();
		for (size_t i = 0; i < nr; i++)
			if (runs[i].state != GUEST_WAITING && runs[i].state != GUEST_DONE)
				guest_run_kill(&runs[i]);
		if (err)
			errline_set(e, err, "interrupted");
	}
	free(runs);
	free(programs);
	return err;
}

void guest_release(struct guest *g)
{
	free(g->out.text);
	free(g->err_out.text);
	g->out = g->err_out = (struct text_buf){ 0 };
}

void guest_print_console(FILE *f, const struct guest *g)
{
	const char *p = g->console, *from;
	int lines = 0;

	/* the last twenty lines */
	for (from = p + strlen(p); from > p && lines <= 20; from--)
		lines += from[-1] == '\n';
	from += from > p;
	while (*from) {
		int len = (int)strcspn(from, "\n");

		fputs("  | ", f);
		for (int i = 0; i < len; i++)
			if ((unsigned char)from[i] >= ' ' && (unsigned char)from[i] < 0x7f)
				putc(from[i], f);
		putc('\n', f);
		from += len + (from[len] == '\n');
	}
}
