// SPDX-License-Identifier: BSD-2-Clause
/*
 * `bpflab compare` of two kernels. They cannot be interleaved batch by batch: each boot is a run of its own,
 * boots of A and B take turns, and what is compared are runs, as those of stored results are. What differs
 * between boots of one kernel is in the interval.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cmd/compare_live.h"
#include "cmd/guests.h"
#include "commands.h"
#include "compare/historical.h"
#include "report/form.h"
#include "target.h"
#include "util/interrupt.h"

#define DEFAULT_BOOTS HISTORICAL_MIN_RUNS

struct vm_pair {
	struct target targets[2];
	struct guest *guests; /* A B B A A B … */
	size_t nr;
	FILE *files[2];       /* the results of each side, in memory */
	char paths[2][64];
};

static int check(const struct opts *opts, struct vm_pair *p, struct errline *e)
{
	for (int side = 0; side < 2; side++) {
		int err = target_parse(&p->targets[side], opts->args[side], e);

		if (err)
			return err;
		if (!target_is_vm(&p->targets[side]))
			return errline_set(e, -EINVAL, "'%s' and '%s': a vm can be compared with a vm only, its times "
					   "are an emulator's", opts->args[0], opts->args[1]);
		err = target_probe(&p->targets[side], e);
		if (err)
			return err;
	}
	if (!opts->i_know)
		return errline_set(e, -EINVAL, "times of an emulator say how long QEMU takes to translate, not "
				   "which of '%s' and '%s' is faster; --i-know compares them all the same",
				   opts->args[0], opts->args[1]);
	if (opts->fail_above >= 0 || opts->why || opts->quads || opts->quick || opts->rigorous)
		return errline_set(e, -EINVAL, "two kernels are not interleaved: leave out --%s",
				   opts->fail_above >= 0 ? "fail-above" : opts->why ? "why" :
				   opts->quads ? "quads" : opts->quick ? "quick" : "rigorous");
	return 0;
}

static int make_guests(const struct opts *opts, struct vm_pair *p, const struct guest_command *c,
		       struct errline *e)
{
	size_t boots = opts->loads ? opts->loads : DEFAULT_BOOTS;

	p->nr = 2 * boots;
	p->guests = calloc(p->nr, sizeof(*p->guests));
	if (!p->guests)
		return errline_set(e, -ENOMEM, "out of memory");
	for (size_t i = 0; i < p->nr; i++) {
		struct target *t = &p->targets[(i + 1) / 2 % 2];

		p->guests[i] = (struct guest){ .label = t->spec, .spec = &t->vm, .argv = c->argv,
					       .files = c->files, .nr_files = c->nr_files };
	}
	for (int side = 0; side < 2; side++) {
		int fd = memfd_create("bpflab-results", MFD_CLOEXEC);

		p->files[side] = fd < 0 ? NULL : fdopen(fd, "w");
		if (!p->files[side])
			return errline_set(e, -errno, "memfd_create: %s", strerror(errno));
		snprintf(p->paths[side], sizeof(p->paths[side]), "/proc/self/fd/%d", fd);
	}
	return 0;
}

/* One guest that failed ends it: its results would be missing on one side. */
static int collect(struct vm_pair *p, struct errline *e)
{
	for (size_t i = 0; i < p->nr; i++) {
		struct guest *g = &p->guests[i];
		int err;

		if (g->err) {
			*e = g->error;
			return g->err;
		}
		err = guest_write_results(g, p->files[(i + 1) / 2 % 2], e);
		if (err)
			return err;
	}
	for (int side = 0; side < 2; side++)
		if (fflush(p->files[side]))
			return errline_set(e, -errno, "cannot keep results: %s", strerror(errno));
	return 0;
}

static int compare(const struct opts *opts, struct vm_pair *p, struct historical *h, struct errline *e)
{
	static const char *const more[] = { "--on", "host", "--json", "-", "--keep-going", NULL };
	static const char *const more_short[] = { "--on", "host", "--json", "-", "--keep-going", "-d", "2", NULL };
	struct guest_command c;
	int err = guest_command_make(&c, opts, 2, opts->duration > 0 ? more : more_short, e);

	c.argv[1] = "run";
	if (!err)
		err = make_guests(opts, p, &c, e);
	if (!err)
		err = guests_run_for(opts, p->guests, p->nr, false, e);
	guest_command_release(&c);
	if (err || opts->print_command)
		return err;
	err = collect(p, e);
	if (!err)
		err = historical_compare(h, p->paths[0], p->paths[1],
					 opts->margin > 0 ? opts->margin : COMPARE_MARGIN, e);
	h->paths[0] = p->targets[0].spec;
	h->paths[1] = p->targets[1].spec;
	if (!err && !forms_use_stdout(opts))
		puts("EMULATED times: what QEMU's translation of the guests takes on this machine\n");
	return err ? err : compare_write_stored(h, opts, e);
}

int compare_vm(const struct opts *opts)
{
	struct vm_pair p = { .nr = 0 };
	struct historical h = { 0 };
	struct errline e = { "" };
	int err = check(opts, &p, &e), status = EXIT_OK;

	if (!err)
		err = compare(opts, &p, &h, &e);
	if (interrupt_signal())
		status = EXIT_INTERRUPTED + interrupt_signal();
	else if (err)
		print_error(&e);
	for (size_t i = 0; i < h.nr_rows && !err; i++)
		if (h.rows[i].verdict == VERDICT_INCONCLUSIVE && opts->strict)
			status = EXIT_INCONCLUSIVE;
	historical_release(&h);
	for (size_t i = 0; i < p.nr && p.guests; i++)
		guest_release(&p.guests[i]);
	for (int side = 0; side < 2; side++)
		if (p.files[side])
			fclose(p.files[side]);
	free(p.guests);
	return err && !status ? EXIT_USAGE : status;
}
